// Statistics written in terms of other ops: sums without NaN, moments, covariances, quantiles.
#include <cmath>
#include <string_view>

#include "tensor/composites/composites.h"
#include "tensor/default_dtype.h"

namespace relume {
namespace {

const OpFunction isnan{"isnan"}, nansum{"nansum"}, amin{"amin"}, amax{"amax"}, var{"var"}, std_deviation{"std"}, sort{"sort"},
    index_select{"index_select"}, gather{"gather"}, lerp{"lerp"}, floor{"floor"}, ceil{"ceil"}, round{"round"},
    diagonal{"diagonal"}, cov{"cov"}, conj{"conj"}, real_part{"real"}, imaginary_part{"imag"},
    make_complex{"complex"};

Tensor in_default_float(const Tensor& input) {
  return is_differentiable(input.dtype()) ? input : ops::to_dtype(input, default_float());
}

void nanmean_cpu(Call& call) {
  const Tensor input = in_default_float(call.tensor(0));
  const Tensor numbers = ops::sum(ops::logical_not(isnan(input)), call.value(1), call.value(2));
  const Tensor mean = nansum(input, call.value(1), call.value(2)) / ops::to_dtype(numbers, input.dtype());
  call.set_output(0, call.has(3) ? ops::to_dtype(mean, call.value(3)) : mean);
}

void aminmax_cpu(Call& call) {
  call.set_output(0, amin(call.value(0), call.value(1), call.value(2)));
  call.set_output(1, amax(call.value(0), call.value(1), call.value(2)));
}

// var_mean and std_mean: (input, dim, *, correction, keepdim, unbiased).
template <const OpFunction& spread>
void moments_cpu(Call& call) {
  const Tensor input = in_default_float(call.tensor(0));
  call.set_output(0, spread(input, call.value(1), call.value(2), call.value(3), call.value(4)));
  call.set_output(1, ops::mean(input, call.value(1), call.value(3)));
}

// ---- covariance ----

// How much the products of deviations are divided by; NumPy's rules for weights.
Tensor freedom(const Tensor& weights, const Tensor& reliability, double correction) {
  const Tensor total = ops::sum(weights);
  if (correction == 0) return total;
  if (!reliability.defined()) return total - correction;
  return total - ops::sum(weights * reliability) * correction / total;
}

Tensor weights_of(const Call& call, int argument, DType dtype, int64_t observations) {
  if (!call.has(argument)) return Tensor();
  const Tensor given = call.tensor(argument);
  check(given.ndim() == 1 && given.numel() == observations, "cov(): weights of shape ", given.shape(),
        " do not fit ", observations, " observations");
  return ops::to_dtype(given, dtype);
}

// (input, *, correction, fweights, aweights); one row per variable.
void cov_cpu(Call& call) {
  Tensor input = in_default_float(call.tensor(0));
  check(input.ndim() <= 2, "cov(): input must have at most two dimensions, not shape ", input.shape());
  const bool single = input.ndim() < 2 || input.size(0) == 1;
  if (input.ndim() < 2) input = ops::reshape(input, IntSpan{1, -1});
  const DType weight_type = real_type(input.dtype());
  const Tensor repeats = weights_of(call, 2, weight_type, input.size(1));
  const Tensor reliability = weights_of(call, 3, weight_type, input.size(1));
  Tensor weights = repeats;
  if (reliability.defined()) weights = repeats.defined() ? repeats * reliability : reliability;
  if (!weights.defined()) weights = full(IntSpan{input.size(1)}, 1, weight_type);

  const Tensor mean = ops::sum(input * weights, int64_t{1}, true) / ops::sum(weights);
  const Tensor deviation = input - mean;
  const Tensor products = ops::matmul(deviation * weights, conj(ops::transpose(deviation, 0, 1)));
  const Tensor divisor = ops::maximum(freedom(weights, reliability, call.real(1)), 0);
  const Tensor result = products / divisor;
  call.set_output(0, single ? ops::reshape(result, IntSpan{}) : result);
}

// Rounding leads a little out of [-1, 1], the parts of complex numbers too.
Tensor between_minus_one_and_one(const Tensor& input) {
  if (!is_complex(input.dtype())) return ops::clamp(input, -1, 1);
  return make_complex(ops::clamp(real_part(input), -1, 1), ops::clamp(imaginary_part(input), -1, 1));
}

void corrcoef_cpu(Call& call) {
  const Tensor covariance = cov(call.value(0));
  if (covariance.ndim() == 0) return call.set_output(0, covariance / covariance);
  const Tensor deviation = ops::sqrt(real_part(diagonal(covariance)));
  const Tensor result = covariance / ops::unsqueeze(deviation, 0) / ops::unsqueeze(deviation, 1);
  call.set_output(0, between_minus_one_and_one(result));
}

// ---- quantiles ----

// The element at a place between two neighbours.
Tensor between(std::string_view interpolation, const Tensor& low, const Tensor& high, const Tensor& share) {
  if (interpolation == "midpoint") return lerp(low, high, 0.5);
  return interpolation == "linear" ? lerp(low, high, share) : low;
}

struct Ranks {
  Tensor low, high, share;  // share: how far from low to high

