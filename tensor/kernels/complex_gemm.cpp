// Products of complex matrices: OpenBLAS where there is one, plain loops otherwise.
#include <algorithm>
#include <climits>
#include <complex>

#include "tensor/blas.h"
#include "tensor/buffer.h"

namespace relume {
namespace {

constexpr int kRowMajor = 101;  // CBLAS's numbers
constexpr int kNoTranspose = 111;

using Gemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k, const void* alpha,
                      const void* a, int lda, const void* b, int ldb, const void* beta, void* c, int ldc);

template <class T>
Gemm blas_gemm() {
  const bool single = sizeof(T) == sizeof(std::complex<float>);
  static const Gemm function = reinterpret_cast<Gemm>(blas_function(single ? "cblas_cgemm" : "cblas_zgemm"));
  return function;
}

template <class T>
void multiply_plainly(const Matrix<const T>& a, const Matrix<const T>& b, T* result) {
  std::fill_n(result, a.rows * b.columns, T(0));
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t k = 0; k < a.columns; ++k) {
      const T factor = a.at(i, k);
      T* row = result + i * b.columns;
      for (int64_t j = 0; j < b.columns; ++j) {
        const T x = b.at(k, j);
        row[j] += T(factor.real() * x.real() - factor.imag() * x.imag(),
                    factor.real() * x.imag() + factor.imag() * x.real());
      }
    }
  }
}

// The elements in rows without gaps: where they are, or copied into `buffer`.
template <class T>
const T* dense_rows(const Matrix<const T>& matrix, Buffer<T>& buffer) {
  if (matrix.column_stride == 1 && matrix.row_stride == matrix.columns) return matrix.data;
  T* to = buffer.data();
  for (int64_t i = 0; i < matrix.rows; ++i) {
    for (int64_t j = 0; j < matrix.columns; ++j) *to++ = matrix.at(i, j);
  }
  return buffer.data();
}

template <class T>
void multiply_with_blas(Gemm gemm, const Matrix<const T>& a, const Matrix<const T>& b, T* result) {
  Buffer<T> a_buffer(a.rows * a.columns), b_buffer(b.rows * b.columns);
  const T one(1), zero(0);
  gemm(kRowMajor, kNoTranspose, kNoTranspose, static_cast<int>(a.rows), static_cast<int>(b.columns),
       static_cast<int>(a.columns), &one, dense_rows(a, a_buffer), static_cast<int>(a.columns),
       dense_rows(b, b_buffer), static_cast<int>(b.columns), &zero, result, static_cast<int>(b.columns));
}

}  // namespace

template <class T>
void complex_gemm(double alpha, Matrix<const T> a, Matrix<const T> b, double beta, Matrix<T> result) {
  using Part = typename T::value_type;
  if (result.rows == 0 || result.columns == 0) return;
  Buffer<T> product(result.rows * result.columns);
  const bool fits = std::max({a.rows, a.columns, b.columns}) <= INT_MAX;
  const Gemm gemm = blas_gemm<T>();
  if (gemm && fits && a.columns > 0) {
    multiply_with_blas(gemm, a, b, product.data());
  } else {
    multiply_plainly(a, b, product.data());
  }
  const Part scale = static_cast<Part>(alpha), keep = static_cast<Part>(beta);
  const T* from = product.data();
  for (int64_t i = 0; i < result.rows; ++i) {
    for (int64_t j = 0; j < result.columns; ++j, ++from) {
      T& element = result.at(i, j);
      element = keep == 0 ? *from * scale : *from * scale + element * keep;
    }
  }
}

template void complex_gemm(double, Matrix<const std::complex<float>>, Matrix<const std::complex<float>>, double,
                           Matrix<std::complex<float>>);
template void complex_gemm(double, Matrix<const std::complex<double>>, Matrix<const std::complex<double>>, double,
                           Matrix<std::complex<double>>);

}  // namespace relume
