// The inner loops of resampling over rows, per instruction set (resampling.isa.cpp).
#pragma once
#include <cstdint>

namespace relume {

// A row made of another: result[i] = sum over t of weights[t * count + i] * row[places[t * count + i]].
template <class T>
struct ResamplingLoopsOf {
  void (*gather)(const T* row, const int32_t* places, const T* weights, int64_t taps, int64_t count,
                 T* result);
  void (*set_scaled)(const T* row, int64_t count, T factor, T* result);  // result = factor * row
  void (*add_scaled)(const T* row, int64_t count, T factor, T* result);  // result += factor * row
};
struct ResamplingLoops {
  ResamplingLoopsOf<float> float32;
  ResamplingLoopsOf<double> float64;
};

}  // namespace relume
