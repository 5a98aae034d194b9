// Gradients where a fused gradient cannot serve, above all where the gradient itself is recorded:
// the op is run again in terms of other ops, and these are differentiated.
#pragma once
#include <vector>

#include "autograd/derivative.h"

namespace relume {

// `arguments`: the positions of the tensor arguments that may need a gradient. `run` gets them
// in that order (undefined where None was given) and returns the outputs of the op that a
// gradient may have come in for, in order.
using Replay = std::vector<Tensor> (*)(Backward& b, const std::vector<Tensor>& inputs);
void replay_gradients(Backward& b, const std::vector<int>& arguments, Replay run);

}  // namespace relume
