#include "tensor/kernels/order_key.h"

#include <algorithm>

#include "tensor/parallel.h"

namespace relume {
namespace {

template <class Key>
void fill_keys(Key* keys, const void* elements, DType dtype, int64_t count) {
  visit(dtype, [&](auto example) {
    using T = decltype(example);
    if constexpr (std::is_same_v<decltype(order_key(example)), Key>) {
      const T* from = static_cast<const T*>(elements);
      parallel_for(0, count, 4 * kParallelGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) keys[i] = order_key(from[i]);
      });
    }
  });
}

template <class Key>
void unfill_keys(void* elements, const Key* keys, DType dtype, int64_t count) {
  visit(dtype, [&](auto example) {
    using T = decltype(example);
    if constexpr (std::is_same_v<decltype(order_key(example)), Key>) {
      T* to = static_cast<T*>(elements);
      for (int64_t i = 0; i < count; ++i) to[i] = from_order_key<T>(keys[i]);
    }
  });
}

// Least significant digit first; digits that all keys share are passed over.
template <class Key>
void radix_sort(std::vector<Key>& keys, std::vector<Key>& scratch) {
  constexpr int64_t kFrom = 1024;  // below, comparing is faster
  if (static_cast<int64_t>(keys.size()) < kFrom) return std::sort(keys.begin(), keys.end());
  constexpr int kBits = 8, kValues = 1 << kBits, kDigits = 8 * sizeof(Key) / kBits;
  int64_t counts[kDigits * kValues] = {};
  for (const Key key : keys) {
    for (int digit = 0; digit < kDigits; ++digit) {
      ++counts[digit * kValues + ((key >> (kBits * digit)) & (kValues - 1))];
    }
  }
  for (int digit = 0; digit < kDigits; ++digit) {
    int64_t* count = &counts[digit * kValues];
    const int shift = kBits * digit;
    if (count[(keys[0] >> shift) & (kValues - 1)] == static_cast<int64_t>(keys.size())) continue;
    int64_t start = 0;
    for (int value = 0; value < kValues; ++value) start += std::exchange(count[value], start);
    for (const Key key : keys) scratch[count[(key >> shift) & (kValues - 1)]++] = key;
    keys.swap(scratch);
  }
}

}  // namespace

void fill_order_keys(uint32_t* keys, const void* elements, DType dtype, int64_t count) {
  fill_keys(keys, elements, dtype, count);
}
void fill_order_keys(uint64_t* keys, const void* elements, DType dtype, int64_t count) {
  fill_keys(keys, elements, dtype, count);
}
void elements_from_keys(void* elements, const uint32_t* keys, DType dtype, int64_t count) {
  unfill_keys(elements, keys, dtype, count);
}
void elements_from_keys(void* elements, const uint64_t* keys, DType dtype, int64_t count) {
  unfill_keys(elements, keys, dtype, count);
}
void sort_keys(std::vector<uint32_t>& keys, std::vector<uint32_t>& scratch) { radix_sort(keys, scratch); }
void sort_keys(std::vector<uint64_t>& keys, std::vector<uint64_t>& scratch) { radix_sort(keys, scratch); }

}  // namespace relume
