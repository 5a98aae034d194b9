#include "autograd/replay.h"

#include "autograd/engine.h"
#include "tensor/thread_state.h"

namespace relume {

void replay_gradients(Backward& b, const std::vector<int>& arguments, Replay run) {
  BackwardOptions options;
  options.create_graph = options.retain_graph = thread_state().grad_mode;
  options.allow_unused = true;
  GradMode on(true);
  std::vector<Tensor> inputs, wanted;
  std::vector<int> wanted_arguments;
  for (int argument : arguments) {
    if (!b.is_tensor(argument)) {
      inputs.emplace_back();
      continue;
    }
    // A place of its own on the tape: one argument may have been computed from another.
    inputs.push_back(ops::clone(b.in(argument)));
    if (!b.needs(argument)) continue;
    wanted.push_back(inputs.back());
    wanted_arguments.push_back(argument);
  }
  std::vector<Tensor> outputs, gradients;
  const std::vector<Tensor> all = run(b, inputs);
  for (std::size_t i = 0; i < all.size(); i++) {
    if (!b.has_grad(static_cast<int>(i)) || !wants_gradient(all[i].body())) continue;
    outputs.push_back(all[i]);
    gradients.push_back(b.grad(static_cast<int>(i)));
  }
  if (outputs.empty() || wanted.empty()) return;
  const std::vector<Tensor> results = run_backward(outputs, gradients, wanted, options);
  for (std::size_t i = 0; i < results.size(); i++) {
    if (results[i].defined()) b.set(wanted_arguments[i], results[i]);
  }
}

}  // namespace relume
