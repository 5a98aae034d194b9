// Derivatives of convolution over volumes, through those over images: the stacked frames are
// made again rather than kept, since they are as many times larger as the kernel is deep.
#include "tensor/kernels/convolution3d.h"

#include "autograd/derivative.h"

namespace relume {
namespace {

const OpFunction stack_frames{"stack_frames"}, unstack_frames{"unstack_frames"};

// conv3d(input, weight, bias, stride, padding, dilation, groups)
struct Settings {
  DepthAndPlane stride, padding, dilation;
  explicit Settings(Backward& b) : stride(b.integers(3)), padding(b.integers(4)), dilation(b.integers(5)) {}
};

std::vector<int64_t> batched_shape(IntSpan shape) {
  std::vector<int64_t> result = shape.vector();
  if (shape.count == 4) result.insert(result.begin(), 1);
  return result;
}

Tensor input_gradient(Backward& b) {
  const Settings set(b);
  const Tensor weight = b.in(1);
  const std::vector<int64_t> shape = batched_shape(b.shape(0));
  const Tensor grad = frames_of(batched(b.grad()));
  const int64_t kernel = weight.size(2);
  const Tensor stacked = ops::conv2d_input_gradient(
      grad, flat_weight(weight), IntSpan({grad.size(0), shape[1] * kernel, shape[3], shape[4]}),
      set.stride.in_plane(), set.padding.in_plane(), set.dilation.in_plane(), b.value(6));
  const Tensor volumes =
      unstack_frames(stacked, shape, kernel, set.stride.depth, set.padding.depth, set.dilation.depth);
  return b.shape(0).count == 5 ? volumes : ops::squeeze(volumes, IntSpan({0}));
}

Tensor weight_gradient(Backward& b) {
  const Settings set(b);
  const IntSpan shape = b.shape(1);
  const Tensor stacked =
      stack_frames(batched(b.in(0)), shape[2], set.stride.depth, set.padding.depth, set.dilation.depth);
  const Tensor flat = ops::conv2d_weight_gradient(
      frames_of(batched(b.grad())), stacked, IntSpan({shape[0], shape[1] * shape[2], shape[3], shape[4]}),
      set.stride.in_plane(), set.padding.in_plane(), set.dilation.in_plane(), b.value(6));
  return ops::reshape(flat, shape);
}

Tensor bias_gradient(Backward& b) { return ops::sum(batched(b.grad()), IntSpan({0, 2, 3, 4})); }

const Derive derive_conv3d{"conv3d", {
    {0, saves(1), input_gradient}, {1, saves(0), weight_gradient}, {2, saves_nothing, bias_gradient}}};

const Derive derive_stack_frames{"stack_frames", {
    {0, saves_nothing, [](Backward& b) {
       return unstack_frames(b.grad(), b.shape(0), b.value(1), b.value(2), b.value(3), b.value(4));
     }}}};
const Derive derive_unstack_frames{"unstack_frames", {
    {0, saves_nothing, [](Backward& b) {
       return stack_frames(b.grad(), b.value(2), b.value(3), b.value(4), b.value(5));
     }}}};

}  // namespace
}  // namespace relume
