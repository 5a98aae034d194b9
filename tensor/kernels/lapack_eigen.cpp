// Eigenvalues and eigenvectors.
#include "tensor/copy.h"
#include "tensor/kernels/lapack.h"
#include "tensor/ops.h"

namespace relume {
namespace {

constexpr const char* kNotFound = "has eigenvalues that LAPACK did not find";

// Of Hermitian (real: symmetric) matrices, one triangle of which is read: ascending values,
// orthonormal vectors in the columns.
struct HermitianEigen {
  DType dtype;
  MatrixColumns vectors;
  Tensor values;

  HermitianEigen(const Call& call, const Tensor& input, bool wants_vectors)
      : dtype(lapack_dtype(call, input)),
        vectors(input, dtype),
        values(empty(with_sizes(batch_of(input), {input.size(input.ndim() - 1)}), real_type(dtype))) {
    const std::string triangle = call.text(1);
    check(triangle == "L" || triangle == "U", call.op.name(), "(): UPLO must be 'L' or 'U', not '", triangle, "'");
    check_finite(call, vectors, dtype);
    const Statuses statuses(batch_of(input));
    if (values.numel() > 0) {
      visit_lapack(dtype, [&](auto zero) { decompose(statuses, wants_vectors ? 'V' : 'N', triangle[0], zero); });
    }
    statuses.check(call, kNotFound);
  }

 private:
  template <class T>
  void decompose(const Statuses& statuses, char job, char triangle, T) const {
    const int n = vectors.rows();
    const LapackRoutine syevd = lapack_routine<T>("syevd", "heevd");
    for_matrix_ranges(vectors, [&](int64_t begin, int64_t end) {
      struct Sizes {
        int work = -1, reals = -1, integers = -1;
      };
      const auto run = [&](int64_t i, T* work, RealOf<T>* reals, int* integers, Sizes sizes) {
        RealOf<T>* const w = values.data_as<RealOf<T>>() + i * n;
        if constexpr (is_complex_type<T>) {
          syevd(job, triangle, n, vectors.matrix<T>(i), n, w, work, sizes.work, reals, sizes.reals, integers,
                sizes.integers, &statuses[i]);
        } else {
          syevd(job, triangle, n, vectors.matrix<T>(i), n, w, work, sizes.work, integers, sizes.integers,
                &statuses[i]);
        }
      };
      T work_answer;
      RealOf<T> reals_answer = 1;
      int integers_answer = 1;
      run(begin, &work_answer, &reals_answer, &integers_answer, Sizes{});
      const Sizes sizes{workspace_size(work_answer), workspace_size(reals_answer), integers_answer};
      std::vector<T> work(sizes.work);
      std::vector<RealOf<T>> reals(sizes.reals);
      std::vector<int> integers(sizes.integers);
      for (int64_t i = begin; i < end; ++i) run(i, work.data(), reals.data(), integers.data(), sizes);
    });
  }
};

void eigh_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check_square(call, input);
  const HermitianEigen eigen(call, input, true);
  call.set_output(0, eigen.values);
  copy(call.output(1, input.shape(), eigen.dtype), eigen.vectors.tensor());
}

void eigvalsh_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check_square(call, input);
  call.set_output(0, HermitianEigen(call, input, false).values);
}

// Of any matrices: complex values, and vectors of length 1 in the columns.
struct Eigen {
  DType dtype;
  MatrixColumns vectors;
  Tensor values;

  Eigen(const Call& call, const Tensor& input, bool wants_vectors)
      : dtype(complex_type(lapack_dtype(call, input))),
        vectors(batch_of(input), input.size(input.ndim() - 1), wants_vectors ? input.size(input.ndim() - 1) : 0, dtype),
        values(empty(with_sizes(batch_of(input), {input.size(input.ndim() - 1)}), dtype)) {
    const DType computed = lapack_dtype(call, input);
    const MatrixColumns matrices(input, computed);
    check_finite(call, matrices, computed);
    const Statuses statuses(batch_of(input));
    if (values.numel() > 0) {
      visit_lapack(computed, [&](auto zero) {
        using T = decltype(zero);
        const LapackRoutine geev = lapack_routine<T>("geev");
        for_matrix_ranges(matrices, [&](int64_t begin, int64_t end) {
          decompose<T>(geev, matrices, statuses, wants_vectors ? 'V' : 'N', begin, end);
        });
      });
    }
    statuses.check(call, kNotFound);
  }

