// kthvalue, median and mode: elements picked from a line by their place in its order.
#include <algorithm>

#include "tensor/dispatch.h"
#include "tensor/kernels/dense.h"
#include "tensor/kernels/order_key.h"
#include "tensor/kernels/views.h"
#include "tensor/parallel.h"
#include "tensor/reduction.h"

namespace relume {
namespace {

// Where the element of rank `k` stands; equal elements are ordered by their positions.
template <class Key>
int64_t position_of_rank(const Key* keys, int64_t count, int64_t k, std::vector<Key>& scratch) {
  const Key chosen = select_key(keys, count, k, scratch);
  int64_t lower = 0;
  for (int64_t i = 0; i < count; ++i) lower += keys[i] < chosen;
  int64_t equal = k - lower;
  for (int64_t i = 0; i < count; ++i) {
    if (keys[i] == chosen && equal-- == 0) return i;
  }
  return 0;
}

// The last position of the most frequent key, the smallest one of equally frequent ones.
template <class Key>
int64_t position_of_mode(const Key* keys, int64_t count, std::vector<Key>& sorted,
                         std::vector<Key>& scratch) {
  sorted.assign(keys, keys + count);
  scratch.resize(count);
  sort_keys(sorted, scratch);
  int64_t longest = 0, run = 0;
  Key chosen = sorted[0];
  for (int64_t i = 0; i < count; ++i) {
    run = i > 0 && sorted[i] == sorted[i - 1] ? run + 1 : 1;
    if (run > longest) {
      longest = run;
      chosen = sorted[i];
    }
  }
  int64_t position = count - 1;
  while (keys[position] != chosen) --position;
  return position;
}

enum class Pick { rank, median, nan_median, mode };

template <class Key>
int64_t pick(Pick what, const Key* keys, int64_t count, int64_t rank, bool floating,
             std::vector<Key>& scratch, std::vector<Key>& more) {
  if (what == Pick::mode) return position_of_mode(keys, count, scratch, more);
  if (what == Pick::rank) return position_of_rank(keys, count, rank, scratch);
  constexpr Key nan = std::numeric_limits<Key>::max();
  const int64_t nans = floating ? std::count(keys, keys + count, nan) : 0;
  if (what == Pick::median && nans > 0) return std::find(keys, keys + count, nan) - keys;
  const int64_t numbers = nans == count ? count : count - nans;
  return position_of_rank(keys, count, (numbers - 1) / 2, scratch);
}

// Outputs 0 and 1 get, for each line along `dim`, an element of it and its position.
void pick_from_lines(Call& call, Pick what, int64_t dim_given, bool keepdim, int64_t rank = 0) {
  const Tensor input = call.tensor(0);
  const int dim = wrap_dim(dim_given, input.ndim());
  const int64_t length = input.ndim() > 0 ? input.size(dim) : 1;
  const Dims shape = reduced_shape(input.shape(), DimSet::of(IntSpan(&dim_given, 1), input.ndim()), keepdim);
  const DenseOutput values(call.output(0, shape, input.dtype()));
  const DenseOutput indices(call.output(1, shape, DType::int64));
  const int64_t lines = values->numel();
  check(length > 0 || lines == 0, call.op.name(), "(): dimension ", dim, " of a tensor of shape ",
        input.shape(), " has no elements to choose from");
  if (lines == 0) return;

  const Tensor rows = contiguous_copy_if_needed(move_to_end_view(input, dim));
  const int64_t size = static_cast<int64_t>(item_size(input.dtype()));
  const bool floating = is_floating(input.dtype());
  const char* from = rows.data_as<char>();
  char* to = values->data_as<char>();
  int64_t* places = indices->data_as<int64_t>();
  visit_key(input.dtype(), [&](auto example) {
    using Key = decltype(example);
    // A thread of a parallel loop may not throw: memory is taken beforehand.
    const int64_t parts = std::max<int64_t>(1, std::min({lines, input.numel() / kParallelGrain, int64_t{num_threads()}}));
    struct Work {
      std::vector<Key> keys, scratch, more;
    };
    std::vector<Work> work(parts);
    for (Work& own : work) {
      own.keys.resize(length);
      own.scratch.reserve(length);
      own.more.reserve(what == Pick::mode ? length : 0);
    }
    parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        Work& own = work[part];
        for (int64_t line = part * lines / parts; line < (part + 1) * lines / parts; ++line) {
          fill_order_keys(own.keys.data(), from + line * length * size, input.dtype(), length);
          const int64_t place = pick(what, own.keys.data(), length, rank, floating, own.scratch, own.more);
          std::memcpy(to + line * size, from + (line * length + place) * size, size);
          places[line] = place;
        }
      }
    });
  });
  values.write_back();
  indices.write_back();
}

void kthvalue_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const int dim = wrap_dim(call.integer(2), input.ndim());
  const int64_t length = input.ndim() > 0 ? input.size(dim) : 1, k = call.integer(1);
  check(k >= 1 && k <= length, "kthvalue(): k must be between 1 and ", length,
        ", the size of dimension ", dim, ", not ", k);
  pick_from_lines(call, Pick::rank, call.integer(2), call.boolean(3), k - 1);
}
template <Pick what>
void pick_cpu(Call& call) {
  pick_from_lines(call, what, call.integer(1), call.boolean(2));
}

const Register register_kthvalue{
    "kthvalue(Tensor input, int k, int dim=-1, bool keepdim=False) -> (Tensor, Tensor)",
    "The k-th smallest element (k counts from 1) along a dimension and its index; NaN counts as "
    "the largest.",
    {}, kthvalue_cpu};
const Register register_median{
    "median_with_indices(Tensor input, int dim, bool keepdim=False) -> (Tensor, Tensor)",
    "The middle element along a dimension, the lower one of two, and its index; NaN if there is "
    "one.",
    {}, pick_cpu<Pick::median>};
const Register register_nanmedian{
    "nanmedian_with_indices(Tensor input, int dim, bool keepdim=False) -> (Tensor, Tensor)",
    "The middle one of the elements along a dimension that are not NaN, and its index.", {},
    pick_cpu<Pick::nan_median>};
const Register register_mode{
    "mode(Tensor input, int dim=-1, bool keepdim=False) -> (Tensor, Tensor)",
    "The most frequent element along a dimension, the smallest of equally frequent ones, and the "
    "index where it stands last.",
    {}, pick_cpu<Pick::mode>};

}  // namespace
}  // namespace relume
