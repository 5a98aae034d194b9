// The reduction ops: sum, mean, amax, argmax, any, norm, ...
#include "tensor/reduction.h"

#include <cmath>
#include <limits>

#include "tensor/convert.h"
#include "tensor/copy.h"
#include "tensor/elementwise.h"
#include "tensor/ops.h"

namespace relume {
namespace {

// None means all dimensions.
DimSet dims_of(const Call& call, int argument, int ndim) {
  return call.has(argument) ? DimSet::of(call.integers(argument), ndim) : DimSet::all(ndim);
}

Tensor converted(const Tensor& input, DType dtype) {
  if (input.dtype() == dtype) return input;
  const Tensor result = empty(input.shape(), dtype, input.device());
  copy(result, input);
  return result;
}

// Reduces into output 0, and the values of an arg reduction into output `values`.
void reduce_into(Call& call, Reduction reduction, const Tensor& input, DimSet dims, bool keepdim,
                 int place = 0, int values = -1) {
  const ReductionLoops& loops = find_reduction(reduction, input.dtype());
  check<TypeError>(loops.accumulator_size > 0, call.op.name(), "() does not take tensors of type ",
                   name(input.dtype()));
  const Dims shape = reduced_shape(input.shape(), dims, keepdim);
  const Tensor out = call.output(place, shape, loops.result);
  const Tensor extremes = values < 0 ? Tensor() : call.output(values, shape, input.dtype());
  // The loops write results one after the other.
  const Tensor target = out.is_contiguous() ? out : empty(shape, out.dtype());
  const Tensor value_target = !extremes.defined() || extremes.is_contiguous()
                                  ? extremes
                                  : empty(shape, extremes.dtype());
  reduce(reduction, input, dims, target.data_as<char>(),
         value_target.defined() ? value_target.data_as<char>() : nullptr);
  if (target.body() != out.body()) copy(out, target);
  if (value_target.body() != extremes.body()) copy(extremes, value_target);
}

// sum, mean and prod: (input, dim, keepdim, *, dtype).
template <Reduction reduction>
void total_kernel(Call& call) {
  Tensor input = call.tensor(0);
  const DimSet dims = dims_of(call, 1, input.ndim());
  if (!call.has(3)) return reduce_into(call, reduction, input, dims, call.boolean(2));
  const DType dtype = call.dtype(3, input.dtype());
  check<TypeError>(reduction != Reduction::mean || is_differentiable(dtype),
                   "mean(): dtype must be a floating or complex type, got ", name(dtype));
  input = converted(input, dtype);
  const ReductionLoops& loops = find_reduction(reduction, dtype);
  if (loops.result == dtype) return reduce_into(call, reduction, input, dims, call.boolean(2));
  // Small integers are summed in int64.
  const Tensor wide = empty(reduced_shape(input.shape(), dims, call.boolean(2)), loops.result);
  reduce(reduction, input, dims, wide.data_as<char>(), nullptr);
  copy(call.output(0, wide.shape(), dtype), wide);
}

void nansum_cpu(Call& call) {
  const bool floating = is_floating(call.dtype(3, call.body(0)->dtype));
  return floating ? total_kernel<Reduction::nan_sum>(call) : total_kernel<Reduction::sum>(call);
}

void count_nonzero_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  reduce_into(call, Reduction::count_nonzero, input, dims_of(call, 1, input.ndim()), false);
}

// any and all: (input, dim, keepdim); sums of squares too.
template <Reduction reduction>
void folding_kernel(Call& call) {
  const Tensor input = call.tensor(0);
  reduce_into(call, reduction, input, dims_of(call, 1, input.ndim()), call.boolean(2));
}

void check_not_empty(const Call& call, const Tensor& input, DimSet dims) {
  for (int i = 0; i < input.ndim(); ++i) {
    check(!dims.has(i) || input.size(i) > 0, call.op.name(), "(): dimension ", i,
          " of a tensor of shape ", input.shape(), " has no elements to choose from");
  }
}

// amax and amin: (input, dim, keepdim).
template <Reduction reduction>
void extreme_kernel(Call& call) {
  const Tensor input = call.tensor(0);
  const DimSet dims = dims_of(call, 1, input.ndim());
  check_not_empty(call, input, dims);
  reduce_into(call, reduction, input, dims, call.boolean(2));
}

// argmax and argmin: (input, dim, keepdim), without a dimension a position in the flat tensor.
template <Reduction reduction>
void position_kernel(Call& call) {
  const Tensor input = call.tensor(0);
  const int64_t dim = call.has(1) ? call.integer(1) : 0;
  const DimSet dims = call.has(1) ? DimSet::of(IntSpan(&dim, 1), input.ndim()) : DimSet::all(input.ndim());
  check_not_empty(call, input, dims);
  reduce_into(call, reduction, input, dims, call.boolean(2));
}

// max_with_indices and min_with_indices: (input, dim, keepdim) -> (values, positions).
template <Reduction reduction>
void extreme_with_position_kernel(Call& call) {
  const Tensor input = call.tensor(0);
  const int64_t dim = call.integer(1);
  const DimSet dims = DimSet::of(IntSpan(&dim, 1), input.ndim());
  check_not_empty(call, input, dims);
  reduce_into(call, reduction, input, dims, call.boolean(2), 1, 0);
}

// The mean squared distance from the mean, in two passes: exact also far from zero. `unbiased`
// is an older way to say what the correction is.
Tensor variance(const Tensor& input, const Call& call) {
  const Tensor x = is_floating(input.dtype()) ? input : converted(input, default_float());
  const DimSet dims = dims_of(call, 1, x.ndim());
  const bool half = item_size(x.dtype()) == 2;
  const Tensor wide = half ? converted(x, DType::float32) : x;
  const Tensor mean = empty(reduced_shape(x.shape(), dims, true), wide.dtype());
  reduce(Reduction::mean, wide, dims, mean.data_as<char>(), nullptr);
  const Tensor distance = ops::sub(wide, mean);
  const Tensor squares = empty(reduced_shape(x.shape(), dims, call.boolean(3)), wide.dtype());
  reduce(Reduction::sum_of_squares, distance, dims, squares.data_as<char>(), nullptr);
  const double correction = call.has(4) ? (call.boolean(4) ? 1 : 0) : call.has(2) ? call.real(2) : 1;
  int64_t folded = 1;
  for (int i = 0; i < x.ndim(); ++i) {
    if (dims.has(i)) folded *= x.size(i);
  }
  const double freedom = std::max(0.0, static_cast<double>(folded) - correction);
  return converted(squares / freedom, x.dtype());
}
void var_cpu(Call& call) { call.set_output(0, variance(call.tensor(0), call)); }
void std_cpu(Call& call) { call.set_output(0, ops::sqrt(variance(call.tensor(0), call))); }

void norm_cpu(Call& call) {
  const Tensor given = call.tensor(0);
  const Tensor input = is_floating(given.dtype()) ? given : converted(given, default_float());
  const DimSet dims = dims_of(call, 2, input.ndim());
  const bool keepdim = call.boolean(3);
  const double p = call.real(1);
  if (p == 2) return reduce_into(call, Reduction::root_of_squares, input, dims, keepdim);
  const Tensor size = ops::abs(input);
  if (std::isinf(p)) {
    check_not_empty(call, input, dims);
    return reduce_into(call, p > 0 ? Reduction::max : Reduction::min, size, dims, keepdim);
  }
  if (p == 1) return reduce_into(call, Reduction::sum, size, dims, keepdim);
  if (p == 0) {
    return reduce_into(call, Reduction::sum, ops::to_dtype(ops::ne(size, 0), input.dtype()), dims, keepdim);
  }
  const DType wide = input.dtype() == DType::float64 ? DType::float64 : DType::float32;  // powers of 16-bit numbers leave their range
  const Tensor terms = ops::pow(ops::to_dtype(size, wide), p);
  const Tensor total = empty(reduced_shape(input.shape(), dims, keepdim), wide);
  reduce(Reduction::sum, terms, dims, total.data_as<char>(), nullptr);
  call.set_output(0, ops::to_dtype(ops::pow(total, 1 / p), input.dtype()));
}

// log of the sum of exponentials, which may be too large for the type: the largest one is
// taken out first.
void logsumexp_cpu(Call& call) {
  const Tensor given = call.tensor(0);
  const Tensor input = is_floating(given.dtype()) ? given : converted(given, default_float());
  const DimSet dims = DimSet::of(call.integers(1), input.ndim());
  const Dims kept = reduced_shape(input.shape(), dims, true);
  const Tensor largest = empty(kept, input.dtype());
  reduce(Reduction::max, input, dims, largest.data_as<char>(), nullptr);
  const Tensor base = ops::where(OpFunction{"isfinite"}(largest), largest, 0);
  const Tensor terms = ops::exp(input - base);
  const Tensor total = empty(kept, input.dtype());
  reduce(Reduction::sum, terms, dims, total.data_as<char>(), nullptr);
  const Tensor result = ops::log(total) + base;
  set_shape(result.body(), reduced_shape(input.shape(), dims, call.boolean(2)));
  call.set_output(0, result);
}

// The gradient of a broadcast operand is the sum over the places it was repeated to.
void sum_to_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const IntSpan shape = call.integers(1);
  if (input.shape() == shape) {
    return call.set_output(0, input.requires_grad() ? alias(input) : input);
  }
  const int extra = input.ndim() - shape.count;
  Dims repeated;
  for (int i = 0; i < input.ndim(); ++i) {
    const bool leading = i < extra;
    check(leading || (extra >= 0 && (shape[i - extra] == input.size(i) || shape[i - extra] == 1)),
          "sum_to(): a tensor of shape ", shape, " does not broadcast to ",
          input.shape());
    if (leading || shape[i - extra] != input.size(i)) repeated.push(i);
  }
  check(extra >= 0, "sum_to(): a tensor of shape ", shape, " does not broadcast to ",
        input.shape());
  const DType dtype = find_reduction(Reduction::sum, input.dtype()).result;
  const Tensor out = call.output(0, shape, dtype);
  const Tensor target = out.is_contiguous() ? out : empty(shape, dtype);
  reduce(Reduction::sum, input, DimSet::of(repeated, input.ndim()), target.data_as<char>(), nullptr);
  if (target.body() != out.body()) copy(out, target);
}

