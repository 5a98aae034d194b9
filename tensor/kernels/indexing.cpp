#include "tensor/kernels/indexing.h"

#include <cstring>

#include "tensor/copy.h"
#include "tensor/kernels/views.h"

namespace relume {
namespace {

template <class T>
void copy_elements(char* target, const char* source, const int64_t* places, int64_t count) {
  T* to = reinterpret_cast<T*>(target);
  const T* from = reinterpret_cast<const T*>(source);
  for (int64_t i = 0; i < count; ++i) to[i] = from[places[i]];
}

// Calls `function(k)` for the position k of every element that is not 0.
template <class Function>
void for_each_nonzero(const Tensor& dense, Function function) {
  visit(dense.dtype(), [&](auto example) {
    using T = decltype(example);
    const T* from = dense.data_as<T>();
    for (int64_t k = 0; k < dense.numel(); ++k) {
      if (from[k] != T(0)) function(k);
    }
  });
}

}  // namespace

Tensor checked_index(const Tensor& index, int dim, int64_t size) {
  check<TypeError>(is_integer(index.dtype()), "an index tensor must hold integers, not ",
                   name(index.dtype()));
  Tensor result = contiguous_copy_if_needed(index);
  bool in_place = result.body() == index.body();  // still the caller's tensor
  if (result.dtype() != DType::int64) {
    const Tensor converted = empty(index.shape(), DType::int64);
    copy(converted, result);
    result = converted;
    in_place = false;
  }
  int64_t* places = result.data_as<int64_t>();
  int64_t lowest = 0;
  for (int64_t i = 0; i < result.numel(); ++i) {
    if (places[i] < -size || places[i] >= size) wrap_index(places[i], dim, size);  // throws
    lowest = std::min(lowest, places[i]);
  }
  if (lowest >= 0) return result;
  if (in_place) {
    const Tensor copied = empty(index.shape(), DType::int64);
    copy(copied, result);
    result = copied;
    places = result.data_as<int64_t>();
  }
  for (int64_t i = 0; i < result.numel(); ++i) {
    if (places[i] < 0) places[i] += size;
  }
  return result;
}

void copy_blocks(char* target, const char* source, const int64_t* places, int64_t count,
                 std::size_t block_bytes) {
  switch (block_bytes) {
    case 0: return;
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

std::vector<Tensor> nonzero_vectors(const Tensor& input) {
  const Tensor dense = contiguous_copy_if_needed(input);
  int64_t count = 0;
  for_each_nonzero(dense, [&](int64_t) { ++count; });
  std::vector<Tensor> vectors;
  std::vector<int64_t*> to;
  for (int i = 0; i < input.ndim(); ++i) {
    vectors.push_back(empty({count}, DType::int64));
    to.push_back(vectors.back().data_as<int64_t>());
  }
  for_each_nonzero(dense, [&](int64_t k) {
    for (int i = input.ndim() - 1; i >= 0; --i) {
      *to[i]++ = k % input.size(i);
      k /= input.size(i);
    }
  });
  return vectors;
}

}  // namespace relume
