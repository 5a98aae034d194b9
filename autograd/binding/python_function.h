// Python objects inside of things that any thread may use or free.
#pragma once
#include <memory>

#include "autograd/node.h"
#include "autograd/node_extras.h"
#include "tensor/python/bindings.h"

namespace relume {

// Python's lock, for a scope.
class HoldLock {
 public:
  HoldLock() : state_(PyGILState_Ensure()) {}
  ~HoldLock() { PyGILState_Release(state_); }
  HoldLock(const HoldLock&) = delete;
  HoldLock& operator=(const HoldLock&) = delete;

 private:
  PyGILState_STATE state_;
};

// A reference that can be copied and dropped without the lock. The interpreter may be gone
// when the last one is.
using SharedObject = std::shared_ptr<PyObject>;
inline SharedObject share_object(nb::object object) {
  return SharedObject(object.release().ptr(), [](PyObject* pointer) {
    if (!Py_IsInitialized()) return;
    HoldLock lock;
    Py_DECREF(pointer);
  });
}

// A tensor from what a hook returned; undefined for None.
inline Tensor tensor_or_none(nb::handle result, const char* function) {
  if (result.is_none()) return Tensor();
  check<TypeError>(is_tensor(result.ptr()), function, " must return a Tensor or None, not ", type_name(result.ptr()));
  return unwrap_tensor(result.ptr());
}

inline nb::tuple tuple_of(const std::vector<Tensor>& tensors) {
  nb::list list;
  for (const Tensor& tensor : tensors) list.append(nb::cast(tensor));
  return nb::tuple(list);
}

// What Python gets for a hook that it registered.
struct HookHandle {
  RemoveHook remove_hook;

  void remove() {
    if (RemoveHook remove = std::exchange(remove_hook, nullptr)) remove();
  }
};

// The Python face of a place on the tape: the node that an edge leads to, or the leaf; None
// when there is neither.
nb::object wrap_edge(const Edge& edge);

}  // namespace relume
