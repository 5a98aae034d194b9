// The inner loops of batch normalisation over a run of elements of one channel, per
// instruction set (normalization.isa.cpp). Sums are accumulated in double.
#pragma once
#include <cstdint>

namespace relume {

template <class T>
struct NormalizationLoopsOf {
  double (*sum)(const T* values, int64_t count);
  double (*sum_of_squares)(const T* values, int64_t count, double mean);  // of value - mean
  double (*sum_of_products)(const T* grad, const T* values, int64_t count,
                            double mean);  // grad * (value - mean)
  // result = (value - mean) * scale + shift
  void (*normalize)(const T* values, int64_t count, double mean, double scale, double shift, T* result);
  // result = (grad - constant - (value - mean) * slope) * scale
  void (*input_gradient)(const T* grad, const T* values, int64_t count, double mean, double constant,
                         double slope, double scale, T* result);
};
struct NormalizationLoops {
  NormalizationLoopsOf<float> float32;
  NormalizationLoopsOf<double> float64;
};

}  // namespace relume
