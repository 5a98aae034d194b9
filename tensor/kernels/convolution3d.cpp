// Convolution over volumes. The frames under a kernel are stacked to one image with more
// channels, so that convolution over images does the work.
#include "tensor/kernels/convolution3d.h"

#include <cstring>

#include "tensor/copy.h"
#include "tensor/kernels/volume.h"

namespace relume {

Tensor frames_of(const Tensor& volumes) {
  const Tensor moved = ops::transpose(volumes, 1, 2);
  return ops::reshape(moved, IntSpan({moved.size(0) * moved.size(1), moved.size(2), moved.size(3), moved.size(4)}));
}

Tensor volumes_of(const Tensor& frames, int64_t batch, int64_t depth) {
  const Tensor moved =
      ops::reshape(frames, IntSpan({batch, depth, frames.size(1), frames.size(2), frames.size(3)}));
  return ops::contiguous(ops::transpose(moved, 1, 2));
}

Tensor flat_weight(const Tensor& weight) {
  return ops::reshape(weight, IntSpan({weight.size(0), weight.size(1) * weight.size(2), weight.size(3),
                                       weight.size(4)}));
}

Tensor batched(const Tensor& volumes) { return volumes.ndim() == 5 ? volumes : ops::unsqueeze(volumes, 0); }

namespace {

const OpFunction stack_frames{"stack_frames"}, unstack_frames{"unstack_frames"},
    conv_transpose2d{"conv_transpose2d"};

// How the windows of a kernel step over the frames of (batch, channels, depth, height, width).
struct FrameWindows {
  int64_t kernel, stride, padding, dilation;
  int64_t batch, channels, depth, pixels;
  int64_t steps;

  // The four settings stand from argument `at` on.
  FrameWindows(const Call& call, int at, IntSpan shape)
      : kernel(call.integer(at)),
        stride(call.integer(at + 1)),
        padding(call.integer(at + 2)),
        dilation(call.integer(at + 3)) {
    const int64_t smallest[] = {1, 1, 0, 1};
    for (int i = 0; i < 4; i++) check_setting(call, at + i, call.integer(at + i), smallest[i]);
    check(shape.count == 5, call.op.name(),
          ": volumes must have shape (batch, channels, depth, height, width), not ", shape);
    batch = shape[0];
    channels = shape[1];
    depth = shape[2];
    pixels = shape[3] * shape[4];
    const int64_t extent = dilation * (kernel - 1) + 1, padded = depth + 2 * padding;
    check(padded >= extent, call.op.name(), ": the kernel covers ", extent,
          " frames, more than the input with its padding, ", padded);
    steps = (padded - extent) / stride + 1;
  }

