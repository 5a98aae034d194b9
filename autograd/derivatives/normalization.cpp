// Derivatives of batch normalisation and softmax.
#include "autograd/derivative.h"
#include "tensor/thread_state.h"

namespace relume {
namespace {

// batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
//   -> (output, mean, inverse deviation)
constexpr int kInput = 0, kWeight = 1, kBias = 2, kTraining = 5, kEpsilon = 7;
constexpr int kMean = 1, kInverse = 2;

Tensor weight_of(Backward& b) { return b.is_tensor(kWeight) ? b.in(kWeight) : Tensor(); }

void fused_gradient(Backward& b) {
  const Outputs gradients = ops::batch_norm_backward.all(b.grad(), b.in(kInput), weight_of(b), b.out(kMean),
                                                         b.out(kInverse), b.boolean(kTraining));
  for (int argument : {kInput, kWeight, kBias}) {
    if (b.needs(argument)) b.set(argument, gradients[argument]);
  }
}

// The same in ops, which the tape can record.
void composed_gradient(Backward& b) {
  const Tensor input = b.in(kInput), grad = b.grad();
  std::vector<int64_t> others;  // all dimensions but the channels'
  for (int i = 0; i < input.ndim(); i++) {
    if (i != 1) others.push_back(i);
  }
  std::vector<int64_t> channel_shape(input.ndim() - 1, 1);  // broadcasts along the channels
  channel_shape[0] = input.size(1);
  const auto per_channel = [&](const Tensor& vector) { return ops::reshape(vector, channel_shape); };
  const auto average = [&](const Tensor& tensor) { return ops::mean(tensor, others, true); };

  const bool training = b.boolean(kTraining);
  Tensor mean, inverse;
  if (training) {
    mean = average(input);
    inverse = ops::reciprocal(ops::sqrt(average(ops::square(input - mean)) + b.real(kEpsilon)));
  } else {
    mean = per_channel(b.out(kMean));
    inverse = per_channel(b.out(kInverse));
  }
  const Tensor normal = (input - mean) * inverse;
  if (b.needs(kWeight)) b.set(kWeight, ops::sum(grad * normal, others));
  if (b.needs(kBias)) b.set(kBias, ops::sum(grad, others));
  if (!b.needs(kInput)) return;

  Tensor result = grad;
  if (training) result = grad - average(grad) - normal * average(grad * normal);
  result = result * inverse;
  if (b.is_tensor(kWeight)) result = result * per_channel(b.in(kWeight));
  const double count = static_cast<double>(input.numel()) / static_cast<double>(input.size(1));
  if (training && b.has_grad(kMean)) result = result + per_channel(b.grad(kMean)) / count;
  if (training && b.has_grad(kInverse)) {
    result = result - normal * ops::square(inverse) * per_channel(b.grad(kInverse)) / count;
  }
  b.set(kInput, result);
}

void batch_norm_gradient(Backward& b) {
  const bool recorded = thread_state().grad_mode;
  if (recorded || b.has_grad(kMean) || b.has_grad(kInverse)) {
    composed_gradient(b);
  } else {
    fused_gradient(b);
  }
}

const Derive derive_batch_norm{"batch_norm",
                               saves(kInput, kWeight) | saves_output(kMean) | saves_output(kInverse),
                               batch_norm_gradient};

Tensor softmax_gradient(Backward& b) { return ops::softmax_backward(b.grad(), b.out(), b.integer(1)); }
Tensor log_softmax_gradient(Backward& b) { return ops::log_softmax_backward(b.grad(), b.out(), b.integer(1)); }
Tensor sum_along(const Tensor& tensor, int64_t dim) { return ops::sum(tensor, IntSpan({dim}), true); }

const Derive derive_softmax{"softmax", {{0, saves_output(), softmax_gradient}}};
const Derive derive_log_softmax{"log_softmax", {{0, saves_output(), log_softmax_gradient}}};

// softmax_backward(grad, y, dim) = y * (grad - sum(grad * y)): the Jacobian of softmax is symmetric.
const Derive derive_softmax_backward{"softmax_backward", {
    {0, saves(1), [](Backward& b) { return ops::softmax_backward(b.grad(), b.in(1), b.integer(2)); }},
    {1, saves(0, 1), [](Backward& b) {
       const Tensor grad = b.in(0), y = b.in(1), outer = b.grad();
       const int64_t dim = b.integer(2);
       return outer * (grad - sum_along(grad * y, dim)) - grad * sum_along(outer * y, dim);
     }}}};
// log_softmax_backward(grad, y, dim) = grad - exp(y) * sum(grad).
const Derive derive_log_softmax_backward{"log_softmax_backward", {
    {0, saves(1), [](Backward& b) { return b.grad() - sum_along(b.grad() * ops::exp(b.in(1)), b.integer(2)); }},
    {1, saves(0, 1), [](Backward& b) {
       return ops::neg(b.grad() * ops::exp(b.in(1)) * sum_along(b.in(0), b.integer(2)));
     }}}};

}  // namespace
}  // namespace relume
