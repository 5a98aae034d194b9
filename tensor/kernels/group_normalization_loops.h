// The inner loops of layer and group normalisation, per instruction set
// (group_normalization.isa.cpp). A row is what one mean and one variance are taken of.
#pragma once
#include <cstdint>

namespace relume {

template <class T>
struct GroupNormalizationLoopsOf {
  double (*sum)(const T* values, int64_t count);
  double (*sum_of_squares)(const T* values, int64_t count, T mean);  // of value - mean
  // sums[0] = sum of grad * weight, sums[1] = sum of grad * weight * (value - mean)
  void (*gradient_sums)(const T* grad, const T* values, const T* weight, int64_t count, T mean, double* sums);
  // result = (value - mean) * inverse * weight + bias; weight and bias may be null.
  void (*normalize)(const T* values, int64_t count, T mean, T inverse, const T* weight, const T* bias, T* result);
  // result = (value - mean) * scale + shift
  void (*scale_and_shift)(const T* values, int64_t count, T mean, T scale, T shift, T* result);
  // result = grad * weight * factor - constant - (value - mean) * slope; weight may be null.
  void (*input_gradient)(const T* grad, const T* values, const T* weight, int64_t count, T mean, T factor,
                         T constant, T slope, T* result);
  // weight_gradient += grad * (value - mean) * inverse, bias_gradient += grad: summed over a few rows
  // with one mean and one inverse each, for each of their `length` columns.
  void (*add_parameter_gradients)(const T* grad, const T* values, int64_t rows, int64_t length, const T* means,
                                  const T* inverses, double* weight_gradient, double* bias_gradient);
};
struct GroupNormalizationLoops {
  GroupNormalizationLoopsOf<float> float32;
  GroupNormalizationLoopsOf<double> float64;
};

}  // namespace relume
