#include "tensor/python/tensor_object.h"

#include <vector>

#include "tensor/default_dtype.h"
#include "tensor/python/arguments.h"
#include "tensor/python/bindings.h"
#include "tensor/python/creation.h"

#include <structmember.h>

namespace relume {

PyTypeObject* tensor_type = nullptr;

namespace {

// Objects of the exact type are kept for reuse: most live for one expression.
constexpr int kMaxSpare = 256;
TensorObject* spare_objects[kMaxSpare];
int spare_count = 0;

TensorObject* allocate_object(PyTypeObject* type) {
  if (type != tensor_type) return reinterpret_cast<TensorObject*>(type->tp_alloc(type, 0));
  if (spare_count == 0) return PyObject_New(TensorObject, type);
  TensorObject* object = spare_objects[--spare_count];
  PyObject_Init(reinterpret_cast<PyObject*>(object), type);
  return object;
}

void deallocate(PyObject* self) {
  auto* object = reinterpret_cast<TensorObject*>(self);
  PyTypeObject* type = Py_TYPE(self);
  if (object->weak_references) PyObject_ClearWeakRefs(self);
  if (TensorBody* body = object->body) {
    object->body = nullptr;
    body->python_object = nullptr;
    body->release();
  }
  if (type == tensor_type && spare_count < kMaxSpare) {
    spare_objects[spare_count++] = object;
  } else {
    type->tp_free(self);
  }
  Py_DECREF(type);
}

// Tensor(2, 3): are the arguments sizes?
bool are_sizes(PyObject* arguments, PyObject* keywords) {
  const Py_ssize_t count = PyTuple_GET_SIZE(arguments);
  if (count == 0 || keywords) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* size = PyTuple_GET_ITEM(arguments, i);
    if (!PyLong_Check(size) || PyBool_Check(size)) return false;
  }
  return true;
}

Tensor tensor_of_sizes(PyObject* arguments) {
  std::vector<int64_t> sizes;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
    sizes.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(arguments, i)));
    if (PyErr_Occurred()) throw_python_error();
    check<ValueError>(sizes.back() >= 0, "Tensor(): a size is negative");
  }
  return empty(sizes, default_float());
}

PyObject* new_tensor(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  return guard([&]() -> PyObject* {
    if (are_sizes(arguments, keywords)) return wrap_as(type, tensor_of_sizes(arguments));
    static const char* names[] = {"data", "dtype", nullptr};
    PyObject* data = nullptr;
    PyObject* dtype = Py_None;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OO:Tensor", const_cast<char**>(names),
                                     &data, &dtype)) {
      return nullptr;
    }
    if (!data) return wrap_as(type, empty({0}, default_float()));
    if (is_tensor(data)) return wrap_as(type, alias(unwrap_tensor(data)));
    if (dtype == Py_None) dtype = dtype_object(default_float());
    return wrap_as(type, tensor_from_data(data, dtype));
  });
}

Py_hash_t hash(PyObject* self) {
  const auto address = reinterpret_cast<std::size_t>(self);
  const auto value = static_cast<Py_hash_t>((address >> 4) | (address << (8 * sizeof(address) - 4)));
  return value == -1 ? -2 : value;
}

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

constexpr const char* kDocumentation =
    "An n-dimensional array of numbers on the tape.\n\n"
    "Make one with relume.tensor(data), relume.from_numpy(array) or a creation function such as\n"
    "relume.zeros(2, 3). As in PyTorch, `Tensor(2, 3)` has these sizes and any contents, `Tensor(data)`\n"
    "copies numbers to the default floating type, or looks at the memory of a tensor.\n\n"
    ">>> import relume as rl\n"
    ">>> rl.tensor([1.0, 2.0]) * 3\n"
    "tensor([3., 6.])\n";

}  // namespace

PyObject* wrap_as(PyTypeObject* type, Tensor tensor) {
  TensorObject* object = allocate_object(type);
  if (!object) throw_python_error();
  object->weak_references = nullptr;
  object->body = tensor.detach_body();
  object->body->python_object = object;
  return reinterpret_cast<PyObject*>(object);
}

PyObject* wrap(Tensor tensor) {
  if (!tensor.defined()) Py_RETURN_NONE;
  if (void* existing = tensor->python_object) {
    Py_INCREF(static_cast<PyObject*>(existing));
    return static_cast<PyObject*>(existing);
  }
  return wrap_as(tensor_type, std::move(tensor));
}

void bind_tensor(nb::module_& module) {
  std::vector<PyType_Slot> slots = {
      {Py_tp_doc, const_cast<char*>(kDocumentation)},
      {Py_tp_new, reinterpret_cast<void*>(new_tensor)},
      {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
      {Py_tp_hash, reinterpret_cast<void*>(hash)},
      {Py_tp_members, members},
      {Py_tp_getset, tensor_properties},
      {Py_tp_methods, tensor_methods},
  };
  add_number_slots(slots);
  add_mapping_slots(slots);
  add_buffer_slots(slots);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"relume.Tensor", sizeof(TensorObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots.data()};
  nb::object type = checked(PyType_FromSpec(&spec));
  tensor_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  module.attr("Tensor") = type;
  bind_creation(module);
}

}  // namespace relume
