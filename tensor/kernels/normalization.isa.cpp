#include "tensor/kernels/normalization_loops.h"

namespace relume {
namespace RELUME_ISA {
namespace {

// Sums term(i) in lanes that fit vectors.
template <class Term>
inline double sum_of(int64_t count, const Term& term) {
  constexpr int64_t kLanes = 16;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; lane++) lanes[lane] += term(i + lane);
  }
  double total = 0;
  for (; i < count; i++) total += term(i);
  for (double lane : lanes) total += lane;
  return total;
}

template <class T>
double sum(const T* values, int64_t count) {
  return sum_of(count, [=](int64_t i) { return static_cast<double>(values[i]); });
}

template <class T>
double sum_of_squares(const T* values, int64_t count, double mean) {
  return sum_of(count, [=](int64_t i) {
    const double distance = static_cast<double>(values[i]) - mean;
    return distance * distance;
  });
}

template <class T>
double sum_of_products(const T* grad, const T* values, int64_t count, double mean) {
  return sum_of(count, [=](int64_t i) {
    return static_cast<double>(grad[i]) * (static_cast<double>(values[i]) - mean);
  });
}

template <class T>
void normalize(const T* values, int64_t count, double mean, double scale, double shift, T* result) {
  const T middle = static_cast<T>(mean), factor = static_cast<T>(scale), added = static_cast<T>(shift);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) result[i] = (values[i] - middle) * factor + added;
}

template <class T>
void input_gradient(const T* grad, const T* values, int64_t count, double mean, double constant,
                    double slope, double scale, T* result) {
  const T middle = static_cast<T>(mean), level = static_cast<T>(constant),
          steepness = static_cast<T>(slope), factor = static_cast<T>(scale);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++)
    result[i] = (grad[i] - level - (values[i] - middle) * steepness) * factor;
}

template <class T>
constexpr NormalizationLoopsOf<T> kLoops{sum<T>, sum_of_squares<T>, sum_of_products<T>, normalize<T>,
                                         input_gradient<T>};

}  // namespace

extern const NormalizationLoops normalization_loops;
const NormalizationLoops normalization_loops{kLoops<float>, kLoops<double>};

}  // namespace RELUME_ISA
}  // namespace relume
