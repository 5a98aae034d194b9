// The convolution ops: arguments, checks and types; the work is in
// winograd_convolution.cpp, direct_convolution.cpp and convolution_by_gemm.cpp.
#include "tensor/kernels/convolution.h"

#include "tensor/buffer.h"
#include "tensor/copy.h"
#include "tensor/kernels/layer_types.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/winograd.h"
#include "tensor/ops.h"

namespace relume {
namespace {

// Where the settings stand in a schema; -1: has none.
struct Settings {
  int stride, padding, dilation, groups;
};

void read_settings(const Call& call, Settings at, Convolution& shape) {
  shape.window.stride = pair_argument(call, at.stride, 1);
  shape.window.padding = pair_argument(call, at.padding, 0);
  shape.window.dilation = pair_argument(call, at.dilation, 1);
  shape.groups = call.integer(at.groups);
  check_setting(call, at.groups, shape.groups, 1);
}

void read_weight(const Call& call, IntSpan weight, Convolution& shape) {
  check(
      weight.count == 4, call.op.name(),
      ": weight must have shape (out_channels, in_channels / groups, kernel height, kernel width), not ",
      weight);
  check(weight[2] >= 1 && weight[3] >= 1, call.op.name(), ": the kernel is empty, the weight has shape ",
        weight);
  check(weight[0] % shape.groups == 0, call.op.name(), ": ", weight[0],
        " output channels cannot be split into ", shape.groups, " groups");
  shape.out_channels = weight[0];
  shape.in_channels = weight[1] * shape.groups;
  shape.window.kernel = {weight[2], weight[3]};
}

void read_input(const Call& call, const Images& input, Convolution& shape) {
  check(input.channels == shape.in_channels, call.op.name(), ": the weight and ", shape.groups,
        " group(s) need an input of ", shape.in_channels, " channels, but it has ", input.channels);
  shape.batch = input.batch;
  shape.input = input.size;
  const Window& window = shape.window;
  const Pair padded{input.size.height + 2 * window.padding.height,
                    input.size.width + 2 * window.padding.width};
  const Pair extent = window.extent();
  check(padded.height >= extent.height && padded.width >= extent.width, call.op.name(),
        ": the kernel covers ", extent, " elements, more than the input with its padding, ", padded);
  shape.output = {(padded.height - extent.height) / window.stride.height + 1,
                  (padded.width - extent.width) / window.stride.width + 1};
}

Tensor dense(const Tensor& tensor, DType dtype) {
  return contiguous_copy_if_needed(as_type(tensor, dtype));
}

void check_bias(const Call& call, int argument, int64_t channels) {
  const Tensor bias = call.tensor(argument);
  check(bias.ndim() == 1 && bias.size(0) == channels, call.op.name(), ": bias must have shape (",
        channels, "), not ", bias.shape());
}

// Calls f(T{}) for the float or double that results of `dtype` are computed in.
template <class Function>
void visit_computing_type(DType dtype, const Function& function) {
  if (dtype == DType::float64) {
    function(double{});
  } else {
    function(float{});
  }
}

// Runs `compute` on memory of the computing type and converts when the result has another.
template <class Compute>
void compute_into(const Tensor& out, const Compute& compute) {
  const DType wide = computing_type(out.dtype());
  const Tensor target = out.dtype() == wide ? out : empty(out.shape(), wide);
  compute(target);
  if (out.dtype() != wide) copy(out, target);
}

DType layer_type(const Call& call) {
  check_floating(call, 0);
  check_layer_type(call, 1);
  check_layer_type(call, 2);
  return call.tensor(0).dtype();
}

DType result_type(const Call& call) {
  check_floating(call, 0);
  check_floating(call, 1);
  return promote(call.tensor(0).dtype(), call.tensor(1).dtype());
}

constexpr Settings kSettings{3, 4, 5, 6};  // of conv2d and of its gradients

// The convolutions that take a weight in any order; false when none suits.
template <class T>
bool convolve_fast(const Convolution& shape, const T* input, const ConvolutionWeight<T>& weight,
                   const T* bias, T* output) {
  if constexpr (std::is_same_v<T, float>) {
    if (suits_winograd(shape)) {
      convolve_by_winograd(shape, input, weight, bias, output);
      return true;
    }
  }
  if (!suits_direct_convolution(shape)) return false;
  convolve_directly<T>(shape, input, weight, bias, output);
  return true;
}

template <class T>
void convolve(const Convolution& shape, const T* input, const T* weight, const T* bias, T* output) {
  if (suits_depthwise(shape)) return convolve_depthwise(shape, input, weight, bias, output);
  if (convolve_fast<T>(shape, input, {shape, weight}, bias, output)) return;
  convolve_by_gemm<T>(shape, input, weight, bias, output);
}

void conv2d_cpu(Call& call) {
  const DType dtype = layer_type(call), wide = computing_type(dtype);
  const Images images(call, 0);
  Convolution shape;
  read_settings(call, kSettings, shape);
  read_weight(call, call.tensor(1).shape(), shape);
  read_input(call, images, shape);
  if (call.has(2)) check_bias(call, 2, shape.out_channels);
  const Tensor input = dense(call.tensor(0), wide), weight = dense(call.tensor(1), wide);
  const Tensor bias = call.has(2) ? dense(call.tensor(2), wide) : Tensor();
  compute_into(dense_output(call, 0, images.shape(shape.out_channels, shape.output), dtype),
               [&](const Tensor& out) {
                 visit_computing_type(dtype, [&](auto zero) {
                   using T = decltype(zero);
                   convolve(shape, input.data_as<const T>(), weight.data_as<const T>(),
                            bias.defined() ? bias.data_as<const T>() : nullptr, out.data_as<T>());
                 });
               });
}

// With stride 1 the gradient with respect to the input is a convolution itself: of the
// gradient of the output, with the kernels turned round and inputs and outputs exchanged.
bool has_adjoint(const Convolution& shape) {
  const Window& window = shape.window;
  const Pair extent = window.extent();
  return window.stride == Pair{1, 1} && window.padding.height < extent.height &&
         window.padding.width < extent.width;
}

Convolution adjoint(const Convolution& shape) {
  Convolution result = shape;
  std::swap(result.in_channels, result.out_channels);
  std::swap(result.input, result.output);
  const Pair extent = shape.window.extent(), padding = shape.window.padding;
  result.window.padding = {extent.height - 1 - padding.height, extent.width - 1 - padding.width};
  return result;
}

template <class T>
void input_gradient(const Convolution& shape, const T* grad_output, const T* weight, T* grad_input) {
  if (shape.output_pixels() == 0) {  // a transposed convolution of nothing
    std::fill_n(grad_input, shape.batch * shape.in_channels * shape.input_pixels(), T(0));
    return;
  }
  if (suits_depthwise(shape)) return input_gradient_depthwise(shape, grad_output, weight, grad_input);
  const ConvolutionWeight<T> turned = ConvolutionWeight<T>(shape, weight).adjoint();
  constexpr int64_t kFewPixels = 256;  // for which packing a turned weight does not pay
  const bool many_pixels = shape.batch * shape.output_pixels() > kFewPixels;
  if (many_pixels && has_adjoint(shape) &&
      convolve_fast<T>(adjoint(shape), grad_output, turned, nullptr, grad_input)) {
    return;
  }
  input_gradient_by_gemm(shape, grad_output, weight, grad_input);
}

template <class T>
void weight_gradient(const Convolution& shape, const T* grad_output, const T* input, T* grad_weight) {
  if (suits_depthwise_weight_gradient(shape)) return weight_gradient_depthwise(shape, grad_output, input, grad_weight);
  if constexpr (std::is_same_v<T, float>) {
    if (suits_winograd_weight_gradient(shape))
      return weight_gradient_by_winograd(shape, grad_output, input, grad_weight);
  }
  weight_gradient_by_gemm<T>(shape, grad_output, input, grad_weight);
}

void input_gradient_into(const Tensor& out, const Convolution& shape, const Tensor& grad_output,
                         const Tensor& weight) {
  compute_into(out, [&](const Tensor& target) {
    const Tensor grad = dense(grad_output, target.dtype()), factors = dense(weight, target.dtype());
    visit_computing_type(target.dtype(), [&](auto zero) {
      using T = decltype(zero);
      input_gradient(shape, grad.data_as<const T>(), factors.data_as<const T>(), target.data_as<T>());
    });
  });
}

void check_grad_output(const Call& call, const Images& grad, const Convolution& shape) {
  check(grad.batch == shape.batch && grad.channels == shape.out_channels && grad.size == shape.output,
        call.op.name(), ": grad_output has ", grad.batch, " images of ", grad.channels,
        " channels and size ", grad.size, ", but the convolution's output has ", shape.batch, " of ",
        shape.out_channels, " and ", shape.output);
}

void conv2d_input_gradient_cpu(Call& call) {
  const DType dtype = result_type(call);
  const IntSpan input_shape = call.integers(2);
  Convolution shape;
  read_settings(call, kSettings, shape);
  read_weight(call, call.tensor(1).shape(), shape);
  read_input(call, Images::of_shape_argument(call, 2), shape);
  check_grad_output(call, Images(call, 0), shape);
  input_gradient_into(dense_output(call, 0, input_shape, dtype), shape, call.tensor(0), call.tensor(1));
}

void conv2d_weight_gradient_cpu(Call& call) {
  const DType dtype = result_type(call);
  const IntSpan weight_shape = shape_argument(call, 2);
  Convolution shape;
  read_settings(call, kSettings, shape);
  read_weight(call, weight_shape, shape);
  read_input(call, Images(call, 1), shape);
  check_grad_output(call, Images(call, 0), shape);
  compute_into(dense_output(call, 0, weight_shape, dtype), [&](const Tensor& target) {
    const Tensor grad = dense(call.tensor(0), target.dtype()),
                 input = dense(call.tensor(1), target.dtype());
    visit_computing_type(target.dtype(), [&](auto zero) {
      using T = decltype(zero);
      weight_gradient(shape, grad.data_as<const T>(), input.data_as<const T>(), target.data_as<T>());
    });
  });
}

template <class T>
void add_channel_bias(const Tensor& out, const T* bias, int64_t channels, int64_t pixels) {
  T* target = out.data_as<T>();
  const int64_t planes = pixels == 0 ? 0 : out.numel() / pixels;
  for (int64_t plane = 0; plane < planes; plane++, target += pixels) {
    for (int64_t i = 0; i < pixels; i++) target[i] += bias[plane % channels];
  }
}

// A transposed convolution is the gradient of a convolution with respect to its input.
void conv_transpose2d_cpu(Call& call) {
  const DType dtype = layer_type(call);
  const Images images(call, 0);
  const Pair extra = pair_argument(call, 5, 0);
  Convolution shape;
  read_settings(call, {3, 4, 7, 6}, shape);
  read_weight(call, call.tensor(1).shape(), shape);
  check(images.channels == shape.out_channels, "conv_transpose2d: the weight of shape ",
        call.tensor(1).shape(), " needs an input of ", shape.out_channels, " channels, but it has ",
        images.channels);
  if (call.has(2)) check_bias(call, 2, shape.in_channels);
  const Window& window = shape.window;
  check(extra.height < window.stride.height && extra.width < window.stride.width,
        "conv_transpose2d: output_padding must be smaller than the stride ", window.stride, ", not ",
        extra);
  const Pair size{(images.size.height - 1) * window.stride.height - 2 * window.padding.height +
                      window.extent().height + extra.height,
                  (images.size.width - 1) * window.stride.width - 2 * window.padding.width +
                      window.extent().width + extra.width};
  check(size.height >= 1 && size.width >= 1, "conv_transpose2d: an input of size ", images.size,
        " gives an output of size ", size, ", which is empty");
  shape.batch = images.batch;
  shape.input = size;
  shape.output = images.size;
  const Tensor out = dense_output(call, 0, images.shape(shape.in_channels, size), dtype);
  compute_into(out, [&](const Tensor& target) {
    input_gradient_into(target, shape, call.tensor(0), call.tensor(1));
    if (!call.has(2)) return;
    const Tensor bias = dense(call.tensor(2), target.dtype());
    visit_computing_type(target.dtype(), [&](auto zero) {
      using T = decltype(zero);
      add_channel_bias(target, bias.data_as<const T>(), shape.in_channels, size.height * size.width);
    });
  });
}

// A convolution over rows of height 1.
void conv1d_cpu(Call& call) {
  const Tensor input = call.tensor(0), weight = call.tensor(1);
  check(input.ndim() == 2 || input.ndim() == 3,
        "conv1d: input must have shape (channels, length) or (batch, channels, length), not ",
        input.shape());
  check(weight.ndim() == 3,
        "conv1d: weight must have shape (out_channels, in_channels / groups, kernel), not ",
        weight.shape());
  int64_t settings[3];
  for (int i = 0; i < 3; i++) {
    const IntSpan given = call.integers(3 + i);
    check(given.count == 1, "conv1d: ", call.op.schema.arguments[3 + i].name,
          " must be one number, not ", given);
    settings[i] = given[0];
  }
  const Tensor out = ops::conv2d(ops::unsqueeze(input, -2), ops::unsqueeze(weight, -2), call.value(2),
                                 IntSpan({1, settings[0]}), IntSpan({0, settings[1]}),
                                 IntSpan({1, settings[2]}), call.integer(6));
  call.set_output(0, ops::squeeze(out, IntSpan({-2})));
}

const Register register_conv1d{
    "conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[1], int[] padding=[0], int[] "
    "dilation=[1], "
    "int groups=1) -> Tensor",
    "1-D convolution (cross-correlation) of (batch, channels, length) or (channels, length) with a "
    "weight of shape "
    "(out_channels, channels / groups, kernel).",
    {Trait::no_method},
    conv1d_cpu};
const Register register_conv2d{
    "conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[1, 1], int[] padding=[0, 0], "
    "int[] dilation=[1, 1], int groups=1) -> Tensor",
    "2-D convolution (cross-correlation) of (batch, channels, height, width) or (channels, height, "
    "width) with a "
    "weight of shape (out_channels, channels / groups, kernel height, kernel width).",
    {Trait::no_method},
    conv2d_cpu};
const Register register_conv2d_input_gradient{
    "conv2d_input_gradient(Tensor grad_output, Tensor weight, int[] input_shape, int[] stride, int[] "
    "padding, "
    "int[] dilation, int groups) -> Tensor",
    "Gradient of conv2d with respect to its input.",
    {Trait::internal},
    conv2d_input_gradient_cpu};
const Register register_conv2d_weight_gradient{
    "conv2d_weight_gradient(Tensor grad_output, Tensor input, int[] weight_shape, int[] stride, int[] "
    "padding, "
    "int[] dilation, int groups) -> Tensor",
    "Gradient of conv2d with respect to its weight.",
    {Trait::internal},
    conv2d_weight_gradient_cpu};
const Register register_conv_transpose2d{
    "conv_transpose2d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[1, 1], int[] "
    "padding=[0, 0], "
    "int[] output_padding=[0, 0], int groups=1, int[] dilation=[1, 1]) -> Tensor",
    "2-D transposed convolution (Torch7's full convolution) with a weight of shape "
    "(channels, out_channels / groups, kernel height, kernel width).",
    {Trait::no_method},
    conv_transpose2d_cpu};

}  // namespace
}  // namespace relume
