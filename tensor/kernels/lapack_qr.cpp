// The QR decomposition.
#include "tensor/copy.h"
#include "tensor/kernels/lapack.h"
#include "tensor/kernels/views.h"
#include "tensor/ops.h"

namespace relume {
namespace {

// R on and above the diagonal, below it the reflectors whose product Q is, with their factors.
struct Reflectors {
  DType dtype;
  MatrixColumns matrices;
  Tensor factors;  // (batch..., min(rows, columns))

  Reflectors(const Tensor& input, DType dtype)
      : dtype(dtype),
        matrices(input, dtype),
        factors(empty(with_sizes(batch_of(input), {std::min(matrices.rows(), matrices.columns())}), dtype)) {
    const int m = matrices.rows(), n = matrices.columns(), k = std::min(m, n);
    if (k == 0) return;
    visit_lapack(dtype, [&](auto zero) {
      using T = decltype(zero);
      const LapackRoutine geqrf = lapack_routine<T>("geqrf");
      for_matrix_ranges(matrices, [&](int64_t begin, int64_t end) {
        int info = 0;
        T answer;
        geqrf(m, n, matrices.matrix<T>(0), matrices.leading(), factors.data_as<T>(), &answer, -1, &info);
        std::vector<T> work(workspace_size(answer));
        for (int64_t i = begin; i < end; ++i) {
          geqrf(m, n, matrices.matrix<T>(i), matrices.leading(), factors.data_as<T>() + i * k, work.data(),
                static_cast<int>(work.size()), &info);
        }
      });
    });
  }
};

// The product of `k` reflectors below the diagonal, in place.
void multiply_out(const MatrixColumns& q, DType dtype, const Tensor& factors, int k) {
  const int m = q.rows(), n = q.columns();
  if (m == 0 || n == 0) return;
  visit_lapack(dtype, [&](auto zero) {
    using T = decltype(zero);
    const LapackRoutine orgqr = lapack_routine<T>("orgqr", "ungqr");
    for_matrix_ranges(q, [&](int64_t begin, int64_t end) {
      int info = 0;
      T answer;
      orgqr(m, n, k, q.matrix<T>(0), m, factors.data_as<T>(), &answer, -1, &info);
      std::vector<T> work(workspace_size(answer));
      for (int64_t i = begin; i < end; ++i) {
        orgqr(m, n, k, q.matrix<T>(i), m, factors.data_as<T>() + i * k, work.data(),
              static_cast<int>(work.size()), &info);
      }
    });
  });
}

// The first `rows` rows of the upper triangle.
Tensor upper_triangle(const Tensor& matrices, int64_t rows) {
  static const OpFunction triu{"triu"};
  return triu(narrow_view(matrices, matrices.ndim() - 2, 0, rows));
}

void qr_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const std::string mode = call.text(1);
  check(mode == "reduced" || mode == "complete" || mode == "r", "qr(): mode must be 'reduced', 'complete' or 'r', not '",
        mode, "'");
  check_matrices(call, input);
  const Reflectors reflectors(input, lapack_dtype(call, input));
  const int m = reflectors.matrices.rows(), n = reflectors.matrices.columns(), k = std::min(m, n);
  const int64_t width = mode == "complete" ? m : k;
  const Dims batch = batch_of(input);
  if (mode == "r") {
    call.set_output(0, empty({0}, reflectors.dtype));
  } else {
    const MatrixColumns q(batch, m, width, reflectors.dtype);
    const Tensor target = q.tensor();
    copy(narrow_view(target, target.ndim() - 1, 0, k),
         narrow_view(reflectors.matrices.tensor(), target.ndim() - 1, 0, k));
    if (k == 0) fill(target, 0);
    multiply_out(q, reflectors.dtype, reflectors.factors, k);
    copy(call.output(0, target.shape(), reflectors.dtype), target);
  }
  const Tensor r = upper_triangle(reflectors.matrices.tensor(), width);
  copy(call.output(1, r.shape(), reflectors.dtype), r);
}

void geqrf_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check_matrices(call, input);
  const Reflectors reflectors(input, lapack_dtype(call, input));
  copy(call.output(0, input.shape(), reflectors.dtype), reflectors.matrices.tensor());
  call.set_output(1, reflectors.factors);
}

const Register register_qr{
    "linalg_qr(Tensor A, str mode='reduced') -> (Tensor, Tensor)",
    "Q with orthonormal columns and the upper triangular R with Q R = A. The mode 'complete' makes Q square, 'r' leaves "
    "it out.",
    {Trait::takes_complex, Trait::not_holomorphic, Trait::internal}, qr_cpu};
const Register register_geqrf{
    "geqrf(Tensor input) -> (Tensor, Tensor)",
    "The QR decomposition as LAPACK keeps it: R on and above the diagonal, below it the Householder vectors; and their "
    "factors.",
    {Trait::takes_complex, Trait::not_differentiable}, geqrf_cpu};

}  // namespace
}  // namespace relume
