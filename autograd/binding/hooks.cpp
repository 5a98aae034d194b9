// Hooks for Python: on tensors, on nodes, and on what nodes save.
#include "autograd/binding/python_function.h"
#include "tensor/thread_state.h"

namespace relume {
namespace {

GradientHook gradient_hook(nb::object function) {
  return [function = share_object(std::move(function))](const Tensor& gradient) {
    HoldLock lock;
    nb::object result = nb::borrow(function.get())(gradient);
    Tensor replacement = tensor_or_none(result, "a hook of a tensor");
    check<TypeError>(!replacement.defined() || is_complex(gradient.dtype()) || !is_complex(replacement.dtype()),
                     "a hook of a real tensor returned a complex gradient; return its real() part");
    return replacement;
  };
}

HookHandle register_hook(Tensor tensor, nb::object function) {
  return {add_gradient_hook(tensor, gradient_hook(std::move(function)))};
}

HookHandle register_accumulation_hook(Tensor leaf, nb::object function) {
  return {add_accumulation_hook(leaf, [function = share_object(std::move(function))](const Tensor& tensor) {
    HoldLock lock;
    nb::borrow(function.get())(tensor);
  })};
}

bool retains_grad(Tensor tensor) {
  return tensor->grad_fn && tensor->hooks && tensor->hooks->retains_gradient();
}

// ---- saved tensors ----

// Calls two Python functions: pack(tensor) -> anything, unpack(anything) -> tensor.
class PythonSavedTensorHooks final : public SavedTensorHooks {
 public:
  PythonSavedTensorHooks(nb::object pack, nb::object unpack, SavedTensorHooks* outer)
      : outer(outer), pack_(share_object(std::move(pack))), unpack_(share_object(std::move(unpack))) {}

  Unpack pack(const Tensor& tensor) override {
    HoldLock lock;
    GradMode off(false);
    SavedTensorHooks* self = std::exchange(thread_state().saved_tensor_hooks, nullptr);
    SharedObject packed;
    try {
      packed = share_object(nb::borrow(pack_.get())(tensor));
    } catch (...) {
      thread_state().saved_tensor_hooks = self;
      throw;
    }
    thread_state().saved_tensor_hooks = self;
    return [packed, unpack = unpack_] {
      HoldLock lock;
      nb::object result = nb::borrow(unpack.get())(nb::borrow(packed.get()));
      return tensor_or_none(result, "unpack_hook");
    };
  }

  SavedTensorHooks* const outer;  // what was in force before

 private:
  SharedObject pack_, unpack_;
};

void push_saved_tensor_hooks(nb::object pack, nb::object unpack) {
  SavedTensorHooks*& current = thread_state().saved_tensor_hooks;
  current = new PythonSavedTensorHooks(std::move(pack), std::move(unpack), current);
}

void pop_saved_tensor_hooks() {
  SavedTensorHooks*& current = thread_state().saved_tensor_hooks;
  auto* hooks = static_cast<PythonSavedTensorHooks*>(current);
  check<Error>(hooks != nullptr, "there are no hooks for saved tensors in force");
  current = hooks->outer;
  delete hooks;
}

// For Functions written in Python: what gives a tensor back that is saved now, or None when
// no hooks are in force.
nb::object pack_saved_tensor(Tensor tensor) {
  SavedTensorHooks* hooks = thread_state().saved_tensor_hooks;
  if (!hooks) return nb::none();
  return nb::cpp_function([unpack = hooks->pack(tensor)] { return unpack(); });
}

}  // namespace

void bind_hooks(nb::module_& module) {
  nb::class_<HookHandle>(module, "HookHandle", "A registered hook: remove() takes it away, as does leaving a with block.")
      .def("remove", &HookHandle::remove)
      .def("__enter__", [](nb::object self) { return self; })
      .def("__exit__", [](HookHandle& handle, nb::args) { handle.remove(); });
  module.def("register_hook", register_hook);
  module.def("register_accumulation_hook", register_accumulation_hook);
  module.def("retain_grad", [](Tensor tensor) { retain_gradient(tensor); });
  module.def("retains_grad", retains_grad);
  module.def("push_saved_tensor_hooks", push_saved_tensor_hooks);
  module.def("pop_saved_tensor_hooks", pop_saved_tensor_hooks);
  module.def("pack_saved_tensor", pack_saved_tensor);
}

}  // namespace relume
