// Derivatives of convolutions. conv2d and its two gradients are linear in each of their
// operands, and the derivative of any of the three is made of the other two.
#include "autograd/derivative.h"

namespace relume {
namespace {

// Positions of the settings, in conv2d and in its gradients alike.
constexpr int kStride = 3, kPadding = 4, kDilation = 5, kGroups = 6;

Tensor convolve(Backward& b, const Tensor& input, const Tensor& weight) {
  return ops::conv2d(input, weight, Value(), b.value(kStride), b.value(kPadding), b.value(kDilation), b.value(kGroups));
}
Tensor input_gradient(Backward& b, const Tensor& grad_output, const Tensor& weight, IntSpan input_shape) {
  return ops::conv2d_input_gradient(grad_output, weight, input_shape, b.value(kStride), b.value(kPadding),
                                    b.value(kDilation), b.value(kGroups));
}
Tensor weight_gradient(Backward& b, const Tensor& grad_output, const Tensor& input, IntSpan weight_shape) {
  return ops::conv2d_weight_gradient(grad_output, input, weight_shape, b.value(kStride), b.value(kPadding),
                                     b.value(kDilation), b.value(kGroups));
}

// Sums over everything but the channels of (batch, channels, ...) or (channels, ...), where
// `spatial` dimensions follow the channels.
Tensor bias_gradient(const Tensor& grad, int spatial) {
  std::vector<int64_t> dims;
  for (int i = 0; i < grad.ndim(); i++) {
    if (i != grad.ndim() - spatial - 1) dims.push_back(i);
  }
  return ops::sum(grad, dims);
}

const Derive derive_conv2d{"conv2d", {
    {0, saves(1), [](Backward& b) { return input_gradient(b, b.grad(), b.in(1), b.shape(0)); }},
    {1, saves(0), [](Backward& b) { return weight_gradient(b, b.grad(), b.in(0), b.shape(1)); }},
    {2, saves_nothing, [](Backward& b) { return bias_gradient(b.grad(), 2); }}}};
const Derive derive_input_gradient{"conv2d_input_gradient", {
    {0, saves(1), [](Backward& b) { return convolve(b, b.grad(), b.in(1)); }},
    {1, saves(0), [](Backward& b) { return weight_gradient(b, b.in(0), b.grad(), b.shape(1)); }}}};
const Derive derive_weight_gradient{"conv2d_weight_gradient", {
    {0, saves(1), [](Backward& b) { return convolve(b, b.in(1), b.grad()); }},
    {1, saves(0), [](Backward& b) { return input_gradient(b, b.in(0), b.grad(), b.shape(1)); }}}};

// conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation)
const Derive derive_conv_transpose2d{"conv_transpose2d", {
    {0, saves(1), [](Backward& b) {
       return ops::conv2d(b.grad(), b.in(1), Value(), b.value(3), b.value(4), b.value(7), b.value(6));
     }},
    {1, saves(0), [](Backward& b) {
       return ops::conv2d_weight_gradient(b.in(0), b.grad(), b.shape(1), b.value(3), b.value(4), b.value(7), b.value(6));
     }},
    {2, saves_nothing, [](Backward& b) { return bias_gradient(b.grad(), 2); }}}};

// conv1d is conv2d over rows of height 1.
struct RowSettings {
  int64_t stride[2], padding[2], dilation[2];
  explicit RowSettings(Backward& b)
      : stride{1, b.integers(kStride)[0]}, padding{0, b.integers(kPadding)[0]}, dilation{1, b.integers(kDilation)[0]} {}
};
std::vector<int64_t> with_height(IntSpan shape) {
  std::vector<int64_t> result = shape.vector();
  result.insert(result.end() - 1, 1);
  return result;
}
Tensor add_height(const Tensor& tensor) { return ops::unsqueeze(tensor, -2); }
Tensor drop_height(const Tensor& tensor) { return ops::squeeze(tensor, IntSpan({-2})); }

const Derive derive_conv1d{"conv1d", {
    {0, saves(1), [](Backward& b) {
       const RowSettings row(b);
       return drop_height(ops::conv2d_input_gradient(add_height(b.grad()), add_height(b.in(1)), with_height(b.shape(0)),
                                                     IntSpan(row.stride, 2), IntSpan(row.padding, 2),
                                                     IntSpan(row.dilation, 2), b.value(kGroups)));
     }},
    {1, saves(0), [](Backward& b) {
       const RowSettings row(b);
       return drop_height(ops::conv2d_weight_gradient(add_height(b.grad()), add_height(b.in(0)),
                                                      with_height(b.shape(1)), IntSpan(row.stride, 2),
                                                      IntSpan(row.padding, 2), IntSpan(row.dilation, 2),
                                                      b.value(kGroups)));
     }},
    {2, saves_nothing, [](Backward& b) { return bias_gradient(b.grad(), 1); }}}};

}  // namespace
}  // namespace relume
