// Rows of a table, looked up by number.
#include <algorithm>
#include <vector>

#include "tensor/copy.h"
#include "tensor/kernels/indexing.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/window.h"
#include "tensor/parallel.h"

namespace relume {
namespace {

Tensor row_numbers(const Call& call, int argument, int64_t rows) {
  const Tensor given = call.tensor(argument);
  check<TypeError>(is_integer(given.dtype()), call.op.name(), ": indices must be integers, not ",
                   name(given.dtype()));
  Tensor indices = contiguous_copy_if_needed(as_type(given, DType::int64));
  const int64_t* index = indices.data_as<const int64_t>();
  if (range_of(index, indices.numel(), rows) == Range::inside) return indices;
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
  copy_blocks(out.data_as<char>(), weight.data_as<const char>(), indices.data_as<const int64_t>(), indices.numel(),
              bytes);
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
  visit_any(grad.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* source = grad.data_as<const T>();
    T* table = out.data_as<T>();
    std::fill_n(table, rows * width, T(0));
    // Rows may come up again, so threads take columns.
    const int64_t grain = std::max<int64_t>(32, kParallelGrain / std::max<int64_t>(1, indices.numel()));
    parallel_for(0, width, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = 0; i < indices.numel(); i++) {
        T* target = table + index[i] * width;
        const T* from = source + i * width;
        for (int64_t j = begin; j < end; j++) target[j] = static_cast<T>(target[j] + from[j]);
      }
    });
  });
}

// What the gradient of each row that was looked up is multiplied with: 0 for the padding, and
// by frequency one over the number of times that the row was looked up.
void row_factors_cpu(Call& call) {
  const int64_t rows = call.integer(1), padding = call.integer(2);
  check_setting(call, 1, rows, 0);
  const Tensor indices = row_numbers(call, 0, rows);
  const int64_t* index = indices.data_as<const int64_t>();
  std::vector<double> counts(rows, 1);
  if (call.boolean(3)) {
    std::fill(counts.begin(), counts.end(), 0);
    for (int64_t i = 0; i < indices.numel(); i++) counts[index[i]] += 1;
  }
  const Tensor factors = empty(indices.shape(), DType::float64);
  for (int64_t i = 0; i < indices.numel(); i++)
    factors.data_as<double>()[i] = index[i] == padding ? 0 : 1 / counts[index[i]];
  call.set_output(0, as_type(factors, call.dtype(4, DType::float32)));
}

const Register register_embedding{
    "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False) -> Tensor",
    "The rows of weight with these numbers (0-based). The row padding_idx gets no gradient; scale_grad_by_freq "
    "divides a row's gradient by how often it was looked up.",
    {Trait::takes_complex, Trait::no_method},
    embedding_cpu};
const Register register_row_factors{
    "row_factors(Tensor indices, int rows, int padding_idx, bool by_frequency, dtype dtype) -> Tensor",
    "What embedding multiplies the gradient of each row that was looked up with.",
    {Trait::internal, Trait::not_differentiable},
    row_factors_cpu};
const Register register_embedding_backward{
    "embedding_backward(Tensor grad_output, Tensor indices, int rows) -> Tensor",
    "Gradient of embedding: a table in which every row is added where it came from.",
    {Trait::takes_complex, Trait::internal},
    embedding_backward_cpu};

}  // namespace
}  // namespace relume
