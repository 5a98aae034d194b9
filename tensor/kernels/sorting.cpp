// sort and topk. Every element becomes an unsigned key that orders as the element does
// (NaN above everything), and keys are sorted together with the positions they came from.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "tensor/copy.h"
#include "tensor/dispatch.h"
#include "tensor/kernels/dense.h"
#include "tensor/kernels/order_key.h"
#include "tensor/kernels/views.h"
#include "tensor/parallel.h"

namespace relume {
namespace {

// A key and the position it came from; keys of 32 bits share one word with the position.
struct Packed {
  uint64_t word;
  static Packed make(uint32_t key, int64_t position) {
    return {uint64_t{key} << 32 | static_cast<uint32_t>(position)};
  }
  static Packed highest() { return {~uint64_t{0}}; }
  int64_t position() const { return static_cast<uint32_t>(word); }
  unsigned digit(int i) const { return (word >> (32 + 8 * i)) & 0xff; }
  bool operator<(const Packed& other) const { return word < other.word; }
  static constexpr int kDigits = 4;
};
struct Pair {
  uint64_t key;
  int64_t from;
  static Pair make(uint64_t key, int64_t position) { return {key, position}; }
  static Pair highest() { return {~uint64_t{0}, std::numeric_limits<int64_t>::max()}; }
  int64_t position() const { return from; }
  unsigned digit(int i) const { return (key >> (8 * i)) & 0xff; }
  bool operator<(const Pair& other) const {
    return key != other.key ? key < other.key : from < other.from;
  }
  static constexpr int kDigits = 8;
};

constexpr int64_t kRadixFrom = 512;  // elements: below, comparing is faster
constexpr int64_t kFewOfMany = 8;    // topk of less than an eighth does not gather all

// Least significant digit first; equal keys stay in the order of their positions.
template <class Item>
void radix_sort(std::vector<Item>& items, std::vector<Item>& scratch) {
  scratch.resize(items.size());
  int64_t counts[Item::kDigits * 256] = {};
  for (const Item& item : items) {
    for (int digit = 0; digit < Item::kDigits; ++digit) ++counts[digit * 256 + item.digit(digit)];
  }
  for (int digit = 0; digit < Item::kDigits; ++digit) {
    int64_t* count = &counts[digit * 256];
    if (count[items[0].digit(digit)] == static_cast<int64_t>(items.size())) continue;
    int64_t start = 0;
    for (int value = 0; value < 256; ++value) start += std::exchange(count[value], start);
    for (const Item& item : items) scratch[count[item.digit(digit)]++] = item;
    items.swap(scratch);
  }
}

// Sorts lines of one length. All its memory is taken beforehand, since a thread of a parallel
// loop may not throw.
template <class T>
class LineSorter {
  using Key = decltype(order_key(T{}));

 public:
  // For the first `count` elements of lines of `length`.
  LineSorter(int64_t length, int64_t count, bool descending)
      : length_(length), count_(count), descending_(descending) {
    const std::size_t room = few() ? candidates() : length;
    const std::size_t scratch = count == length && length >= kRadixFrom ? length : 0;
    if (is_packed()) {
      packed_.reserve(room);
      packed_scratch_.reserve(scratch);
    } else {
      pairs_.reserve(room);
      pairs_scratch_.reserve(scratch);
    }
  }

  // The first elements of a line; sorted or, if that is not wanted, in any order.
  void first(const T* line, bool sorted, T* values, int64_t* indices) {
    if (is_packed()) {
      run(packed_, packed_scratch_, line, sorted, values, indices);
    } else {
      run(pairs_, pairs_scratch_, line, sorted, values, indices);
    }
  }

 private:
  bool is_packed() const { return sizeof(Key) == 4 && length_ < int64_t{UINT32_MAX}; }
  bool few() const { return count_ < length_ / kFewOfMany; }
  std::size_t candidates() const { return 2 * count_ + 64; }

  template <class Item>
  Item item(const T* line, int64_t i) const {
    const Key flip = descending_ ? std::numeric_limits<Key>::max() : 0;
    return Item::make(order_key(line[i]) ^ flip, i);
  }

