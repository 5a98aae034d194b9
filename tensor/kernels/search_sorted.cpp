// Places in a sorted sequence, and what is counted by them: searchsorted, bucketize, bincount,
// histc and histogram.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "tensor/elementwise.h"
#include "tensor/kernels/dense.h"
#include "tensor/kernels/order_key.h"
#include "tensor/ops.h"
#include "tensor/parallel.h"

namespace relume {
namespace {

const OpFunction gather{"gather"}, linspace{"linspace"};

// How many elements of a sorted row lie before each value; `at_right`: equal ones count too.
// Several values are searched at a time, so that they wait for memory together.
template <class Key, bool at_right>
void search_row(const Key* row, int64_t length, const Key* values, int64_t count, int64_t* places) {
  constexpr int kTogether = 8;
  for (int64_t i = 0; i < count; i += kTogether) {
    const int here = static_cast<int>(std::min<int64_t>(kTogether, count - i));
    Key sought[kTogether] = {};
    const Key* base[kTogether];
    std::copy_n(values + i, here, sought);
    std::fill_n(base, kTogether, row);
    int64_t rest = length;
    while (rest > 1) {
      const int64_t half = rest / 2;
      for (int k = 0; k < kTogether; ++k) {
        const Key middle = base[k][half - 1];
        base[k] += (at_right ? middle <= sought[k] : middle < sought[k]) ? half : 0;
      }
      rest -= half;
    }
    for (int k = 0; k < here; ++k) {
      const bool after = length > 0 && (at_right ? *base[k] <= sought[k] : *base[k] < sought[k]);
      places[i + k] = base[k] - row + after;
    }
  }
}

template <class Key>
void search(const Tensor& sequence, const Tensor& values, bool at_right, int64_t* places) {
  const DType dtype = sequence.dtype();
  const int64_t length = sequence.ndim() > 0 ? sequence.size(sequence.ndim() - 1) : 1;
  const int64_t lines = length > 0 ? sequence.numel() / length : 1;
  const int64_t count = lines > 0 ? values.numel() / lines : 0;
  std::vector<Key> row_keys(sequence.numel()), value_keys(values.numel());
  fill_order_keys(row_keys.data(), sequence.data(), dtype, sequence.numel());
  fill_order_keys(value_keys.data(), values.data(), dtype, values.numel());
  const auto function = at_right ? &search_row<Key, true> : &search_row<Key, false>;
  for (int64_t line = 0; line < lines; ++line) {
    const Key* row = row_keys.data() + line * length;
    parallel_for(line * count, (line + 1) * count, 4096, [&](int64_t begin, int64_t end) {
      function(row, length, value_keys.data() + begin, end - begin, places + begin);
    });
  }
}

// Places of `values` in `sequence`: of one dimension, or with one row for each of the values'.
Tensor places_in(const Call& call, const Tensor& sequence, const Tensor& values, bool at_right) {
  const Value both[] = {sequence, values};
  const DType common = common_type(both, 2);
  if (sequence.ndim() != 1) {
    bool fits = sequence.ndim() == values.ndim() && sequence.ndim() > 0;
    for (int i = 0; fits && i + 1 < sequence.ndim(); ++i) fits = sequence.size(i) == values.size(i);
    check(fits, call.op.name(), "(): a sorted sequence of shape ", sequence.shape(),
          " must have one dimension, or all but the last like the values, of shape ", values.shape());
  }
  const Tensor row = contiguous_copy_if_needed(ops::to_dtype(sequence, common));
  const Tensor sought = contiguous_copy_if_needed(ops::to_dtype(values, common));
  const Tensor places = empty(values.shape(), DType::int64);
  visit_key(common, [&](auto key) {
    search<decltype(key)>(row, sought, at_right, places.data_as<int64_t>());
  });
  return places;
}

Tensor as_values(const Value& value, DType dtype) {
  return value.is_tensor() ? Tensor::borrow(value.tensor) : scalar(value.as_double(), dtype);
}

void set_places(Call& call, const Tensor& places, bool as_int32) {
  call.set_output(0, as_int32 ? ops::to_dtype(places, DType::int32) : places);
}

void searchsorted_cpu(Call& call) {
  Tensor sequence = call.tensor(0);
  bool at_right = call.boolean(3);
  if (call.has(4)) {
    const std::string_view side = call.text(4);
    check(side == "left" || side == "right", "searchsorted(): side must be 'left' or 'right', not '",
          side, "'");
    check(side == "right" || !at_right, "searchsorted(): side='left' and right=True contradict each other");
    at_right = side == "right";
  }
  if (call.has(5)) sequence = gather(sequence, -1, call.tensor(5));
  set_places(call, places_in(call, sequence, as_values(call.value(1), sequence.dtype()), at_right),
             call.boolean(2));
}

void bucketize_cpu(Call& call) {
  const Tensor boundaries = call.tensor(1);
  check(boundaries.ndim() == 1, "bucketize(): boundaries must have one dimension, not shape ",
        boundaries.shape());
  const Tensor values = as_values(call.value(0), boundaries.dtype());
  set_places(call, places_in(call, boundaries, values, call.boolean(3)), call.boolean(2));
}

// ---- counting ----

void bincount_cpu(Call& call) {
  const Tensor given = call.tensor(0);
  check<TypeError>(is_integer(given.dtype()), "bincount() counts integers, not ", name(given.dtype()));
  check(given.ndim() == 1, "bincount(): input must have one dimension, not shape ", given.shape());
  check(call.integer(2) >= 0, "bincount(): minlength must not be negative, got ", call.integer(2));
  const Tensor input = contiguous_copy_if_needed(ops::to_dtype(given, DType::int64));
  const int64_t* values = input.data_as<int64_t>();
  int64_t bins = call.integer(2);
  int64_t lowest = 0, highest = -1;
  for (int64_t i = 0; i < input.numel(); ++i) {
    lowest = values[i] < lowest ? values[i] : lowest;
    highest = values[i] > highest ? values[i] : highest;
  }
  check(lowest >= 0 && highest < (int64_t{1} << 40), "bincount() counts integers that are not negative and below "
        "2**40, input has ", lowest < 0 ? lowest : highest);
  bins = std::max(bins, highest + 1);
  if (!call.has(1)) {
    const Tensor counts = full(IntSpan(&bins, 1), 0, DType::int64);
    int64_t* to = counts.data_as<int64_t>();
    for (int64_t i = 0; i < input.numel(); ++i) ++to[values[i]];
    return call.set_output(0, counts);
  }
  const Tensor weights = call.tensor(1);
  check(weights.shape() == input.shape(), "bincount(): weights of shape ", weights.shape(),
        " must have the shape of input, ", input.shape());
  const Tensor wide = contiguous_copy_if_needed(ops::to_dtype(weights, DType::float64));
  const Tensor sums = full(IntSpan(&bins, 1), 0, DType::float64);
  const double* weight = wide.data_as<const double>();
  double* to = sums.data_as<double>();
  for (int64_t i = 0; i < input.numel(); ++i) to[values[i]] += weight[i];
  call.set_output(0, weights.dtype() == DType::float32 ? ops::to_dtype(sums, DType::float32) : sums);
}

// Equal bins from `low` to `high`, both ends included; elements outside count nowhere.
struct Bins {
  int64_t count;
  double low, high;

