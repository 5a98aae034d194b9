#include "tensor/blas.h"

#include <dlfcn.h>

#include <algorithm>
#include <climits>
#include <string>

#include "tensor/buffer.h"
#include "tensor/kernels/best_isa.h"
#include "tensor/kernels/gemm.h"
#include "tensor/parallel.h"

namespace relume {

RELUME_PER_ISA(GemmKernels, gemm_kernels)

namespace {

// CBLAS's numbers for its enumerations.
constexpr int kRowMajor = 101;
constexpr int kNoTranspose = 111;
constexpr int kTranspose = 112;

// The CBLAS functions of one element type; null without OpenBLAS.
template <class T>
struct BlasFunctions {
  void (*gemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, T alpha, const T* a,
               int lda, const T* b, int ldb, T beta, T* c, int ldc) = nullptr;
  void (*gemv)(int order, int transpose, int m, int n, T alpha, const T* a, int lda, const T* x,
               int incx, T beta, T* y, int incy) = nullptr;
};
void* loaded_library = nullptr;
BlasFunctions<float> float_functions;
BlasFunctions<double> double_functions;

template <class T>
const BlasFunctions<T>& functions();
template <>
const BlasFunctions<float>& functions<float>() {
  return float_functions;
}
template <>
const BlasFunctions<double>& functions<double>() {
  return double_functions;
}

template <class T>
GemmKernel<T> own_gemm();
template <>
GemmKernel<float> own_gemm<float>() {
  return best_gemm_kernels().float32;
}
template <>
GemmKernel<double> own_gemm<double>() {
  return best_gemm_kernels().float64;
}

template <class T>
SmallGemmKernel<T> small_gemm();
template <>
SmallGemmKernel<float> small_gemm<float>() {
  return best_gemm_kernels().small_float32;
}
template <>
SmallGemmKernel<double> small_gemm<double>() {
  return best_gemm_kernels().small_float64;
}

// Does our kernel for small matrices beat OpenBLAS, which packs its operands (and whose threads
// wait for one another to get memory for that)?
template <class T>
bool suits_small_gemm(int64_t rows, const Matrix<const T>& b) {
  constexpr int64_t kSmallTransposed = 16 * 16;  // elements that may be put into rows
  return rows <= kSmallGemm && b.rows <= kSmallGemm && b.columns <= kSmallGemm &&
         (b.column_stride == 1 || b.rows * b.columns <= kSmallTransposed);
}

// Below this many multiplications plain loops beat a call.
constexpr int64_t kSmallProduct = 5 * 5 * 5;
// A thread is worth waking for about this many multiplications.
constexpr int64_t kWorkPerThread = 64 * 64 * 32;

template <class T>
void scale(const Matrix<T>& matrix, T factor) {
  for (int64_t i = 0; i < matrix.rows; i++) {
    for (int64_t j = 0; j < matrix.columns; j++) {
      T& element = matrix.at(i, j);
      element = factor == 0 ? T(0) : element * factor;
    }
  }
}

template <class T>
void multiply_small(T alpha, const Matrix<const T>& a, const Matrix<const T>& b, T beta,
                    const Matrix<T>& result) {
  for (int64_t i = 0; i < result.rows; i++) {
    for (int64_t j = 0; j < result.columns; j++) {
      T sum = 0;
      for (int64_t k = 0; k < a.columns; k++) sum += a.at(i, k) * b.at(k, j);
      T& element = result.at(i, j);
      element = alpha * sum + (beta == 0 ? T(0) : beta * element);
    }
  }
}

// Can BLAS read it as rows that lie `row_stride` apart?
template <class T>
bool has_blas_rows(const Matrix<T>& matrix) {
  return matrix.column_stride == 1 && matrix.row_stride >= matrix.columns &&
         matrix.row_stride <= INT_MAX;
}

// Strides along a dimension of size 1 mean nothing: choose ones that BLAS can read.
template <class T>
Matrix<T> with_plain_strides(Matrix<T> matrix) {
  if (matrix.columns == 1 && matrix.rows == 1) return {matrix.data, 1, 1};
  if (matrix.columns == 1 && matrix.row_stride > 0) matrix.column_stride = 1;
  if (matrix.rows == 1 && matrix.column_stride == 1) matrix.row_stride = matrix.columns;
  if (matrix.rows == 1 && matrix.column_stride > 0 && matrix.column_stride != 1) matrix.row_stride = 1;
  return matrix;
}

template <class T>
void copy_elements(const Matrix<const T>& source, const Matrix<T>& target) {
  for (int64_t i = 0; i < source.rows; i++) {
    for (int64_t j = 0; j < source.columns; j++) target.at(i, j) = source.at(i, j);
  }
}

template <class T>
bool fits_blas(const Matrix<T>& matrix) {
  return matrix.rows <= INT_MAX && matrix.columns <= INT_MAX;
}

// Splits the rows or the columns of the result, whichever are more, over our threads. OpenBLAS
// itself stays single-threaded: its threads wait for one another, which would hang where fewer
// run than it asked for (in a parallel region, in a forked child).
template <class T, class Block>
void split_over_threads(const Matrix<T>& result, int64_t depth, int64_t step, Block&& block) {
  const bool by_rows = result.rows >= result.columns;
  const int64_t length = by_rows ? result.rows : result.columns;
  const int64_t other = by_rows ? result.columns : result.rows;
  const int64_t units = (length + step - 1) / step;
  const int64_t work_per_unit = std::max<int64_t>(1, step * other * depth);
  parallel_for(0, units, std::max<int64_t>(1, kWorkPerThread / work_per_unit),
               [&](int64_t begin, int64_t end) {
                 const int64_t start = begin * step;
                 const int64_t count = std::min(length, end * step) - start;
                 by_rows ? block(start, 0, count, result.columns) : block(0, start, result.rows, count);
               });
}

template <class T>
void multiply_with_blas(T alpha, const Matrix<const T>& a, const Matrix<const T>& b, T beta,
                        const Matrix<T>& result) {
  const bool a_rows = has_blas_rows(a), b_rows = has_blas_rows(b);
  const int lda = static_cast<int>(a_rows ? a.row_stride : a.column_stride);
  const int ldb = static_cast<int>(b_rows ? b.row_stride : b.column_stride);
  split_over_threads(
      result, a.columns, 16, [&](int64_t row, int64_t column, int64_t rows, int64_t columns) {
        functions<T>().gemm(kRowMajor, a_rows ? kNoTranspose : kTranspose,
                            b_rows ? kNoTranspose : kTranspose, static_cast<int>(rows),
                            static_cast<int>(columns), static_cast<int>(a.columns), alpha,
                            a.data + row * a.row_stride, lda, b.data + column * b.column_stride, ldb,
                            beta, &result.at(row, column), static_cast<int>(result.row_stride));
      });
}

template <class T>
void multiply_with_own_kernel(T alpha, const Matrix<const T>& a, const Matrix<const T>& b, T beta,
                              const Matrix<T>& result) {
  split_over_threads(result, a.columns, 32,
                     [&](int64_t row, int64_t column, int64_t rows, int64_t columns) {
                       const Matrix<T> part = result.block(row, column, rows, columns);
                       if (beta != 1) scale(part, beta);
                       own_gemm<T>()(alpha, a.block(row, 0, rows, a.columns),
                                     b.block(0, column, b.rows, columns), part);
                     });
}

// result = alpha * a x + beta * result, where x and the result are vectors.
template <class T>
void multiply_vector(T alpha, const Matrix<const T>& a, const T* x, int64_t x_stride, T beta, T* result,
                     int64_t result_stride) {
  const bool rows = has_blas_rows(a);
  const bool columns = has_blas_rows(a.transposed());
  const bool strides_fit =
      x_stride > 0 && x_stride <= INT_MAX && result_stride > 0 && result_stride <= INT_MAX;
  const int64_t grain = std::max<int64_t>(16, kWorkPerThread / std::max<int64_t>(1, a.columns));
  parallel_for(0, a.rows, grain, [&](int64_t begin, int64_t end) {
    const int count = static_cast<int>(end - begin);
    const int depth = static_cast<int>(a.columns);
    const T* start = a.data + begin * a.row_stride;
    T* target = result + begin * result_stride;
    if (functions<T>().gemv && fits_blas(a) && strides_fit && (rows || columns)) {
      // Some versions multiply the old contents, NaN included, by a beta of zero.
      if (beta == 0) scale(Matrix<T>(target, count, 1, result_stride, 1), T(0));
      functions<T>().gemv(kRowMajor, rows ? kNoTranspose : kTranspose, rows ? count : depth,
                          rows ? depth : count, alpha, start,
                          static_cast<int>(rows ? a.row_stride : a.column_stride), x,
                          static_cast<int>(x_stride), beta, target, static_cast<int>(result_stride));
      return;
    }
    for (int64_t i = 0; i < count; i++) {
      const T sum = dot(a.columns, start + i * a.row_stride, a.column_stride, x, x_stride);
      T& element = target[i * result_stride];
      element = alpha * sum + (beta == 0 ? T(0) : beta * element);
    }
  });
}

}  // namespace

bool load_blas(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  BlasFunctions<float> floats;
  BlasFunctions<double> doubles;
  floats.gemm = reinterpret_cast<decltype(floats.gemm)>(dlsym(library, "scipy_cblas_sgemm"));
  floats.gemv = reinterpret_cast<decltype(floats.gemv)>(dlsym(library, "scipy_cblas_sgemv"));
  doubles.gemm = reinterpret_cast<decltype(doubles.gemm)>(dlsym(library, "scipy_cblas_dgemm"));
  doubles.gemv = reinterpret_cast<decltype(doubles.gemv)>(dlsym(library, "scipy_cblas_dgemv"));
  auto set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "scipy_openblas_set_num_threads"));
  if (!floats.gemm || !floats.gemv || !doubles.gemm || !doubles.gemv || !set_threads) {
    dlclose(library);
    return false;
  }
  set_threads(1);  // the threads are ours: see split_over_threads
  float_functions = floats;
  double_functions = doubles;
  loaded_library = library;
  return true;
}

