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

int bit_length(uint64_t number) { return number == 0 ? 0 : 64 - __builtin_clzll(number); }

// Sorts by the bits [first, last) of each item, the lowest ones first: items that agree in them
// keep their order. Digits that all items share are passed over.
template <class Item>
void radix_sort(std::vector<Item>& items, std::vector<Item>& scratch, int first, int last) {
  constexpr int kMaxBits = 11, kMaxDigits = 8;
  const int64_t size = static_cast<int64_t>(items.size());
  const int bits = size < 100000 ? 8 : kMaxBits;
  const int digits = (last - first + bits - 1) / bits;
  const Item mask = (Item{1} << bits) - 1;
  int64_t counts[kMaxDigits << kMaxBits];
  for (int done = 0; done < digits; done += kMaxDigits) {
    const int here = std::min(kMaxDigits, digits - done);
    std::fill_n(counts, int64_t{here} << bits, 0);
    for (const Item item : items) {
      for (int digit = 0; digit < here; ++digit) {
        ++counts[(digit << bits) + ((item >> (first + bits * (done + digit))) & mask)];
      }
    }
    for (int digit = 0; digit < here; ++digit) {
      int64_t* count = counts + (digit << bits);
      const int shift = first + bits * (done + digit);
      if (count[(items[0] >> shift) & mask] == size) continue;
      int64_t start = 0;
      for (Item value = 0; value <= mask; ++value) start += std::exchange(count[value], start);
      for (const Item item : items) scratch[count[(item >> shift) & mask]++] = item;
      items.swap(scratch);
    }
  }
}

constexpr int64_t kSelectByComparing = 4096;  // keys

// The digits of many keys are counted from the highest one in which any differ down, which
// leaves fewer and fewer candidates.
template <class Key>
Key select(const Key* keys, int64_t count, int64_t k, std::vector<Key>& candidates) {
  constexpr int kBits = 12, kValues = 1 << kBits;
  const Key* from = keys;
  int64_t counts[kValues];
  int shift = -kBits;
  if (count > kSelectByComparing) {
    Key differing = 0;
    for (int64_t i = 1; i < count; ++i) differing |= keys[i] ^ keys[0];
    shift = bit_length(differing) - kBits;
  }
  for (; count > kSelectByComparing && shift > -kBits; shift -= kBits) {
    const int down = std::max(shift, 0);
    std::fill_n(counts, kValues, 0);
    for (int64_t i = 0; i < count; ++i) ++counts[(from[i] >> down) & (kValues - 1)];
    Key digit = 0;
    for (; k >= counts[digit]; ++digit) k -= counts[digit];
    if (counts[digit] == count) continue;
    if (from == keys) candidates.resize(counts[digit]);  // else they only become fewer
    int64_t kept = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (((from[i] >> down) & (kValues - 1)) == digit) candidates[kept++] = from[i];
    }
    from = candidates.data();
    count = kept;
  }
  if (from == keys) candidates.assign(keys, keys + count);
  std::nth_element(candidates.begin(), candidates.begin() + k, candidates.begin() + count);
  return candidates[k];
}

constexpr int64_t kRadixFrom = 80;  // below, comparing is faster
constexpr int kMaxKeyBits = 32;     // of a key that are sorted by; ties are settled afterwards

// A word holds the leading bits of a key above the position that it came from.
template <class Key>
void order(const Key* keys, int64_t count, int64_t* positions, std::vector<uint64_t>& words,
           std::vector<uint64_t>& scratch) {
  if (count == 0) return;
  Key low = keys[0], high = keys[0];
  for (int64_t i = 1; i < count; ++i) {
    low = std::min(low, keys[i]);
    high = std::max(high, keys[i]);
  }
  const int position_bits = bit_length(static_cast<uint64_t>(count - 1));
  const int key_bits = bit_length(high - low);
  const int sorted_bits = std::min({key_bits, kMaxKeyBits, 64 - position_bits});
  const int dropped = key_bits - sorted_bits;
  words.resize(count);
  for (int64_t i = 0; i < count; ++i) {
    words[i] = static_cast<uint64_t>((keys[i] - low) >> dropped) << position_bits | static_cast<uint64_t>(i);
  }
  if (count < kRadixFrom) {
    std::sort(words.begin(), words.end());
  } else {
    scratch.resize(count);
    radix_sort(words, scratch, position_bits, position_bits + sorted_bits);
  }
  const uint64_t position_mask = (uint64_t{1} << position_bits) - 1;
  for (int64_t i = 0; i < count; ++i) positions[i] = static_cast<int64_t>(words[i] & position_mask);
  if (dropped == 0) return;
  for (int64_t begin = 0, end; begin < count; begin = end) {
    bool differ = false;
    const uint64_t leading = words[begin] >> position_bits;
    for (end = begin + 1; end < count && words[end] >> position_bits == leading; ++end) {
      differ |= keys[positions[end]] != keys[positions[begin]];
    }
    if (!differ) continue;
    std::sort(positions + begin, positions + end, [&](int64_t a, int64_t b) {
      return keys[a] != keys[b] ? keys[a] < keys[b] : a < b;
    });
  }
}

template <class Key>
void sort_all(std::vector<Key>& keys, std::vector<Key>& scratch) {
  if (static_cast<int64_t>(keys.size()) < 8 * kRadixFrom) return std::sort(keys.begin(), keys.end());
  Key differing = 0;
  for (const Key key : keys) differing |= key ^ keys[0];
  radix_sort(keys, scratch, 0, bit_length(differing));
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
void sort_keys(std::vector<uint32_t>& keys, std::vector<uint32_t>& scratch) { sort_all(keys, scratch); }
void sort_keys(std::vector<uint64_t>& keys, std::vector<uint64_t>& scratch) { sort_all(keys, scratch); }

uint32_t select_key(const uint32_t* keys, int64_t count, int64_t k, std::vector<uint32_t>& candidates) {
  return select(keys, count, k, candidates);
}
uint64_t select_key(const uint64_t* keys, int64_t count, int64_t k, std::vector<uint64_t>& candidates) {
  return select(keys, count, k, candidates);
}
void order_positions(const uint32_t* keys, int64_t count, int64_t* positions, std::vector<uint64_t>& words,
                     std::vector<uint64_t>& scratch) {
  order(keys, count, positions, words, scratch);
}
void order_positions(const uint64_t* keys, int64_t count, int64_t* positions, std::vector<uint64_t>& words,
                     std::vector<uint64_t>& scratch) {
  order(keys, count, positions, words, scratch);
}

}  // namespace relume
