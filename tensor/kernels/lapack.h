// LAPACK, from the OpenBLAS library that tensor/blas.h opens, for stacks of matrices.
//
// A kernel copies its matrices into a MatrixColumns (LAPACK reads columns), calls a routine on
// each of them, and hands the result out:
//
//   const MatrixColumns factors(input, dtype);
//   visit_lapack(dtype, [&](auto zero) {
//     using T = decltype(zero);
//     const LapackRoutine potrf = lapack_routine<T>("potrf");
//     for_each_matrix(factors, [&](int64_t i) {
//       int info = 0;
//       potrf('L', n, factors.matrix<T>(i), n, &info);
//     });
//   });
#pragma once
#include "tensor/convert.h"
#include "tensor/dims.h"
#include "tensor/dispatch.h"
#include "tensor/parallel.h"

namespace relume {

// A matrix without the property that an algorithm needs: singular, not positive definite, ...
class LinAlgError : public Error {
 public:
  using Error::Error;
};

// A routine by its address. As Fortran wants it, numbers and letters are passed by address,
// and the length of each letter follows at the end (one too many does no harm).
class LapackRoutine {
 public:
  explicit LapackRoutine(void* address) : address_(address) {}

  template <class... Arguments>
  void operator()(Arguments... arguments) const {
    using Function = void (*)(decltype(pointer_to(arguments))..., std::size_t, std::size_t, std::size_t,
                              std::size_t);
    reinterpret_cast<Function>(address_)(pointer_to(arguments)..., 1, 1, 1, 1);
  }

 private:
  template <class T>
  static T* pointer_to(T& number) {
    return &number;
  }
  template <class T>
  static T* pointer_to(T*& pointer) {
    return pointer;
  }

  void* address_;
};

template <class T>
struct LapackType;
template <>
struct LapackType<float> {
  using Real = float;
  static constexpr char letter = 's';
};
template <>
struct LapackType<double> {
  using Real = double;
  static constexpr char letter = 'd';
};
template <>
struct LapackType<Complex64> {
  using Real = float;
  static constexpr char letter = 'c';
};
template <>
struct LapackType<Complex128> {
  using Real = double;
  static constexpr char letter = 'z';
};
template <class T>
using RealOf = typename LapackType<T>::Real;

// Throws NotImplementedError where there is no LAPACK.
LapackRoutine find_lapack(char letter, const char* name);
template <class T>
LapackRoutine lapack_routine(const char* name) {
  return find_lapack(LapackType<T>::letter, name);
}
// Routines that have a name of their own for complex matrices: ("syevd", "heevd").
template <class T>
LapackRoutine lapack_routine(const char* real_name, const char* complex_name) {
  return lapack_routine<T>(is_complex_type<T> ? complex_name : real_name);
}

// The type that matrices are computed in: integers become the default float; throws TypeError
// for 16-bit floats.
DType lapack_dtype(const Call& call, const Tensor& matrices);

template <class Function>
void visit_lapack(DType dtype, Function&& function) {
  switch (dtype) {
    case DType::float32: return function(float{});
    case DType::float64: return function(double{});
    default: return visit_complex(dtype, function);
  }
}

// A stack of matrices whose columns lie one after the other, row-major stacks transposed.
class MatrixColumns {
 public:
  // Not set.
  MatrixColumns(IntSpan batch, int64_t rows, int64_t columns, DType dtype);
  // A copy.
  MatrixColumns(const Tensor& matrices, DType dtype);

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  int leading() const { return std::max(rows_, 1); }  // what LAPACK calls LDA
  int64_t count() const { return count_; }
  template <class T>
  T* matrix(int64_t index) const {
    return memory_.data_as<T>() + index * rows_ * columns_;
  }
  // The matrices as a tensor (batch..., rows, columns) on this memory.
  Tensor tensor() const;

 private:
  Tensor memory_;  // (batch..., columns, rows)
  int rows_, columns_;
  int64_t count_;
};

// Throws ValueError unless it has at least two dimensions (and square matrices).
void check_matrices(const Call& call, const Tensor& tensor);
void check_square(const Call& call, const Tensor& tensor);
// LAPACK may never return from numbers that are not finite: throws LinAlgError.
void check_finite(const Call& call, const MatrixColumns& matrices, DType dtype);
// The leading dimensions of a stack of matrices, with sizes to follow.
Dims batch_of(const Tensor& matrices);
Dims with_sizes(Dims batch, std::initializer_list<int64_t> sizes);
// A stack repeated to other leading dimensions.
Tensor expand_batch(const Tensor& matrices, IntSpan batch);

// Calls `function(begin, end)` for ranges of matrices, on several threads.
template <class Function>
void for_matrix_ranges(const MatrixColumns& matrices, Function&& function) {
  const int64_t size = std::max(matrices.rows(), matrices.columns());
  const int64_t work = std::max<int64_t>(1, size * size * size);
  parallel_for(0, matrices.count(), std::max<int64_t>(1, 65536 / work), function);
}
template <class Function>
void for_each_matrix(const MatrixColumns& matrices, Function&& function) {
  for_matrix_ranges(matrices, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) function(i);
  });
}

// How each matrix of a stack went: LAPACK's INFO, 0 where all is well.
class Statuses {
 public:
  explicit Statuses(IntSpan batch);
  int& operator[](int64_t index) const { return values_.data_as<int>()[index]; }
  const Tensor& tensor() const { return values_; }
  // Throws LinAlgError for the first one that is not 0, saying which matrix and `what` is wrong.
  void check(const Call& call, const char* what) const;

 private:
  Tensor values_;  // int32
};

// LAPACK answers a call that asks for the size of its workspace with a number of type T.
template <class T>
int workspace_size(T answer) {
  return std::max(1, static_cast<int>(std::real(answer)));
}

}  // namespace relume