void* blas_function(const char* name) {
  return loaded_library ? dlsym(loaded_library, (std::string("scipy_") + name).c_str()) : nullptr;
}

bool blas_loaded() { return float_functions.gemm != nullptr; }

template <class T>
T dot(int64_t count, const T* a, int64_t a_stride, const T* b, int64_t b_stride) {
  T sum = 0;
  if (a_stride == 1 && b_stride == 1) {
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
  }
  for (int64_t i = 0; i < count; i++) sum += a[i * a_stride] * b[i * b_stride];
  return sum;
}

template <class T>
void gemm(T alpha, Matrix<const T> a, Matrix<const T> b, T beta, Matrix<T> result) {
  const int64_t rows = result.rows, columns = result.columns, depth = a.columns;
  if (rows == 0 || columns == 0) return;
  if (depth == 0 || alpha == 0) return scale(result, beta);
  if (rows * columns * depth <= kSmallProduct) return multiply_small(alpha, a, b, beta, result);
  a = with_plain_strides(a);
  b = with_plain_strides(b);
  result = with_plain_strides(result);
  if (columns == 1)
    return multiply_vector(alpha, a, b.data, b.row_stride, beta, result.data, result.row_stride);
  if (rows == 1) {
    return multiply_vector(alpha, b.transposed(), a.data, a.column_stride, beta, result.data,
                           result.column_stride);
  }
  if (!has_blas_rows(result) && has_blas_rows(result.transposed())) {
    return gemm<T>(alpha, b.transposed(), a.transposed(), beta, result.transposed());
  }
  if (!has_blas_rows(result)) {
    Buffer<T> buffer(rows * columns);
    Matrix<T> plain(buffer.data(), rows, columns);
    if (beta != 0) copy_elements<T>(result, plain);
    gemm<T>(alpha, a, b, beta, plain);
    return copy_elements<T>(plain, result);
  }
  if (suits_small_gemm(rows, b)) return small_gemm<T>()(alpha, a, b, beta, result);
  const bool use_blas = functions<T>().gemm && fits_blas(a) && fits_blas(b);
  if (!use_blas) return multiply_with_own_kernel(alpha, a, b, beta, result);
  if (!has_blas_rows(a) && !has_blas_rows(a.transposed())) {
    Buffer<T> buffer(rows * depth);
    Matrix<T> plain(buffer.data(), rows, depth);
    copy_elements<T>(a, plain);
    return gemm<T>(alpha, plain, b, beta, result);
  }
  if (!has_blas_rows(b) && !has_blas_rows(b.transposed())) {
    Buffer<T> buffer(depth * columns);
    Matrix<T> plain(buffer.data(), depth, columns);
    copy_elements<T>(b, plain);
    return gemm<T>(alpha, a, plain, beta, result);
  }
  multiply_with_blas(alpha, a, b, beta, result);
}

template void gemm(float, Matrix<const float>, Matrix<const float>, float, Matrix<float>);
template void gemm(double, Matrix<const double>, Matrix<const double>, double, Matrix<double>);
template float dot(int64_t, const float*, int64_t, const float*, int64_t);
template double dot(int64_t, const double*, int64_t, const double*, int64_t);

}  // namespace relume