  int64_t of(double x) const {
    if (!(x >= low && x <= high)) return -1;
    const double bins = static_cast<double>(count), place = (x - low) * (bins / (high - low));
    if (!(place > 0)) return 0;  // NaN where the bins have no width to speak of
    return place < bins ? static_cast<int64_t>(place) : count - 1;
  }
};

void check_bins(const Call& call, int64_t bins, double low, double high) {
  check(bins > 0 && bins < (int64_t{1} << 40), call.op.name(),
        "(): the number of bins must be at least 1 and below 2**40, not ", bins);
  check(std::isfinite(low) && std::isfinite(high) && low <= high, call.op.name(),
        "(): the range of the bins must be finite and not run backwards, got ", low, " to ", high);
}

// Without a range it is that of the elements; a range of no width becomes one of width 2.
Bins bins_for(const Call& call, const Tensor& input, int64_t count, double low, double high) {
  if (low == 0 && high == 0 && input.numel() > 0) {
    low = item_as_double(ops::to_dtype(OpFunction{"amin"}(input), DType::float64));
    high = item_as_double(ops::to_dtype(OpFunction{"amax"}(input), DType::float64));
  }
  check_bins(call, count, low, high);
  if (low == high) {
    low -= 1;
    high += 1;
  }
  return {count, low, high};
}

void histc_cpu(Call& call) {
  const Tensor given = call.tensor(0);
  const Bins bins = bins_for(call, given, call.integer(1), call.real(2), call.real(3));
  const Tensor input = contiguous_copy_if_needed(given);
  std::vector<int64_t> counts(bins.count);
  visit(input.dtype(), [&](auto example) {
    using T = decltype(example);
    const T* values = input.data_as<T>();
    for (int64_t i = 0; i < input.numel(); ++i) {
      const int64_t bin = bins.of(static_cast<double>(values[i]));
      if (bin >= 0) ++counts[bin];
    }
  });
  const Tensor result = empty(IntSpan(&bins.count, 1), DType::int64);
  std::copy(counts.begin(), counts.end(), result.data_as<int64_t>());
  call.set_output(0, ops::to_dtype(result, given.dtype()));
}

Tensor as_row_of_doubles(const Tensor& tensor) {
  return contiguous_copy_if_needed(ops::to_dtype(ops::reshape(tensor, int64_t{-1}), DType::float64));
}

// Bins between increasing edges: each has its left one but not its right one, which only the
// last one has.
class EdgedBins {
 public:
  explicit EdgedBins(const Tensor& row) : edges_(row.data_as<double>()), count_(row.numel() - 1) {
    const double width = (edges_[count_] - edges_[0]) / static_cast<double>(count_);
    scale_ = 1 / width;
    for (int64_t i = 0; i <= count_; ++i) {
      even_ &= std::abs(edges_[i] - edges_[0] - static_cast<double>(i) * width) < 0.5 * width;
    }
  }
  int64_t of(double x) const {
    if (!(x >= edges_[0] && x <= edges_[count_])) return -1;
    if (!even_) return std::min<int64_t>(std::upper_bound(edges_, edges_ + count_ + 1, x) - edges_, count_) - 1;
    // Nearly equal bins: the right one is the one computed, or next to it.
    int64_t bin = std::min(static_cast<int64_t>((x - edges_[0]) * scale_), count_ - 1);
    while (bin > 0 && x < edges_[bin]) --bin;
    while (bin + 1 < count_ && x >= edges_[bin + 1]) ++bin;
    return bin;
  }

