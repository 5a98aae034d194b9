// The C interface to the tape, for callers whose own code is derived: they watch tensors, call
// ops recorded, and ask for the gradients of what came out.
#include "autograd/engine.h"
#include "tensor/c_abi.h"
#include "tensor/c_abi_guard.h"
#include "tensor/dispatch.h"

using namespace relume;

namespace {

std::vector<Tensor> borrowed(relume_tensor* const* tensors, int count) {
  std::vector<Tensor> result;
  for (int i = 0; i < count; ++i) result.push_back(tensors[i] ? Tensor::borrow(tensors[i]) : Tensor());
  return result;
}

}  // namespace

relume_tensor* relume_tensor_watch(relume_tensor* tensor) {
  relume_tensor* leaf = nullptr;
  guarded(-1, [&] {
    const GradMode off(false);
    Tensor view = alias(Tensor::borrow(tensor));
    if (is_differentiable(view.dtype())) view.body()->requires_grad = true;
    leaf = view.detach_body();
    return 0;
  });
  return leaf;
}

int relume_call_recorded(int op, const relume_value* values, int count, relume_tensor** results, int capacity) {
  return guarded(-1, [&] {
    const GradMode on(true);
    Outputs outputs = invoke(op_by_id(op), values, count);
    check<Error>(outputs.size() <= capacity, "room for ", capacity, " results, but there are ", outputs.size());
    for (int i = 0; i < outputs.size(); ++i) results[i] = outputs[i].detach_body();
    return outputs.size();
  });
}

int relume_gradients(relume_tensor* const* outputs, relume_tensor* const* output_gradients, int output_count,
                     relume_tensor* const* inputs, int input_count, relume_tensor** results) {
  return guarded(-1, [&] {
    BackwardOptions options;
    options.retain_graph = true;
    options.allow_unused = true;
    std::vector<Tensor> gradients = run_backward(borrowed(outputs, output_count),
                                                 borrowed(output_gradients, output_count),
                                                 borrowed(inputs, input_count), options);
    for (int i = 0; i < input_count; ++i) {
      results[i] = gradients[i].defined() ? gradients[i].detach_body() : nullptr;
    }
    return 0;
  });
}
