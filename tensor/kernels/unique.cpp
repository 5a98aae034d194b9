// Distinct elements: of a whole tensor, or whole slices along a dimension. Elements become
// order keys, and equal ones meet by sorting them, or by counting where integers lie close.
#include <algorithm>
#include <numeric>

#include "tensor/dispatch.h"
#include "tensor/kernels/order_key.h"
#include "tensor/kernels/views.h"
#include "tensor/copy.h"
#include "tensor/ops.h"

namespace relume {
namespace {

const OpFunction sort{"sort"}, index_select{"index_select"};

// What is known of groups of equal items: where one of each stands, in order of the groups,
// how many there are, and which group each item is in.
struct Groups {
  std::vector<int64_t> firsts, counts;
  std::vector<int64_t> group_of;  // of each item

  void start(int64_t item) {
    firsts.push_back(item);
    counts.push_back(0);
  }
};

Tensor as_tensor(const std::vector<int64_t>& list, IntSpan shape) {
  const Tensor tensor = empty(shape, DType::int64);
  std::copy(list.begin(), list.end(), tensor.data_as<int64_t>());
  return tensor;
}
Tensor as_tensor(const std::vector<int64_t>& list) {
  const int64_t size = static_cast<int64_t>(list.size());
  return as_tensor(list, IntSpan(&size, 1));
}

template <class Key>
bool is_nan_key(Key key, DType dtype) {
  return is_floating(dtype) && key == std::numeric_limits<Key>::max();
}

// Goes through items in an order in which equal ones are neighbours.
template <class Equal>
Groups group_neighbours(const std::vector<int64_t>& order, const Equal& equal) {
  Groups groups;
  groups.group_of.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || !equal(order[i - 1], order[i])) groups.start(order[i]);
    ++groups.counts.back();
    groups.group_of[order[i]] = static_cast<int64_t>(groups.firsts.size()) - 1;
  }
  return groups;
}

std::vector<int64_t> natural_order(int64_t count) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Distinct keys and their counts. NaN equals nothing, so each one is a group.
template <class Key>
void count_runs(const std::vector<Key>& sorted, DType dtype, std::vector<Key>& distinct,
                std::vector<int64_t>& counts) {
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i == 0 || sorted[i] != sorted[i - 1] || is_nan_key(sorted[i], dtype)) {
      distinct.push_back(sorted[i]);
      counts.push_back(0);
    }
    ++counts.back();
  }
}

// The same by counting, for integers within a short range. `group_of` is filled unless null.
template <class Key>
bool count_in_range(const std::vector<Key>& keys, DType dtype, std::vector<Key>& distinct,
                    std::vector<int64_t>& counts, int64_t* group_of) {
  if (is_floating(dtype) || keys.empty()) return false;
  const auto [low, high] = std::minmax_element(keys.begin(), keys.end());
  const Key lowest = *low, range = *high - lowest;
  if (range > std::max<uint64_t>(1024, 2 * keys.size())) return false;
  std::vector<int64_t> seen(static_cast<std::size_t>(range) + 1);
  for (const Key key : keys) ++seen[key - lowest];
  for (Key step = 0;; ++step) {
    if (seen[step] > 0) {
      distinct.push_back(lowest + step);
      counts.push_back(seen[step]);
      seen[step] = static_cast<int64_t>(distinct.size());
    }
    if (step == range) break;
  }
  if (group_of) {
    for (std::size_t i = 0; i < keys.size(); ++i) group_of[i] = seen[keys[i] - lowest] - 1;
  }
  return true;
}

// Of all elements: (input, with_inverse) -> (values, inverse, counts).
template <class Key>
void unique_elements(Call& call, const Tensor& input, bool with_inverse) {
  const int64_t count = input.numel();
  const DType dtype = input.dtype();
  std::vector<Key> keys(count), distinct;
  std::vector<int64_t> counts;
  fill_order_keys(keys.data(), input.data(), dtype, count);
  const Tensor inverse = empty(with_inverse ? input.shape() : IntSpan({0}), DType::int64);
  int64_t* group_of = with_inverse ? inverse.data_as<int64_t>() : nullptr;
  if (!count_in_range(keys, dtype, distinct, counts, group_of)) {
    std::vector<Key> scratch(count);
    if (with_inverse) {
      const Outputs sorted = sort.all(ops::reshape(input, int64_t{-1}));
      const int64_t* order = sorted[1].data_as<int64_t>();
      for (int64_t i = 0; i < count; ++i) scratch[i] = keys[order[i]];
      count_runs(scratch, dtype, distinct, counts);
      int64_t place = 0;
      for (std::size_t group = 0; group < counts.size(); ++group) {
        for (int64_t k = 0; k < counts[group]; ++k) group_of[order[place++]] = static_cast<int64_t>(group);
      }
    } else {
      sort_keys(keys, scratch);
      count_runs(keys, dtype, distinct, counts);
    }
  }
  const int64_t size = static_cast<int64_t>(distinct.size());
  const Tensor values = empty(IntSpan(&size, 1), dtype);
  elements_from_keys(values.data(), distinct.data(), dtype, size);
  call.set_output(0, values);
  call.set_output(1, inverse);
  call.set_output(2, as_tensor(counts));
}

