// What the border to Lua needs from C++: tensors as addresses and back.
#include "bridge/binding/interruption.h"
#include "tensor/python/bindings.h"

namespace relume {
namespace {

// One letter per element type, 'A' for the first of enum DType; 'z' for tensors without a
// dimension, which Lua sees in another form. bridge/lua/relume/bridge.lua reads them.
PyObject* kind_letter(const TensorBody& body) {
  static PyObject* letters[kDTypeCount + 1] = {};
  const int position = body.ndim == 0 ? kDTypeCount : static_cast<int>(body.dtype);
  PyObject*& letter = letters[position];
  if (!letter) {
    const char text = body.ndim == 0 ? 'z' : static_cast<char>('A' + position);
    letter = checked(PyBytes_FromStringAndSize(&text, 1)).release().ptr();
  }
  Py_INCREF(letter);
  return letter;
}

// A tensor as Lua is given it: (kind, address). The address is borrowed.
PyObject* lua_address(PyObject*, PyObject* object) {
  return guard([&] {
    check<TypeError>(is_tensor(object), "expected a tensor");
    TensorBody* body = unwrap(object);
    const Device device = body->storage ? body->storage->device : Device{};
    check(device.type == DeviceType::cpu, "Lua sees tensors in the memory of the CPU only, this one is on ",
          to_string(device), "; move it with t.to(\"cpu\")");
    check<TypeError>(!is_complex(body->dtype), "Lua has no complex tensors; pass t.real and t.imag");
    nb::object kind = nb::steal(kind_letter(*body));
    nb::object address = checked(PyLong_FromVoidPtr(body));
    return PyTuple_Pack(2, kind.ptr(), address.ptr());
  });
}

PyMethodDef lua_address_method{"lua_address", lua_address, METH_O,
                               "A tensor as (kind, address) for Lua; the address is borrowed."};

}  // namespace

void bind_bridge(nb::module_& module) {
  bind_interruption(module);
  module.attr("lua_address") = checked(PyCFunction_New(&lua_address_method, nullptr));
  module.def("adopt_tensor", [](std::uintptr_t address) {
    check(address != 0, "expected the address of a tensor, not 0");
    return Tensor::steal(reinterpret_cast<TensorBody*>(address));
  }, "The tensor at an address, taking over the reference that Lua had.");
  module.def("adopt_storage", [](std::uintptr_t address) {
    check(address != 0, "expected the address of a storage, not 0");
    return Ref<Storage>::steal(reinterpret_cast<Storage*>(address));
  }, "The storage at an address, taking over the reference that Lua had.");
}

}  // namespace relume
