// The inner loops of pooling over rows of a plane, per instruction set (pooling.isa.cpp).
#pragma once
#include <cstdint>

namespace relume {

// Positions are as wide as the elements, so that one vector holds as many of both.
template <class T>
struct PositionOf {
  using type = int64_t;
};
template <>
struct PositionOf<float> {
  using type = int32_t;
};

// Windows side by side along a row: window i covers `kernel` elements from i * stride on,
// `dilation` apart.
struct RowWindows {
  int64_t count, kernel, stride, dilation;
};

template <class T>
struct MaxPoolingLoopsOf {
  using Position = typename PositionOf<T>::type;
  // best[i] = the larger of best[i] and row[i], which is at `place` + i; NaN is the largest.
  void (*keep_larger)(const T* row, int64_t count, Position place, T* best, Position* places);
  // The largest element of each window and its place: of equal ones the one of the first place.
  void (*largest)(const T* best, const Position* places, const RowWindows& windows, T* values,
                  Position* chosen);
  // The same for values alone.
  void (*keep_larger_value)(const T* row, int64_t count, T* best);
  void (*largest_value)(const T* best, const RowWindows& windows, T* values);
};

template <class T>
struct MeanPoolingLoopsOf {
  T (*total)(const T* values, int64_t count);
  void (*add)(const T* row, int64_t count, T* sums);
  void (*sum)(const T* row, const RowWindows& windows, T* sums);     // over each window
  void (*spread)(const T* shares, const RowWindows& windows, T* row);  // added to all of a window
};

struct PoolingLoops {
  MaxPoolingLoopsOf<float> max32;
  MaxPoolingLoopsOf<double> max64;
  MaxPoolingLoopsOf<int64_t> max_integer;
  MeanPoolingLoopsOf<float> mean32;
  MeanPoolingLoopsOf<double> mean64;
};

}  // namespace relume
