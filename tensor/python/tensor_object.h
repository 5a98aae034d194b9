// `relume.Tensor`: a Python object around a TensorBody.
//
// A body has at most one Python object at a time, so identity survives a trip through C++
// or Lua. `TensorBody::python_object` is only touched with Python's lock held.
#pragma once
#include "tensor/python/python.h"
#include "tensor/tensor.h"

namespace relume {

struct TensorObject {
  PyObject_HEAD
  TensorBody* body;  // owned
  PyObject* weak_references;
};

extern PyTypeObject* tensor_type;

inline bool is_tensor(PyObject* object) {
  return Py_TYPE(object) == tensor_type || PyType_IsSubtype(Py_TYPE(object), tensor_type);
}
// Borrowed; `object` must be a tensor.
inline TensorBody* unwrap(PyObject* object) {
  return reinterpret_cast<TensorObject*>(object)->body;
}
inline Tensor unwrap_tensor(PyObject* object) { return Tensor::borrow(unwrap(object)); }

// A new reference: the object that this body already has, or a new one; None when the
// tensor is undefined.
PyObject* wrap(Tensor tensor);
// A new object of a subclass of relume.Tensor; the body must not have one yet.
PyObject* wrap_as(PyTypeObject* type, Tensor tensor);

// `relume.Storage`, in the same way.
PyObject* wrap_storage(Ref<Storage> storage);
bool is_storage(PyObject* object);
Storage* unwrap_storage(PyObject* object);

// Slot and method tables, by concept; collected by bind_tensor().
void add_number_slots(std::vector<PyType_Slot>& slots);
void add_mapping_slots(std::vector<PyType_Slot>& slots);
void add_buffer_slots(std::vector<PyType_Slot>& slots);
extern PyGetSetDef tensor_properties[];
extern PyMethodDef tensor_methods[];

}  // namespace relume