const Register register_sum{
    "sum(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
    "The sum along dimensions, or of all elements; integers and bool are summed in int64.", {Trait::takes_complex},
    total_kernel<Reduction::sum>};
const Register register_nansum{
    "nansum(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
    "The sum along dimensions, or of all elements, NaN counting as 0.", {}, nansum_cpu};
const Register register_count_nonzero{
    "count_nonzero(Tensor input, int[]? dim=None) -> Tensor", "How many elements are not zero.",
    {Trait::takes_complex, Trait::not_differentiable}, count_nonzero_cpu};
const Register register_mean{
    "mean(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
    "The mean along dimensions, or of all elements.", {Trait::takes_complex}, total_kernel<Reduction::mean>};
const Register register_prod{
    "prod(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
    "The product along dimensions, or of all elements.", {Trait::takes_complex}, total_kernel<Reduction::prod>};
const Register register_amax{
    "amax(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor",
    "The largest element along dimensions, or of all; NaN if there is one.", {},
    extreme_kernel<Reduction::max>};
const Register register_amin{
    "amin(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor",
    "The smallest element along dimensions, or of all; NaN if there is one.", {},
    extreme_kernel<Reduction::min>};
const Register register_max_with_indices{
    "max_with_indices(Tensor input, int dim, bool keepdim=False) -> (Tensor, Tensor)",
    "The largest element along a dimension and its index, the first one of equals.", {},
    extreme_with_position_kernel<Reduction::arg_max>};
