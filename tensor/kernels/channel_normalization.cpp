// Response normalisation across channels: A. Krizhevsky et al., "ImageNet classification with deep
// convolutional neural networks", 2012.
#include "tensor/kernels/window.h"
#include "tensor/ops.h"

namespace relume {
namespace {

// Means over neighbouring channels are average pooling of the channels as rows.
void local_response_norm_cpu(Call& call) {
  check_floating(call, 0);
  const Tensor input = call.tensor(0);
  const int64_t size = call.integer(1);
  check(input.ndim() >= 2, "local_response_norm: input must have shape (batch, channels, ...), not ", input.shape());
  check_setting(call, 1, size, 1);
  if (input.numel() == 0) return call.set_output(0, ops::clone(input));
  const int64_t batch = input.size(0), channels = input.size(1), pixels = input.numel() / batch / channels;
  const Tensor rows = ops::reshape(ops::square(input), IntSpan({batch, 1, channels, pixels}));
  // Half of an even size lies before a channel; there is one window too many then.
  const Tensor means =
      ops::narrow(ops::avg_pool2d(rows, IntSpan({size, 1}), IntSpan({1, 1}), IntSpan({size / 2, 0})), 2,
                  int64_t{0}, channels);
  const Tensor base = ops::reshape(means, input.shape()) * call.real(2) + call.real(4);
  call.set_output(0, input * ops::pow(base, -call.real(3)));
}

const Register register_local_response_norm{
    "local_response_norm(Tensor input, int size, float alpha=0.0001, float beta=0.75, float k=1.0) -> Tensor",
    "Every element divided by (k + alpha * the mean of squares over size neighbouring channels) ** beta, of "
    "(batch, channels, ...).",
    {Trait::composite, Trait::no_method}, local_response_norm_cpu};

}  // namespace
}  // namespace relume
