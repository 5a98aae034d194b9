// Derivatives of the matrix decompositions, for real and complex matrices. A decomposition
// leaves something open (the signs or phases of its vectors): the formulas hold for functions
// that do not depend on that.
#include <limits>

#include "autograd/derivative.h"

namespace relume {
namespace {

const OpFunction conj{"conj"}, real_part{"real"}, imaginary_part{"imag"}, tril{"tril"}, triu{"triu"}, eye{"eye"},
    diagonal{"diagonal"};
const OpFunction solve{"linalg_solve_ex"}, solve_triangular{"linalg_solve_triangular"}, svd{"linalg_svd"},
    eigh{"linalg_eigh"}, eig{"linalg_eig"};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const Complex128 kImaginaryUnit(0, 1);

Tensor adjoint(const Tensor& matrices) { return conj(ops::transpose(matrices, -2, -1)); }
Tensor identity(int64_t size, DType dtype) { return eye(size, Value(), dtype); }
int64_t columns(const Tensor& matrices) { return matrices.size(matrices.ndim() - 1); }
int64_t rows(const Tensor& matrices) { return matrices.size(matrices.ndim() - 2); }
Tensor as_rows(const Tensor& vectors) { return ops::unsqueeze(vectors, -2); }
Tensor as_columns(const Tensor& vectors) { return ops::unsqueeze(vectors, -1); }
Tensor diagonal_of(const Tensor& matrices) { return diagonal(matrices, 0, -2, -1); }
Tensor diagonal_matrix(const Tensor& vectors) {
  return as_rows(vectors) * identity(vectors.size(vectors.ndim() - 1), real_type(vectors.dtype()));
}
Tensor skew(const Tensor& matrices) { return matrices - adjoint(matrices); }
Tensor hermitian(const Tensor& matrices) { return (matrices + adjoint(matrices)) * 0.5; }

// Infinite on the diagonal: what is divided by it vanishes there.
Tensor off_diagonal(const Tensor& matrices) {
  return ops::where(identity(columns(matrices), DType::boolean), kInfinity, matrices);
}
// values[j] - values[i] at (i, j).
Tensor gaps(const Tensor& values) { return off_diagonal(as_rows(values) - as_columns(values)); }

// ---- Cholesky (Murray, Differentiation of the Cholesky decomposition, 2016) ----

Tensor cholesky_gradient(Backward& b) {
  const bool upper = b.boolean(1);
  const Tensor factor = upper ? adjoint(b.out()) : b.out();
  const Tensor grad = upper ? adjoint(b.grad()) : b.grad();
  const Tensor product = ops::matmul(adjoint(factor), grad);
  const Tensor halved = tril(product) - ops::mul(diagonal_matrix(diagonal_of(product)), 0.5);
  const Tensor left = solve_triangular(adjoint(factor), halved, true);
  return hermitian(solve_triangular(factor, left, false, false));
}
const Derive derive_cholesky{"linalg_cholesky_ex", {{0, saves_output(), cholesky_gradient}}};

// ---- QR ----

// With at least as many rows as columns: (gQ + Q S) R^-H, where S is Hermitian and agrees with
// gR R^H - Q^H gQ above the diagonal.
Tensor tall_qr_gradient(const Tensor& q, const Tensor& r, const Tensor& q_grad, const Tensor& r_grad) {
  const Tensor above = triu(ops::matmul(r_grad, adjoint(r)) - ops::matmul(adjoint(q), q_grad));
  const Tensor both = above + adjoint(above) - diagonal_matrix(real_part(diagonal_of(above)));
  return solve_triangular(adjoint(r), q_grad + ops::matmul(q, both), false, false);
}
// The gradient of the first vectors of an output, the only ones that the matrix determines.
// Throws NotImplementedError where a gradient of the others is asked for.
Tensor determined_gradient(Backward& b, int output, int dim, int64_t count, const char* advice) {
  const Tensor grad = b.grad(output);
  const int64_t others = grad.size(grad.ndim() + dim) - count;
  if (others == 0) return grad;
  static const OpFunction any{"any"};
  const bool asked = b.has_grad(output) && item_as_int(any(ops::ne(ops::narrow(grad, dim, count, others), 0))) != 0;
  check<NotImplementedError>(!asked, advice);
  return ops::narrow(grad, dim, 0, count);
}

Tensor qr_gradient(Backward& b) {
  const Tensor a = b.in(0), q = b.out(0), r = b.out(1);
  const int64_t m = rows(a), n = columns(a);
  static constexpr const char* kAdvice =
      "the gradient of Q of qr() needs mode='reduced' (or, of wide matrices, 'complete')";
  check<NotImplementedError>(q.ndim() == a.ndim(), kAdvice);
  if (m > n && columns(q) == m) {  // the rows of R beyond n are zero
    return tall_qr_gradient(ops::narrow(q, -1, 0, n), ops::narrow(r, -2, 0, n),
                            determined_gradient(b, 0, -1, n, kAdvice), ops::narrow(b.grad(1), -2, 0, n));
  }
  if (m >= n) return tall_qr_gradient(q, r, b.grad(0), b.grad(1));
  const Tensor right = ops::narrow(a, -1, m, n - m), right_grad = ops::narrow(b.grad(1), -1, m, n - m);
  const Tensor left_grad = tall_qr_gradient(q, ops::narrow(r, -1, 0, m),
                                            b.grad(0) + ops::matmul(right, adjoint(right_grad)),
                                            ops::narrow(b.grad(1), -1, 0, m));
  const Tensor other_grad = ops::matmul(q, right_grad);
  TensorBody* parts[] = {left_grad.body(), other_grad.body()};
  return ops::cat(Value(parts, 2), -1);
}
const Derive derive_qr{"linalg_qr", {{0, saves(0) | saves_output(0) | saves_output(1), qr_gradient}}};

// ---- singular values ----

Tensor svd_gradient(Backward& b) {
  const Tensor s = b.out(1);
  const int64_t k = columns(s), m = rows(b.out(0)), n = columns(b.out(2));
  static constexpr const char* kAdvice =
      "the gradient of the vectors of svd() needs full_matrices=False: those beyond the singular values are not "
      "determined";
  const Tensor u = ops::narrow(b.out(0), -1, 0, k), vh = ops::narrow(b.out(2), -2, 0, k);
  const Tensor uh = adjoint(u), v = adjoint(vh);
  const Tensor scale = as_rows(s);
  const Tensor between = off_diagonal((as_rows(s) - as_columns(s)) * (as_rows(s) + as_columns(s)));
  Tensor inner = diagonal_matrix(b.grad(1)), outside;
  const auto add_outside = [&](const Tensor& part) { outside = outside.defined() ? outside + part : part; };
  if (b.has_grad(0)) {
    const Tensor u_grad = determined_gradient(b, 0, -1, k, kAdvice);
    const Tensor turned = ops::matmul(uh, u_grad);
    inner = inner + skew(turned) / between * scale;
    if (is_complex(u.dtype())) {
      inner = inner + ops::mul(diagonal_matrix(imaginary_part(diagonal_of(turned)) / s), kImaginaryUnit);
    }
    if (m > k) add_outside(ops::matmul((u_grad - ops::matmul(u, turned)) / scale, vh));
  }
  if (b.has_grad(2)) {
    const Tensor vh_grad = determined_gradient(b, 2, -2, k, kAdvice);
    const Tensor turned = ops::matmul(vh, adjoint(vh_grad));
    inner = inner + as_columns(s) * (skew(turned) / between);
    if (n > k) {
      const Tensor across = vh_grad - ops::matmul(ops::matmul(vh_grad, v), vh);
      add_outside(ops::matmul(u, across / as_columns(s)));
    }
  }
  const Tensor inside = ops::matmul(u, ops::matmul(inner, vh));
  return outside.defined() ? inside + outside : inside;
}
const Derive derive_svd{"linalg_svd", {
    {0, saves_output(0) | saves_output(1) | saves_output(2), svd_gradient}}};

const Derive derive_svdvals{"linalg_svdvals", {
    {0, saves(0), [](Backward& b) {
       const Outputs parts = svd.all(b.in(0), false);
       return ops::matmul(parts[0] * as_rows(b.grad()), parts[2]);
     }}}};

// ---- eigenvalues ----

const Derive derive_eigh{"linalg_eigh", {
    {0, saves_output(0) | saves_output(1), [](Backward& b) {
       const Tensor values = b.out(0), vectors = b.out(1), back = adjoint(vectors);
       Tensor inner = diagonal_matrix(b.grad(0));
       if (b.has_grad(1)) inner = inner + ops::matmul(back, b.grad(1)) / gaps(values);
       return hermitian(ops::matmul(vectors, ops::matmul(inner, back)));
     }}}};
const Derive derive_eigvalsh{"linalg_eigvalsh", {
    {0, saves(0), [](Backward& b) {
       const Tensor vectors = eigh.all(b.in(0), b.value(1))[1];
       return ops::matmul(vectors * as_rows(b.grad()), adjoint(vectors));
     }}}};

const Derive derive_eig{"linalg_eig", {
    {0, saves_output(0) | saves_output(1), [](Backward& b) {
       const Tensor values = b.out(0), vectors = b.out(1), back = adjoint(vectors);
       Tensor inner = diagonal_matrix(b.grad(0));
       if (b.has_grad(1)) {
         // The vectors keep their length.
         const Tensor turned = ops::matmul(back, b.grad(1));
         const Tensor longer = ops::matmul(back, vectors) * as_rows(real_part(diagonal_of(turned)));
         inner = inner + (turned - longer) / conj(gaps(values));
       }
       return solve(back, ops::matmul(inner, back));
     }}}};
const Derive derive_eigvals{"linalg_eigvals", {
    {0, saves(0), [](Backward& b) {
       const Tensor back = adjoint(eig.all(b.in(0))[1]);
       return solve(back, as_columns(b.grad()) * back);
     }}}};

}  // namespace
}  // namespace relume
