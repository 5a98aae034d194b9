// Differences, integrals, norms and membership, written in terms of other ops.
#include <cmath>

#include "tensor/composites/composites.h"
#include "tensor/default_dtype.h"

namespace relume {
namespace {

const OpFunction cumsum{"cumsum"}, norm{"norm"}, diagonal{"diagonal"}, sort{"sort"}, searchsorted{"searchsorted"},
    take{"take"}, logical_xor{"logical_xor"};

// Neighbours along a dimension, all but the first and all but the last.
Tensor later(const Tensor& input, int dim) { return ops::narrow(input, dim, int64_t{1}, input.size(dim) - 1); }
Tensor earlier(const Tensor& input, int dim) { return ops::narrow(input, dim, int64_t{0}, input.size(dim) - 1); }

void diff_cpu(Call& call) {
  Tensor input = call.tensor(0);
  check(input.ndim() > 0, "diff(): a 0-d tensor has no neighbours");
  check(call.integer(1) >= 0, "diff(): n must not be negative, got ", call.integer(1));
  const int dim = wrap_dim(call.integer(2), input.ndim());
  if (call.integer(1) == 0) return call.set_output(0, ops::clone(input));
  std::vector<Tensor> parts;
  if (call.has(3)) parts.push_back(call.tensor(3));
  parts.push_back(input);
  if (call.has(4)) parts.push_back(call.tensor(4));
  if (parts.size() > 1) input = joined(parts, dim);
  for (int64_t step = 0; step < call.integer(1) && input.size(dim) > 0; ++step) {
    input = input.dtype() == DType::boolean ? ops::ne(later(input, dim), earlier(input, dim))
                                            : later(input, dim) - earlier(input, dim);
  }
  call.set_output(0, input);
}

// The areas below the lines between neighbouring points: (y, x, *, dx, dim).
Tensor areas(Call& call) {
  const Tensor y = call.tensor(0);
  check(y.ndim() > 0, call.op.name(), "(): a 0-d tensor has no neighbours");
  const int dim = wrap_dim(call.integer(3), y.ndim());
  if (y.size(dim) == 0) return ops::to_dtype(y, is_differentiable(y.dtype()) ? y.dtype() : default_float());
  const Tensor heights = (later(y, dim) + earlier(y, dim)) * 0.5;
  if (!call.has(1)) return ops::mul(heights, call.value(2));
  Tensor x = call.tensor(1);
  if (x.ndim() == 1 && y.ndim() > 1) {
    std::vector<int64_t> shape(static_cast<std::size_t>(y.ndim()), 1);
    shape[static_cast<std::size_t>(dim)] = x.numel();
    x = ops::reshape(x, shape);
  }
  const int own = x.ndim() - (y.ndim() - dim);
  check(own >= 0 && x.size(own) == y.size(dim), call.op.name(), "(): x of shape ", x.shape(), " gives no place to each of the ",
        y.size(dim), " points along dimension ", dim, " of y");
  return heights * (later(x, own) - earlier(x, own));
}
void trapezoid_cpu(Call& call) {
  const Tensor parts = areas(call);
  call.set_output(0, ops::sum(parts, int64_t{wrap_dim(call.integer(3), parts.ndim())}));
}
void cumulative_trapezoid_cpu(Call& call) {
  call.set_output(0, cumsum(areas(call), call.value(3)));
}

void trace_cpu(Call& call) {
  check(call.tensor(0).ndim() == 2, "trace() takes a matrix, not a tensor of shape ", call.tensor(0).shape());
  call.set_output(0, ops::sum(diagonal(call.value(0))));
}

void dist_cpu(Call& call) {
  call.set_output(0, norm(ops::sub(call.value(0), call.value(1)), call.value(2)));
}

// (input, p, dim, maxnorm): the slices along `dim` are made shorter where they are too long.
void renorm_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check(input.ndim() >= 2, "renorm(): input must have at least two dimensions, not shape ", input.shape());
  check(call.real(1) > 0, "renorm(): p must be positive, got ", call.real(1));
  check(call.real(3) >= 0, "renorm(): maxnorm must not be negative, got ", call.real(3));
  const int dim = wrap_dim(call.integer(2), input.ndim());
  std::vector<int64_t> others;
  for (int i = 0; i < input.ndim(); ++i) {
    if (i != dim) others.push_back(i);
  }
  const Tensor length = norm(input, call.value(1), others, true);
  const Tensor factor = ops::div(call.value(3), length + 1e-7);
  call.set_output(0, input * ops::where(ops::gt(length, call.value(3)), factor, 1));
}

void msort_cpu(Call& call) { call.set_output(0, sort.all(call.value(0), 0)[0]); }

// (elements, test_elements, *, assume_unique, invert): each is looked up in the sorted ones.
void isin_cpu(Call& call) {
  const auto tensor = [&](int i) {
    return call.value(i).is_tensor() ? call.tensor(i)
           : call.value(i).type == Value::Type::real ? scalar(call.real(i), default_float())
                                                     : scalar(call.real(i), DType::int64);
  };
  const Tensor elements = tensor(0), known = ops::reshape(tensor(1), int64_t{-1});
  Tensor found;
  if (known.numel() == 0) {
    found = full(elements.shape(), 0, DType::boolean);
  } else {
    const Tensor sorted = sort.all(known)[0];
    const Tensor place = ops::minimum(searchsorted(sorted, elements), known.numel() - 1);
    found = ops::eq(take(sorted, place), elements);
  }
  call.set_output(0, call.boolean(3) ? ops::logical_not(found) : found);
}

void isreal_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  call.set_output(0, is_complex(input.dtype()) ? ops::eq(OpFunction{"imag"}(input), 0)
                                               : full(input.shape(), 1, DType::boolean));
}

