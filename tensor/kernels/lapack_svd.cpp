// The singular value decomposition and what stands on it: pseudo-inverses, least squares.
#include <cmath>
#include <limits>

#include "tensor/copy.h"
#include "tensor/kernels/lapack.h"
#include "tensor/kernels/views.h"
#include "tensor/ops.h"

namespace relume {
namespace {

// What U and V hold: nothing, as many vectors as there are singular values, or a square matrix.
enum class Vectors { none, thin, full };

struct SingularValues {
  DType dtype;
  MatrixColumns u, vh;
  Tensor values;  // (batch..., min(rows, columns)), descending

  SingularValues(const Call& call, const Tensor& input, DType dtype, Vectors vectors)
      : dtype(dtype),
        u(batch_of(input), rows_of(input), width(input, vectors, rows_of(input)), dtype),
        vh(batch_of(input), width(input, vectors, columns_of(input)), columns_of(input), dtype),
        values(empty(with_sizes(batch_of(input), {std::min(rows_of(input), columns_of(input))}), real_type(dtype))) {
    const MatrixColumns matrices(input, dtype);
    check_finite(call, matrices, dtype);
    const Statuses statuses(batch_of(input));
    if (values.numel() > 0) {
      visit_lapack(dtype, [&](auto zero) { decompose(matrices, statuses, vectors, zero); });
    } else {
      fill_identity(vectors);
    }
    statuses.check(call, "has singular values that LAPACK did not find");
  }

 private:
  static int64_t rows_of(const Tensor& input) { return input.size(input.ndim() - 2); }
  static int64_t columns_of(const Tensor& input) { return input.size(input.ndim() - 1); }
  static int64_t width(const Tensor& input, Vectors vectors, int64_t full) {
    return vectors == Vectors::none ? 0 : vectors == Vectors::full ? full : std::min(rows_of(input), columns_of(input));
  }

  template <class T>
  void decompose(const MatrixColumns& matrices, const Statuses& statuses, Vectors vectors, T) const {
    const char job = vectors == Vectors::none ? 'N' : vectors == Vectors::thin ? 'S' : 'A';
    const int m = matrices.rows(), n = matrices.columns(), k = std::min(m, n), most = std::max(m, n);
    const LapackRoutine gesdd = lapack_routine<T>("gesdd");
    for_matrix_ranges(matrices, [&](int64_t begin, int64_t end) {
      std::vector<int> integers(8 * k);
      // As LAPACK's documentation asks for it.
      const int64_t real_size = job == 'N' ? int64_t{7} * k
                                           : int64_t{k} * std::max(5 * k + 7, 2 * most + 2 * k + 1);
      std::vector<RealOf<T>> reals(is_complex_type<T> ? real_size : 0);
      const auto run = [&](int64_t i, T* work, int work_size) {
        T* const left = u.matrix<T>(i);
        T* const right = vh.matrix<T>(i);
        RealOf<T>* const s = values.data_as<RealOf<T>>() + i * k;
        const int right_leading = std::max(vh.rows(), 1);
        if constexpr (is_complex_type<T>) {
          gesdd(job, m, n, matrices.matrix<T>(i), m, s, left, m, right, right_leading, work, work_size, reals.data(),
                integers.data(), &statuses[i]);
        } else {
          gesdd(job, m, n, matrices.matrix<T>(i), m, s, left, m, right, right_leading, work, work_size,
                integers.data(), &statuses[i]);
        }
      };
      T answer;
      run(begin, &answer, -1);
      std::vector<T> work(workspace_size(answer));
      for (int64_t i = begin; i < end; ++i) run(i, work.data(), static_cast<int>(work.size()));
    });
  }

  // Of matrices without elements.
  void fill_identity(Vectors vectors) const {
    if (vectors != Vectors::full) return;
    for (const MatrixColumns* side : {&u, &vh}) {
      const Tensor square = side->tensor();
      fill(square, 0);
      fill(diagonal_view(square, 0, square.ndim() - 2, square.ndim() - 1), 1);
    }
  }
};

void svd_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check_matrices(call, input);
  const SingularValues svd(call, input, lapack_dtype(call, input), call.boolean(1) ? Vectors::full : Vectors::thin);
  const Tensor u = svd.u.tensor(), vh = svd.vh.tensor();
  copy(call.output(0, u.shape(), svd.dtype), u);
  call.set_output(1, svd.values);
  copy(call.output(2, vh.shape(), svd.dtype), vh);
}

void svdvals_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check_matrices(call, input);
  call.set_output(0, SingularValues(call, input, lapack_dtype(call, input), Vectors::none).values);
}

// Singular values at or below max(absolute, relative * the largest) count as 0.
void pinv_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check_matrices(call, input);
  const SingularValues svd(call, input, lapack_dtype(call, input), Vectors::thin);
  const Tensor s = svd.values;
  const int last = s.ndim() - 1;
  if (s.numel() == 0) {
    Dims shape(input.shape());
    std::swap(shape[shape.count - 1], shape[shape.count - 2]);
    return call.set_output(0, full(shape, 0, svd.dtype));
  }
  const Tensor largest = narrow_view(s, last, 0, 1);
  const Tensor bound = ops::maximum(largest * call.real(2), call.real(1));
  const Tensor inverse = ops::where(ops::gt(s, bound), ops::reciprocal(s), 0);
  static const OpFunction conj{"conj"};
  const Tensor v = conj(ops::transpose(svd.vh.tensor(), -2, -1));
  const Tensor uh = conj(ops::transpose(svd.u.tensor(), -2, -1));
  call.set_output(0, ops::matmul(ops::mul(v, ops::unsqueeze(inverse, -2)), uh));
}

