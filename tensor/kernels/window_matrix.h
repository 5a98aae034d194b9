// The matrix of windows of a convolution: a column for every output pixel, a row for every element
// of the window of a group, channel by channel.
#pragma once
#include <algorithm>
#include <cstring>

#include "tensor/kernels/convolution.h"
#include "tensor/parallel.h"

namespace relume {

constexpr int64_t kProductPixels = 256;  // at least: shorter products are slow

// Calls f(row of the matrix, channel, input row start or -1, tap range along the width, band position)
// for every run of pixels that is contiguous in the matrix of windows.
template <class Run>
void for_each_run(const Convolution& shape, int64_t channel_begin, int64_t channel_end,
                  int64_t row_begin, int64_t row_end, const Run& run) {
  const Window& window = shape.window;
  for (int64_t channel = channel_begin; channel < channel_end; channel++) {
    for (int64_t y = 0; y < window.kernel.height; y++) {
      for (int64_t x = 0; x < window.kernel.width; x++) {
        const TapRange taps(x, window.dilation.width, window.padding.width, window.stride.width,
                            shape.input.width, shape.output.width);
        const int64_t matrix_row = (channel * window.kernel.height + y) * window.kernel.width + x;
        for (int64_t row = row_begin; row < row_end; row++) {
          const int64_t input_row =
              row * window.stride.height - window.padding.height + y * window.dilation.height;
          const bool inside = input_row >= 0 && input_row < shape.input.height;
          const int64_t pixel =
              (channel * shape.input.height + input_row) * shape.input.width + taps.start;
          run(matrix_row, row - row_begin, inside, pixel, taps);
        }
      }
    }
  }
}

// columns[element of window][pixel of band] of one group of one image; rows are `pitch` apart.
template <class T>
void gather_windows(const Convolution& shape, const T* image, int64_t row_begin, int64_t row_end,
                    T* columns, int64_t pitch) {
  const int64_t width = shape.output.width, stride = shape.window.stride.width;
  const int64_t band = (row_end - row_begin) * width;
  const int64_t grain = std::max<int64_t>(1, kParallelGrain / (shape.taps() * band));
  parallel_for(0, shape.group_inputs(), grain, [&](int64_t begin, int64_t end) {
    for_each_run(
        shape, begin, end, row_begin, row_end,
        [&](int64_t matrix_row, int64_t line, bool inside, int64_t pixel, const TapRange& taps) {
          T* target = columns + matrix_row * pitch + line * width;
          const int64_t first = inside ? taps.first : width, last = inside ? taps.last : width;
          std::fill(target, target + first, T(0));
          const T* source = image + pixel;
          if (stride == 1) {
            if (last > first) std::memcpy(target + first, source + first, (last - first) * sizeof(T));
          } else {
            for (int64_t i = first; i < last; i++) target[i] = source[i * stride];
          }
          std::fill(target + last, target + width, T(0));
        });
  });
}

// Adds the columns back to where gather_windows took them from.
template <class T>
void scatter_windows(const Convolution& shape, const T* columns, int64_t row_begin, int64_t row_end,
                     T* image, int64_t pitch) {
  const int64_t width = shape.output.width, stride = shape.window.stride.width;
  const int64_t band = (row_end - row_begin) * width;
  const int64_t grain = std::max<int64_t>(1, kParallelGrain / (shape.taps() * band));
  parallel_for(0, shape.group_inputs(), grain, [&](int64_t begin, int64_t end) {
    for_each_run(
        shape, begin, end, row_begin, row_end,
        [&](int64_t matrix_row, int64_t line, bool inside, int64_t pixel, const TapRange& taps) {
          if (!inside) return;
          const T* source = columns + matrix_row * pitch + line * width;
          T* target = image + pixel;
          for (int64_t i = taps.first; i < taps.last; i++) target[i * stride] += source[i];
        });
  });
}

}  // namespace relume
