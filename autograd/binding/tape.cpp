// The tape for Python: backward, grad and the grad mode.
#include "autograd/anomaly.h"
#include "autograd/binding/python_function.h"
#include "autograd/engine.h"
#include "tensor/ops.h"
#include "tensor/thread_state.h"

#include <nanobind/stl/string.h>

namespace relume {
namespace {

// A list of tensors, in which None stands for an undefined one.
std::vector<Tensor> tensor_list(nb::handle items, const char* what) {
  std::vector<Tensor> result;
  for (nb::handle item : items) {
    check<TypeError>(item.is_none() || is_tensor(item.ptr()), "expected a Tensor among the ", what, ", got ",
                     type_name(item.ptr()));
    result.push_back(item.is_none() ? Tensor() : unwrap_tensor(item.ptr()));
  }
  return result;
}

// Runs in anomaly mode, for every node: where Python is now.
std::string python_stack() {
  if (!Py_IsInitialized()) return {};
  HoldLock lock;
  return nb::cast<std::string>(nb::module_::import_("relume.autograd.anomaly").attr("current_stack")());
}

// Runs signal handlers, if this thread is the one that does.
void check_signals() {
  if (!Py_IsInitialized()) return;
  HoldLock lock;
  if (PyErr_CheckSignals() != 0) throw_python_error();
}

// Adds the story of a failed backward pass to the exception in flight; throws it.
[[noreturn]] void explain_failure(const std::string& story) {
  set_python_error();
  nb::python_error error;  // takes the exception over
  nb::module_::import_("relume.autograd.anomaly").attr("add_story")(error.value(), story);
  throw error;
}

// Runs the tape, while other threads may use Python; a failure tells its story.
std::vector<Tensor> run_tape(const std::vector<Tensor>& outputs, const std::vector<Tensor>& gradients,
                             const std::vector<Tensor>& inputs, BackwardOptions options) {
  try {
    ReleaseLock release(true);
    return run_backward(outputs, gradients, inputs, options);
  } catch (...) {
    const std::string story = take_failure();
    if (story.empty()) throw;
    explain_failure(story);
  }
}

nb::list backward(nb::handle outputs, nb::handle gradients, nb::handle inputs, bool retain_graph, bool create_graph,
                  bool allow_unused) {
  std::vector<Tensor> results = run_tape(tensor_list(outputs, "outputs"), tensor_list(gradients, "gradients"),
                                         tensor_list(inputs, "inputs"), {retain_graph, create_graph, allow_unused});
  nb::list list;
  for (Tensor& result : results) list.append(nb::cast(std::move(result)));
  return list;
}

const OpFunction detach{"detach"};
constexpr int64_t kLong = 1 << 16;  // elements: work for which other threads should not have to wait

// New leaves on the memory of tensors, which want a gradient where they can have one.
nb::list leaves_on(nb::list tensors) {
  nb::list list;
  for (Tensor& tensor : tensor_list(tensors, "tensors")) {
    Tensor leaf;
    if (tensor.defined()) {
      leaf = thread_state().tracing ? detach(tensor) : alias(tensor);  // a tracer has to hear of it
      leaf.body()->requires_grad = is_differentiable(leaf.dtype());
    }
    list.append(nb::steal(wrap(std::move(leaf))));
  }
  return list;
}

// The gradients of the inputs that want one, None for the others; the tape stays.
nb::list gradients_of(nb::list outputs, nb::list gradients, nb::list inputs) {
  const std::vector<Tensor> tensors = tensor_list(inputs, "inputs");
  std::vector<Tensor> wanted, found;
  for (const Tensor& tensor : tensors) {
    if (tensor.defined() && wants_gradient(tensor.body())) wanted.push_back(tensor);
  }
  if (!wanted.empty() && nb::len(outputs) > 0) {
    found = run_tape(tensor_list(outputs, "outputs"), tensor_list(gradients, "gradients"), wanted,
                     {true, false, true});
  }
  nb::list result;
  std::size_t next = 0;
  for (const Tensor& tensor : tensors) {
    const bool has_one = next < found.size() && tensor.body() == wanted[next].body();
    result.append(nb::steal(wrap(has_one ? std::move(found[next++]) : Tensor())));
  }
  return result;
}

// Adds `scale` times a gradient to the sum of a parameter's gradients. False, with nothing done, when that
// takes more than adding: another shape, or a sum that is not the parameter's `grad`.
bool add_gradient(nb::handle sum, nb::handle parameter, nb::handle gradient, double scale) {
  if (!is_tensor(sum.ptr()) || !is_tensor(parameter.ptr()) || !is_tensor(gradient.ptr())) return false;
  const TensorBody* leaf = unwrap(parameter.ptr());
  const Tensor total = unwrap_tensor(sum.ptr()), added = unwrap_tensor(gradient.ptr());
  const bool is_untied = leaf->requires_grad && !leaf->grad;
  if (is_untied || total.shape() != IntSpan(leaf->shape, leaf->ndim) || total.shape() != added.shape()) return false;
  ReleaseLock release(total.numel() > kLong);
  if (scale == 1) {
    ops::add.in_place(total, added);
  } else {
    ops::add.in_place(total, added, scale);
  }
  return true;
}

bool set_grad_enabled(bool enabled) {
  ThreadState& state = thread_state();
  return std::exchange(state.grad_mode, enabled && !state.inference_mode);
}

// Turns recording off (or on again), whatever set_grad_enabled() says inside. Returns what
// both modes were.
nb::tuple set_inference_mode(bool inference, bool grad_enabled) {
  ThreadState& state = thread_state();
  const nb::tuple before = nb::make_tuple(state.inference_mode, state.grad_mode);
  state.inference_mode = inference;
  state.grad_mode = grad_enabled;
  return before;
}

}  // namespace

void bind_custom_function(nb::module_& module);
void bind_hooks(nb::module_& module);
void bind_node(nb::module_& module);
void bind_routine(nb::module_& module);

void bind_autograd(nb::module_& module) {
  module.def("run_backward", backward, nb::arg("outputs"), nb::arg("gradients"), nb::arg("inputs"),
             nb::arg("retain_graph"), nb::arg("create_graph"), nb::arg("allow_unused"));
  module.def("leaves_on", leaves_on, nb::arg("tensors"),
             "New leaves on the memory of tensors (or None), which want a gradient where they can have one.");
  module.def("gradients_of", gradients_of, nb::arg("outputs"), nb::arg("gradients"), nb::arg("inputs"),
             "Runs the tape, which stays; None for inputs that are None or want no gradient.");
  module.def("add_gradient", add_gradient, nb::arg("sum"), nb::arg("parameter"), nb::arg("gradient"), nb::arg("scale"),
             "Adds `scale` times a gradient to the sum of a parameter's; False when that takes more than adding.");
  module.def("is_grad_enabled", [] { return thread_state().grad_mode; });
  module.def("set_grad_enabled", set_grad_enabled, "Sets the calling thread's grad mode and returns what it was.");
  module.def("is_inference_mode_enabled", [] { return thread_state().inference_mode; });
  module.def("set_inference_mode", set_inference_mode);
  module.def("set_anomaly_mode", [](bool enabled, bool check_nan) {
    const AnomalyMode before = anomaly_mode();
    set_anomaly_mode({enabled, check_nan});
    return nb::make_tuple(before.enabled, before.check_nan);
  }, "Returns what it was: enabled, check_nan.");
  module.def("is_anomaly_enabled", [] { return anomaly_mode().enabled; });
  set_place_description(python_stack);
  set_interrupt_check(check_signals);
  bind_custom_function(module);
  bind_hooks(module);
  bind_node(module);
  bind_routine(module);
}

}  // namespace relume