  // Calls f(frame of the volume or -1, its place in the stack) for the stacked frames of one channel.
  template <class Function>
  void for_each_frame(int64_t plane, const Function& function) const {
    const int64_t sample = plane / channels, channel = plane % channels;
    for (int64_t step = 0; step < steps; step++) {
      for (int64_t tap = 0; tap < kernel; tap++) {
        const int64_t frame = step * stride - padding + tap * dilation;
        const int64_t place = ((sample * steps + step) * channels + channel) * kernel + tap;
        function(frame >= 0 && frame < depth ? plane * depth + frame : -1, place);
      }
    }
  }
};

// Work on bytes: frames are copied, whatever their type.
void stack_frames_cpu(Call& call) {
  const Tensor input = contiguous_copy_if_needed(call.tensor(0));
  const FrameWindows windows(call, 1, input.shape());
  const Tensor out =
      dense_output(call, 0,
                   IntSpan({windows.batch * windows.steps, windows.channels * windows.kernel, input.size(3),
                            input.size(4)}),
                   input.dtype());
  if (out.numel() == 0) return;
  const int64_t bytes = windows.pixels * static_cast<int64_t>(item_size(input.dtype()));
  const char* source = input.data_as<const char>();
  char* target = out.data_as<char>();
  for_planes(windows.batch * windows.channels, windows.steps * windows.kernel * windows.pixels,
             [&](int64_t plane) {
               windows.for_each_frame(plane, [&](int64_t frame, int64_t place) {
                 if (frame < 0) {
                   std::memset(target + place * bytes, 0, bytes);
                 } else {
                   std::memcpy(target + place * bytes, source + frame * bytes, bytes);
                 }
               });
             });
}

void unstack_frames_cpu(Call& call) {
  const IntSpan shape = shape_argument(call, 1);
  const FrameWindows windows(call, 2, shape);
  const Dims expected(IntSpan({windows.batch * windows.steps, windows.channels * windows.kernel, shape[3], shape[4]}));
  check(call.tensor(0).shape() == IntSpan(expected), "unstack_frames: input has shape ",
        call.tensor(0).shape(), ", but the stacked frames have ", IntSpan(expected));
  compute_floating(call, shape, [&](const Tensor& input, const Tensor& out, auto zero) {
    using T = decltype(zero);
    const int64_t pixels = windows.pixels;
    if (out.numel() == 0) return;
    for_planes(windows.batch * windows.channels, windows.steps * windows.kernel * pixels, [&](int64_t plane) {
      std::fill_n(out.data_as<T>() + plane * windows.depth * pixels, windows.depth * pixels, T(0));
      windows.for_each_frame(plane, [&](int64_t frame, int64_t place) {
        if (frame < 0) return;
        const T* source = input.data_as<const T>() + place * pixels;
        T* target = out.data_as<T>() + frame * pixels;
        for (int64_t i = 0; i < pixels; i++) target[i] += source[i];
      });
    });
  });
}

void check_volume_weight(const Call& call, const char* form) {
  const IntSpan weight = call.tensor(1).shape();
  check(weight.count == 5, call.op.name(), ": weight must have shape (", form,
        ", kernel depth, kernel height, kernel width), not ", weight);
  check(weight[2] >= 1, call.op.name(), ": the kernel is empty, the weight has shape ", weight);
}

// An int[] setting that conv2d will check for height and width.
DepthAndPlane setting_argument(const Call& call, int argument, int64_t smallest) {
  triple_argument(call, argument, 3, smallest, 1);  // checks
  return DepthAndPlane(call.integers(argument));
}

// A kernel of one element that visits all: volumes are images of another shape.
Tensor convolve_pointwise(const Call& call, const Volumes& volumes, int64_t groups) {
  const int64_t depth = volumes.size[0], pixels = volumes.size[1] * volumes.size[2];
  const Tensor images = ops::reshape(call.tensor(0), IntSpan({volumes.batch, volumes.channels, depth, pixels}));
  const int64_t one = 1, zero = 0;
  const Tensor out = ops::conv2d(images, flat_weight(call.tensor(1)), call.value(2), IntSpan(&one, 1),
                                 IntSpan(&zero, 1), IntSpan(&one, 1), groups);
  return ops::reshape(out, IntSpan(volumes.shape(out.size(1), volumes.size)));
}

void conv3d_cpu(Call& call) {
  check_floating(call, 0);
  check_floating(call, 1);
  const Volumes volumes(call, 0, 3);
  check_volume_weight(call, "out_channels, in_channels / groups");
  const DepthAndPlane stride = setting_argument(call, 3, 1), padding = setting_argument(call, 4, 0),
                      dilation = setting_argument(call, 5, 1);
  const Tensor input = call.tensor(0), weight = call.tensor(1);
  const int64_t groups = call.integer(6);
  check_setting(call, 6, groups, 1);
  check(volumes.channels == weight.size(1) * groups, "conv3d: the weight and ", groups,
        " group(s) need an input of ", weight.size(1) * groups, " channels, but it has ", volumes.channels);
  const bool is_pointwise = IntSpan(weight.shape().values + 2, 3) == IntSpan({1, 1, 1}) &&
                            triple_argument(call, 3, 3, 1, 1) == Triple{} &&
                            triple_argument(call, 4, 3, 0, 0) == Triple{{0, 0, 0}};
  if (is_pointwise) return call.set_output(0, convolve_pointwise(call, volumes, groups));
  const Tensor stacked = stack_frames(batched(input), weight.size(2), stride.depth, padding.depth, dilation.depth);
  const Tensor frames = ops::conv2d(stacked, flat_weight(weight), call.value(2), stride.in_plane(),
                                    padding.in_plane(), dilation.in_plane(), groups);
  const int64_t extent = dilation.depth * (weight.size(2) - 1) + 1;
  const Tensor out = volumes_of(
      frames, volumes.batch, (volumes.size[0] + 2 * padding.depth - extent) / stride.depth + 1);
  call.set_output(0, volumes.batched ? out : ops::squeeze(out, IntSpan({0})));
}

// A transposed convolution of every frame, whose results are added where frames overlap.
void conv_transpose3d_cpu(Call& call) {
  for (int argument : {0, 1}) {
    if (!is_complex(call.body(argument)->dtype)) check_floating(call, argument);
  }
  const Volumes volumes(call, 0, 3);
  check_volume_weight(call, "in_channels, out_channels / groups");
  const DepthAndPlane stride = setting_argument(call, 3, 1), padding = setting_argument(call, 4, 0),
                      extra = setting_argument(call, 5, 0), dilation = setting_argument(call, 7, 1);
  const Tensor input = call.tensor(0), weight = call.tensor(1);
  const int64_t groups = call.integer(6);
  check_setting(call, 6, groups, 1);
  check(volumes.channels == weight.size(0), "conv_transpose3d: the weight of shape ", weight.shape(),
        " needs an input of ", weight.size(0), " channels, but it has ", volumes.channels);
  check(extra.depth < stride.depth, "conv_transpose3d: output_padding must be smaller than the stride ",
        call.integers(3), ", not ", call.integers(5));
  const int64_t channels = weight.size(1) * groups;
  const int64_t depth = (volumes.size[0] - 1) * stride.depth - 2 * padding.depth +
                        dilation.depth * (weight.size(2) - 1) + 1 + extra.depth;
  check(depth >= 1, "conv_transpose3d: an input of size ", own_part(volumes.size, 3),
        " gives an output of depth ", depth, ", which is empty");
  const Tensor frames = conv_transpose2d(frames_of(batched(input)), flat_weight(weight), Value(),
                                         stride.in_plane(), padding.in_plane(), extra.in_plane(), groups,
                                         dilation.in_plane());
  Tensor out = unstack_frames(frames, IntSpan({volumes.batch, channels, depth, frames.size(2), frames.size(3)}),
                              weight.size(2), stride.depth, padding.depth, dilation.depth);
  if (call.has(2)) {
    const Tensor bias = call.tensor(2);
    check(bias.ndim() == 1 && bias.size(0) == channels, "conv_transpose3d: bias must have shape (",
          channels, "), not ", bias.shape());
    out = out + ops::reshape(bias, IntSpan({channels, 1, 1, 1}));
  }
  call.set_output(0, volumes.batched ? out : ops::squeeze(out, IntSpan({0})));
}

// Over rows of height 1.
void conv_transpose1d_cpu(Call& call) {
  const Volumes rows(call, 0, 1);
  const Tensor input = call.tensor(0), weight = call.tensor(1);
  check(weight.ndim() == 3,
        "conv_transpose1d: weight must have shape (in_channels, out_channels / groups, kernel), not ",
        weight.shape());
  int64_t settings[4][2];
  const int at[] = {3, 4, 5, 7};
  for (int i = 0; i < 4; i++) {
    const bool counts_from_one = at[i] == 3 || at[i] == 7;
    settings[i][0] = counts_from_one ? 1 : 0;
    settings[i][1] = triple_argument(call, at[i], 1, counts_from_one ? 1 : 0, 1)[2];
  }
  const Tensor out = conv_transpose2d(ops::unsqueeze(input, -2), ops::unsqueeze(weight, -2), call.value(2),
                                      IntSpan(settings[0], 2), IntSpan(settings[1], 2),
                                      IntSpan(settings[2], 2), call.integer(6), IntSpan(settings[3], 2));
  call.set_output(0, ops::squeeze(out, IntSpan({-2})));
}

const Register register_stack_frames{
    "stack_frames(Tensor input, int kernel, int stride, int padding, int dilation) -> Tensor",
    "Images (batch * steps, channels * kernel, height, width): the frames of a volume under every "
    "window, side by side as channels.",
    {Trait::internal}, stack_frames_cpu};
const Register register_unstack_frames{
    "unstack_frames(Tensor input, int[] shape, int kernel, int stride, int padding, int dilation) -> Tensor",
    "Volumes of a shape, in which all stacked frames are added where they came from.",
    {Trait::internal}, unstack_frames_cpu};
const Register register_conv3d{
    "conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[1, 1, 1], int[] padding=[0, 0, "
    "0], int[] dilation=[1, 1, 1], int groups=1) -> Tensor",
    "3-D convolution (cross-correlation) of (batch, channels, depth, height, width) or (channels, depth, "
    "height, width) with a weight of shape (out_channels, channels / groups, kernel depth, kernel height, "
    "kernel width).",
    {Trait::no_method}, conv3d_cpu};
const Register register_conv_transpose3d{
    "conv_transpose3d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[1, 1, 1], int[] "
    "padding=[0, 0, 0], int[] output_padding=[0, 0, 0], int groups=1, int[] dilation=[1, 1, 1]) -> Tensor",
    "3-D transposed convolution with a weight of shape (channels, out_channels / groups, kernel depth, "
    "kernel height, kernel width).",
    {Trait::composite, Trait::no_method}, conv_transpose3d_cpu};
const Register register_conv_transpose1d{
    "conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[1], int[] "
    "padding=[0], int[] output_padding=[0], int groups=1, int[] dilation=[1]) -> Tensor",
    "1-D transposed convolution with a weight of shape (channels, out_channels / groups, kernel).",
    {Trait::composite, Trait::no_method}, conv_transpose1d_cpu};

}  // namespace
}  // namespace relume