void lstsq_cpu(Call& call) {
  const Tensor matrices = call.tensor(0), sides = call.tensor(1);
  check_matrices(call, matrices);
  check_matrices(call, sides);
  const int64_t rows = matrices.size(matrices.ndim() - 2), columns = matrices.size(matrices.ndim() - 1);
  check(sides.size(sides.ndim() - 2) == rows, "lstsq(): matrices of shape ", matrices.shape(),
        " do not fit right sides of shape ", sides.shape(), ": the number of rows must be the same");
  const DType dtype = promote(lapack_dtype(call, matrices), lapack_dtype(call, sides));
  const std::vector<int64_t> batch = broadcast_shapes(batch_of(matrices), batch_of(sides));
  const MatrixColumns a(expand_batch(matrices, batch), dtype);
  check_finite(call, a, dtype);
  const int m = a.rows(), n = a.columns(), k = std::min(m, n);
  // The routine wants room for the solutions below the right sides.
  const MatrixColumns b(batch, std::max(m, n), sides.size(sides.ndim() - 1), dtype);
  const Tensor room = b.tensor();
  fill(room, 0);
  copy(narrow_view(room, room.ndim() - 2, 0, m), expand_batch(sides, batch));
  check_finite(call, b, dtype);
  const Tensor ranks = full(batch, 0, DType::int64);
  const Tensor values = full(with_sizes(Dims(IntSpan(batch)), {k}), 0, real_type(dtype));
  const Statuses statuses{IntSpan(batch)};
  if (k > 0 && b.columns() > 0) {
    visit_lapack(dtype, [&](auto zero) {
      using T = decltype(zero);
      using Real = RealOf<T>;
      const LapackRoutine gelsd = lapack_routine<T>("gelsd");
      const Real rcond = static_cast<Real>(call.real(2));
      for_matrix_ranges(a, [&](int64_t begin, int64_t end) {
        const auto run = [&](int64_t i, T* work, int work_size, Real* reals, int* integers) {
          int rank = 0;
          Real* const s = values.data_as<Real>() + i * k;
          if constexpr (is_complex_type<T>) {
            gelsd(m, n, b.columns(), a.matrix<T>(i), m, b.matrix<T>(i), b.rows(), s, rcond, &rank, work, work_size,
                  reals, integers, &statuses[i]);
          } else {
            gelsd(m, n, b.columns(), a.matrix<T>(i), m, b.matrix<T>(i), b.rows(), s, rcond, &rank, work, work_size,
                  integers, &statuses[i]);
          }
          ranks.data_as<int64_t>()[i] = rank;
        };
        T answer;
        Real reals_answer = 1;
        int integers_answer = 1;
        run(begin, &answer, -1, &reals_answer, &integers_answer);
        std::vector<T> work(workspace_size(answer));
        std::vector<Real> reals(workspace_size(reals_answer));
        std::vector<int> integers(std::max(1, integers_answer));
        for (int64_t i = begin; i < end; ++i) {
          run(i, work.data(), static_cast<int>(work.size()), reals.data(), integers.data());
        }
      });
    });
  } else {
    fill(room, 0);
  }
  statuses.check(call, "has singular values that LAPACK did not find");
  const Tensor solutions = narrow_view(room, room.ndim() - 2, 0, columns);
  copy(call.output(0, solutions.shape(), dtype), solutions);
  call.set_output(1, ranks);
  call.set_output(2, values);
}

const Register register_svd{
    "linalg_svd(Tensor A, bool full_matrices=True) -> (Tensor, Tensor, Tensor)",
    "U, S and Vh with U diag(S) Vh = A: U and Vh with orthonormal columns and rows, S descending.",
    {Trait::takes_complex, Trait::not_holomorphic, Trait::internal}, svd_cpu};
const Register register_svdvals{
    "linalg_svdvals(Tensor A) -> Tensor", "The singular values of matrices, descending.",
    {Trait::takes_complex, Trait::not_holomorphic, Trait::internal}, svdvals_cpu};
const Register register_pinv{
    "linalg_pinv(Tensor A, float atol, float rtol) -> Tensor",
    "The pseudo-inverse; singular values up to max(atol, rtol * the largest) count as 0.",
    {Trait::takes_complex, Trait::not_holomorphic, Trait::internal}, pinv_cpu};
const Register register_lstsq{
    "linalg_lstsq(Tensor A, Tensor B, float rcond) -> (Tensor, Tensor, Tensor)",
    "The shortest X that brings A X closest to B; the rank of A; its singular values. Those up to rcond times the "
    "largest count as 0.",
    {Trait::takes_complex, Trait::not_holomorphic, Trait::internal}, lstsq_cpu};

}  // namespace
}  // namespace relume