  template <class Item>
  void run(std::vector<Item>& items, std::vector<Item>& scratch, const T* line, bool sorted,
           T* values, int64_t* indices) {
    if (few()) {
      collect_smallest(items, line);
    } else {
      items.resize(length_);
      for (int64_t i = 0; i < length_; ++i) items[i] = item<Item>(line, i);
    }
    if (count_ < length_) {
      keep_smallest(items, count_);
      if (sorted) std::sort(items.begin(), items.end());
    } else if (length_ >= kRadixFrom) {
      radix_sort(items, scratch);
    } else {
      std::sort(items.begin(), items.end());
    }
    for (int64_t i = 0; i < count_; ++i) {
      indices[i] = items[i].position();
      values[i] = line[indices[i]];
    }
  }

  // Walks the line once with a short list of candidates: an element that is not below the
  // worst one to keep is passed over.
  template <class Item>
  void collect_smallest(std::vector<Item>& items, const T* line) {
    items.clear();
    Item limit = Item::highest();
    for (int64_t i = 0; i < length_; ++i) {
      const Item candidate = item<Item>(line, i);
      if (!(candidate < limit)) continue;
      items.push_back(candidate);
      if (items.size() == candidates()) limit = keep_smallest(items, count_);
    }
  }

  template <class Item>
  static Item keep_smallest(std::vector<Item>& items, int64_t count) {
    if (count == 0) return items.clear(), Item{};
    std::nth_element(items.begin(), items.begin() + (count - 1), items.end());
    items.resize(count);
    return items.back();
  }

  int64_t length_, count_;
  bool descending_;
  std::vector<Packed> packed_, packed_scratch_;
  std::vector<Pair> pairs_, pairs_scratch_;
};

// Outputs 0 and 1 get the first `count` values along `dim` and their indices.
void sort_lines(Call& call, int dim, int64_t count, bool descending, bool sorted) {
  const Tensor input = call.tensor(0);
  Dims shape(input.shape());
  if (input.ndim() > 0) shape[dim] = count;
  const Tensor values = call.output(0, shape, input.dtype());
  const Tensor indices = call.output(1, shape, DType::int64);
  if (values.numel() == 0) return;

  // The kernel works on rows; another dimension is moved to the end and back.
  const Tensor rows = contiguous_copy_if_needed(move_to_end_view(input, dim));
  const DenseOutput value_rows(move_to_end_view(values, dim));
  const DenseOutput index_rows(move_to_end_view(indices, dim));
  const int64_t length = input.ndim() > 0 ? input.size(dim) : 1;
  visit(input.dtype(), [&](auto example) {
    using T = decltype(example);
    const int64_t lines = rows.numel() / length;
    const int64_t parts = std::max<int64_t>(
        1, std::min({lines, rows.numel() / kParallelGrain, int64_t{num_threads()}}));
    std::vector<LineSorter<T>> sorters;
    for (int64_t part = 0; part < parts; ++part) sorters.emplace_back(length, count, descending);
    parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        for (int64_t i = part * lines / parts; i < (part + 1) * lines / parts; ++i) {
          sorters[part].first(rows.data_as<T>() + i * length, sorted,
                              value_rows->data_as<T>() + i * count,
                              index_rows->data_as<int64_t>() + i * count);
        }
      }
    });
  });
  value_rows.write_back();
  index_rows.write_back();
}

void sort_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const int dim = wrap_dim(call.integer(1), input.ndim());
  const int64_t length = input.ndim() > 0 ? input.size(dim) : 1;
  sort_lines(call, dim, length, call.boolean(2), true);
}

void topk_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const int dim = wrap_dim(call.integer(2), input.ndim());
  const int64_t length = input.ndim() > 0 ? input.size(dim) : 1, k = call.integer(1);
  check(k >= 0 && k <= length, "topk: k must be between 0 and ", length, ", the size of dimension ",
        dim, ", not ", k);
  check(input.ndim() > 0 || k == 1, "topk: k must be 1 for a 0-d tensor");
  sort_lines(call, dim, k, call.boolean(3), call.boolean(4));
}

const Register register_sort{
    "sort(Tensor input, int dim=-1, bool descending=False, *, bool stable=True) -> (Tensor, Tensor)",
    "The elements in order along a dimension and their indices; equal ones keep their order "
    "(whatever `stable` says), NaN counts as the largest.",
    {}, sort_cpu};
const Register register_topk{
    "topk(Tensor input, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor, Tensor)",
    "The k largest (or smallest) elements along a dimension and their indices; NaN counts as the "
    "largest.",
    {}, topk_cpu};

}  // namespace
}  // namespace relume