 private:
  template <class T>
  void decompose(const LapackRoutine& geev, const MatrixColumns& matrices, const Statuses& statuses, char job,
                 int64_t begin, int64_t end) const {
    const int n = matrices.rows();
    using Complex = std::complex<RealOf<T>>;
    if constexpr (is_complex_type<T>) {
      std::vector<RealOf<T>> reals(2 * n);
      const auto run = [&](int64_t i, T* work, int work_size) {
        T* const none = nullptr;
        geev('N', job, n, matrices.matrix<T>(i), n, values.data_as<T>() + i * n, none, 1, vectors.matrix<T>(i), n,
             work, work_size, reals.data(), &statuses[i]);
      };
      T answer;
      run(begin, &answer, -1);
      std::vector<T> work(workspace_size(answer));
      for (int64_t i = begin; i < end; ++i) run(i, work.data(), static_cast<int>(work.size()));
    } else {
      std::vector<T> real(n), imaginary(n), packed(job == 'V' ? int64_t{n} * n : 1);
      const auto run = [&](int64_t i, T* work, int work_size) {
        T* const none = nullptr;
        geev('N', job, n, matrices.matrix<T>(i), n, real.data(), imaginary.data(), none, 1, packed.data(), n, work,
             work_size, &statuses[i]);
      };
      T answer;
      run(begin, &answer, -1);
      std::vector<T> work(workspace_size(answer));
      for (int64_t i = begin; i < end; ++i) {
        run(i, work.data(), static_cast<int>(work.size()));
        for (int k = 0; k < n; ++k) values.data_as<Complex>()[i * n + k] = Complex(real[k], imaginary[k]);
        if (job == 'V') unpack(vectors.matrix<Complex>(i), packed.data(), imaginary.data(), n);
      }
    }
  }

  // Of two conjugate vectors LAPACK gives the real part in one column, the imaginary in the next.
  template <class Complex, class Real>
  static void unpack(Complex* to, const Real* from, const Real* imaginary, int64_t n) {
    for (int64_t column = 0; column < n; ++column) {
      const bool pair = imaginary[column] != 0 && column + 1 < n;
      for (int64_t row = 0; row < n; ++row) {
        const Real real = from[column * n + row];
        const Real other = pair ? from[(column + 1) * n + row] : Real(0);
        to[column * n + row] = Complex(real, other);
        if (pair) to[(column + 1) * n + row] = Complex(real, -other);
      }
      if (pair) ++column;
    }
  }
};

void eig_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check_square(call, input);
  const Eigen eigen(call, input, true);
  call.set_output(0, eigen.values);
  copy(call.output(1, input.shape(), eigen.dtype), eigen.vectors.tensor());
}

void eigvals_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check_square(call, input);
  call.set_output(0, Eigen(call, input, false).values);
}

const Register register_eigh{
    "linalg_eigh(Tensor A, str UPLO='L') -> (Tensor, Tensor)",
    "Eigenvalues (ascending) and orthonormal eigenvectors (in columns) of Hermitian matrices, one triangle of which is "
    "read.",
    {Trait::takes_complex, Trait::not_holomorphic, Trait::internal}, eigh_cpu};
const Register register_eigvalsh{
    "linalg_eigvalsh(Tensor A, str UPLO='L') -> Tensor",
    "The eigenvalues of Hermitian matrices, ascending; one triangle is read.",
    {Trait::takes_complex, Trait::not_holomorphic, Trait::internal}, eigvalsh_cpu};
const Register register_eig{
    "linalg_eig(Tensor A) -> (Tensor, Tensor)",
    "Eigenvalues and eigenvectors (in columns, of length 1) of square matrices, both complex.",
    {Trait::takes_complex, Trait::not_holomorphic, Trait::internal}, eig_cpu};
const Register register_eigvals{
    "linalg_eigvals(Tensor A) -> Tensor", "The eigenvalues of square matrices, complex.",
    {Trait::takes_complex, Trait::not_holomorphic, Trait::internal}, eigvals_cpu};

}  // namespace
}  // namespace relume
