// Products of matrices and vectors in memory: OpenBLAS where one was found, our own
// kernels (tensor/kernels/gemm.isa.cpp) otherwise. Both run on our OpenMP threads.
#pragma once
#include <cstdint>

namespace relume {

// Opens the OpenBLAS library of the `scipy-openblas32` package. When it cannot be used,
// returns false and our own kernels stay in use.
bool load_blas(const char* path);
bool blas_loaded();
// The address of a function of that library, "cblas_zgemm" or "dgetrf_"; nullptr when there is none.
void* blas_function(const char* name);

// A matrix with any strides (in elements), so that a transposed view is no copy.
template <class T>
struct Matrix {
  T* data;
  int64_t rows, columns;
  int64_t row_stride, column_stride;

  Matrix(T* data, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride)
      : data(data), rows(rows), columns(columns), row_stride(row_stride), column_stride(column_stride) {}
  // Row-major without gaps.
  Matrix(T* data, int64_t rows, int64_t columns) : Matrix(data, rows, columns, columns, 1) {}

  Matrix transposed() const { return {data, columns, rows, column_stride, row_stride}; }
  Matrix block(int64_t row, int64_t column, int64_t row_count, int64_t column_count) const {
    return {data + row * row_stride + column * column_stride, row_count, column_count, row_stride,
            column_stride};
  }
  T& at(int64_t row, int64_t column) const { return data[row * row_stride + column * column_stride]; }
  operator Matrix<const T>() const { return {data, rows, columns, row_stride, column_stride}; }
};

// result = alpha * a b + beta * result, for float and double. With beta 0 the old contents
// of `result` are not read. `result` overlaps neither `a` nor `b`.
template <class T>
void gemm(T alpha, Matrix<const T> a, Matrix<const T> b, T beta, Matrix<T> result);

// The same for std::complex of both.
template <class T>
void complex_gemm(double alpha, Matrix<const T> a, Matrix<const T> b, double beta, Matrix<T> result);

// Sum of a[i] * b[i].
template <class T>
T dot(int64_t count, const T* a, int64_t a_stride, const T* b, int64_t b_stride);

}  // namespace relume