 private:
  const double* edges_;
  int64_t count_;
  double scale_;
  bool even_ = true;
};

Tensor sums_by_edges(const Tensor& input, const Tensor& edges, const Tensor& weights) {
  const Tensor row = as_row_of_doubles(edges), values = as_row_of_doubles(input);
  const Tensor wide = weights.defined() ? as_row_of_doubles(weights) : Tensor();
  const EdgedBins bins(row);
  const int64_t count = edges.numel() - 1;
  const Tensor sums = full(IntSpan(&count, 1), 0, DType::float64);
  double* to = sums.data_as<double>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    const int64_t bin = bins.of(values.data_as<double>()[i]);
    if (bin >= 0) to[bin] += wide.defined() ? wide.data_as<double>()[i] : 1;
  }
  return sums;
}

// (input, edges, weight, density) -> counts, in the type of the input.
void histogram_cpu(Call& call) {
  const Tensor input = call.tensor(0), edges = call.tensor(1);
  check<TypeError>(is_floating(input.dtype()), "histogram() takes floating tensors, not ", name(input.dtype()));
  check(edges.ndim() == 1 && edges.numel() >= 2, "histogram(): the edges of bins must be a row of at "
        "least two numbers, got shape ", edges.shape());
  if (call.has(2)) {
    check(call.tensor(2).shape() == input.shape(), "histogram(): weight of shape ", call.tensor(2).shape(),
          " must have the shape of input, ", input.shape());
  }
  Tensor sums = sums_by_edges(input, edges, call.tensor(2));
  if (call.boolean(3)) {
    const Tensor wide = ops::to_dtype(edges, DType::float64);
    const int64_t bins = edges.numel() - 1;
    const Tensor widths = ops::narrow(wide, 0, int64_t{1}, bins) - ops::narrow(wide, 0, int64_t{0}, bins);
    sums = sums / ops::sum(sums) / widths;
  }
  call.set_output(0, ops::to_dtype(sums, input.dtype()));
}

const Register places[] = {
    {"searchsorted(Tensor sorted_sequence, Tensor|Scalar input, *, bool out_int32=False, bool right=False, "
     "str? side=None, Tensor? sorter=None) -> Tensor",
     "Where each value would be inserted to keep a sequence sorted along its last dimension: before "
     "equal elements, or after them with right=True or side='right'.",
     {Trait::not_differentiable, Trait::no_method}, searchsorted_cpu},
    {"bucketize(Tensor|Scalar input, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
     "The number of the bucket between sorted boundaries that each value lies in; a value at a "
     "boundary belongs to the left one, or to the right one with right=True.",
     {Trait::not_differentiable, Trait::no_method}, bucketize_cpu},
    {"bincount(Tensor input, Tensor? weights=None, int minlength=0) -> Tensor",
     "How often each of the integers 0, 1, ... occurs, or the sum of the weights of its places.",
     {Trait::not_differentiable}, bincount_cpu},
    {"histc(Tensor input, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
     "How many elements lie in each of equally wide bins between min and max; when both are 0, "
     "between the smallest and the largest element.",
     {Trait::not_differentiable}, histc_cpu},
    {"histogram_of_edges(Tensor input, Tensor edges, Tensor? weight=None, bool density=False) -> Tensor",
     "How many elements (or how much weight) lie between neighbouring edges.",
     {Trait::not_differentiable, Trait::internal}, histogram_cpu},
};

}  // namespace
}  // namespace relume
