#include <new>

#include "tensor/kernels/lapack.h"
#include "tensor/python/python.h"

namespace relume {
namespace {

// Defined in Python, where it is one of NumPy's errors too.
PyObject* linalg_error() {
  static PyObject* type = [] {
    nb::object error = nb::module_::import_("relume.tensor.linalg.errors").attr("LinAlgError");
    return error.release().ptr();
  }();
  return type;
}

// The Python exception of the same meaning.
PyObject* python_type_of(const Error& error) {
  if (dynamic_cast<const LinAlgError*>(&error)) return linalg_error();
  if (dynamic_cast<const ValueError*>(&error)) return PyExc_ValueError;
  if (dynamic_cast<const TypeError*>(&error)) return PyExc_TypeError;
  if (dynamic_cast<const IndexError*>(&error)) return PyExc_IndexError;
  if (dynamic_cast<const NotImplementedError*>(&error)) return PyExc_NotImplementedError;
  return PyExc_RuntimeError;
}

}  // namespace

void set_python_error() noexcept {
  try {
    throw;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const Error& error) {
    PyErr_SetString(python_type_of(error), error.what());
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, "out of memory");
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown C++ exception");
  }
}

}  // namespace relume