  Ranks(const Call& call, const Tensor& ranks, std::string_view interpolation, DType dtype) {
    Tensor place = floor(ranks);
    if (interpolation == "higher") place = ceil(ranks);
    if (interpolation == "nearest") place = round(ranks);
    check(interpolation == "higher" || interpolation == "nearest" || interpolation == "lower" ||
              interpolation == "linear" || interpolation == "midpoint",
          call.op.name(), "(): interpolation must be 'linear', 'lower', 'higher', 'midpoint' or 'nearest', not '",
          interpolation, "'");
    low = ops::to_dtype(place, DType::int64);
    high = ops::to_dtype(ceil(ranks), DType::int64);
    share = ops::to_dtype(ranks - place, dtype);
  }
};

// (input, q, dim, keepdim, *, interpolation). Lines along `dim` are sorted; a row of quantiles
// is picked from each, and moved to the front.
template <bool skip_nan>
void quantile_cpu(Call& call) {
  Tensor input = call.tensor(0);
  check<TypeError>(is_floating(input.dtype()), call.op.name(), "() takes floating tensors, not ", name(input.dtype()));
  const bool is_row = call.value(1).is_tensor() && call.tensor(1).ndim() > 0;
  const Tensor q = call.value(1).is_tensor() ? ops::to_dtype(call.value(1), DType::float64)
                                             : scalar(call.real(1), DType::float64);
  check(q.ndim() <= 1, call.op.name(), "(): q must be a number or a row of numbers, not shape ", q.shape());
  const Tensor inside = ops::logical_and(ops::ge(q, 0), ops::le(q, 1));
  check(item_as_int(OpFunction{"all"}(inside)) != 0, call.op.name(), "(): q must lie between 0 and 1");

  const int ndim = input.ndim();
  Dims kept(input.shape());
  const bool flat = !call.has(2);
  const int dim = flat ? 0 : wrap_dim(call.integer(2), ndim);
  for (int i = 0; i < ndim; ++i) {
    if (flat || i == dim) kept[i] = 1;
  }
  if (flat || ndim == 0) input = ops::reshape(input, int64_t{-1});
  const Tensor lines = OpFunction{"movedim"}(input, int64_t{flat ? 0 : dim}, int64_t{-1});
  const int last = lines.ndim() - 1;
  check(lines.size(last) > 0, call.op.name(), "(): there are no elements to choose from");
  const Tensor sorted = sort.all(lines, last)[0];
  const Tensor row = ops::reshape(q, int64_t{-1});

  Tensor result;
  if (skip_nan) {
    const Tensor numbers = ops::sum(ops::logical_not(isnan(lines)), int64_t{last}, true);
    const Tensor steps = ops::to_dtype(ops::maximum(numbers - 1.0, 0), DType::float64);
    const Ranks ranks(call, steps * row, call.text(4), input.dtype());
    result = between(call.text(4), gather(sorted, last, ranks.low), gather(sorted, last, ranks.high), ranks.share);
  } else {
    const Ranks ranks(call, row * static_cast<double>(lines.size(last) - 1), call.text(4), input.dtype());
    result = between(call.text(4), index_select(sorted, last, ranks.low), index_select(sorted, last, ranks.high),
                     ranks.share);
    const Tensor largest = ops::narrow(sorted, last, lines.size(last) - 1, int64_t{1});
    result = ops::where(isnan(largest), largest, result);
  }

  Dims shape;
  if (is_row) shape.push(row.numel());
  for (int i = 0; i < ndim; ++i) {
    if (call.boolean(3)) {
      shape.push(kept[i]);
    } else if (!flat && i != dim) {
      shape.push(kept[i]);
    }
  }
  call.set_output(0, ops::reshape(OpFunction{"movedim"}(result, int64_t{-1}, int64_t{0}), IntSpan(shape)));
}

const Register statistics[] = {
    {"nanmean(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
     "The mean of the elements that are not NaN.", {Trait::composite}, nanmean_cpu},
    {"aminmax(Tensor input, *, int? dim=None, bool keepdim=False) -> (Tensor, Tensor)",
     "The smallest and the largest element along a dimension, or of all.", {Trait::composite}, aminmax_cpu},
    {"var_mean(Tensor input, int[]? dim=None, *, Scalar? correction=1, bool keepdim=False, bool? unbiased=None) -> "
     "(Tensor, Tensor)",
     "The variance and the mean.", {Trait::composite}, moments_cpu<var>},
    {"std_mean(Tensor input, int[]? dim=None, *, Scalar? correction=1, bool keepdim=False, bool? unbiased=None) -> "
     "(Tensor, Tensor)",
     "The standard deviation and the mean.", {Trait::composite}, moments_cpu<std_deviation>},
    {"cov(Tensor input, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor",
     "The covariance matrix of variables: one variable per row, one observation per column, which "
     "fweights repeat and aweights weigh.",
     {Trait::composite}, cov_cpu},
    {"corrcoef(Tensor input) -> Tensor", "The correlation coefficients of variables, one per row.",
     {Trait::composite}, corrcoef_cpu},
    {"quantile(Tensor input, Tensor|Scalar q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
     "The value below which the part q of the elements lies, along a dimension or of all; NaN if one is.",
     {Trait::composite}, quantile_cpu<false>},
    {"nanquantile(Tensor input, Tensor|Scalar q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
     "The quantile of the elements that are not NaN.", {Trait::composite}, quantile_cpu<true>},
};

}  // namespace
}  // namespace relume
