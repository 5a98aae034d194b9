// What stands on the LU decomposition: solving, inverses, determinants.
#include <cmath>
#include <limits>

#include "tensor/copy.h"
#include "tensor/kernels/lapack.h"
#include "tensor/kernels/small_matrix.h"
#include "tensor/ops.h"

namespace relume {
namespace {

constexpr const char* kSingular = "is singular: it has no inverse";

template <class T>
void fill_nan(T* elements, int64_t count) {
  std::fill_n(elements, count, T(std::numeric_limits<RealOf<T>>::quiet_NaN()));
}

// The rows of A, exchanged, are L U, in place: the unit lower triangle L below the diagonal, U on
// and above it.
struct LuDecomposition {
  DType dtype;
  MatrixColumns factors;
  Tensor pivots;  // int32, counted from 1 as LAPACK does: row i was exchanged with row pivots[i]
  Statuses statuses;

  LuDecomposition(const Tensor& matrices, DType dtype)
      : dtype(dtype),
        factors(matrices, dtype),
        pivots(empty(with_sizes(batch_of(matrices), {std::min(factors.rows(), factors.columns())}), DType::int32)),
        statuses(batch_of(matrices)) {
    visit_lapack(dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (!is_complex_type<T>) {
        if (is_small()) {
          return for_each_matrix(factors, [&](int64_t i) {
            statuses[i] = small_lu(factors.rows(), factors.matrix<T>(i), pivots_of(i));
          });
        }
      }
      const LapackRoutine getrf = lapack_routine<T>("getrf");
      for_each_matrix(factors, [&](int64_t i) {
        if (pivot_count() == 0) return;
        getrf(factors.rows(), factors.columns(), factors.matrix<T>(i), factors.leading(), pivots_of(i),
              &statuses[i]);
      });
    });
  }

  int pivot_count() const { return std::min(factors.rows(), factors.columns()); }
  // To be worked on without LAPACK, if of a real type.
  bool is_small() const { return factors.rows() == factors.columns() && factors.rows() <= kSmallMatrix; }
  int* pivots_of(int64_t matrix) const { return pivots.data_as<int>() + matrix * pivot_count(); }

  // Overwrites the right sides by the solutions; NaN where there is none.
  void solve(const MatrixColumns& sides) const {
    visit_lapack(dtype, [&](auto zero) {
      using T = decltype(zero);
      const LapackRoutine getrs = lapack_routine<T>("getrs");
      for_each_matrix(factors, [&](int64_t i) {
        if (sides.columns() == 0 || sides.rows() == 0) return;
        if (statuses[i] != 0) return fill_nan(sides.matrix<T>(i), int64_t{sides.rows()} * sides.columns());
        if constexpr (!is_complex_type<T>) {
          if (is_small()) {
            return small_lu_solve(factors.rows(), factors.matrix<T>(i), pivots_of(i), sides.columns(),
                                  sides.matrix<T>(i));
          }
        }
        int info = 0;
        getrs('N', factors.rows(), sides.columns(), factors.matrix<T>(i), factors.leading(), pivots_of(i),
              sides.matrix<T>(i), sides.leading(), &info);
      });
    });
  }
};

template <class T>
T product_of(T a, T b) {
  if constexpr (is_complex_type<T>) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  } else {
    return a * b;
  }
}

// Calls `function(matrix, sign of the row exchanges, factors)`.
template <class T, class Function>
void for_each_diagonal(const LuDecomposition& lu, Function function) {
  const int n = lu.pivot_count();
  for (int64_t i = 0; i < lu.factors.count(); ++i) {
    const int* pivots = lu.pivots_of(i);
    bool odd = false;
    for (int k = 0; k < n; ++k) odd ^= pivots[k] != k + 1;
    function(i, odd ? T(-1) : T(1), lu.factors.matrix<T>(i));
  }
}

