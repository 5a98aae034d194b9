#include <algorithm>
#include <type_traits>
#include <vector>

#include "tensor/blas.h"
#include "tensor/convert.h"
#include "tensor/copy.h"
#include "tensor/dims.h"
#include "tensor/kernels/matmul.h"
#include "tensor/parallel.h"

namespace relume {

MatrixStack MatrixStack::transposed() const {
  MatrixStack result = *this;
  std::swap(result.rows, result.columns);
  std::swap(result.row_stride, result.column_stride);
  return result;
}

MatrixStack matrices_of(const Tensor& tensor) {
  const int last = tensor.ndim() - 1;
  MatrixStack stack;
  stack.data = tensor.data();
  stack.rows = tensor.size(last - 1);
  stack.columns = tensor.size(last);
  stack.row_stride = tensor.stride(last - 1);
  stack.column_stride = tensor.stride(last);
  stack.batch = IntSpan(tensor->shape, last - 1);
  stack.batch_strides = IntSpan(tensor->strides, last - 1);
  return stack;
}

MatrixStack row_of(const Tensor& vector) {
  MatrixStack stack;
  stack.data = vector.data();
  stack.columns = vector.size(0);
  stack.column_stride = vector.stride(0);
  stack.row_stride = stack.columns;
  return stack;
}

MatrixStack column_of(const Tensor& vector) { return row_of(vector).transposed(); }

Tensor as_type(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  Tensor converted = empty(tensor.shape(), dtype, tensor.device());
  copy(converted, tensor);
  return converted;
}

namespace {

template <class T>
Matrix<T> first_matrix(const MatrixStack& stack) {
  return {static_cast<T*>(stack.data), stack.rows, stack.columns, stack.row_stride, stack.column_stride};
}

// A stack with a batch of its own, which can be changed.
struct Batch {
  MatrixStack matrices;
  Dims shape, strides;

  // Repeats matrices (stride 0) to fill `full`.
  Batch(const MatrixStack& matrices, IntSpan full) : matrices(matrices), shape(full), strides(full) {
    const int added = full.count - matrices.batch.count;
    for (int i = 0; i < full.count; i++) {
      const bool repeated = i < added || matrices.batch[i - added] != full[i];
      strides[i] = repeated ? 0 : matrices.batch_strides[i - added];
    }
  }

  template <class T>
  Matrix<T> at(int64_t index) const {
    int64_t offset = 0;
    for (int i = shape.count - 1; i >= 0; i--) {
      offset += index % shape[i] * strides[i];
      index /= shape[i];
    }
    Matrix<T> matrix = first_matrix<T>(matrices);
    matrix.data += offset;
    return matrix;
  }

  // Do the matrices along the last dimension lie one below the other?
  bool is_tall() const {
    return matrices.rows == 1 || strides[shape.count - 1] == matrices.rows * matrices.row_stride;
  }
  void drop_last(bool into_rows) {
    const int last = shape.count - 1;
    if (into_rows && matrices.rows == 1) matrices.row_stride = strides[last];
    if (into_rows) matrices.rows *= shape[last];
    shape.erase(last);
    strides.erase(last);
  }
};

// Matrices that all meet the same `b` and lie one below the other are one tall matrix.
void join_rows(Batch& a, Batch& b, Batch& result) {
  while (result.shape.count > 0) {
    const int last = result.shape.count - 1;
    const bool one = result.shape[last] == 1;
    if (!one && !(b.strides[last] == 0 && a.is_tall() && result.is_tall())) return;
    a.drop_last(!one);
    b.drop_last(false);
    result.drop_last(!one);
  }
}

// Integers wrap around as NumPy's do: they are summed without a sign.
template <class T>
using Sum = std::conditional_t<std::is_same_v<T, bool>, int64_t, uint64_t>;

template <class T>
void multiply_integers(T alpha, const Matrix<T>& a, const Matrix<T>& b, T beta,
                       const Matrix<T>& result) {
  for (int64_t i = 0; i < result.rows; i++) {
    for (int64_t j = 0; j < result.columns; j++) {
      Sum<T> sum = 0;
      for (int64_t k = 0; k < a.columns; k++)
        sum += static_cast<Sum<T>>(a.at(i, k)) * static_cast<Sum<T>>(b.at(k, j));
      T& element = result.at(i, j);
      sum *= static_cast<Sum<T>>(alpha);
      if (beta != 0) sum += static_cast<Sum<T>>(beta) * static_cast<Sum<T>>(element);
      element = static_cast<T>(sum);
    }
  }
}

template <class To, class From>
void convert(const Matrix<From>& source, const Matrix<To>& target) {
  for (int64_t i = 0; i < source.rows; i++) {
    for (int64_t j = 0; j < source.columns; j++) target.at(i, j) = static_cast<To>(source.at(i, j));
  }
}

// 16-bit floats are multiplied as float32.
template <class T>
void multiply_halves(float alpha, const Matrix<T>& a, const Matrix<T>& b, float beta,
                     const Matrix<T>& result) {
  std::vector<float> memory(a.rows * a.columns + b.rows * b.columns + result.rows * result.columns);
  const Matrix<float> wide_a(memory.data(), a.rows, a.columns);
  const Matrix<float> wide_b(wide_a.data + a.rows * a.columns, b.rows, b.columns);
  const Matrix<float> wide_result(wide_b.data + b.rows * b.columns, result.rows, result.columns);
  convert(a, wide_a);
  convert(b, wide_b);
  if (beta != 0) convert(result, wide_result);
  gemm<float>(alpha, wide_a, wide_b, beta, wide_result);
  convert(wide_result, result);
}

template <class T>
void multiply_one(double alpha, const Matrix<T>& a, const Matrix<T>& b, double beta,
                  const Matrix<T>& result) {
  if constexpr (is_complex_type<T>) {
    complex_gemm<T>(alpha, a, b, beta, result);
  } else if constexpr (std::is_floating_point_v<T>) {
    gemm<T>(static_cast<T>(alpha), a, b, static_cast<T>(beta), result);
  } else if constexpr (std::is_integral_v<T>) {
    multiply_integers<T>(static_cast<T>(alpha), a, b, static_cast<T>(beta), result);
  } else {
    multiply_halves(static_cast<float>(alpha), a, b, static_cast<float>(beta), result);
  }
}

template <class T>
void multiply_batches(const MatrixStack& a_stack, const MatrixStack& b_stack, const MatrixStack& stack,
                      double alpha, double beta) {
  Batch a(a_stack, stack.batch), b(b_stack, stack.batch), result(stack, stack.batch);
  if (product(result.shape) == 0) return;
  join_rows(a, b, result);
  const int64_t count = product(result.shape);
  const int64_t work =
      std::max<int64_t>(1, result.matrices.rows * result.matrices.columns * a.matrices.columns);
  const auto multiply_range = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++)
      multiply_one<T>(alpha, a.at<T>(i), b.at<T>(i), beta, result.at<T>(i));
  };
  // A few large products share the threads one after the other.
  if (count < num_threads()) return multiply_range(0, count);
  parallel_for(0, count, std::max<int64_t>(1, 65536 / work), multiply_range);
}

}  // namespace

void multiply(DType dtype, const MatrixStack& a, const MatrixStack& b, const MatrixStack& result,
              double alpha, double beta) {
  visit_any(dtype, [&](auto zero) {
    using T = decltype(zero);
    if (result.batch.count > 0) return multiply_batches<T>(a, b, result, alpha, beta);
    multiply_one<T>(alpha, first_matrix<T>(a), first_matrix<T>(b), beta, first_matrix<T>(result));
  });
}

}  // namespace relume
