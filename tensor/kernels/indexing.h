// What the indexing kernels share.
#pragma once
#include "tensor/dims.h"

namespace relume {

// An index tensor as row-major int64, not checked for range. Throws TypeError when it holds no integers.
Tensor integer_index(const Tensor& index);
// Where some places lie: all in [0, size), all in [-size, size), or some outside.
enum class Range { inside, some_negative, outside };
Range range_of(const int64_t* places, int64_t count, int64_t size);
// Throws IndexError naming the first place that lies outside of [-size, size).
void check_places(const Tensor& index, int dim, int64_t size);
[[noreturn]] void throw_bad_place(const Tensor& index, int dim, int64_t size);

// Copies block places[i] of `source` to block i of `target`, `count` times.
void copy_blocks(char* target, const char* source, const int64_t* places, int64_t count,
                 std::size_t block_bytes);

// Calls `function` with a type of the size of `dtype`: enough to move elements.
template <class Function>
void visit_size(DType dtype, Function&& function) {
  switch (item_size(dtype)) {
    case 1: return function(uint8_t{});
    case 2: return function(uint16_t{});
    case 4: return function(uint32_t{});
    case 8: return function(uint64_t{});
    default: return function(Complex128{});
  }
}

// The indices of the elements that are not 0, one row each, in row-major order.
Tensor nonzero_positions(const Tensor& input);
// Where those elements of a mask (of at least one dimension) lie in a tensor of the same
// shape with these strides.
Tensor nonzero_places(const Tensor& mask, IntSpan strides);

}  // namespace relume
