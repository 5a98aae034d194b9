// The lower and upper triangle of matrices.
#include <algorithm>
#include <cstring>
#include <utility>

#include "tensor/copy.h"
#include "tensor/dispatch.h"
#include "tensor/kernels/dense.h"

namespace relume {
namespace {

// Copies a matrix, or each matrix of a batch, with zeros outside of the columns
// [first, end) that `keep(row, columns)` returns.
template <class Keep>
void keep_triangle(Call& call, Keep keep) {
  const Tensor input = call.tensor(0);
  check(input.ndim() >= 2, call.op.name(), ": expected at least 2 dimensions, not shape ",
        input.shape());
  const DenseOutput output(call.output(0, input.shape(), input.dtype()));
  copy(*output, input);
  const int64_t rows = input.size(input.ndim() - 2), columns = input.size(input.ndim() - 1);
  const int64_t size = static_cast<int64_t>(item_size(input.dtype()));
  char* row = output->data_as<char>();
  for (int64_t i = 0; columns > 0 && i < input.numel() / columns; ++i, row += columns * size) {
    const auto [first, end] = keep(i % rows, columns);
    std::memset(row, 0, first * size);
    std::memset(row + end * size, 0, (columns - end) * size);
  }
  output.write_back();
}

int64_t clip(int64_t position, int64_t size) {
  return std::max<int64_t>(0, std::min(position, size));
}

// The diagonal of the call; one that is far outside of the matrix as one that is just outside.
int64_t diagonal_of(const Call& call) {
  const int64_t furthest = call.tensor(0).numel() + 1;
  return std::max(-furthest, std::min(call.integer(1), furthest));
}

void tril_cpu(Call& call) {
  const int64_t diagonal = diagonal_of(call);
  keep_triangle(call, [=](int64_t row, int64_t columns) {
    return std::pair<int64_t, int64_t>(0, clip(row + diagonal + 1, columns));
  });
}

void triu_cpu(Call& call) {
  const int64_t diagonal = diagonal_of(call);
  keep_triangle(call, [=](int64_t row, int64_t columns) {
    return std::pair<int64_t, int64_t>(clip(row + diagonal, columns), columns);
  });
}

const Register register_tril{
    "tril(Tensor input, int diagonal=0) -> Tensor",
    "A copy with zeros above a diagonal of the last two dimensions.", {Trait::takes_complex}, tril_cpu};
const Register register_triu{
    "triu(Tensor input, int diagonal=0) -> Tensor",
    "A copy with zeros below a diagonal of the last two dimensions.", {Trait::takes_complex}, triu_cpu};

}  // namespace
}  // namespace relume
