// Derivatives of the running totals and extremes.
#include "autograd/derivative.h"

namespace relume {
namespace {

const OpFunction flip{"flip"}, cumsum{"cumsum"}, cumprod{"cumprod"}, scatter_add{"scatter_add"}, any{"any"};

// Sums from each place on to the end.
Tensor sum_of_rest(const Tensor& input, int64_t dim) {
  const IntSpan dims(&dim, 1);
  return flip(cumsum(flip(input, dims), dim), dims);
}

const Derive derive_cumsum{"cumsum", {
    {0, saves_nothing, [](Backward& b) {
       return b.shape(0).count == 0 ? b.grad() : sum_of_rest(b.grad(), b.integer(1));
     }}}};

// Without a division, from the end to the start: what follows a factor is
// rest(i) = grad(i) + input(i + 1) * rest(i + 1), and what comes before it is its product.
Tensor cumprod_backward_with_zeros(const Tensor& grad, const Tensor& input, int dim) {
  const int64_t length = input.size(dim);
  const auto at = [&](const Tensor& x, int64_t i) { return ops::narrow(x, dim, i, int64_t{1}); };
  std::vector<Tensor> before(length), gradients(length);
  before[0] = ops::ones_like(at(input, 0));
  for (int64_t i = 1; i < length; ++i) before[i] = before[i - 1] * at(input, i - 1);
  Tensor rest = at(grad, length - 1);
  for (int64_t i = length - 1; i >= 0; --i) {
    gradients[i] = before[i] * rest;
    if (i > 0) rest = at(grad, i - 1) + at(input, i) * rest;
  }
  std::vector<TensorBody*> bodies;
  for (const Tensor& gradient : gradients) bodies.push_back(gradient.body());
  return ops::cat(Value(bodies.data(), static_cast<int>(length)), dim);
}

const Derive derive_cumprod{"cumprod", {
    {0, saves(0) | saves_output(), [](Backward& b) {
       const Tensor input = b.in(0);
       if (input.ndim() == 0 || input.numel() == 0) return b.grad();
       const int dim = wrap_dim(b.integer(1), input.ndim());
       if (item_as_int(any(ops::eq(input, 0))) != 0) {
         return cumprod_backward_with_zeros(b.grad(), input, dim);
       }
       return sum_of_rest(b.grad() * b.out(), dim) / input;
     }}}};

// exp(input) * sum of the rest of grad * exp(-out), both relative to the last output, which is
// the largest; in double, whose exponents reach far.
const Derive derive_logcumsumexp{"logcumsumexp", {
    {0, saves(0) | saves_output(), [](Backward& b) {
       if (b.shape(0).count == 0 || b.in(0).numel() == 0) return b.grad();
       const int dim = wrap_dim(b.integer(1), b.shape(0).count);
       const Tensor out = ops::to_dtype(b.out(), DType::float64);
       const Tensor input = ops::to_dtype(b.in(0), DType::float64);
       const Tensor last = ops::narrow(out, dim, out.size(dim) - 1, int64_t{1});
       const Tensor grad = ops::to_dtype(b.grad(), DType::float64);
       return ops::exp(input - last) * sum_of_rest(grad * ops::exp(last - out), dim);
     }}}};

Tensor chosen_backward(Backward& b) {
  if (b.shape(0).count == 0) return b.grad();
  const int dim = wrap_dim(b.integer(1), b.shape(0).count);
  return scatter_add(full(b.shape(0), 0.0, b.dtype(0)), dim, b.out(1), b.grad());
}
const Derive derive_cummax{"cummax", {{0, saves_output(1), chosen_backward}}};
const Derive derive_cummin{"cummin", {{0, saves_output(1), chosen_backward}}};

}  // namespace
}  // namespace relume
