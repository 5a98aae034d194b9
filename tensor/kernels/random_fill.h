// Filling a tensor with draws, one element after another.
#pragma once
#include <algorithm>
#include <mutex>

#include "tensor/copy.h"
#include "tensor/random.h"

namespace relume {

// Numbers are drawn as double and stored a block at a time, so that each distribution is
// compiled once and not once per type.
constexpr int64_t kRandomBlock = 512;

void store_drawn(const double* block, int64_t count, const Tensor& target, int64_t first);

// Sets element i of `target` to draw(generator, i), for i in row-major order.
template <class Draw>
void fill_with(const Tensor& target, Draw draw) {
  if (target.numel() == 0) return;
  if (!target.is_contiguous()) {
    Tensor drawn = empty(target.shape(), target.dtype());
    fill_with(drawn, draw);
    copy(target, drawn);
    return;
  }
  Generator& generator = current_generator();
  std::lock_guard<std::mutex> lock(generator.mutex());
  double block[kRandomBlock];
  for (int64_t first = 0; first < target.numel(); first += kRandomBlock) {
    int64_t count = std::min(kRandomBlock, target.numel() - first);
    for (int64_t i = 0; i < count; ++i) block[i] = draw(generator, first + i);
    store_drawn(block, count, target, first);
  }
}

}  // namespace relume
