#include "tensor/kernels/group_normalization_loops.h"
#include "tensor/kernels/reduction_lanes.h"

namespace relume {
namespace RELUME_ISA {
namespace {

// How a term reads an array: a vector of neighbours, or one number.
struct ReadVector {
  template <class T>
  Vector<T> operator()(const T* from) const {
    return load(from);
  }
};
struct ReadNumber {
  template <class T>
  T operator()(const T* from) const {
    return *from;
  }
};

// Sums term(read, i) in lanes of T, which are added up in double before rounding errors can grow.
template <class T, class Term>
inline double sum_of(int64_t count, const Term& term) {
  constexpr int64_t kWidth = kLanes<T>, kStep = kVectors * kWidth, kChunk = 64 * kStep;
  double total = 0;
  for (int64_t i = 0; i < count;) {
    const int64_t end = count - i < kChunk ? count : i + kChunk;
    Vector<T> lanes[kVectors] = {};
    T rest = 0;
    for (; i + kStep <= end; i += kStep) {
      for (int v = 0; v < kVectors; v++) lanes[v] += term(ReadVector{}, i + v * kWidth);
    }
    for (; i + kWidth <= end; i += kWidth) lanes[0] += term(ReadVector{}, i);
    for (; i < end; i++) rest += term(ReadNumber{}, i);
    const Vector<T> sums = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    total += static_cast<double>(fold_lanes(sums, plus)) + static_cast<double>(rest);
  }
  return total;
}

template <class T>
double sum(const T* values, int64_t count) {
  return sum_of<T>(count, [=](auto read, int64_t i) { return read(values + i); });
}

template <class T>
double sum_of_squares(const T* values, int64_t count, T mean) {
  return sum_of<T>(count, [=](auto read, int64_t i) {
    const auto distance = read(values + i) - mean;
    return distance * distance;
  });
}

template <class T>
void gradient_sums(const T* grad, const T* values, const T* weight, int64_t count, T mean, double* sums) {
  if (weight) {
    sums[0] = sum_of<T>(count, [=](auto read, int64_t i) { return read(grad + i) * read(weight + i); });
    sums[1] = sum_of<T>(count, [=](auto read, int64_t i) {
      return read(grad + i) * read(weight + i) * (read(values + i) - mean);
    });
  } else {
    sums[0] = sum_of<T>(count, [=](auto read, int64_t i) { return read(grad + i); });
    sums[1] = sum_of<T>(count, [=](auto read, int64_t i) { return read(grad + i) * (read(values + i) - mean); });
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

// Adds those of `width` neighbouring columns.
template <int width, class T>
inline void add_column_gradients(const T* grad, const T* values, int64_t rows, int64_t length, const T* means,
                                 const T* inverses, double* weight_gradient, double* bias_gradient) {
  T weights[width] = {}, biases[width] = {};
  for (int64_t row = 0; row < rows; row++, grad += length, values += length) {
    const T mean = means[row], inverse = inverses[row];
    for (int i = 0; i < width; i++) {
      weights[i] += grad[i] * ((values[i] - mean) * inverse);
      biases[i] += grad[i];
    }
  }
  for (int i = 0; i < width; i++) {
    weight_gradient[i] += static_cast<double>(weights[i]);
    bias_gradient[i] += static_cast<double>(biases[i]);
  }
}

template <class T>
void add_parameter_gradients(const T* grad, const T* values, int64_t rows, int64_t length, const T* means,
                             const T* inverses, double* weight_gradient, double* bias_gradient) {
  constexpr int kWide = 32;
  int64_t i = 0;
  for (; i + kWide <= length; i += kWide) {
    add_column_gradients<kWide>(grad + i, values + i, rows, length, means, inverses, weight_gradient + i,
                                bias_gradient + i);
  }
  for (; i + 8 <= length; i += 8) {
    add_column_gradients<8>(grad + i, values + i, rows, length, means, inverses, weight_gradient + i,
                            bias_gradient + i);
  }
  for (; i < length; i++) {
    add_column_gradients<1>(grad + i, values + i, rows, length, means, inverses, weight_gradient + i,
                            bias_gradient + i);
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
