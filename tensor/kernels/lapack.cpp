#include "tensor/kernels/lapack.h"

#include <climits>
#include <cmath>

#include "tensor/blas.h"
#include "tensor/copy.h"
#include "tensor/default_dtype.h"
#include "tensor/kernels/views.h"
#include "tensor/public_names.h"

namespace relume {
namespace {

int as_int(int64_t size) {
  check(size <= INT_MAX, "a matrix with ", size, " rows or columns is too large for LAPACK");
  return static_cast<int>(size);
}

}  // namespace

LapackRoutine find_lapack(char letter, const char* name) {
  const std::string symbol = std::string(1, letter) + name + "_";
  void* address = blas_function(symbol.c_str());
  check<NotImplementedError>(address != nullptr, "linear algebra needs LAPACK (", symbol,
                             "): install the package scipy-openblas32");
  return LapackRoutine(address);
}

DType lapack_dtype(const Call& call, const Tensor& matrices) {
  const DType dtype = matrices.dtype();
  if (!is_differentiable(dtype)) return default_float();
  check<TypeError>(item_size(dtype) > 2, public_name(call.op), "() does not compute in ", name(dtype),
                   "; convert the tensor to float32 first");
  return dtype;
}

MatrixColumns::MatrixColumns(IntSpan batch, int64_t rows, int64_t columns, DType dtype)
    : memory_(empty(with_sizes(Dims(batch), {columns, rows}), dtype)),
      rows_(as_int(rows)),
      columns_(as_int(columns)),
      count_(product(batch)) {}

MatrixColumns::MatrixColumns(const Tensor& matrices, DType dtype)
    : MatrixColumns(batch_of(matrices), matrices.size(matrices.ndim() - 2), matrices.size(matrices.ndim() - 1),
                    dtype) {
  copy(tensor(), matrices);
}

Tensor MatrixColumns::tensor() const {
  return transpose_view(memory_, memory_.ndim() - 2, memory_.ndim() - 1);
}

void check_matrices(const Call& call, const Tensor& tensor) {
  check(tensor.ndim() >= 2, public_name(call.op), "() needs matrices: a tensor with at least two dimensions, not one of shape ",
        tensor.shape());
}

void check_square(const Call& call, const Tensor& tensor) {
  check_matrices(call, tensor);
  check(tensor.size(tensor.ndim() - 2) == tensor.size(tensor.ndim() - 1), public_name(call.op),
        "() needs square matrices; the shape is ", tensor.shape());
}

void check_finite(const Call& call, const MatrixColumns& matrices, DType dtype) {
  const int64_t size = int64_t{matrices.rows()} * matrices.columns();
  visit_lapack(dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* elements = matrices.matrix<T>(0);
    for (int64_t i = 0; i < matrices.count() * size; ++i) {
      const bool finite = std::isfinite(std::real(elements[i])) && std::isfinite(std::imag(elements[i]));
      check<LinAlgError>(finite, public_name(call.op), "(): matrix ", i / size, " has elements that are not finite");
    }
  });
}

Dims batch_of(const Tensor& matrices) { return Dims(IntSpan(matrices->shape, matrices.ndim() - 2)); }

Dims with_sizes(Dims batch, std::initializer_list<int64_t> sizes) {
  for (int64_t size : sizes) batch.push(size);
  return batch;
}

Tensor expand_batch(const Tensor& matrices, IntSpan batch) {
  return expand_view(matrices, with_sizes(Dims(batch), {matrices.size(matrices.ndim() - 2),
                                                        matrices.size(matrices.ndim() - 1)}));
}

Statuses::Statuses(IntSpan batch) : values_(full(batch, 0, DType::int32)) {}

void Statuses::check(const Call& call, const char* what) const {
  for (int64_t i = 0; i < values_.numel(); ++i) {
    if ((*this)[i] == 0) continue;
    const std::string which = values_.ndim() == 0 ? "the matrix" : message("matrix ", i, " of the stack");
    throw LinAlgError(message(public_name(call.op), "(): ", which, " ", what));
  }
}

}  // namespace relume
