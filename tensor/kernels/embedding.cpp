// Rows of a table, looked up by number.
#include <cstring>

#include "tensor/copy.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/window.h"

namespace relume {
namespace {

Tensor row_numbers(const Call& call, int argument, int64_t rows) {
  const Tensor given = call.tensor(argument);
  check<TypeError>(is_integer(given.dtype()), call.op.name(), ": indices must be integers, not ",
                   name(given.dtype()));
  Tensor indices = contiguous_copy_if_needed(as_type(given, DType::int64));
  const int64_t* index = indices.data_as<const int64_t>();
  for (int64_t i = 0; i < indices.numel(); i++) {
    check<IndexError>(index[i] >= 0 && index[i] < rows, call.op.name(), ": index ", index[i],
                      " is outside of a table of ", rows, " rows");
  }
  return indices;
}

void embedding_cpu(Call& call) {
  const Tensor weight = contiguous_copy_if_needed(call.tensor(0));
  check(weight.ndim() == 2, "embedding: weight must have shape (rows, width), not ", weight.shape());
  const Tensor indices = row_numbers(call, 1, weight.size(0));
  Dims shape(indices.shape());
  shape.push(weight.size(1));
  const Tensor out = dense_output(call, 0, shape, weight.dtype());
  const std::size_t bytes = weight.size(1) * item_size(weight.dtype());
  const int64_t* index = indices.data_as<const int64_t>();
  if (bytes == 0) return;
  for (int64_t i = 0; i < indices.numel(); i++) {
    std::memcpy(out.data_as<char>() + i * bytes, weight.data_as<const char>() + index[i] * bytes, bytes);
  }
}

void embedding_backward_cpu(Call& call) {
  const Tensor grad = contiguous_copy_if_needed(call.tensor(0));
  const int64_t rows = call.integer(2);
  check_setting(call, 2, rows, 0);
  const Tensor indices = row_numbers(call, 1, rows);
  check(grad.ndim() == indices.ndim() + 1 && IntSpan(grad->shape, indices.ndim()) == indices.shape(),
        "embedding_backward: grad_output of shape ", grad.shape(), " does not fit indices of shape ",
        indices.shape());
  const int64_t width = grad.size(grad.ndim() - 1);
  const Tensor out = dense_output(call, 0, {rows, width}, grad.dtype());
  const int64_t* index = indices.data_as<const int64_t>();
  visit(grad.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* source = grad.data_as<const T>();
    T* table = out.data_as<T>();
    std::fill_n(table, rows * width, T(0));
    for (int64_t i = 0; i < indices.numel(); i++, source += width) {
      T* target = table + index[i] * width;
      for (int64_t j = 0; j < width; j++) target[j] = static_cast<T>(target[j] + source[j]);
    }
  });
}

const Register register_embedding{"embedding(Tensor weight, Tensor indices) -> Tensor",
                                  "The rows of weight with these numbers (0-based).",
                                  {Trait::no_method},
                                  embedding_cpu};
const Register register_embedding_backward{
    "embedding_backward(Tensor grad_output, Tensor indices, int rows) -> Tensor",
    "Gradient of embedding: a table in which every row is added where it came from.",
    {Trait::internal},
    embedding_backward_cpu};

}  // namespace
}  // namespace relume
