// Pooling over windows. Along each of depth, height and width it is a table of ranges: where the
// windows lie. Sliding, adaptive and fractional pooling differ only in their tables.
#pragma once
#include <vector>

#include "tensor/kernels/volume.h"

namespace relume {

// The windows along one dimension: window i holds the elements first[i], first[i] + dilation,
// ... before last[i].
struct PoolingAxis {
  int64_t input = 1, windows = 1;
  int64_t dilation = 1;
  std::vector<int64_t> first, last;
  std::vector<int64_t> count;  // what a mean counts along this dimension

  // Of windows that slide: window i begins at i * stride - padding. kernel 0: they do not.
  int64_t kernel = 0, stride = 1, padding = 0;
  bool counts_padding = true;
  int64_t divisor = 0;  // instead of a count; 0: none

  int64_t output() const { return windows; }
  int64_t extent() const { return dilation * (kernel - 1) + 1; }
  bool slides() const { return kernel > 0; }
  // Elements of a row with its padding, so that every window lies inside.
  int64_t padded_length() const {
    return slides() ? std::max(padding + input, (output() - 1) * stride + extent()) : input;
  }
  void make_table();
};

struct PoolingWindows {
  PoolingAxis axis[3];

  Triple output() const { return {{axis[0].output(), axis[1].output(), axis[2].output()}}; }
  int64_t input_elements() const { return axis[0].input * axis[1].input * axis[2].input; }
  int64_t work() const;  // elements looked at, per plane
  // Tables are as long as the sides of the output: find memory for that first.
  void make_tables() {
    for (PoolingAxis& along : axis) along.make_table();
  }
};

// Where the settings of sliding windows stand in a schema; stride, padding follow the kernel.
// -1: there is no such argument.
struct PoolingSettings {
  int kernel, dilation, ceil_mode, count_include_pad, divisor_override;
};
// The windows without their tables.
PoolingWindows sliding_windows(const Call& call, const Volumes& volumes, const PoolingSettings& at);
// Windows that cut the input into `output` parts, nearly equal and overlapping where they must.
PoolingWindows adaptive_windows(const Triple& input, const Triple& output);

// The windows of each plane: the same for all, or some for each (with their tables).
struct WindowsOfPlanes {
  PoolingWindows* windows;
  bool differ = false;

  const PoolingWindows& of(int64_t plane) const { return windows[differ ? plane : 0]; }
};

// The largest element of every window into output 0 and, when `with_indices`, its flat index in
// its plane into output 1. Of equal ones the first; NaN is the largest.
void pool_largest(Call& call, const Volumes& volumes, const WindowsOfPlanes& windows, bool with_indices);
// The mean of every window into output 0.
void pool_mean(Call& call, const Volumes& volumes, PoolingWindows windows);
// Its adjoint: argument 0 divided over the windows, added up in output 0.
void spread_mean(Call& call, const Volumes& volumes, PoolingWindows windows);

}  // namespace relume
