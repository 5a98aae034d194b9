// The Cholesky decomposition, and solving with triangular matrices.
#include "tensor/copy.h"
#include "tensor/kernels/lapack.h"
#include "tensor/kernels/small_matrix.h"

namespace relume {
namespace {

// Clears the other triangle.
template <class T>
void keep_triangle(T* matrix, int64_t n, bool upper) {
  for (int64_t column = 0; column < n; ++column) {
    const int64_t begin = upper ? column + 1 : 0, end = upper ? n : column;
    for (int64_t row = begin; row < end; ++row) matrix[column * n + row] = T(0);
  }
}

void cholesky_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const bool upper = call.boolean(1);
  check_square(call, input);
  const DType dtype = lapack_dtype(call, input);
  const MatrixColumns factors(input, dtype);
  const Statuses statuses(batch_of(input));
  const int n = factors.rows();
  visit_lapack(dtype, [&](auto zero) {
    using T = decltype(zero);
    const LapackRoutine potrf = lapack_routine<T>("potrf");
    const auto factorize = [&](T* matrix, int64_t i) {
      if constexpr (!is_complex_type<T>) {
        if (n <= kSmallMatrix) {
          statuses[i] = small_cholesky(n, matrix, upper);
          return;
        }
      }
      potrf(upper ? 'U' : 'L', n, matrix, n, &statuses[i]);
    };
    for_each_matrix(factors, [&](int64_t i) {
      if (n == 0) return;
      factorize(factors.matrix<T>(i), i);
      keep_triangle(factors.matrix<T>(i), n, upper);
    });
  });
  if (call.boolean(2)) {
    statuses.check(call, "is not positive definite (or not Hermitian), so it has no Cholesky decomposition");
  }
  copy(call.output(0, input.shape(), dtype), factors.tensor());
  call.set_output(1, statuses.tensor());
}

void solve_triangular_cpu(Call& call) {
  const Tensor matrices = call.tensor(0), sides = call.tensor(1);
  const bool upper = call.boolean(2), left = call.boolean(3), unit = call.boolean(4);
  check_square(call, matrices);
  check_matrices(call, sides);
  const int64_t size = matrices.size(matrices.ndim() - 1);
  check(sides.size(sides.ndim() - (left ? 2 : 1)) == size, "solve_triangular(): matrices of shape ",
        matrices.shape(), " do not fit right sides of shape ", sides.shape());
  const DType dtype = promote(lapack_dtype(call, matrices), lapack_dtype(call, sides));
  const std::vector<int64_t> batch = broadcast_shapes(batch_of(matrices), batch_of(sides));
  const MatrixColumns triangles(expand_batch(matrices, batch), dtype);
  const MatrixColumns solutions(expand_batch(sides, batch), dtype);
  visit_lapack(dtype, [&](auto zero) {
    using T = decltype(zero);
    const LapackRoutine trsm = lapack_routine<T>("trsm");
    for_each_matrix(triangles, [&](int64_t i) {
      if (solutions.rows() == 0 || solutions.columns() == 0) return;
      trsm(left ? 'L' : 'R', upper ? 'U' : 'L', 'N', unit ? 'U' : 'N', solutions.rows(), solutions.columns(), T(1),
           triangles.matrix<T>(i), triangles.leading(), solutions.matrix<T>(i), solutions.leading());
    });
  });
  const Tensor result = solutions.tensor();
  copy(call.output(0, result.shape(), dtype), result);
}

const Register register_cholesky{
    "linalg_cholesky_ex(Tensor A, bool upper=False, bool check_errors=False) -> (Tensor, Tensor)",
    "The triangular L with L L^H = A (upper: U with U^H U = A), of which only that triangle is read; and the info of "
    "LAPACK.",
    {Trait::takes_complex, Trait::not_holomorphic, Trait::internal}, cholesky_cpu};
const Register register_solve_triangular{
    "linalg_solve_triangular(Tensor A, Tensor B, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
    "X with A X = B (X A = B unless left) for triangular matrices A, of which only that triangle is read.",
    {Trait::takes_complex, Trait::internal}, solve_triangular_cpu};

}  // namespace
}  // namespace relume
