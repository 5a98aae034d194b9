// Derivatives of solving with matrices, inverses, determinants and the exponential. Those of
// holomorphic ops are written for real matrices (see Trait::not_holomorphic).
#include "autograd/derivative.h"
#include "tensor/thread_state.h"

namespace relume {
namespace {

const OpFunction conj{"conj"}, imaginary_part{"imag"}, tril{"tril"}, triu{"triu"}, eye{"eye"},
    diagonal{"diagonal"}, prod{"prod"}, any{"any"}, amax{"amax"}, amin{"amin"};
const OpFunction lu_factor{"linalg_lu_factor_ex"}, solve{"linalg_solve_ex"}, svd{"linalg_svd"}, det{"linalg_det"}, solve_triangular{"linalg_solve_triangular"}, pinv{"linalg_pinv"},
    matrix_exp{"linalg_matrix_exp"}, exchange_rows{"linalg_exchange_rows"};

Tensor transposed(const Tensor& matrices) { return ops::transpose(matrices, -2, -1); }
Tensor adjoint(const Tensor& matrices) { return conj(transposed(matrices)); }
Tensor as_matrix(const Tensor& number) { return ops::unsqueeze(ops::unsqueeze(number, -1), -1); }
Tensor identity_like(const Tensor& matrices) { return eye(matrices.size(matrices.ndim() - 1), Value(), matrices.dtype()); }
Tensor joined(const Tensor& a, const Tensor& b, int dim) {
  TensorBody* list[] = {a.body(), b.body()};
  return ops::cat(Value(list, 2), dim);
}
int64_t rows(const Tensor& matrices) { return matrices.size(matrices.ndim() - 2); }
int64_t columns(const Tensor& matrices) { return matrices.size(matrices.ndim() - 1); }

// ---- solving ----

void solve_gradients(Backward& b) {
  const Tensor for_sides = solve(transposed(b.in(0)), b.grad(), true);
  if (b.needs(1)) b.set(1, ops::sum_to(for_sides, b.shape(1)));
  if (b.needs(0)) b.set(0, ops::sum_to(-ops::matmul(for_sides, transposed(b.out())), b.shape(0)));
}
const Derive derive_solve{"linalg_solve_ex", saves(0) | saves_output(), solve_gradients};

void solve_triangular_gradients(Backward& b) {
  const bool upper = b.boolean(2), left = b.boolean(3), unit = b.boolean(4);
  const Tensor for_sides = solve_triangular(transposed(b.in(0)), b.grad(), !upper, left, unit);
  if (b.needs(1)) b.set(1, ops::sum_to(for_sides, b.shape(1)));
  if (!b.needs(0)) return;
  const Tensor full = left ? -ops::matmul(for_sides, transposed(b.out())) : -ops::matmul(transposed(b.out()), for_sides);
  const int diagonal = unit ? 1 : 0;
  b.set(0, ops::sum_to(upper ? triu(full, diagonal) : tril(full, -diagonal), b.shape(0)));
}
const Derive derive_solve_triangular{"linalg_solve_triangular", saves(0) | saves_output(), solve_triangular_gradients};

const Derive derive_inv{"linalg_inv_ex", {
    {0, saves_output(), [](Backward& b) {
       const Tensor inverse = transposed(b.out());
       return -ops::matmul(inverse, ops::matmul(b.grad(), inverse));
     }}}};

// The pseudo-inverse and least squares: Golub and Pereyra, The differentiation of pseudo-inverses
// and nonlinear least squares problems whose variables separate (1973).
const Derive derive_pinv{"linalg_pinv", {
    {0, saves(0) | saves_output(), [](Backward& b) {
       const Tensor a = b.in(0), p = b.out(), ph = adjoint(p), grad_h = adjoint(b.grad());
       const Tensor left = ops::matmul(grad_h, ops::matmul(p, ph));
       const Tensor right = ops::matmul(ops::matmul(ph, p), grad_h);
       return left - ops::matmul(a, ops::matmul(p, left)) + right - ops::matmul(ops::matmul(right, p), a) -
              ops::matmul(ph, ops::matmul(b.grad(), ph));
     }}}};

// X = P B with the pseudo-inverse P of A.
void lstsq_gradients(Backward& b) {
  const Tensor a = b.in(0), x = b.out(), p = pinv(a, 0.0, b.real(2)), ph = adjoint(p);
  const Tensor for_sides = ops::matmul(ph, b.grad());
  Tensor of_singular_values;
  if (b.has_grad(2)) {
    const Outputs parts = svd.all(a, false);
    of_singular_values = ops::matmul(parts[0] * ops::unsqueeze(b.grad(2), -2), parts[2]);
  }
  if (b.needs(1)) b.set(1, ops::sum_to(for_sides, b.shape(1)));
  if (!b.needs(0)) return;
  const Tensor residual = b.in(1) - ops::matmul(a, x), xh = adjoint(x), grad_h = adjoint(b.grad());
  const Tensor through_rows = ops::matmul(ops::matmul(residual, grad_h), ops::matmul(p, ph));
  const Tensor through_columns = ops::matmul(ops::matmul(ph, x), grad_h);
  const Tensor of_solution = through_rows + through_columns - ops::matmul(ops::matmul(through_columns, p), a) -
                             ops::matmul(for_sides, xh);
  b.set(0, ops::sum_to(of_singular_values.defined() ? of_solution + of_singular_values : of_solution, b.shape(0)));
}
const Derive derive_lstsq{"linalg_lstsq", saves(0, 1) | saves_output(), lstsq_gradients};

// ---- the LU decomposition ----

const Derive derive_exchange_rows{"linalg_exchange_rows", {
    {0, saves(1), [](Backward& b) { return exchange_rows(b.grad(), b.in(1), !b.boolean(2)); }}}};

// Of L U = A with square L and U: L^-T (tril(L^T gL, -1) + triu(gU U^T)) U^-T.
Tensor square_lu_gradient(const Tensor& factors, const Tensor& lower_grad, const Tensor& upper_grad) {
  const Tensor lower = tril(factors, -1), upper = triu(factors);
  const Tensor middle = tril(ops::matmul(transposed(lower), lower_grad) + lower_grad, -1) +
                        triu(ops::matmul(upper_grad, transposed(upper)));
  const Tensor left = solve_triangular(transposed(factors), middle, true, true, true);
  return solve_triangular(transposed(upper), left, false, false);
}

Tensor lu_gradient(Backward& b) {
  const Tensor factors = b.out(), grad = b.grad();
  const int64_t m = rows(factors), n = columns(factors), k = std::min(m, n);
  const Tensor square = ops::narrow(ops::narrow(factors, -2, 0, k), -1, 0, k);
  const Tensor square_grad = ops::narrow(ops::narrow(grad, -2, 0, k), -1, 0, k);
  Tensor lower_grad = tril(square_grad, -1), upper_grad = triu(square_grad), result;
  if (m == n) {
    result = square_lu_gradient(square, lower_grad, upper_grad);
  } else if (m < n) {  // the columns on the right are L U2
    const Tensor rest = ops::narrow(factors, -1, k, n - k), rest_grad = ops::narrow(grad, -1, k, n - k);
    const Tensor solved = solve_triangular(transposed(square), rest_grad, true, true, true);
    lower_grad = lower_grad - tril(ops::matmul(solved, transposed(rest)), -1);
    result = joined(square_lu_gradient(square, lower_grad, upper_grad), solved, -1);
  } else {  // the rows below are L2 U
    const Tensor rest = ops::narrow(factors, -2, k, m - k), rest_grad = ops::narrow(grad, -2, k, m - k);
    const Tensor solved = solve_triangular(transposed(triu(square)), rest_grad, false, false);
    upper_grad = upper_grad - triu(ops::matmul(transposed(rest), solved));
    result = joined(square_lu_gradient(square, lower_grad, upper_grad), solved, -2);
  }
  return exchange_rows(result, b.out(1), true);
}
const Derive derive_lu_factor{"linalg_lu_factor_ex", {{0, saves_output(0) | saves_output(1), lu_gradient}}};

// ---- determinants ----

// The transposed matrix of cofactors: the derivative of the determinant of singular matrices too.
// Each singular value's part is the product of all the others.
Tensor adjugate_by_svd(const Tensor& a) {
  const Outputs parts = svd.all(a, false);
  const Tensor u = parts[0], s = parts[1], vh = parts[2];
  const Tensor others = ops::where(identity_like(s), 1, ops::unsqueeze(s, -2));
  const Tensor products = prod(others, IntSpan({-1}));
  const Tensor sign = as_matrix(det(u) * det(vh));
  return ops::matmul(adjoint(vh) * ops::unsqueeze(products, -2), adjoint(u)) * sign;
}
// By the diagonal of U: dividing by its smallest element would leave nothing right.
bool any_nearly_singular(const Tensor& a) {
  GradMode off(false);
  const Tensor pivots = ops::abs(diagonal(lu_factor(a), 0, -2, -1));
  const double epsilon = item_size(pivots.dtype()) == 4 ? 1.2e-7 : 2.3e-16;
  const Tensor bound = amax(pivots, IntSpan({-1})) * (10 * epsilon * static_cast<double>(rows(a)));
  return item_as_int(any(ops::le(amin(pivots, IntSpan({-1})), bound))) != 0;
}
Tensor det_gradient(Backward& b) {
  const Tensor a = b.in(0), factor = b.grad() * b.out();
  if (a.numel() == 0) return ops::zeros_like(a);
  if (any_nearly_singular(a)) return as_matrix(b.grad()) * transposed(adjugate_by_svd(a));
  return solve(transposed(a), identity_like(a) * as_matrix(factor));
}
const Derive derive_det{"linalg_det", {{0, saves(0) | saves_output(), det_gradient}}};

// The logarithm of the size changes with the real part of tr(A^-1 dA), the angle of the sign with
// the imaginary part.
Tensor slogdet_gradient(Backward& b) {
  const Tensor a = b.in(0);
  Tensor factor = b.grad(1);
  if (is_complex(a.dtype()) && b.has_grad(0)) {
    const Tensor turn = imaginary_part(conj(b.grad(0)) * b.out(0));
    factor = factor - ops::mul(turn, Complex128(0, 1));
  }
  return solve(adjoint(a), identity_like(a) * as_matrix(factor));
}
const Derive derive_slogdet{"linalg_slogdet", {{0, saves(0) | saves_output(0), slogdet_gradient}}};

// ---- the exponential ----

// exp of the block matrix [[A, E], [0, A]] has the derivative of exp at A towards E above the
// diagonal; its transpose is that at A^T (Mathias, 1996).
const Derive derive_matrix_exp{"linalg_matrix_exp", {
    {0, saves(0), [](Backward& b) {
       const Tensor a = transposed(b.in(0)), zero = ops::zeros_like(a);
       const int64_t n = columns(a);
       const Tensor whole = matrix_exp(joined(joined(a, b.grad(), -1), joined(zero, a, -1), -2));
       return ops::narrow(ops::narrow(whole, -2, 0, n), -1, n, n);
     }}}};

}  // namespace
}  // namespace relume
