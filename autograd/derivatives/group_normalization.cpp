// The derivative of layer and group normalisation.
#include "autograd/replay.h"
#include "tensor/thread_state.h"

namespace relume {
namespace {

// normalize_rows(input, weight, bias, rows, groups, channels, eps) -> (output, mean, inverse deviation)
constexpr int kInput = 0, kWeight = 1, kBias = 2, kRows = 3, kGroups = 4, kChannels = 5, kEpsilon = 6;
constexpr int kMean = 1, kInverse = 2;
const OpFunction normalize_rows_backward{"normalize_rows_backward"};

Tensor weight_of(Backward& b) { return b.is_tensor(kWeight) ? b.in(kWeight) : Tensor(); }

void fused_gradient(Backward& b) {
  const Outputs gradients =
      normalize_rows_backward.all(b.grad(), b.in(kInput), weight_of(b), b.out(kMean), b.out(kInverse),
                                  b.integer(kRows), b.integer(kGroups), b.integer(kChannels));
  if (b.needs(kInput)) b.set(kInput, gradients[0]);
  for (int argument : {kWeight, kBias}) {
    if (b.needs(argument)) b.set(argument, ops::reshape(gradients[argument], b.shape(argument)));
  }
}

// The same in ops, on (samples, groups, channels, inner).
std::vector<Tensor> normalize_again(Backward& b, const std::vector<Tensor>& in) {
  const int64_t rows = b.integer(kRows), groups = b.integer(kGroups), channels = b.integer(kChannels);
  const int64_t numel = product(b.shape(kInput)), inner = numel > 0 ? numel / (rows * channels) : 0;
  const std::vector<int64_t> shape{rows / groups, groups, channels, inner}, per_row{rows};
  const auto average = [](const Tensor& tensor) { return ops::mean(tensor, IntSpan({2, 3}), true); };
  const auto along_channels = [&](const Tensor& tensor) { return ops::reshape(tensor, IntSpan({groups, channels, 1})); };

  const Tensor input = ops::reshape(in[kInput], shape), mean = average(input), distance = input - mean;
  const Tensor inverse = ops::reciprocal(ops::sqrt(average(ops::square(distance)) + b.real(kEpsilon)));
  Tensor result = distance * inverse;
  if (in[kWeight].defined()) result = result * along_channels(in[kWeight]);
  if (in[kBias].defined()) result = result + along_channels(in[kBias]);
  return {ops::reshape(result, b.shape(kInput)), ops::reshape(mean, per_row), ops::reshape(inverse, per_row)};
}

void normalize_gradients(Backward& b) {
  if (thread_state().grad_mode || b.has_grad(kMean) || b.has_grad(kInverse)) {
    replay_gradients(b, {kInput, kWeight, kBias}, normalize_again);
  } else {
    fused_gradient(b);
  }
}

const Derive derive_normalize_rows{
    "normalize_rows", saves(kInput, kWeight, kBias) | saves_output(kMean) | saves_output(kInverse), normalize_gradients};

}  // namespace
}  // namespace relume