const Register register_diff{
    "diff(Tensor input, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
    "The differences of neighbours along a dimension, n times.", {Trait::composite}, diff_cpu};
const Register register_trapezoid{
    "trapezoid(Tensor y, Tensor? x=None, *, Scalar dx=1, int dim=-1) -> Tensor",
    "The integral along a dimension by the trapezoid rule: points at x, or at a distance of dx.",
    {Trait::composite, Trait::no_method}, trapezoid_cpu};
const Register register_cumulative_trapezoid{
    "cumulative_trapezoid(Tensor y, Tensor? x=None, *, Scalar dx=1, int dim=-1) -> Tensor",
    "The integral up to each point along a dimension, by the trapezoid rule.",
    {Trait::composite, Trait::no_method}, cumulative_trapezoid_cpu};
const Register register_trace{"trace(Tensor input) -> Tensor", "The sum of the diagonal of a matrix.",
                              {Trait::composite}, trace_cpu};
const Register register_dist{"dist(Tensor input, Tensor other, Scalar p=2) -> Tensor",
                             "The p-norm of input - other.", {Trait::composite}, dist_cpu};
const Register register_renorm{
    "renorm(Tensor input, Scalar p, int dim, Scalar maxnorm) -> Tensor",
    "The slices along a dimension, scaled down to a p-norm of maxnorm where theirs is larger.",
    {Trait::composite}, renorm_cpu};
const Register register_msort{"msort(Tensor input) -> Tensor", "The elements in order along the first dimension.",
                              {Trait::composite}, msort_cpu};
const Register register_isin{
    "isin(Tensor|Scalar elements, Tensor|Scalar test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor",
    "Is the element one of test_elements (with invert: is it none of them)?",
    {Trait::not_differentiable, Trait::no_method}, isin_cpu};
const Register register_isreal{"isreal(Tensor input) -> Tensor", "Is the element a real number?",
                               {Trait::takes_complex, Trait::not_differentiable}, isreal_cpu};

}  // namespace
}  // namespace relume
