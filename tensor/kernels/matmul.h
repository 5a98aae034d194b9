// Products of stacks of matrices: what matmul, linear and addmm are made of.
#pragma once
#include "tensor/tensor.h"

namespace relume {

// Matrices of one tensor: its leading dimensions count them. Vectors are seen as matrices
// with one row or one column.
struct MatrixStack {
  void* data = nullptr;
  int64_t rows = 1, columns = 1;
  int64_t row_stride = 0, column_stride = 0;
  IntSpan batch, batch_strides;  // borrowed from the tensor

  MatrixStack transposed() const;
};

MatrixStack matrices_of(const Tensor& tensor);  // of a tensor with at least two dimensions
MatrixStack row_of(const Tensor& vector);
MatrixStack column_of(const Tensor& vector);

// result = alpha * a b + beta * result, matrix by matrix; all three hold elements of `dtype`
// (any type: 16-bit floats are computed in float32, bool is a logical or of ands). With beta 0
// the old result is not read.
void multiply(DType dtype, const MatrixStack& a, const MatrixStack& b, const MatrixStack& result,
              double alpha = 1, double beta = 0);

// `tensor` itself when it has that type, otherwise a converted copy, off the tape.
Tensor as_type(const Tensor& tensor, DType dtype);

}  // namespace relume
