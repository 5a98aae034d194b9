// The derivative of connectionist temporal classification.
#include <algorithm>

#include "autograd/engine.h"
#include "autograd/replay.h"
#include "tensor/thread_state.h"

namespace relume {
namespace {

const OpFunction gather{"gather"}, logsumexp{"logsumexp"};

// Stands for the logarithm of 0; finite, so that gradients stay numbers.
constexpr double kNever = -1e30;

// One sample's loss in ops: log_probs (time, classes), labels with blanks between them.
Tensor loss_of(const Tensor& log_probs, const std::vector<int64_t>& labels) {
  const int64_t states = static_cast<int64_t>(labels.size()), time = log_probs.size(0);
  Tensor index = empty({states}, DType::int64), skips = empty({states}, DType::boolean);
  for (int64_t s = 0; s < states; s++) {
    index.data_as<int64_t>()[s] = labels[s];
    skips.data_as<bool>()[s] = s >= 2 && s % 2 == 1 && labels[s] != labels[s - 2];
  }
  const auto shifted = [&](const Tensor& alpha, int64_t by) {
    return ops::narrow(ops::pad(alpha, IntSpan({by, 0}), "constant", kNever), 0, int64_t{0}, states);
  };
  Tensor alpha;
  for (int64_t t = 0; t < time; t++) {
    const Tensor emitted = gather(ops::select(log_probs, 0, t), 0, index);
    if (t == 0) {
      const int64_t first = std::min<int64_t>(2, states);
      alpha = ops::pad(ops::narrow(emitted, 0, int64_t{0}, first), IntSpan({0, states - first}), "constant", kNever);
      continue;
    }
    const Tensor ways[] = {alpha, shifted(alpha, 1), ops::where(skips, shifted(alpha, 2), kNever)};
    TensorBody* const bodies[] = {ways[0].body(), ways[1].body(), ways[2].body()};
    alpha = logsumexp(ops::stack(Value(bodies, 3), 0), IntSpan({0})) + emitted;
  }
  const int64_t ends = std::min<int64_t>(2, states);
  return -logsumexp(ops::narrow(alpha, 0, states - ends, ends), IntSpan({0}));
}

std::vector<Tensor> losses_again(Backward& b, const std::vector<Tensor>& in) {
  const IntSpan input_lengths = b.integers(2), target_lengths = b.integers(3);
  const Tensor targets = ops::contiguous(ops::to_dtype(b.in(1), DType::int64));
  std::vector<Tensor> losses;
  std::vector<TensorBody*> bodies;
  int64_t place = 0;
  for (int n = 0; n < input_lengths.count; n++) {
    if (targets.ndim() == 2) place = n * targets.size(1);
    std::vector<int64_t> labels{b.integer(4)};
    for (int64_t i = 0; i < target_lengths[n]; i++) {
      labels.insert(labels.end(), {targets.data_as<const int64_t>()[place + i], b.integer(4)});
    }
    place += target_lengths[n];
    const Tensor own = ops::narrow(ops::select(in[0], 1, n), 0, int64_t{0}, input_lengths[n]);
    losses.push_back(input_lengths[n] > 0 ? loss_of(own, labels) : ops::sum(own));
    bodies.push_back(losses.back().body());
  }
  const Tensor all = ops::stack(Value(bodies.data(), static_cast<int>(bodies.size())), 0);
  BackwardOptions options;
  options.create_graph = options.retain_graph = true;
  return {all, run_backward({ops::sum(all)}, {}, {in[0]}, options)[0]};
}

// ctc_loss_with_gradient(log_probs, targets, input_lengths, target_lengths, blank) -> (losses, gradient)
void ctc_gradient(Backward& b) {
  if (thread_state().grad_mode || b.has_grad(1)) return replay_gradients(b, {0}, losses_again);
  const Tensor gradient = b.out(1);
  b.set(0, gradient * ops::reshape(b.grad(), IntSpan({1, gradient.size(1), 1})));
}
const Derive derive_ctc_loss{"ctc_loss_with_gradient", saves(0, 1) | saves_output(1), ctc_gradient};

}  // namespace
}  // namespace relume