void lu_factor_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check_matrices(call, input);
  check<NotImplementedError>(call.boolean(1), "lu_factor(): only pivot=True is there");
  const LuDecomposition lu(input, lapack_dtype(call, input));
  if (call.boolean(2)) lu.statuses.check(call, "is singular: U has a 0 on its diagonal");
  copy(call.output(0, input.shape(), lu.dtype), lu.factors.tensor());
  call.set_output(1, lu.pivots);
  call.set_output(2, lu.statuses.tensor());
}

// Exchanges row i with row pivots[i], in order of i, or back.
void exchange_rows_cpu(Call& call) {
  const Tensor input = call.tensor(0), pivots = contiguous_copy_if_needed(call.tensor(1));
  const bool back = call.boolean(2);
  check_matrices(call, input);
  check<TypeError>(pivots.dtype() == DType::int32, "the pivots of an LU decomposition are int32, not ",
                   name(pivots.dtype()));
  const int64_t steps = pivots.ndim() > 0 ? pivots.size(pivots.ndim() - 1) : -1;
  const DType dtype = lapack_dtype(call, input);
  const MatrixColumns matrices(input, dtype);
  check(pivots.ndim() == input.ndim() - 1 && steps <= matrices.rows() && pivots.numel() == matrices.count() * steps, "pivots of shape ",
        pivots.shape(), " do not belong to matrices of shape ", input.shape());
  const int* rows = pivots.data_as<int>();
  for (int64_t i = 0; i < pivots.numel(); ++i) {
    check<IndexError>(rows[i] >= 1 && rows[i] <= matrices.rows(), "pivot ", rows[i], " is outside of 1 to ",
                      matrices.rows());
  }
  visit_lapack(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < matrices.count(); ++i, rows += steps) {
      for (int column = 0; column < matrices.columns(); ++column) {
        T* const elements = matrices.matrix<T>(i) + int64_t{column} * matrices.rows();
        for (int64_t k = 0; k < steps; ++k) {
          const int64_t row = back ? steps - 1 - k : k;
          std::swap(elements[row], elements[rows[row] - 1]);
        }
      }
    }
  });
  copy(call.output(0, input.shape(), dtype), matrices.tensor());
}

// The types and leading dimensions that both operands get.
struct Operands {
  DType dtype;
  std::vector<int64_t> batch;

  Operands(const Call& call, const Tensor& matrices, const Tensor& sides)
      : dtype(promote(lapack_dtype(call, matrices), lapack_dtype(call, sides))),
        batch(broadcast_shapes(batch_of(matrices), batch_of(sides))) {}
};

void solve_cpu(Call& call) {
  const Tensor matrices = call.tensor(0), sides = call.tensor(1);
  check_square(call, matrices);
  check_matrices(call, sides);
  const int64_t size = matrices.size(matrices.ndim() - 1);
  check(sides.size(sides.ndim() - 2) == size, "solve(): matrices of shape ", matrices.shape(),
        " do not fit right sides of shape ", sides.shape(), ": the number of rows must be the same");
  const Operands operands(call, matrices, sides);
  const LuDecomposition lu(expand_batch(matrices, operands.batch), operands.dtype);
  if (call.boolean(2)) lu.statuses.check(call, kSingular);
  const MatrixColumns solutions(expand_batch(sides, operands.batch), operands.dtype);
  lu.solve(solutions);
  const Tensor result = solutions.tensor();
  copy(call.output(0, result.shape(), operands.dtype), result);
  call.set_output(1, lu.statuses.tensor());
}

