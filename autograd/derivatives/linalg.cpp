// Derivatives of matrix products.
#include "autograd/derivative.h"

namespace relume {
namespace {

Tensor transposed(const Tensor& matrices) { return ops::transpose(matrices, -2, -1); }
Tensor as_row(const Tensor& vector) { return ops::unsqueeze(vector, -2); }
Tensor as_column(const Tensor& vector) { return ops::unsqueeze(vector, -1); }
// All leading dimensions in one: (a, b, c, n) -> (a*b*c, n).
Tensor flat_rows(const Tensor& tensor) {
  const int64_t columns = tensor.size(tensor.ndim() - 1);
  int64_t rows = 1;
  for (int i = 0; i + 1 < tensor.ndim(); i++) rows *= tensor.size(i);
  return tensor.ndim() == 2 ? tensor : ops::reshape(tensor, IntSpan({rows, columns}));
}

Tensor matmul_input_gradient(Backward& b) {
  const Tensor grad = b.grad(), other = b.in(1);
  const IntSpan shape = b.shape(0);
  if (shape.count == 1 && other.ndim() == 1) return grad * other;
  if (shape.count == 1) {
    return ops::sum_to(ops::squeeze(ops::matmul(other, as_column(grad)), IntSpan({-1})), shape);
  }
  if (other.ndim() == 1) return ops::sum_to(as_column(grad) * other, shape);
  return ops::sum_to(ops::matmul(grad, transposed(other)), shape);
}

Tensor matmul_other_gradient(Backward& b) {
  const Tensor grad = b.grad(), input = b.in(0);
  const IntSpan shape = b.shape(1);
  if (shape.count == 1 && input.ndim() == 1) return grad * input;
  if (shape.count == 1) {
    return ops::matmul(transposed(flat_rows(input)), ops::reshape(grad, IntSpan({grad.numel()})));
  }
  if (input.ndim() == 1) return ops::sum_to(as_column(input) * as_row(grad), shape);
  if (shape.count == 2) return ops::matmul(transposed(flat_rows(input)), flat_rows(grad));
  return ops::sum_to(ops::matmul(transposed(input), grad), shape);
}

const Derive derive_matmul{"matmul", {{0, saves(1), matmul_input_gradient}, {1, saves(0), matmul_other_gradient}}};
const Derive derive_mm{"mm", {{0, saves(1), matmul_input_gradient}, {1, saves(0), matmul_other_gradient}}};
const Derive derive_bmm{"bmm", {{0, saves(1), matmul_input_gradient}, {1, saves(0), matmul_other_gradient}}};
const Derive derive_mv{"mv", {{0, saves(1), matmul_input_gradient}, {1, saves(0), matmul_other_gradient}}};
const Derive derive_dot{"dot", {{0, saves(1), matmul_input_gradient}, {1, saves(0), matmul_other_gradient}}};
const Derive derive_outer{"outer", {
    {0, saves(1), [](Backward& b) { return ops::matmul(b.grad(), b.in(1)); }},
    {1, saves(0), [](Backward& b) { return ops::matmul(b.in(0), b.grad()); }}}};

const Derive derive_linear{"linear", {
    {0, saves(1), [](Backward& b) { return ops::matmul(b.grad(), b.in(1)); }},
    {1, saves(0), [](Backward& b) { return ops::matmul(transposed(flat_rows(b.grad())), flat_rows(b.in(0))); }},
    {2, saves_nothing, [](Backward& b) { return ops::sum_to(b.grad(), b.shape(2)); }}}};

// The addmm family: beta * input + alpha * product(a, b).
constexpr int kBeta = 3, kAlpha = 4;

Tensor scaled(const Tensor& gradient, const Value& factor) {
  return factor.as_complex() == 1.0 ? gradient : gradient * factor;
}
Tensor added_gradient(Backward& b) { return ops::sum_to(scaled(b.grad(), b.value(kBeta)), b.shape(0)); }
Tensor scaled_grad(Backward& b) { return scaled(b.grad(), b.value(kAlpha)); }

const Derive derive_addmm{"addmm", {
    {0, saves_nothing, added_gradient},
    {1, saves(2), [](Backward& b) { return ops::matmul(scaled_grad(b), transposed(b.in(2))); }},
    {2, saves(1), [](Backward& b) { return ops::matmul(transposed(b.in(1)), scaled_grad(b)); }}}};
const Derive derive_baddbmm{"baddbmm", {
    {0, saves_nothing, added_gradient},
    {1, saves(2), [](Backward& b) { return ops::matmul(scaled_grad(b), transposed(b.in(2))); }},
    {2, saves(1), [](Backward& b) { return ops::matmul(transposed(b.in(1)), scaled_grad(b)); }}}};
const Derive derive_addmv{"addmv", {
    {0, saves_nothing, added_gradient},
    {1, saves(2), [](Backward& b) { return as_column(scaled_grad(b)) * b.in(2); }},
    {2, saves(1), [](Backward& b) { return ops::matmul(transposed(b.in(1)), scaled_grad(b)); }}}};
const Derive derive_addr{"addr", {
    {0, saves_nothing, added_gradient},
    {1, saves(2), [](Backward& b) { return ops::matmul(scaled_grad(b), b.in(2)); }},
    {2, saves(1), [](Backward& b) { return ops::matmul(b.in(1), scaled_grad(b)); }}}};

}  // namespace
}  // namespace relume
