// The decomposition of symmetric (or Hermitian) matrices that need not be positive definite, by
// Bunch and Kaufman's pivots, and solving with it.
#include <algorithm>

#include "tensor/copy.h"
#include "tensor/kernels/lapack.h"
#include "tensor/kernels/views.h"

namespace relume {
namespace {

// The routine for complex matrices that are Hermitian, or for symmetric ones.
template <class T>
LapackRoutine ldl_routine(bool hermitian, const char* symmetric_name, const char* hermitian_name) {
  return hermitian ? lapack_routine<T>(symmetric_name, hermitian_name) : lapack_routine<T>(symmetric_name);
}

void ldl_factor_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const bool hermitian = call.boolean(1);
  check_square(call, input);
  const DType dtype = lapack_dtype(call, input);
  const MatrixColumns factors(input, dtype);
  const int n = factors.rows();
  const Tensor pivots = empty(with_sizes(batch_of(input), {n}), DType::int32);
  const Statuses statuses(batch_of(input));
  visit_lapack(dtype, [&](auto zero) {
    using T = decltype(zero);
    const LapackRoutine sytrf = ldl_routine<T>(hermitian, "sytrf", "hetrf");
    for_matrix_ranges(factors, [&](int64_t begin, int64_t end) {
      if (n == 0) return;
      T answer{};
      int info = 0;
      sytrf('L', n, factors.matrix<T>(begin), n, pivots.data_as<int>() + begin * n, &answer, -1, &info);
      const int size = workspace_size(answer);
      std::vector<T> work(static_cast<std::size_t>(size));
      for (int64_t i = begin; i < end; ++i) {
        T* matrix = factors.matrix<T>(i);
        sytrf('L', n, matrix, n, pivots.data_as<int>() + i * n, work.data(), size, &statuses[i]);
        for (int column = 1; column < n; ++column) std::fill_n(matrix + column * n, column, T(0));
      }
    });
  });
  if (call.boolean(2)) statuses.check(call, "is singular: its D has a block that cannot be inverted");
  copy(call.output(0, input.shape(), dtype), factors.tensor());
  call.set_output(1, pivots);
  call.set_output(2, statuses.tensor());
}

// A pivot is a row, counted from 1; two rows that were taken together have it negative, both.
bool are_ldl_pivots(const int* pivots, int n) {
  for (int i = 0; i < n; ++i) {
    const bool in_pair = pivots[i] < 0;
    if (pivots[i] == 0 || std::abs(static_cast<int64_t>(pivots[i])) > n) return false;
    if (in_pair && (++i == n || pivots[i] >= 0 || pivots[i] < -n)) return false;
  }
  return true;
}

void ldl_solve_cpu(Call& call) {
  const Tensor matrices = call.tensor(0), given_pivots = call.tensor(1), sides = call.tensor(2);
  const bool hermitian = call.boolean(3);
  check_square(call, matrices);
  check_matrices(call, sides);
  const int n = static_cast<int>(matrices.size(matrices.ndim() - 1));
  check(sides.size(sides.ndim() - 2) == n, "linalg.ldl_solve(): matrices of shape ", matrices.shape(),
        " do not fit right sides of shape ", sides.shape());
  check<TypeError>(given_pivots.dtype() == DType::int32, "linalg.ldl_solve(): pivots are int32, not ",
                   name(given_pivots.dtype()));
  check(given_pivots.shape() == IntSpan(with_sizes(batch_of(matrices), {n})), "linalg.ldl_solve(): pivots of shape ",
        given_pivots.shape(), " do not belong to matrices of shape ", matrices.shape());
  const DType dtype = promote(lapack_dtype(call, matrices), lapack_dtype(call, sides));
  const std::vector<int64_t> batch = broadcast_shapes(batch_of(matrices), batch_of(sides));
  const MatrixColumns factors(expand_batch(matrices, batch), dtype), solutions(expand_batch(sides, batch), dtype);
  std::vector<int64_t> pivot_shape = batch;
  pivot_shape.push_back(n);
  const Tensor pivots = contiguous_copy_if_needed(expand_view(given_pivots, pivot_shape));
  for (int64_t i = 0; i < factors.count(); ++i) {
    check(are_ldl_pivots(pivots.data_as<int>() + i * n, n), "linalg.ldl_solve(): these are no pivots of ldl_factor()");
  }
  visit_lapack(dtype, [&](auto zero) {
    using T = decltype(zero);
    const LapackRoutine sytrs = ldl_routine<T>(hermitian, "sytrs", "hetrs");
    for_each_matrix(factors, [&](int64_t i) {
      if (n == 0 || solutions.columns() == 0) return;
      int info = 0;
      sytrs('L', n, solutions.columns(), factors.matrix<T>(i), n, pivots.data_as<int>() + i * n,
            solutions.matrix<T>(i), n, &info);
    });
  });
  const Tensor result = solutions.tensor();
  copy(call.output(0, result.shape(), dtype), result);
}

const Register register_ldl_factor{
    "linalg_ldl_factor_ex(Tensor A, bool hermitian=False, bool check_errors=False) -> (Tensor, Tensor, Tensor)",
    "L (below the diagonal, with ones on it) and D (blocks of one or two rows) with L D L^T = A with rows and "
    "columns exchanged, in one matrix; LAPACK's pivots and info. Only the lower triangle of A is read.",
    {Trait::takes_complex, Trait::internal, Trait::not_differentiable}, ldl_factor_cpu};
const Register register_ldl_solve{
    "linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, bool hermitian=False) -> Tensor",
    "X with A X = B for the matrices that linalg_ldl_factor_ex took apart.",
    {Trait::takes_complex, Trait::internal, Trait::not_differentiable}, ldl_solve_cpu};

}  // namespace
}  // namespace relume
