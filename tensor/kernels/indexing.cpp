#include "tensor/kernels/indexing.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "tensor/copy.h"
#include "tensor/kernels/views.h"
#include "tensor/parallel.h"

namespace relume {
namespace {

template <class T>
void copy_elements(char* target, const char* source, const int64_t* places, int64_t count) {
  T* to = reinterpret_cast<T*>(target);
  const T* from = reinterpret_cast<const T*>(source);
  for (int64_t i = 0; i < count; ++i) to[i] = from[places[i]];
}

constexpr int64_t kRow = 512;  // elements that are looked at in one go

constexpr int64_t kBytesPerThread = 1 << 18;  // below, a second thread gains nothing

void copy_blocks_serially(char* target, const char* source, const int64_t* places, int64_t count,
                          std::size_t block_bytes) {
  switch (block_bytes) {
    case 1: return copy_elements<uint8_t>(target, source, places, count);
    case 2: return copy_elements<uint16_t>(target, source, places, count);
    case 4: return copy_elements<uint32_t>(target, source, places, count);
    case 8: return copy_elements<uint64_t>(target, source, places, count);
    default:
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(target + i * block_bytes, source + places[i] * block_bytes, block_bytes);
      }
  }
}

// Calls `function(row index, k)` for the elements [row index.., k] of a row-major tensor
// that are not 0; the row index has one entry per dimension but the last.
template <class Function>
void for_each_nonzero(const Tensor& dense, Function function) {
  const int last = dense.ndim() - 1;
  const int64_t length = dense.size(last);
  visit_any(dense.dtype(), [&](auto example) {
    using T = decltype(example);
    const T* row = dense.data_as<T>();
    int64_t index[kMaxDims] = {};
    int64_t found[kRow];  // of a piece of a row; filled without branches
    for (int64_t left = dense.numel(); left > 0; left -= length, row += length) {
      for (int64_t first = 0; first < length; first += kRow) {
        const int64_t end = std::min(length, first + kRow);
        int64_t count = 0;
        for (int64_t k = first; k < end; ++k) {
          found[count] = k;
          count += row[k] != T(0);
        }
        for (int64_t k = 0; k < count; ++k) function(index, found[k]);
      }
      for (int d = last - 1; d >= 0 && ++index[d] == dense.size(d); --d) index[d] = 0;
    }
  });
}

int64_t count_nonzero(const Tensor& dense) {
  return visit_any(dense.dtype(), [&](auto example) {
    using T = decltype(example);
    const T* from = dense.data_as<T>();
    int64_t count = 0;
    for (int64_t i = 0; i < dense.numel(); ++i) count += from[i] != T(0);
    return count;
  });
}

}  // namespace

Tensor integer_index(const Tensor& index) {
  check<TypeError>(is_integer(index.dtype()), "an index tensor must hold integers, not ", name(index.dtype()));
  if (index.dtype() == DType::int64) return contiguous_copy_if_needed(index);
  const Tensor converted = empty(index.shape(), DType::int64);
  copy(converted, index);
  return converted;
}

Range range_of(const int64_t* places, int64_t count, int64_t size) {
  // By sign bits only, which every CPU can vectorise. First the usual case: 0 <= place <= size - 1.
  const uint64_t length = static_cast<uint64_t>(size);
  uint64_t signs = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t place = static_cast<uint64_t>(places[i]);
    signs |= place | (length - 1 - place);
  }
  if (static_cast<int64_t>(signs) >= 0) return Range::inside;
  signs = 0;
  for (int64_t i = 0; i < count; ++i) {  // 0 <= place + size <= 2 * size - 1
    const uint64_t shifted = static_cast<uint64_t>(places[i]) + length;
    signs |= shifted | (2 * length - 1 - shifted);
  }
  return static_cast<int64_t>(signs) >= 0 ? Range::some_negative : Range::outside;
}

void throw_bad_place(const Tensor& index, int dim, int64_t size) {
  const int64_t* places = index.data_as<int64_t>();
  for (int64_t i = 0; i < index.numel(); ++i) wrap_index(places[i], dim, size);  // throws at the first one
  throw IndexError("an index changed while it was read");
}

void check_places(const Tensor& index, int dim, int64_t size) {
  std::atomic<bool> good{true};
  const int64_t* places = index.data_as<int64_t>();
  parallel_for(0, index.numel(), kParallelGrain, [&](int64_t begin, int64_t end) {
    if (range_of(places + begin, end - begin, size) == Range::outside) good = false;
  });
  if (!good) throw_bad_place(index, dim, size);
}

void copy_blocks(char* target, const char* source, const int64_t* places, int64_t count,
                 std::size_t block_bytes) {
  if (block_bytes == 0) return;
  const int64_t grain = std::max<int64_t>(1, kBytesPerThread / static_cast<int64_t>(block_bytes));
  parallel_for(0, count, grain, [=](int64_t begin, int64_t end) {
    copy_blocks_serially(target + begin * block_bytes, source, places + begin, end - begin,
                         block_bytes);
  });
}

Tensor nonzero_positions(const Tensor& input) {
  const Tensor dense = contiguous_copy_if_needed(input);
  const int ndim = input.ndim();
  const Tensor positions = empty({count_nonzero(dense), ndim}, DType::int64);
  if (ndim == 0) return positions;
  int64_t* to = positions.data_as<int64_t>();
  for_each_nonzero(dense, [&](const int64_t* row, int64_t k) {
    for (int d = 0; d < ndim - 1; ++d) *to++ = row[d];
    *to++ = k;
  });
  return positions;
}

Tensor nonzero_places(const Tensor& mask, IntSpan strides) {
  const Tensor dense = contiguous_copy_if_needed(mask);
  const Tensor places = empty({count_nonzero(dense)}, DType::int64);
  const int last = mask.ndim() - 1;
  int64_t* to = places.data_as<int64_t>();
  for_each_nonzero(dense, [&](const int64_t* row, int64_t k) {
    int64_t place = k * strides[last];
    for (int d = 0; d < last; ++d) place += row[d] * strides[d];
    *to++ = place;
  });
  return places;
}

}  // namespace relume
