// Derivatives of the reductions.
#include <cmath>

#include "autograd/derivative.h"
#include "tensor/reduction.h"

namespace relume {
namespace {

const OpFunction scatter{"scatter"};

DimSet dims_of(Backward& b, int argument) {
  const int ndim = b.shape(0).count;
  return b.value(argument).is_none() ? DimSet::all(ndim) : DimSet::of(b.integers(argument), ndim);
}

// A result (or its gradient) with the reduced dimensions put back as size 1, so that it
// broadcasts against the input.
Tensor restored(Backward& b, const Tensor& result, DimSet dims) {
  const Dims shape = reduced_shape(b.shape(0), dims, true);
  return result.shape() == IntSpan(shape) ? result : ops::reshape(result, IntSpan(shape));
}

double folded_count(Backward& b, DimSet dims) {
  double count = 1;
  for (int i = 0; i < b.shape(0).count; ++i) {
    if (dims.has(i)) count *= static_cast<double>(b.shape(0)[i]);
  }
  return count;
}

Tensor sum_backward(Backward& b) {
  return ops::expand(restored(b, b.grad(), dims_of(b, 1)), b.shape(0));
}
const Derive derive_sum{"sum", {{0, saves_nothing, sum_backward}}};

Tensor mean_backward(Backward& b) {
  const DimSet dims = dims_of(b, 1);
  return ops::expand(restored(b, b.grad(), dims) / folded_count(b, dims), b.shape(0));
}
const Derive derive_mean{"mean", {{0, saves_nothing, mean_backward}}};

const Derive derive_nansum{"nansum", {
    {0, saves(0), [](Backward& b) {
       const Tensor input = b.in(0);
       return ops::where(ops::eq(input, input), sum_backward(b), 0);
     }}}};

const Derive derive_sum_to{"sum_to", {
    {0, saves_nothing, [](Backward& b) { return ops::expand(b.grad(), b.shape(0)); }}}};

// The product of all the other elements along one dimension, right with zeros too: products
// of those before times products of those after.
Tensor product_of_others(const Tensor& input, int dim) {
  const int64_t length = input.size(dim);
  std::vector<Tensor> before(length), after(length), parts(length);
  for (int64_t i = 0; i < length; ++i) parts[i] = ops::narrow(input, dim, i, int64_t{1});
  before[0] = ops::ones_like(parts[0]);
  after[length - 1] = before[0];
  for (int64_t i = 1; i < length; ++i) {
    before[i] = before[i - 1] * parts[i - 1];
    after[length - 1 - i] = after[length - i] * parts[length - i];
  }
  std::vector<Tensor> others(length);
  std::vector<TensorBody*> bodies(length);
  for (int64_t i = 0; i < length; ++i) {
    others[i] = before[i] * after[i];
    bodies[i] = others[i].body();
  }
  return ops::cat(Value(bodies.data(), static_cast<int>(length)), dim);
}

// Reduced dimensions last and joined to one, for the case with zeros.
Tensor prod_backward_with_zeros(Backward& b, DimSet dims) {
  const int ndim = b.shape(0).count;
  std::vector<int64_t> order, back(ndim);
  for (bool reduced : {false, true}) {
    for (int i = 0; i < ndim; ++i) {
      if (dims.has(i) != reduced) continue;
      back[i] = static_cast<int64_t>(order.size());
      order.push_back(i);
    }
  }
  const Tensor moved = ops::permute(b.in(0), order);
  const int64_t folded = static_cast<int64_t>(folded_count(b, dims));
  const Tensor lines = ops::reshape(moved, IntSpan({moved.numel() / folded, folded}));
  const Tensor others = ops::reshape(product_of_others(lines, 1), moved.shape());
  return restored(b, b.grad(), dims) * ops::permute(others, back);
}

Tensor prod_backward(Backward& b) {
  const DimSet dims = dims_of(b, 1);
  const Tensor input = b.in(0);
  if (input.numel() == 0) return ops::zeros_like(input);
  const bool has_zero = item_as_int(OpFunction{"any"}(ops::eq(input, 0))) != 0;
  if (has_zero) return prod_backward_with_zeros(b, dims);
  return restored(b, b.grad() * b.out(), dims) / input;
}
const Derive derive_prod{"prod", {{0, saves(0) | saves_output(), prod_backward}}};

// Equal extremes share the gradient.
Tensor extreme_backward(Backward& b) {
  const DimSet dims = dims_of(b, 1);
  const Tensor chosen =
      ops::to_dtype(ops::eq(b.in(0), restored(b, b.out(), dims)), b.dtype(0));
  std::vector<int64_t> list;
  for (int i = 0; i < b.shape(0).count; ++i) {
    if (dims.has(i)) list.push_back(i);
  }
  const Tensor count = ops::sum(chosen, list, true);
  return restored(b, b.grad(), dims) / count * chosen;
}
const Derive derive_amax{"amax", {{0, saves(0) | saves_output(), extreme_backward}}};
const Derive derive_amin{"amin", {{0, saves(0) | saves_output(), extreme_backward}}};

// The chosen element gets it all.
Tensor chosen_backward(Backward& b) {
  const int ndim = b.shape(0).count;
  const int64_t dim = b.integer(1);
  const DimSet dims = DimSet::of(IntSpan(&dim, 1), ndim);
  const Tensor grad = restored(b, b.grad(), dims), index = restored(b, b.out(1), dims);
  if (ndim == 0) return grad;
  return scatter(full(b.shape(0), 0.0, b.dtype(0)), wrap_dim(dim, ndim), index, grad);
}
const Derive derive_max_with_indices{"max_with_indices", {{0, saves_output(1), chosen_backward}}};
const Derive derive_min_with_indices{"min_with_indices", {{0, saves_output(1), chosen_backward}}};

// (input - mean) * 2 / (number - correction), times the gradient.
Tensor spread_backward(Backward& b, const Tensor& grad) {
  const DimSet dims = dims_of(b, 1);
  std::vector<int64_t> list;
  for (int i = 0; i < b.shape(0).count; ++i) {
    if (dims.has(i)) list.push_back(i);
  }
  const Tensor distance = b.in(0) - ops::mean(b.in(0), list, true);
  const double correction = !b.value(4).is_none()   ? (b.boolean(4) ? 1 : 0)
                            : !b.value(2).is_none() ? b.real(2)
                                                    : 1;
  return restored(b, grad, dims) * distance * (2 / (folded_count(b, dims) - correction));
}
const Derive derive_var{"var", {
    {0, saves(0), [](Backward& b) { return spread_backward(b, b.grad()); }}}};
const Derive derive_std{"std", {
    {0, saves(0) | saves_output(), [](Backward& b) {
       // Where all elements are equal the root has no slope: a gradient of 0, not of 0 / 0.
       const Tensor slope = ops::sqrt_backward(b.grad(), b.out());
       return spread_backward(b, ops::where(ops::eq(b.out(), 0), 0, slope));
     }}}};

Tensor norm_backward(Backward& b) {
  const DimSet dims = dims_of(b, 2);
  const double p = b.real(1);
  const Tensor input = b.in(0), grad = restored(b, b.grad(), dims);
  if (p == 0) return ops::zeros_like(input);
  if (p == 1) return grad * ops::sign(input);
  const Tensor norm = restored(b, b.out(), dims);
  if (std::isinf(p)) {
    const Tensor chosen = ops::to_dtype(ops::eq(ops::abs(input), norm), input.dtype());
    return grad * ops::sign(input) * chosen / ops::sum_to(chosen, norm.shape());
  }
  // At zero the norm has no slope: a gradient of 0, not of 0 / 0.
  const Tensor zero = ops::eq(norm, 0);
  const Tensor safe = ops::where(zero, 1, norm);
  if (p == 2) return ops::where(zero, 0, grad / safe) * input;
  const Tensor ratio = ops::abs(input) / safe;
  const Tensor slope = ops::sign(input) * ops::pow(ratio, p - 1);
  return ops::where(ops::eq(input, 0), 0, grad * slope);
}
const Derive derive_norm{"norm", {{0, saves(0) | saves_output(), norm_backward}}};

const Derive derive_logsumexp{"logsumexp", {
    {0, saves(0) | saves_output(), [](Backward& b) {
       const DimSet dims = dims_of(b, 1);
       return restored(b, b.grad(), dims) * ops::exp(b.in(0) - restored(b, b.out(), dims));
     }}}};

}  // namespace
}  // namespace relume