void inv_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check_square(call, input);
  const LuDecomposition lu(input, lapack_dtype(call, input));
  if (call.boolean(1)) lu.statuses.check(call, kSingular);
  const int n = lu.factors.rows();
  visit_lapack(lu.dtype, [&](auto zero) {
    using T = decltype(zero);
    const LapackRoutine getri = lapack_routine<T>("getri");
    for_matrix_ranges(lu.factors, [&](int64_t begin, int64_t end) {
      if (n == 0) return;
      const int work_size = 64 * n;
      std::vector<T> work(work_size);
      for (int64_t i = begin; i < end; ++i) {
        if (lu.statuses[i] != 0) {
          fill_nan(lu.factors.matrix<T>(i), int64_t{n} * n);
          continue;
        }
        if constexpr (!is_complex_type<T>) {
          if (lu.is_small()) {
            small_lu_inverse(n, lu.factors.matrix<T>(i), lu.pivots_of(i));
            continue;
          }
        }
        getri(n, lu.factors.matrix<T>(i), n, lu.pivots_of(i), work.data(), work_size, &lu.statuses[i]);
      }
    });
  });
  copy(call.output(0, input.shape(), lu.dtype), lu.factors.tensor());
  call.set_output(1, lu.statuses.tensor());
}

void det_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check_square(call, input);
  const LuDecomposition lu(input, lapack_dtype(call, input));
  const int64_t n = lu.factors.rows();
  const Tensor result = empty(batch_of(input), lu.dtype);
  visit_lapack(lu.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each_diagonal<T>(lu, [&](int64_t i, T determinant, const T* factors) {
      for (int64_t k = 0; k < n; ++k) determinant = product_of(determinant, factors[k * (n + 1)]);
      result.data_as<T>()[i] = determinant;
    });
  });
  call.set_output(0, result);
}

void slogdet_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check_square(call, input);
  const LuDecomposition lu(input, lapack_dtype(call, input));
  const int64_t n = lu.factors.rows();
  const Tensor signs = empty(batch_of(input), lu.dtype);
  const Tensor logarithms = empty(batch_of(input), real_type(lu.dtype));
  visit_lapack(lu.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each_diagonal<T>(lu, [&](int64_t i, T sign, const T* factors) {
      double logarithm = 0;
      for (int64_t k = 0; k < n; ++k) {
        const T element = factors[k * (n + 1)];
        const auto size = std::abs(element);
        logarithm += std::log(static_cast<double>(size));
        sign = size == 0 ? T(0) : product_of(sign, element / size);
      }
      signs.data_as<T>()[i] = sign;
      logarithms.data_as<RealOf<T>>()[i] = static_cast<RealOf<T>>(logarithm);
    });
  });
  call.set_output(0, signs);
  call.set_output(1, logarithms);
}

const Register register_lu_factor{
    "linalg_lu_factor_ex(Tensor A, bool pivot=True, bool check_errors=False) -> (Tensor, Tensor, Tensor)",
    "The LU decomposition with exchanged rows: (L below and U on and above the diagonal of one matrix, the pivots "
    "counted from 1, the info of LAPACK).",
    {Trait::takes_complex, Trait::internal}, lu_factor_cpu};
const Register register_exchange_rows{
    "linalg_exchange_rows(Tensor input, Tensor pivots, bool back=False) -> Tensor",
    "Exchanges rows as the pivots of an LU decomposition say, or undoes that.",
    {Trait::takes_complex, Trait::internal}, exchange_rows_cpu};
const Register register_solve{
    "linalg_solve_ex(Tensor A, Tensor B, bool check_errors=False) -> (Tensor, Tensor)",
    "X with A X = B for square matrices A; and the info of LAPACK.", {Trait::takes_complex, Trait::internal},
    solve_cpu};
const Register register_inv{
    "linalg_inv_ex(Tensor A, bool check_errors=False) -> (Tensor, Tensor)",
    "The inverse of square matrices; and the info of LAPACK.", {Trait::takes_complex, Trait::internal}, inv_cpu};
const Register register_det{
    "linalg_det(Tensor A) -> Tensor", "The determinant of square matrices.",
    {Trait::takes_complex, Trait::internal}, det_cpu};
const Register register_slogdet{
    "linalg_slogdet(Tensor A) -> (Tensor, Tensor)",
    "The sign of the determinant of square matrices, and the logarithm of its absolute value.",
    {Trait::takes_complex, Trait::not_holomorphic, Trait::internal}, slogdet_cpu};

}  // namespace
}  // namespace relume
