#include "tensor/kernels/group_normalization_loops.h"

namespace relume {
namespace RELUME_ISA {
namespace {

// Sums term(i): in lanes of T that fit vectors, which are added up in double before rounding
// errors can grow.
template <class T, class Term>
inline double sum_of(int64_t count, const Term& term) {
  constexpr int64_t kLanes = 32, kChunk = 64 * kLanes;
  double total = 0;
  int64_t i = 0;
  while (i + kLanes <= count) {
    T lanes[kLanes] = {};
    const int64_t end = count - i < kChunk ? count : i + kChunk;
    for (; i + kLanes <= end; i += kLanes) {
      for (int64_t lane = 0; lane < kLanes; lane++) lanes[lane] += term(i + lane);
    }
    for (T lane : lanes) total += static_cast<double>(lane);
  }
  for (; i < count; i++) total += static_cast<double>(term(i));
  return total;
}

template <class T>
double sum(const T* values, int64_t count) {
  return sum_of<T>(count, [=](int64_t i) { return values[i]; });
}

template <class T>
double sum_of_squares(const T* values, int64_t count, T mean) {
  return sum_of<T>(count, [=](int64_t i) { return (values[i] - mean) * (values[i] - mean); });
}

template <class T>
void gradient_sums(const T* grad, const T* values, const T* weight, int64_t count, T mean, double* sums) {
  if (weight) {
    sums[0] = sum_of<T>(count, [=](int64_t i) { return grad[i] * weight[i]; });
    sums[1] = sum_of<T>(count, [=](int64_t i) { return grad[i] * weight[i] * (values[i] - mean); });
  } else {
    sums[0] = sum_of<T>(count, [=](int64_t i) { return grad[i]; });
    sums[1] = sum_of<T>(count, [=](int64_t i) { return grad[i] * (values[i] - mean); });
  }
}

template <class T>
void normalize(const T* values, int64_t count, T mean, T inverse, const T* weight, const T* bias, T* result) {
  if (weight && bias) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++) result[i] = (values[i] - mean) * inverse * weight[i] + bias[i];
  } else if (weight) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++) result[i] = (values[i] - mean) * inverse * weight[i];
  } else if (bias) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++) result[i] = (values[i] - mean) * inverse + bias[i];
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++) result[i] = (values[i] - mean) * inverse;
  }
}

template <class T>
void scale_and_shift(const T* values, int64_t count, T mean, T scale, T shift, T* result) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) result[i] = (values[i] - mean) * scale + shift;
}

template <class T>
void input_gradient(const T* grad, const T* values, const T* weight, int64_t count, T mean, T factor, T constant,
                    T slope, T* result) {
  if (weight) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++)
      result[i] = grad[i] * weight[i] * factor - constant - (values[i] - mean) * slope;
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++) result[i] = grad[i] * factor - constant - (values[i] - mean) * slope;
  }
}

template <class T>
void add_parameter_gradients(const T* grad, const T* values, int64_t count, T mean, T inverse,
                             double* weight_gradient, double* bias_gradient) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) {
    weight_gradient[i] += static_cast<double>(grad[i] * ((values[i] - mean) * inverse));
    bias_gradient[i] += static_cast<double>(grad[i]);
  }
}

template <class T>
constexpr GroupNormalizationLoopsOf<T> kLoops{
    sum<T>, sum_of_squares<T>, gradient_sums<T>, normalize<T>, scale_and_shift<T>, input_gradient<T>,
    add_parameter_gradients<T>};

}  // namespace

extern const GroupNormalizationLoops group_normalization_loops;
const GroupNormalizationLoops group_normalization_loops{kLoops<float>, kLoops<double>};

}  // namespace RELUME_ISA
}  // namespace relume