const Register register_min_with_indices{
    "min_with_indices(Tensor input, int dim, bool keepdim=False) -> (Tensor, Tensor)",
    "The smallest element along a dimension and its index, the first one of equals.", {},
    extreme_with_position_kernel<Reduction::arg_min>};
const Register register_argmax{
    "argmax(Tensor input, int? dim=None, bool keepdim=False) -> Tensor",
    "The index of the largest element, the first one of equals; without dim in the flat tensor.",
    {Trait::not_differentiable}, position_kernel<Reduction::arg_max>};
const Register register_argmin{
    "argmin(Tensor input, int? dim=None, bool keepdim=False) -> Tensor",
    "The index of the smallest element, the first one of equals; without dim in the flat tensor.",
    {Trait::not_differentiable}, position_kernel<Reduction::arg_min>};
const Register register_any{
    "any(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor",
    "Is any element true (not zero)?", {Trait::takes_complex, Trait::not_differentiable},
    folding_kernel<Reduction::any>};
const Register register_all{
    "all(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor",
    "Are all elements true (not zero)?", {Trait::takes_complex, Trait::not_differentiable},
    folding_kernel<Reduction::all>};
const Register register_var{
    "var(Tensor input, int[]? dim=None, *, Scalar? correction=1, bool keepdim=False, bool? unbiased=None) -> Tensor",
    "The variance: squared distances from the mean, divided by their number less correction.", {},
    var_cpu};
const Register register_std{
    "std(Tensor input, int[]? dim=None, *, Scalar? correction=1, bool keepdim=False, bool? unbiased=None) -> Tensor",
    "The standard deviation: the square root of the variance.", {}, std_cpu};
const Register register_norm{
    "norm(Tensor input, Scalar p=2, int[]? dim=None, bool keepdim=False) -> Tensor",
    "The p-norm: sum(abs(input)**p)**(1/p); p may be inf (largest), -inf (smallest) and 0 "
    "(how many are not zero).",
    {}, norm_cpu};
const Register register_logsumexp{
    "logsumexp(Tensor input, int[] dim, bool keepdim=False) -> Tensor",
    "log(sum(exp(input))) along dimensions, without overflow.", {}, logsumexp_cpu};
const Register register_sum_to{
    "sum_to(Tensor input, int[] shape) -> Tensor",
    "The sum over repeated places, so that the result has the shape that broadcast to the "
    "input's.",
    {Trait::takes_complex, Trait::no_method, Trait::no_out}, sum_to_cpu};

}  // namespace
}  // namespace relume
