// 2-D convolution (in the sense of neural networks: cross-correlation) and its two gradients,
// which are convolutions too and each other's derivatives.
#pragma once
#include "tensor/kernels/window.h"

namespace relume {

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

// Faster where it suits (direct_convolution.cpp).
bool suits_direct_convolution(const Convolution& shape);
template <class T>
void convolve_directly(const Convolution& shape, const T* input, const T* weight, const T* bias,
                       T* output);

}  // namespace relume
