// The dtype objects of tensor/dtypes.py, as the core's DType.
#include <string>

#include "tensor/python/arguments.h"

namespace relume {
namespace {

PyObject* dtype_objects[kDTypeCount];  // owned, for ever

// "float32" of "float32", numpy.float32, numpy.dtype('float32').
std::string name_of(PyObject* object) {
  if (PyUnicode_Check(object)) return nb::str(nb::handle(object)).c_str();
  nb::object numpy_dtype = nb::module_::import_("numpy").attr("dtype")(nb::borrow(object));
  return nb::str(numpy_dtype.attr("name")).c_str();
}

}  // namespace

void register_dtypes(nb::list dtypes) {
  check<Error>(nb::len(dtypes) == kDTypeCount, "expected ", kDTypeCount, " dtypes");
  for (int i = 0; i < kDTypeCount; ++i) dtype_objects[i] = nb::borrow(dtypes[i]).release().ptr();
}

PyObject* dtype_object(DType dtype) { return dtype_objects[static_cast<int>(dtype)]; }

DType to_dtype(PyObject* object) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (object == dtype_objects[i]) return static_cast<DType>(i);
  }
  const bool may_name_a_dtype = PyUnicode_Check(object) || PyType_Check(object) ||
                                PyObject_HasAttrString(object, "itemsize");
  if (!may_name_a_dtype) {
    throw TypeError(message("expected a dtype such as relume.float32, 'float32' or numpy.float32, not ",
                            type_name(object)));
  }
  return dtype_from_name(name_of(object));
}

DType to_dtype_or(PyObject* object, DType otherwise) {
  return object == Py_None ? otherwise : to_dtype(object);
}

}  // namespace relume
