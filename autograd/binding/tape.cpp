// The tape for Python: backward, grad and the grad mode.
#include "autograd/engine.h"
#include "tensor/python/bindings.h"
#include "tensor/thread_state.h"

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

nb::list backward(nb::handle outputs, nb::handle gradients, nb::handle inputs, bool retain_graph, bool create_graph,
                  bool allow_unused) {
  const std::vector<Tensor> output_list = tensor_list(outputs, "outputs");
  const std::vector<Tensor> gradient_list = tensor_list(gradients, "gradients");
  const std::vector<Tensor> input_list = tensor_list(inputs, "inputs");
  std::vector<Tensor> results;
  {
    ReleaseLock release(true);
    results = run_backward(output_list, gradient_list, input_list, {retain_graph, create_graph, allow_unused});
  }
  nb::list list;
  for (Tensor& result : results) list.append(nb::cast(std::move(result)));
  return list;
}

}  // namespace

void bind_custom_function(nb::module_& module);

void bind_autograd(nb::module_& module) {
  module.def("run_backward", backward, nb::arg("outputs"), nb::arg("gradients"), nb::arg("inputs"),
             nb::arg("retain_graph"), nb::arg("create_graph"), nb::arg("allow_unused"));
  module.def("is_grad_enabled", [] { return thread_state().grad_mode; });
  module.def("set_grad_enabled", [](bool enabled) {
    return std::exchange(thread_state().grad_mode, enabled);
  }, "Sets the calling thread's grad mode and returns what it was.");
  bind_custom_function(module);
}

}  // namespace relume
