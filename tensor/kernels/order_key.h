// Numbers as unsigned keys that order as they do: NaN above everything, both zeros equal.
#pragma once
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensor/convert.h"
#include "tensor/tensor.h"

namespace relume {

template <std::size_t size>
using Unsigned = std::conditional_t<size <= 4, uint32_t, uint64_t>;

template <class T>
auto order_key(T value) {
  if constexpr (is_half_type<T>) {
    return order_key(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    using Key = Unsigned<sizeof(T)>;
    const T positive_zero = value + T(0);  // -0 and 0 are equal
    Key bits;
    std::memcpy(&bits, &positive_zero, sizeof bits);
    const Key sign = Key(1) << (8 * sizeof(Key) - 1);
    const Key key = bits & sign ? static_cast<Key>(~bits) : static_cast<Key>(bits | sign);
    return value != value ? std::numeric_limits<Key>::max() : key;
  } else {
    using Key = Unsigned<sizeof(T)>;
    const Key lowest = static_cast<Key>(static_cast<int64_t>(std::numeric_limits<T>::min()));
    return static_cast<Key>(static_cast<Key>(value) - lowest);
  }
}

// The number that a key stands for; a NaN is any NaN.
template <class T, class Key>
T from_order_key(Key key) {
  if constexpr (is_half_type<T>) {
    return static_cast<T>(from_order_key<float>(key));
  } else if constexpr (std::is_floating_point_v<T>) {
    if (key == std::numeric_limits<Key>::max()) return std::numeric_limits<T>::quiet_NaN();
    const Key sign = Key(1) << (8 * sizeof(Key) - 1);
    const Key bits = key & sign ? static_cast<Key>(key ^ sign) : static_cast<Key>(~key);
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  } else {
    const Key lowest = static_cast<Key>(static_cast<int64_t>(std::numeric_limits<T>::min()));
    return static_cast<T>(static_cast<Key>(key + lowest));
  }
}

// Types of at most four bytes have keys of 32 bits, the others of 64. Calls `function(Key{})`.
template <class Function>
decltype(auto) visit_key(DType dtype, const Function& function) {
  return item_size(dtype) <= 4 ? function(uint32_t{}) : function(uint64_t{});
}

// The keys of `count` elements that lie one after the other.
void fill_order_keys(uint32_t* keys, const void* elements, DType dtype, int64_t count);
void fill_order_keys(uint64_t* keys, const void* elements, DType dtype, int64_t count);
// And back.
void elements_from_keys(void* elements, const uint32_t* keys, DType dtype, int64_t count);
void elements_from_keys(void* elements, const uint64_t* keys, DType dtype, int64_t count);

// Sorts keys; `scratch` is of the same size.
void sort_keys(std::vector<uint32_t>& keys, std::vector<uint32_t>& scratch);
void sort_keys(std::vector<uint64_t>& keys, std::vector<uint64_t>& scratch);

// The key of rank `k` of `count`; `candidates` is memory to work in, of room for as many.
uint32_t select_key(const uint32_t* keys, int64_t count, int64_t k, std::vector<uint32_t>& candidates);
uint64_t select_key(const uint64_t* keys, int64_t count, int64_t k, std::vector<uint64_t>& candidates);

// Writes the positions of keys in their order, equal ones by their positions. `words` and
// `scratch` are memory to work in, of room for as many.
void order_positions(const uint32_t* keys, int64_t count, int64_t* positions, std::vector<uint64_t>& words, std::vector<uint64_t>& scratch);
void order_positions(const uint64_t* keys, int64_t count, int64_t* positions, std::vector<uint64_t>& words, std::vector<uint64_t>& scratch);

}  // namespace relume
