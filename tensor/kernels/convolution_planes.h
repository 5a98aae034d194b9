// The input of a convolution in planes: with its padding, and with a stride every channel becomes
// `stride` planes of every stride-th pixel in each direction ("phases"), so that the elements that
// neighbouring windows need for one tap always lie side by side.
#pragma once
#include <algorithm>
#include <cstring>
#include <vector>

#include "tensor/kernels/convolution.h"

namespace relume {

// The planes of one channel.
struct Phases {
  Pair count;  // one per step of the stride, in each direction
  int64_t rows, pitch;
  int64_t plane;                  // elements from plane to plane
  std::vector<int64_t> offsets;   // of every tap, within a channel
  std::vector<bool> used;         // by some tap
  std::vector<TapRange> columns;  // of the input, for every phase of the columns

  explicit Phases(const Convolution& shape) {
    const Window& window = shape.window;
    count = window.stride;
    rows = shape.output.height + (window.extent().height - 1) / count.height;
    pitch = shape.output.width + (window.extent().width - 1) / count.width;
    // An odd number of cache lines, so that planes do not compete for the same ones.
    constexpr int64_t kLine = 16;
    plane = ((rows * pitch + kLine - 1) / kLine | 1) * kLine;
    used.resize(count.height * count.width);
    for (int64_t y = 0; y < window.kernel.height; y++) {
      for (int64_t x = 0; x < window.kernel.width; x++) {
        const int64_t row = y * window.dilation.height, column = x * window.dilation.width;
        const int64_t phase = row % count.height * count.width + column % count.width;
        used[phase] = true;
        offsets.push_back(phase * plane + row / count.height * pitch + column / count.width);
      }
    }
    for (int64_t phase = 0; phase < count.width; phase++)
      columns.emplace_back(phase, 1, window.padding.width, count.width, shape.input.width, pitch);
  }
  int64_t total() const { return count.height * count.width; }
  int64_t channel() const { return total() * plane; }
};

// The first `kBlock` and the last of `count` elements, which may overlap.
template <int kBlock, class T>
void copy_ends(const T* source, int64_t count, T* target) {
  std::memcpy(target, source, kBlock * sizeof(T));
  std::memcpy(target + count - kBlock, source + count - kBlock, kBlock * sizeof(T));
}

// Every `step`-th of `count` elements.
template <int kStep, class T>
void copy_row(const T* source, int64_t step, int64_t count, T* target) {
  // A call costs more than short rows, and so does finding out how to copy them.
  if (kStep == 1 && count >= 4 && count <= 32) {
    return count <= 8 ? copy_ends<4>(source, count, target)
           : count <= 16 ? copy_ends<8>(source, count, target)
                         : copy_ends<16>(source, count, target);
  }
  for (int64_t i = 0; i < count; i++) target[i] = source[i * (kStep ? kStep : step)];
}

// Copies one channel of one image into its planes; into memory of zeros, only what is inside.
template <bool kIntoZeros = false, class T>
void spread(const Convolution& shape, const Phases& phases, const T* image, T* planes) {
  const Window& window = shape.window;
  const int64_t step = window.stride.width;
  const auto copy = step == 1 ? copy_row<1, T> : step == 2 ? copy_row<2, T> : copy_row<0, T>;
  for (int64_t phase = 0; phase < phases.total(); phase++) {
    if (!phases.used[phase]) continue;
    const TapRange& columns = phases.columns[phase % phases.count.width];
    int64_t y = phase / phases.count.width - window.padding.height;
    T* target = planes + phase * phases.plane;
    for (int64_t row = 0; row < phases.rows; row++, y += window.stride.height, target += phases.pitch) {
      if (y < 0 || y >= shape.input.height) {
        if (!kIntoZeros) std::fill_n(target, phases.pitch, T(0));
        continue;
      }
      if (!kIntoZeros) std::fill(target, target + columns.first, T(0));
      copy(image + y * shape.input.width + columns.start + columns.first * step, step,
           columns.last - columns.first, target + columns.first);
      if (!kIntoZeros) std::fill(target + columns.last, target + phases.pitch, T(0));
    }
  }
}

}  // namespace relume
