// The inner loops of Winograd's convolution, per instruction set (winograd.isa.cpp). Tiles lie
// side by side in groups of `columns`; kernels in panels of `rows`, as for matrix products.
#pragma once
#include <cstdint>

namespace relume {

struct WinogradLoops {
  int rows, columns;

  // `count` kernels of 9 numbers, `stride` apart, become 36 times `rows` numbers (zeros beyond
  // `count`). A turned kernel is read backwards.
  void (*transform_weight)(const float* kernels, int64_t stride, int count, bool turned, float* target,
                           int64_t element_stride);
  // A group of tiles of 6x6 inputs, each from `offsets[i]` on; rows lie `pitch` apart.
  void (*transform_input)(const float* pixels, const int64_t* offsets, int64_t pitch, float* target,
                          int64_t element_stride);
  // The same of tiles of 4x4 gradients of the output.
  void (*transform_gradient)(const float* pixels, const int64_t* offsets, int64_t pitch, float* target,
                             int64_t element_stride);
  // A panel of kernels times groups of tiles, `depth` channels each: `rows` rows of the target.
  void (*multiply)(const float* panel, const float* tiles, int64_t groups, int64_t depth, int row_count,
                   float* target, int64_t row_stride);
  // A group of products becomes as many 4x4 tiles, one behind the other.
  void (*transform_output)(const float* products, int64_t element_stride, float bias, float* tiles);
  // Products of `count` kernels side by side become the gradients of the kernels.
  void (*transform_weight_gradient)(const float* products, int64_t element_stride, int64_t count,
                                    float* kernels);
};

}  // namespace relume
