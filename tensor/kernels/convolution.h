// 2-D convolution (in the sense of neural networks: cross-correlation) and its two gradients,
// which are convolutions too and each other's derivatives.
#pragma once
#include <utility>

#include "tensor/kernels/window.h"

namespace relume {

// How many parts of size `b` hold `a`; the last may be smaller.
inline int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Everything about a convolution but the numbers.
struct Convolution {
  int64_t batch = 1;
  int64_t groups = 1;
  int64_t in_channels = 0, out_channels = 0;  // of all groups together
  Pair input{}, output{};                     // height and width
  Window window{};

  int64_t group_inputs() const { return in_channels / groups; }
  int64_t group_outputs() const { return out_channels / groups; }
  int64_t input_pixels() const { return input.height * input.width; }
  int64_t output_pixels() const { return output.height * output.width; }
  int64_t taps() const { return window.kernel.height * window.kernel.width; }
  // Rows of the matrix of windows: the elements of one window of one group.
  int64_t window_elements() const { return group_inputs() * taps(); }
  // A 1x1 kernel that visits every pixel: the matrix of windows is the image itself.
  bool is_pointwise() const {
    return window.kernel == Pair{1, 1} && window.stride == Pair{1, 1} && window.padding == Pair{0, 0};
  }
};

// The kernels of a convolution: of output channel i and input channel j of a group, `taps` numbers
// side by side. The gradient with respect to the input is a convolution with the same numbers,
// seen with the channels exchanged and every kernel turned round.
template <class T>
struct ConvolutionWeight {
  const T* data;
  int64_t group_stride, output_stride, input_stride;
  bool turned;

  ConvolutionWeight(const Convolution& shape, const T* data)
      : data(data),
        group_stride(shape.group_outputs() * shape.window_elements()),
        output_stride(shape.window_elements()),
        input_stride(shape.taps()),
        turned(false) {}
  ConvolutionWeight adjoint() const {
    ConvolutionWeight result = *this;
    std::swap(result.output_stride, result.input_stride);
    result.turned = !turned;
    return result;
  }
  const T* kernel(int64_t group, int64_t output, int64_t input) const {
    return data + group * group_stride + output * output_stride + input * input_stride;
  }
};

// All arrays are contiguous: images (batch, channels, height, width), weight (out_channels,
// in_channels / groups, kernel height, kernel width), bias (out_channels) or null. For float
// and double.
template <class T>
void convolve_by_gemm(const Convolution& shape, const T* input, const T* weight, const T* bias,
                      T* output);
template <class T>
void input_gradient_by_gemm(const Convolution& shape, const T* grad_output, const T* weight,
                            T* grad_input);
template <class T>
void weight_gradient_by_gemm(const Convolution& shape, const T* grad_output, const T* input,
                             T* grad_weight);

// For groups of few channels (depthwise_convolution.cpp).
bool suits_depthwise(const Convolution& shape);
template <class T>
void convolve_depthwise(const Convolution& shape, const T* input, const T* weight, const T* bias,
                        T* output);
template <class T>
void input_gradient_depthwise(const Convolution& shape, const T* grad_output, const T* weight,
                              T* grad_input);
bool suits_depthwise_weight_gradient(const Convolution& shape);  // and for few inputs altogether
template <class T>
void weight_gradient_depthwise(const Convolution& shape, const T* grad_output, const T* input,
                               T* grad_weight);

// Faster where it suits (direct_convolution.cpp).
bool suits_direct_convolution(const Convolution& shape);
template <class T>
void convolve_directly(const Convolution& shape, const T* input, const ConvolutionWeight<T>& weight,
                       const T* bias, T* output);

}  // namespace relume
