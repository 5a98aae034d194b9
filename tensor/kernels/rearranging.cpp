// Ops that move elements between channels and pixels: views and one copy.
#include "tensor/kernels/window.h"
#include "tensor/ops.h"

namespace relume {
namespace {

// Leading dimensions, then channels, height, width.
void check_images(const Call& call) {
  check(call.tensor(0).ndim() >= 3, call.op.name(),
        ": input must have shape (..., channels, height, width), not ", call.tensor(0).shape());
}

// The input with its last three dimensions replaced by `parts` of them, permuted: `order` counts
// from the first of these parts.
Tensor rearranged(const Tensor& input, std::initializer_list<int64_t> parts, std::initializer_list<int> order,
                  std::initializer_list<int64_t> result) {
  const int leading = input.ndim() - 3;
  const std::vector<int64_t> start(input.shape().begin(), input.shape().begin() + leading);
  std::vector<int64_t> split = start, joined = start, places;
  split.insert(split.end(), parts);
  joined.insert(joined.end(), result);
  for (int i = 0; i < leading; i++) places.push_back(i);
  for (int part : order) places.push_back(leading + part);
  return ops::reshape(ops::permute(ops::reshape(input, split), places), joined);
}

void pixel_shuffle_cpu(Call& call) {
  check_images(call);
  const Tensor input = call.tensor(0);
  const int64_t factor = call.integer(1), ndim = input.ndim();
  check(factor >= 1 && factor <= (1 << 15), "pixel_shuffle: upscale_factor must be positive and at most ", 1 << 15,
        ", not ", factor);
  const int64_t channels = input.size(ndim - 3), height = input.size(ndim - 2), width = input.size(ndim - 1);
  check(channels % (factor * factor) == 0, "pixel_shuffle: ", channels,
        " channels cannot be split into squares of ", factor, " x ", factor);
  const int64_t kept = channels / (factor * factor);
  call.set_output(0, rearranged(input, {kept, factor, factor, height, width}, {0, 3, 1, 4, 2},
                                {kept, height * factor, width * factor}));
}

void pixel_unshuffle_cpu(Call& call) {
  check_images(call);
  const Tensor input = call.tensor(0);
  const int64_t factor = call.integer(1), ndim = input.ndim();
  check(factor >= 1 && factor <= (1 << 15), "pixel_unshuffle: downscale_factor must be positive and at most ", 1 << 15,
        ", not ", factor);
  const int64_t channels = input.size(ndim - 3), height = input.size(ndim - 2), width = input.size(ndim - 1);
  check(height % factor == 0 && width % factor == 0, "pixel_unshuffle: height and width must be multiples of ",
        factor, ", not ", IntSpan({height, width}));
  call.set_output(0, rearranged(input, {channels, height / factor, factor, width / factor, factor},
                                {0, 2, 4, 1, 3}, {channels * factor * factor, height / factor, width / factor}));
}

void channel_shuffle_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check(input.ndim() >= 2, "channel_shuffle: input must have shape (batch, channels, ...), not ", input.shape());
  const int64_t groups = call.integer(1), channels = input.size(1);
  check(groups >= 1, "channel_shuffle: groups must be positive, not ", groups);
  check(channels % groups == 0, "channel_shuffle: ", channels, " channels cannot be split into ", groups,
        " groups");
  std::vector<int64_t> split = input.shape().vector();
  split[1] = groups;
  split.insert(split.begin() + 2, channels / groups);
  call.set_output(0, ops::reshape(ops::transpose(ops::reshape(input, split), 1, 2), input.shape()));
}

const Register register_pixel_shuffle{
    "pixel_shuffle(Tensor input, int upscale_factor) -> Tensor",
    "Squares of channels become squares of pixels: (..., c * f * f, h, w) to (..., c, h * f, w * f).",
    {Trait::composite, Trait::no_method}, pixel_shuffle_cpu};
const Register register_pixel_unshuffle{
    "pixel_unshuffle(Tensor input, int downscale_factor) -> Tensor",
    "Squares of pixels become channels: (..., c, h * f, w * f) to (..., c * f * f, h, w).",
    {Trait::composite, Trait::no_method}, pixel_unshuffle_cpu};
const Register register_channel_shuffle{
    "channel_shuffle(Tensor input, int groups) -> Tensor",
    "The channels of (batch, channels, ...) in an order that mixes the groups: the first of each group, "
    "then the second of each, ...",
    {Trait::composite, Trait::no_method}, channel_shuffle_cpu};

}  // namespace
}  // namespace relume
