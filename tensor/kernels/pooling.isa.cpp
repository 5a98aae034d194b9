#include "tensor/kernels/pooling_loops.h"

namespace relume {
namespace RELUME_ISA {
namespace {

// Calls f with the stride as a constant where that lets the compiler use vectors.
template <class Function>
inline void with_stride(int64_t stride, const Function& function) {
  struct One {
    static constexpr int64_t times(int64_t i) { return i; }
  };
  struct Two {
    static constexpr int64_t times(int64_t i) { return 2 * i; }
  };
  struct Any {
    int64_t stride;
    int64_t times(int64_t i) const { return stride * i; }
  };
  if (stride == 1) return function(One{});
  if (stride == 2) return function(Two{});
  function(Any{stride});
}

template <class T>
inline bool is_nan(T value) {
  return value != value;
}

template <class T>
void keep_larger(const T* row, int64_t count, typename PositionOf<T>::type place, T* best,
                 typename PositionOf<T>::type* places) {
  using Position = typename PositionOf<T>::type;
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) {
    const T value = row[i];
    const bool take = (value > best[i]) | is_nan(value);
    best[i] = take ? value : best[i];
    places[i] = take ? static_cast<Position>(place + static_cast<Position>(i)) : places[i];
  }
}

template <class T>
void largest(const T* best, const typename PositionOf<T>::type* places, const RowWindows& windows,
             T* values, typename PositionOf<T>::type* chosen) {
  using Position = typename PositionOf<T>::type;
  const int64_t count = windows.count;
  with_stride(windows.stride, [=](auto stride) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++) {
      values[i] = best[stride.times(i)];
      chosen[i] = places[stride.times(i)];
    }
    for (int64_t tap = 1; tap < windows.kernel; tap++) {
      const T* tap_best = best + tap * windows.dilation;
      const Position* tap_places = places + tap * windows.dilation;
#pragma GCC ivdep
      for (int64_t i = 0; i < count; i++) {
        const T value = tap_best[stride.times(i)], old = values[i];
        const Position place = tap_places[stride.times(i)], old_place = chosen[i];
        const bool take =
            (value > old) | ((value == old) & (place < old_place)) | (is_nan(value) & !is_nan(old));
        values[i] = take ? value : old;
        chosen[i] = take ? place : old_place;
      }
    }
  });
}

template <class T>
inline T larger(T value, T other) {
  return (other > value) | is_nan(other) ? other : value;
}

template <class T>
void keep_larger_value(const T* row, int64_t count, T* best) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) {
    best[i] = larger(best[i], row[i]);
  }
}

// Joins the elements of each window: all at once where there are few, so that a row is walked once.
template <class T, class Join>
void join_windows(const T* row, const RowWindows& windows, T* result, const Join& join) {
  const int64_t count = windows.count, gap = windows.dilation;
  with_stride(windows.stride, [=](auto stride) {
    if (windows.kernel == 2) {
#pragma GCC ivdep
      for (int64_t i = 0; i < count; i++) result[i] = join(row[stride.times(i)], row[stride.times(i) + gap]);
      return;
    }
    if (windows.kernel == 3) {
#pragma GCC ivdep
      for (int64_t i = 0; i < count; i++) {
        const T* first = row + stride.times(i);
        result[i] = join(join(first[0], first[gap]), first[2 * gap]);
      }
      return;
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++) result[i] = row[stride.times(i)];
    for (int64_t tap = 1; tap < windows.kernel; tap++) {
      const T* taps = row + tap * gap;
#pragma GCC ivdep
      for (int64_t i = 0; i < count; i++) result[i] = join(result[i], taps[stride.times(i)]);
    }
  });
}

template <class T>
void largest_value(const T* best, const RowWindows& windows, T* values) {
  join_windows(best, windows, values, [](T value, T other) { return larger(value, other); });
}

// In lanes that fit a vector.
template <class T>
T total(const T* values, int64_t count) {
  constexpr int64_t kLanes = 64 / sizeof(T);
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; lane++) lanes[lane] += values[i + lane];
  }
  T sum = 0;
  for (; i < count; i++) sum += values[i];
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t lane = 0; lane < half; lane++) lanes[lane] += lanes[lane + half];
  }
  return sum + lanes[0];
}

template <class T>
void add(const T* row, int64_t count, T* sums) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) sums[i] += row[i];
}

template <class T>
void sum(const T* row, const RowWindows& windows, T* sums) {
  join_windows(row, windows, sums, [](T value, T other) { return value + other; });
}

template <class T>
void spread(const T* shares, const RowWindows& windows, T* row) {
  const int64_t count = windows.count;
  with_stride(windows.stride, [=](auto stride) {
    for (int64_t tap = 0; tap < windows.kernel; tap++) {
      T* taps = row + tap * windows.dilation;
#pragma GCC ivdep
      for (int64_t i = 0; i < count; i++) taps[stride.times(i)] += shares[i];
    }
  });
}

template <class T>
constexpr MaxPoolingLoopsOf<T> kMax{keep_larger<T>, largest<T>, keep_larger_value<T>, largest_value<T>};
template <class T>
constexpr MeanPoolingLoopsOf<T> kMean{total<T>, add<T>, sum<T>, spread<T>};

}  // namespace

extern const PoolingLoops pooling_loops;
const PoolingLoops pooling_loops{kMax<float>, kMax<double>, kMax<int64_t>, kMean<float>, kMean<double>};

}  // namespace RELUME_ISA
}  // namespace relume
