// The inner loops of depthwise convolution, per instruction set (depthwise.isa.cpp). They may
// read a vector's length beyond the planes.
#pragma once
#include <cstdint>

namespace relume {

// The taps of one channel: where they lie in the planes, from an output's pixel on.
struct Taps {
  const int64_t* offsets;
  int64_t count;
};

template <class T>
struct DepthwiseLoopsOf {
  int width;  // of a vector
  // output[row][i] = bias + sum over taps of weight[tap] * planes[row * pitch + offset + i]
  void (*filter)(const T* planes, int64_t pitch, Taps taps, const T* weight, T bias, int64_t rows,
                 int64_t columns, T* output, int64_t output_pitch);
  // The same backward: to the sum over pixels of grad[row][i] * planes[row * pitch + offset + i], of
  // which `sums` holds `width` parts for each tap, is added.
  void (*correlate)(const T* planes, int64_t pitch, Taps taps, const T* grad, int64_t rows,
                    int64_t columns, T* sums);
};
struct DepthwiseLoops {
  DepthwiseLoopsOf<float> float32;
  DepthwiseLoopsOf<double> float64;
};

}  // namespace relume
