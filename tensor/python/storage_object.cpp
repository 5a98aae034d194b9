// `relume.Storage`: a block of memory that tensors look at.
#include <cstring>

#include "tensor/python/arguments.h"
#include "tensor/python/bindings.h"
#include "tensor/shared_memory.h"

#include <structmember.h>

namespace relume {
namespace {

struct StorageObject {
  PyObject_HEAD
  Storage* storage;  // owned
  PyObject* weak_references;
};

PyTypeObject* storage_type = nullptr;

void deallocate(PyObject* self) {
  auto* object = reinterpret_cast<StorageObject*>(self);
  PyTypeObject* type = Py_TYPE(self);
  if (object->weak_references) PyObject_ClearWeakRefs(self);
  object->storage->python_object = nullptr;
  object->storage->release();
  type->tp_free(self);
  Py_DECREF(type);
}

// A 1-d tensor on all of it.
Tensor whole(PyObject* self) {
  Storage* storage = unwrap_storage(self);
  return make_view(storage, 0, {static_cast<int64_t>(storage->size())}, {1}, storage->dtype);
}

Py_ssize_t length(PyObject* self) { return static_cast<Py_ssize_t>(unwrap_storage(self)->size()); }

PyObject* get_tensor(PyObject* self, PyObject*) {
  return guard([&] { return wrap(whole(self)); });
}

PyObject* subscript(PyObject* self, PyObject* key) {
  return guard([&]() -> PyObject* {
    nb::object tensor = checked(get_tensor(self, nullptr));
    nb::object item = checked(PyObject_GetItem(tensor.ptr(), key));
    if (PyIndex_Check(key)) return PyObject_CallMethod(item.ptr(), "item", nullptr);
    return PyObject_CallMethod(item.ptr(), "tolist", nullptr);
  });
}

int assign(PyObject* self, PyObject* key, PyObject* value) {
  return guard_status([&] {
    check<TypeError>(value != nullptr, "cannot delete elements of a storage");
    nb::object tensor = checked(get_tensor(self, nullptr));
    if (PyObject_SetItem(tensor.ptr(), key, value) < 0) throw_python_error();
  });
}

PyObject* sequence_item(PyObject* self, Py_ssize_t index) {
  if (index < 0 || index >= length(self)) {
    PyErr_SetString(PyExc_IndexError, "storage index out of range");
    return nullptr;
  }
  return guard([&] { return subscript(self, checked(PyLong_FromSsize_t(index)).ptr()); });
}

PyObject* represent(PyObject* self) {
  const Storage* storage = unwrap_storage(self);
  return PyUnicode_FromFormat("Storage(%zd x %s)", length(self), info(storage->dtype).name.data());
}

PyObject* get_dtype(PyObject* self, void*) {
  PyObject* dtype = dtype_object(unwrap_storage(self)->dtype);
  Py_INCREF(dtype);
  return dtype;
}
PyObject* get_nbytes(PyObject* self, void*) { return PyLong_FromSize_t(unwrap_storage(self)->bytes); }
PyObject* get_torch_typename(PyObject* self, void*) {
  const std::string_view torch_name = info(unwrap_storage(self)->dtype).torch_name;
  if (torch_name.empty()) Py_RETURN_NONE;
  return PyUnicode_FromFormat("torch.%sStorage", torch_name.data());
}
PyObject* get_address(PyObject* self, void*) { return PyLong_FromVoidPtr(unwrap_storage(self)); }
PyObject* data_pointer(PyObject* self, PyObject*) { return PyLong_FromVoidPtr(unwrap_storage(self)->data); }

PyObject* tolist(PyObject* self, PyObject*) {
  return guard([&] {
    nb::object tensor = checked(get_tensor(self, nullptr));
    return PyObject_CallMethod(tensor.ptr(), "tolist", nullptr);
  });
}

PyObject* to_bytes(PyObject* self, PyObject*) {
  const Storage* storage = unwrap_storage(self);
  return PyBytes_FromStringAndSize(static_cast<const char*>(storage->data),
                                   static_cast<Py_ssize_t>(storage->bytes));
}

PyObject* reduce(PyObject* self, PyObject*) {
  return guard([&] {
    nb::object make = nb::module_::import_("relume.tensor.serialization").attr("rebuild_storage");
    nb::object bytes = checked(to_bytes(self, nullptr));
    return Py_BuildValue("(O(Os))", make.ptr(), bytes.ptr(), info(unwrap_storage(self)->dtype).name.data());
  });
}

PyObject* share_memory(PyObject* self, PyObject*) {
  return guard([&] {
    share(*unwrap_storage(self));
    Py_INCREF(self);
    return self;
  });
}
PyObject* get_is_shared(PyObject* self, PyObject*) { return PyBool_FromLong(is_shared(*unwrap_storage(self))); }
PyObject* get_descriptor(PyObject* self, PyObject*) {
  return guard([&] { return PyLong_FromLong(shared_descriptor(*unwrap_storage(self))); });
}

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(StorageObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef properties[] = {
    {"dtype", get_dtype, nullptr, "Element type.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Size in bytes.", nullptr},
    {"torch_typename", get_torch_typename, nullptr, "Torch7's name: 'torch.FloatStorage'.", nullptr},
    {"_address", get_address, nullptr, "Address of the core's storage.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {
    {"tensor", get_tensor, METH_NOARGS, "A 1-d tensor on the storage's memory."},
    {"tolist", tolist, METH_NOARGS, "The elements as a list of Python numbers."},
    {"tobytes", to_bytes, METH_NOARGS, "A copy of the bytes."},
    {"data_ptr", data_pointer, METH_NOARGS, "Address of the first byte."},
    {"share_memory_", share_memory, METH_NOARGS,
     "Moves the contents into memory that other processes can share; returns itself."},
    {"is_shared", get_is_shared, METH_NOARGS, "Is it in memory that other processes can share?"},
    {"_descriptor", get_descriptor, METH_NOARGS, "The file behind shared memory, which the storage owns."},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

constexpr const char* kDocumentation =
    "A block of memory that any number of tensors look at.\n\n"
    ">>> import relume as rl\n"
    ">>> t = rl.tensor([1.0, 2.0])\n"
    ">>> t.storage() is t[1:].storage()\n"
    "True\n";

}  // namespace

bool is_storage(PyObject* object) { return PyType_IsSubtype(Py_TYPE(object), storage_type); }
Storage* unwrap_storage(PyObject* object) { return reinterpret_cast<StorageObject*>(object)->storage; }

PyObject* wrap_storage(Ref<Storage> storage) {
  if (!storage) Py_RETURN_NONE;
  if (void* existing = storage->python_object) {
    Py_INCREF(static_cast<PyObject*>(existing));
    return static_cast<PyObject*>(existing);
  }
  auto* object = reinterpret_cast<StorageObject*>(storage_type->tp_alloc(storage_type, 0));
  if (!object) throw_python_error();
  object->storage = storage.detach();
  object->storage->python_object = object;
  return reinterpret_cast<PyObject*>(object);
}

void bind_storage(nb::module_& module) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(kDocumentation)},
      {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
      {Py_tp_repr, reinterpret_cast<void*>(represent)},
      {Py_mp_length, reinterpret_cast<void*>(length)},
      {Py_mp_subscript, reinterpret_cast<void*>(subscript)},
      {Py_mp_ass_subscript, reinterpret_cast<void*>(assign)},
      {Py_sq_item, reinterpret_cast<void*>(sequence_item)},
      {Py_tp_members, members},
      {Py_tp_getset, properties},
      {Py_tp_methods, methods},
      {0, nullptr}};
  PyType_Spec spec = {"relume.Storage", sizeof(StorageObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  nb::object type = checked(PyType_FromSpec(&spec));
  storage_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  module.attr("Storage") = type;
  module.def("storage_from_bytes", [](nb::bytes bytes, const char* dtype) {
    Ref<Storage> storage = Storage::allocate(bytes.size(), dtype_from_name(dtype));
    std::memcpy(storage->data, bytes.c_str(), bytes.size());
    return storage;
  });
  module.def("open_shared_storage", [](int descriptor, std::size_t bytes, const char* dtype) {
    return open_shared(descriptor, bytes, dtype_from_name(dtype));
  }, "Takes the descriptor over.");
  module.def("tensor_on_storage", [](nb::object storage, int64_t offset, nb::tuple shape, nb::tuple strides,
                                    nb::object dtype) {
    std::vector<int64_t> sizes, steps;
    for (nb::handle size : shape) sizes.push_back(nb::cast<int64_t>(size));
    for (nb::handle step : strides) steps.push_back(nb::cast<int64_t>(step));
    check(sizes.size() == steps.size(), "shape and strides differ in length");
    check<TypeError>(is_storage(storage.ptr()), "expected a Storage, got ", type_name(storage.ptr()));
    Storage* memory = unwrap_storage(storage.ptr());
    return make_view(memory, offset, sizes, steps, to_dtype_or(dtype.ptr(), memory->dtype));
  }, nb::arg("storage"), nb::arg("offset"), nb::arg("shape"), nb::arg("strides"), nb::arg("dtype") = nb::none());
}

}  // namespace relume
