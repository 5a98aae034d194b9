// Runs the tape backwards.
#pragma once
#include <vector>

#include "autograd/node.h"

namespace relume {

struct BackwardOptions {
  bool retain_graph = false;  // keep what is saved, so that backward can run again
  bool create_graph = false;  // record the backward pass itself
  bool allow_unused = false;  // an input that no output depends on gives an undefined tensor
};

// With `inputs`: returns d outputs / d inputs. Without: adds to `grad` of the leaves.
// `output_gradients[i]` may be undefined for an output with one element (taken as 1).
// Throws Error when an output has no graph, a graph was freed, or a saved tensor was
// changed in place since.
std::vector<Tensor> run_backward(const std::vector<Tensor>& outputs,
                                 const std::vector<Tensor>& output_gradients,
                                 const std::vector<Tensor>& inputs, BackwardOptions options);

// Set by the language that drives the core: called now and then during long runs, which it
// ends by throwing (Ctrl-C).
using InterruptCheck = void (*)();
void set_interrupt_check(InterruptCheck check);

}  // namespace relume
