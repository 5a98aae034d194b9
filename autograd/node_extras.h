// What only few nodes have: hooks, the place in the program where the op ran, and saved
// tensors that were packed away. Behind one pointer, so that the others stay small.
#pragma once
#include <string>

#include "autograd/hooks.h"
#include "autograd/saved_tensors.h"
#include "tensor/ref.h"

namespace relume {

// Gets the gradients of a node's outputs, some undefined; a result that is not empty
// replaces them.
using NodePreHook = std::function<std::vector<Tensor>(const std::vector<Tensor>& output_gradients)>;
// Gets the gradients of the inputs and of the outputs; a result that is not empty replaces
// the former.
using NodePostHook = std::function<std::vector<Tensor>(const std::vector<Tensor>& input_gradients,
                                                       const std::vector<Tensor>& output_gradients)>;

struct NodeExtras {
  struct OutputHook {
    uint32_t output;
    GradientHook hook;
  };
  HookList<OutputHook> on_output_gradient;
  HookList<NodePreHook> before;
  HookList<NodePostHook> after;

  // Tensors that keep the gradient of an output. A tensor changed in place moves on.
  void add_retaining(uint32_t output, TensorHooks* hooks);
  void remove_retaining(TensorHooks* hooks);
  // Keeps the gradient for all that want it.
  void keep_gradient(uint32_t output, const Tensor& gradient);

  std::vector<Unpack> packed_inputs, packed_outputs;  // by slot and output; empty ones were not packed
  std::vector<Tensor> unpacked;  // while the derivative runs: what it borrows
  std::string forward_place;  // in anomaly mode: where the op ran

 private:
  std::mutex mutex_;
  std::vector<std::pair<uint32_t, Ref<TensorHooks>>> retaining_;
};

// Hooks of a tensor wherever it stands: on the leaf, or on the node that made it.
// They return a function that removes the hook.
using RemoveHook = std::function<void()>;
RemoveHook add_gradient_hook(const Tensor& tensor, GradientHook hook);
RemoveHook add_accumulation_hook(const Tensor& leaf, AccumulationHook hook);
// From now on backward keeps this tensor's gradient, as it does for leaves.
void retain_gradient(const Tensor& tensor);

// `grad` of a tensor, leaf or not.
Tensor gradient_of(const TensorBody* body);
void set_gradient(TensorBody* body, Tensor gradient);

}  // namespace relume
