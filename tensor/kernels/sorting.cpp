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

constexpr int64_t kFewOfMany = 8;  // topk of less than an eighth looks at each key once
constexpr int64_t kVeryFew = 16;   // so many are kept in order

// Sorts lines of one length. All its memory is taken beforehand, since a thread of a parallel
// loop may not throw.
template <class Key>
class LineSorter {
 public:
  // For the first `count` elements of lines of `length`.
  LineSorter(int64_t length, int64_t count, bool descending)
      : length_(length), count_(count), descending_(descending), keys_(length) {
    if (very_few()) return;
    words_.reserve(sorts_all() ? length : count);
    scratch_.reserve(sorts_all() ? length : count);
    if (sorts_all()) {
      places_.resize(count < length ? length : 0);
      return;
    }
    candidates_.reserve(few() ? 2 * count + kVeryFew : length);
    chosen_.resize(count);
    places_.resize(count);
  }

  // The positions of the first elements of a line; in order or, if that is not wanted, in any.
  void first(const void* line, DType dtype, bool sorted, int64_t* indices) {
    fill_order_keys(keys_.data(), line, dtype, length_);
    if (descending_) {
      for (Key& key : keys_) key = ~key;
    }
    if (count_ == 0) return;
    if (very_few()) return first_of_very_few(indices);
    if (sorts_all()) {
      int64_t* places = count_ < length_ ? places_.data() : indices;
      order_positions(keys_.data(), length_, places, words_, scratch_);
      if (count_ < length_) std::copy_n(places, count_, indices);
      return;
    }
    choose(threshold());
    if (!sorted) return std::copy(places_.begin(), places_.end(), indices), void();
    order_positions(chosen_.data(), count_, indices, words_, scratch_);
    for (int64_t i = 0; i < count_; ++i) indices[i] = places_[indices[i]];
  }

 private:
  // A good part of a line costs as much as all of it.
  bool sorts_all() const { return count_ >= length_ / 4; }
  bool few() const { return count_ < length_ / kFewOfMany; }
  bool very_few() const { return few() && count_ <= kVeryFew; }

  // The largest key to choose.
  Key threshold() {
    return few() ? threshold_of_few() : select_key(keys_.data(), length_, count_ - 1, candidates_);
  }

  // Keeps the best ones so far in order, each with its place.
  void first_of_very_few(int64_t* places) const {
    Key best[kVeryFew];
    int64_t kept = 0;
    for (int64_t i = 0; i < length_; ++i) {
      const Key key = keys_[i];
      if (kept == count_ && key >= best[kept - 1]) continue;
      int64_t at = kept < count_ ? kept++ : kept - 1;
      for (; at > 0 && best[at - 1] > key; --at) {
        best[at] = best[at - 1];
        places[at] = places[at - 1];
      }
      best[at] = key;
      places[at] = i;
    }
  }

  // With a list of candidates, which is cut to the best ones whenever it is full.
  Key threshold_of_few() {
    const std::size_t full = static_cast<std::size_t>(2 * count_ + kVeryFew);
    candidates_.assign(keys_.begin(), keys_.begin() + count_);
    Key limit = *std::max_element(candidates_.begin(), candidates_.end());
    for (int64_t i = count_; i < length_; ++i) {
      if (keys_[i] >= limit) continue;
      candidates_.push_back(keys_[i]);
      if (candidates_.size() == full) limit = cut_candidates();
    }
    return cut_candidates();
  }
  Key cut_candidates() {
    std::nth_element(candidates_.begin(), candidates_.begin() + (count_ - 1), candidates_.end());
    candidates_.resize(count_);
    return candidates_.back();
  }

  // All keys below the threshold, and the first ones that equal it.
  void choose(Key threshold) {
    int64_t below = 0;
    for (const Key key : keys_) below += key < threshold;
    int64_t equal = count_ - below, chosen = 0;
    for (int64_t i = 0; chosen < count_; ++i) {
      if (keys_[i] > threshold || (keys_[i] == threshold && equal-- <= 0)) continue;
      chosen_[chosen] = keys_[i];
      places_[chosen++] = i;
    }
  }

  int64_t length_, count_;
  bool descending_;
  std::vector<Key> keys_, candidates_, chosen_;
  std::vector<int64_t> places_;
  std::vector<uint64_t> words_, scratch_;
};

template <class T>
void take_elements(T* to, const T* from, const int64_t* indices, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = from[indices[i]];
}
void take_elements(char* to, const char* from, int64_t size, const int64_t* indices, int64_t count) {
  const auto take = [&](auto example) {
    using T = decltype(example);
    take_elements(reinterpret_cast<T*>(to), reinterpret_cast<const T*>(from), indices, count);
  };
  if (size == 1) return take(uint8_t{});
  if (size == 2) return take(uint16_t{});
  return size == 4 ? take(uint32_t{}) : take(uint64_t{});
}

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
  const int64_t size = static_cast<int64_t>(item_size(input.dtype()));
  const char* from = rows.data_as<char>();
  char* to = value_rows->data_as<char>();
  int64_t* places = index_rows->data_as<int64_t>();
  visit_key(input.dtype(), [&](auto example) {
    using Key = decltype(example);
    const int64_t lines = rows.numel() / length;
    const int64_t parts = std::max<int64_t>(
        1, std::min({lines, rows.numel() / kParallelGrain, int64_t{num_threads()}}));
    std::vector<LineSorter<Key>> sorters;
    for (int64_t part = 0; part < parts; ++part) sorters.emplace_back(length, count, descending);
    parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        for (int64_t i = part * lines / parts; i < (part + 1) * lines / parts; ++i) {
          const char* line = from + i * length * size;
          sorters[part].first(line, input.dtype(), sorted, places + i * count);
          take_elements(to + i * count * size, line, size, places + i * count, count);
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
