#include <algorithm>
#include <type_traits>

#include "tensor/blas.h"
#include "tensor/copy.h"
#include "tensor/kernels/matmul.h"
#include "tensor/parallel.h"

namespace relume {

MatrixStack MatrixStack::transposed() const {
  MatrixStack result = *this;
  std::swap(result.rows, result.columns);
  std::swap(result.row_stride, result.column_stride);
  return result;
}

void MatrixStack::expand_batch(IntSpan shape) {
  const int added = shape.count - batch.count;
  Dims strides(shape);
  for (int i = 0; i < shape.count; i++) {
    const bool repeated = i < added || batch[i - added] != shape[i];
    strides[i] = repeated ? 0 : batch_strides[i - added];
  }
  batch = Dims(shape);
  batch_strides = strides;
}

MatrixStack matrices_of(const Tensor& tensor) {
  const int last = tensor.ndim() - 1;
  MatrixStack stack;
  stack.data = tensor.data();
  stack.rows = tensor.size(last - 1);
  stack.columns = tensor.size(last);
  stack.row_stride = tensor.stride(last - 1);
  stack.column_stride = tensor.stride(last);
  stack.batch = Dims(IntSpan(tensor->shape, last - 1));
  stack.batch_strides = Dims(IntSpan(tensor->strides, last - 1));
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
Matrix<T> matrix_at(const MatrixStack& stack, int64_t index) {
  int64_t offset = 0;
  for (int i = stack.batch.count - 1; i >= 0; i--) {
    offset += index % stack.batch[i] * stack.batch_strides[i];
    index /= stack.batch[i];
  }
  return {static_cast<T*>(stack.data) + offset, stack.rows, stack.columns, stack.row_stride, stack.column_stride};
}

// Do the matrices along the last batch dimension lie one below the other?
bool is_tall(const MatrixStack& stack) {
  return stack.rows == 1 || stack.batch_strides[stack.batch.count - 1] == stack.rows * stack.row_stride;
}

void drop_last_batch(MatrixStack& stack, bool into_rows) {
  const int last = stack.batch.count - 1;
  if (into_rows && stack.rows == 1) stack.row_stride = stack.batch_strides[last];
  if (into_rows) stack.rows *= stack.batch[last];
  stack.batch.erase(last);
  stack.batch_strides.erase(last);
}

// Matrices that all meet the same `b` and lie one below the other are one tall matrix.
void join_rows(MatrixStack& a, MatrixStack& b, MatrixStack& result) {
  while (result.batch.count > 0) {
    const int last = result.batch.count - 1;
    const bool one = result.batch[last] == 1;
    if (!one && !(b.batch_strides[last] == 0 && is_tall(a) && is_tall(result))) return;
    drop_last_batch(a, !one);
    drop_last_batch(b, false);
    drop_last_batch(result, !one);
  }
}

// Integers wrap around as NumPy's do: they are summed without a sign.
template <class T>
using Sum = std::conditional_t<std::is_same_v<T, bool>, int64_t, uint64_t>;

template <class T>
void multiply_integers(T alpha, const Matrix<const T>& a, const Matrix<const T>& b, T beta, const Matrix<T>& result) {
  for (int64_t i = 0; i < result.rows; i++) {
    for (int64_t j = 0; j < result.columns; j++) {
      Sum<T> sum = 0;
      for (int64_t k = 0; k < a.columns; k++) sum += static_cast<Sum<T>>(a.at(i, k)) * static_cast<Sum<T>>(b.at(k, j));
      T& element = result.at(i, j);
      sum *= static_cast<Sum<T>>(alpha);
      if (beta != 0) sum += static_cast<Sum<T>>(beta) * static_cast<Sum<T>>(element);
      element = static_cast<T>(sum);
    }
  }
}

template <class T>
void multiply_one(T alpha, const Matrix<T>& a, const Matrix<T>& b, T beta, const Matrix<T>& result) {
  if constexpr (std::is_floating_point_v<T>) {
    gemm<T>(alpha, a, b, beta, result);
  } else {
    multiply_integers<T>(alpha, a, b, beta, result);
  }
}

template <class T>
void multiply_all(const MatrixStack& a, const MatrixStack& b, const MatrixStack& result, T alpha, T beta) {
  const int64_t count = product(result.batch);
  const int64_t work = std::max<int64_t>(1, result.rows * result.columns * a.columns);
  auto multiply_range = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      multiply_one<T>(alpha, matrix_at<T>(a, i), matrix_at<T>(b, i), beta, matrix_at<T>(result, i));
    }
  };
  // A few large products share the threads one after the other.
  if (count < num_threads()) return multiply_range(0, count);
  parallel_for(0, count, std::max<int64_t>(1, 65536 / work), multiply_range);
}

// A stack of 16-bit floats, and the float32 tensor that stands in for it.
Tensor widen(const MatrixStack& stack, DType dtype, bool with_contents, MatrixStack& wide) {
  Dims shape = stack.batch, strides = stack.batch_strides;
  shape.push(stack.rows);
  shape.push(stack.columns);
  strides.push(stack.row_stride);
  strides.push(stack.column_stride);
  Tensor tensor = empty(shape, DType::float32);
  if (with_contents) {
    visit(dtype, [&](auto zero) {
      using T = decltype(zero);
      float* target = tensor.data_as<float>();
      const int64_t count = product(stack.batch);
      for (int64_t i = 0; i < count; i++) {
        const Matrix<T> matrix = matrix_at<T>(stack, i);
        for (int64_t row = 0; row < stack.rows; row++) {
          for (int64_t column = 0; column < stack.columns; column++) *target++ = static_cast<float>(matrix.at(row, column));
        }
      }
    });
  }
  wide = matrices_of(tensor);
  return tensor;
}

void multiply_halves(DType dtype, const MatrixStack& a, const MatrixStack& b, const MatrixStack& result, double alpha,
                     double beta) {
  MatrixStack wide_a, wide_b, wide_result;
  const Tensor a_memory = widen(a, dtype, true, wide_a);
  const Tensor b_memory = widen(b, dtype, true, wide_b);
  const Tensor result_memory = widen(result, dtype, beta != 0, wide_result);
  multiply(DType::float32, wide_a, wide_b, wide_result, alpha, beta);
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    const float* source = result_memory.data_as<float>();
    const int64_t count = product(result.batch);
    for (int64_t i = 0; i < count; i++) {
      const Matrix<T> matrix = matrix_at<T>(result, i);
      for (int64_t row = 0; row < result.rows; row++) {
        for (int64_t column = 0; column < result.columns; column++) matrix.at(row, column) = static_cast<T>(*source++);
      }
    }
  });
}

}  // namespace

void multiply(DType dtype, MatrixStack a, MatrixStack b, MatrixStack result, double alpha, double beta) {
  a.expand_batch(result.batch);
  b.expand_batch(result.batch);
  if (product(result.batch) == 0 || result.rows == 0 || result.columns == 0) return;
  join_rows(a, b, result);
  if (dtype == DType::float16 || dtype == DType::bfloat16) return multiply_halves(dtype, a, b, result, alpha, beta);
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, Half> && !std::is_same_v<T, BFloat16>) {
      multiply_all<T>(a, b, result, static_cast<T>(alpha), static_cast<T>(beta));
    }
  });
}

}  // namespace relume