// The keys of slices along a dimension, one slice per row.
template <class Key>
struct Slices {
  int64_t count, length;
  DType dtype;
  std::vector<Key> keys;

  Slices(const Tensor& input, int dim) : count(input.size(dim)), dtype(input.dtype()) {
    Dims order;
    order.push(dim);
    for (int i = 0; i < input.ndim(); ++i) {
      if (i != dim) order.push(i);
    }
    const Tensor rows = contiguous_copy_if_needed(ops::permute(input, IntSpan(order)));
    length = count > 0 ? rows.numel() / count : 0;
    keys.resize(rows.numel());
    fill_order_keys(keys.data(), rows.data(), dtype, rows.numel());
  }
  const Key* row(int64_t i) const { return keys.data() + i * length; }
  bool less(int64_t a, int64_t b) const {
    return std::lexicographical_compare(row(a), row(a) + length, row(b), row(b) + length);
  }
  bool equal(int64_t a, int64_t b) const {
    for (int64_t i = 0; i < length; ++i) {
      if (row(a)[i] != row(b)[i] || is_nan_key(row(a)[i], dtype)) return false;
    }
    return true;
  }
};

template <class Key>
void unique_slices(Call& call, const Tensor& input, int dim, bool sorted) {
  const Slices<Key> slices(input, dim);
  std::vector<int64_t> order = natural_order(slices.count);
  if (sorted) {
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return slices.less(a, b); });
  }
  const Groups groups = group_neighbours(order, [&](int64_t a, int64_t b) { return slices.equal(a, b); });
  call.set_output(0, index_select(input, dim, as_tensor(groups.firsts)));
  call.set_output(1, as_tensor(groups.group_of));
  call.set_output(2, as_tensor(groups.counts));
}

template <class Key>
void consecutive_elements(Call& call, const Tensor& input) {
  const int64_t count = input.numel();
  const DType dtype = input.dtype();
  std::vector<Key> keys(count), distinct;
  fill_order_keys(keys.data(), input.data(), dtype, count);
  const Tensor inverse = empty(input.shape(), DType::int64);
  int64_t* group_of = inverse.data_as<int64_t>();
  for (int64_t i = 0, group = -1; i < count; ++i) {
    group += i == 0 || keys[i] != keys[i - 1] || is_nan_key(keys[i], dtype);
    group_of[i] = group;
  }
  std::vector<int64_t> counts;
  count_runs(keys, dtype, distinct, counts);
  const int64_t size = static_cast<int64_t>(distinct.size());
  const Tensor values = empty(IntSpan(&size, 1), dtype);
  elements_from_keys(values.data(), distinct.data(), dtype, size);
  call.set_output(0, values);
  call.set_output(1, inverse);
  call.set_output(2, as_tensor(counts));
}

int dim_of(const Call& call, const Tensor& input) {
  check(input.ndim() > 0, call.op.name(), "(): a 0-d tensor has no dimension to go along");
  return wrap_dim(call.integer(1), input.ndim());
}

void unique_groups_cpu(Call& call) {
  const Tensor input = contiguous_copy_if_needed(call.tensor(0));
  visit_key(input.dtype(), [&](auto example) {
    using Key = decltype(example);
    if (call.has(1)) return unique_slices<Key>(call, input, dim_of(call, input), true);
    unique_elements<Key>(call, input, call.boolean(2));
  });
}

void consecutive_groups_cpu(Call& call) {
  const Tensor input = contiguous_copy_if_needed(call.tensor(0));
  visit_key(input.dtype(), [&](auto example) {
    using Key = decltype(example);
    if (call.has(1)) return unique_slices<Key>(call, input, dim_of(call, input), false);
    consecutive_elements<Key>(call, input);
  });
}

const Register register_unique{
    "unique_groups(Tensor input, int? dim=None, bool return_inverse=True) -> (Tensor, Tensor, Tensor)",
    "The distinct elements (or slices along a dimension) in order, the position of each element "
    "among them, and how often each occurs.",
    {Trait::not_differentiable, Trait::internal, Trait::no_out}, unique_groups_cpu};
const Register register_consecutive{
    "consecutive_groups(Tensor input, int? dim=None) -> (Tensor, Tensor, Tensor)",
    "The elements (or slices along a dimension) without repetitions of the one before, the "
    "position of each element among them, and how often each is repeated.",
    {Trait::not_differentiable, Trait::internal, Trait::no_out}, consecutive_groups_cpu};

}  // namespace
}  // namespace relume
