// The derivative of attention.
#include "autograd/replay.h"
#include "tensor/kernels/attention_composed.h"
#include "tensor/thread_state.h"

namespace relume {
namespace {

const OpFunction attention_backward{"attention_backward"};

Tensor mask_of(Backward& b) { return b.is_tensor(3) ? b.in(3) : Tensor(); }

std::vector<Tensor> attention_again(Backward& b, const std::vector<Tensor>& in) {
  return {composed_attention(in[0], in[1], in[2], in[3], b.boolean(4), b.real(5), 0)};
}

// attention(query, key, value, mask, causal, scale)
void attention_gradients(Backward& b) {
  if (thread_state().grad_mode || b.needs(3)) return replay_gradients(b, {0, 1, 2, 3}, attention_again);
  const Outputs gradients =
      attention_backward.all(b.grad(), b.in(0), b.in(1), b.in(2), mask_of(b), b.value(4), b.value(5));
  for (int argument = 0; argument < 3; argument++) {
    if (b.needs(argument)) b.set(argument, gradients[argument]);
  }
}
const Derive derive_attention{"attention", saves(0, 1, 2, 3), attention_gradients};

}  // namespace
}  // namespace relume
