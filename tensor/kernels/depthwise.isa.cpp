#include "tensor/kernels/depthwise_loops.h"
#include "tensor/kernels/gemm_tile.h"

namespace relume {
namespace RELUME_ISA {
namespace {

template <class T>
using Lanes = typename Vector<T>::type;

template <class T>
inline Lanes<T> load(const T* source) {
  return *reinterpret_cast<const Lanes<T>*>(source);
}
template <class T>
inline void store(T* target, Lanes<T> value) {
  *reinterpret_cast<Lanes<T>*>(target) = value;
}

// The number of taps, where the compiler knows it; 0 where it does not.
template <class T, int kKnown>
void filter_taps(const T* planes, int64_t pitch, Taps taps, const T* weight, T bias, int64_t rows,
                 int64_t columns, T* output, int64_t output_pitch) {
  constexpr int kWidth = Vector<T>::width;
  const int64_t count = kKnown ? kKnown : taps.count;
  const auto sum_at = [&](const T* place) __attribute__((always_inline)) {
    Lanes<T> sum = bias - Lanes<T>{};
#pragma GCC unroll 9
    for (int64_t tap = 0; tap < count; tap++) sum += weight[tap] * load(place + taps.offsets[tap]);
    return sum;
  };
  for (int64_t row = 0; row < rows; row++, planes += pitch, output += output_pitch) {
    int64_t i = 0;
    for (; i + kWidth <= columns; i += kWidth) store(output + i, sum_at(planes + i));
    if (i == columns) continue;
    if (columns >= kWidth) {
      store(output + columns - kWidth, sum_at(planes + columns - kWidth));
      continue;
    }
    const Lanes<T> sum = sum_at(planes);
    if (output_pitch == columns && (rows - row) * columns >= kWidth) {
      store(output, sum);  // what goes too far, the next row overwrites
      continue;
    }
    T rest[kWidth];
    store(rest, sum);
    for (i = 0; i < columns; i++) output[i] = rest[i];
  }
}

template <class T>
void filter(const T* planes, int64_t pitch, Taps taps, const T* weight, T bias, int64_t rows,
            int64_t columns, T* output, int64_t output_pitch) {
  const auto function = taps.count == 9   ? filter_taps<T, 9>
                        : taps.count == 4 ? filter_taps<T, 4>
                        : taps.count == 2 ? filter_taps<T, 2>
                        : taps.count == 1 ? filter_taps<T, 1>
                                          : filter_taps<T, 0>;
  function(planes, pitch, taps, weight, bias, rows, columns, output, output_pitch);
}

// Up to kAtOnce taps share the reading of the gradient.
constexpr int kAtOnce = 9;

template <class T, int kCount>
void correlate_taps(const T* planes, int64_t pitch, const int64_t* offsets, const T* grad, int64_t rows,
                    int64_t columns, T* sums) {
  constexpr int kWidth = Vector<T>::width;
  Lanes<T> sum[kCount], lane{};
  for (int tap = 0; tap < kCount; tap++) sum[tap] = load(sums + tap * kWidth);
  for (int i = 0; i < kWidth; i++) lane[i] = static_cast<T>(i);
  for (int64_t row = 0; row < rows; row++, planes += pitch, grad += columns) {
    int64_t i = 0;
    for (; i + kWidth <= columns; i += kWidth) {
      const Lanes<T> factor = load(grad + i);
#pragma GCC unroll 9
      for (int tap = 0; tap < kCount; tap++) sum[tap] += factor * load(planes + i + offsets[tap]);
    }
    if (i == columns) continue;
    Lanes<T> factor;
    if ((rows - row) * columns >= i + kWidth) {
      factor = load(grad + i);  // and some of the next row
    } else {
      T rest[kWidth] = {};
      for (int64_t k = i; k < columns; k++) rest[k - i] = grad[k];
      factor = load(rest);
    }
    const auto inside = lane < static_cast<T>(columns - i);  // beyond may lie infinity
#pragma GCC unroll 9
    for (int tap = 0; tap < kCount; tap++)
      sum[tap] += inside ? factor * load(planes + i + offsets[tap]) : Lanes<T>{};
  }
  for (int tap = 0; tap < kCount; tap++) store(sums + tap * kWidth, sum[tap]);
}

template <class T>
void correlate(const T* planes, int64_t pitch, Taps taps, const T* grad, int64_t rows, int64_t columns,
               T* sums) {
  constexpr int kWidth = Vector<T>::width;
  int64_t first = 0;
  for (; first + kAtOnce <= taps.count; first += kAtOnce)
    correlate_taps<T, kAtOnce>(planes, pitch, taps.offsets + first, grad, rows, columns, sums + first * kWidth);
  for (; first < taps.count; first++)
    correlate_taps<T, 1>(planes, pitch, taps.offsets + first, grad, rows, columns, sums + first * kWidth);
}

}  // namespace

extern const DepthwiseLoops depthwise_loops;
const DepthwiseLoops depthwise_loops{{Vector<float>::width, filter<float>, correlate<float>},
                                     {Vector<double>::width, filter<double>, correlate<double>}};

}  // namespace RELUME_ISA
}  // namespace relume
