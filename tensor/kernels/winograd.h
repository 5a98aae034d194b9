// Winograd's minimal filtering for 3x3 kernels with stride 1: 4x4 outputs from 6x6 inputs by 36
// products instead of 144 (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks",
// 2015). Inputs, kernels and gradients are transformed, multiplied element by element of the
// 6x6 and summed over channels (or tiles) as matrix products, and transformed back.
//
// The interpolation points are 0, +-sqrt(1/2), +-sqrt(2) and infinity: in float32 the error is
// about twice that of a direct sum, where the usual 0, +-1, +-2 give four times.
#pragma once
#include <cstdint>

#include "tensor/kernels/convolution.h"

namespace relume {

constexpr int kWinogradOutput = 4;  // rows and columns of a tile of the output
constexpr int kWinogradInput = 6;   // and of the input under it
constexpr int kWinogradElements = kWinogradInput * kWinogradInput;

bool suits_winograd(const Convolution& shape);
// As convolve_directly, but the weight may be a view.
void convolve_by_winograd(const Convolution& shape, const float* input,
                          const ConvolutionWeight<float>& weight, const float* bias, float* output);
bool suits_winograd_weight_gradient(const Convolution& shape);
void weight_gradient_by_winograd(const Convolution& shape, const float* grad_output, const float* input,
                                 float* grad_weight);

}  // namespace relume
