// What every file of the Python face shares: Python.h through nanobind, and errors.
#pragma once
#include <nanobind/nanobind.h>

#include <utility>

#include "tensor/error.h"

namespace relume {

namespace nb = nanobind;

// Sets the Python exception that stands for the C++ exception in flight.
void set_python_error() noexcept;

// Throws the exception that a failed Python call has set.
[[noreturn]] inline void throw_python_error() { nb::raise_python_error(); }

// Takes over the result of a Python call; throws when the call failed.
inline nb::object checked(PyObject* result) {
  if (!result) throw_python_error();
  return nb::steal(result);
}

// Runs the body of a slot or method: a C++ exception becomes a Python one.
template <class Body>
PyObject* guard(Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}
template <class Body>
int guard_status(Body&& body) noexcept {
  try {
    body();
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}

inline const char* type_name(PyObject* object) { return Py_TYPE(object)->tp_name; }

// Lets other Python threads run while a long kernel does.
class ReleaseLock {
 public:
  explicit ReleaseLock(bool release) : state_(release ? PyEval_SaveThread() : nullptr) {}
  ~ReleaseLock() {
    if (state_) PyEval_RestoreThread(state_);
  }
  ReleaseLock(const ReleaseLock&) = delete;
  ReleaseLock& operator=(const ReleaseLock&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace relume
