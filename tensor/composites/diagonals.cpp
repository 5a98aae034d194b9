// Diagonals and tensors with a part replaced: diag, diag_embed, diagflat, select_scatter, slice_scatter,
// diagonal_scatter.
#include <algorithm>
#include <cstdlib>

#include "tensor/composites/composites.h"

namespace relume {
namespace {

const OpFunction diagonal{"diagonal"}, diagonal_backward{"diagonal_backward"}, diag_embed{"diag_embed"},
    select_backward{"select_backward"}, slice_backward{"slice_backward"};

constexpr int64_t kMostOffset = int64_t{1} << 40;

void diag_embed_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check(input.ndim() > 0, "diag_embed(): a 0-d tensor has no diagonal to give");
  const int ndim = input.ndim() + 1;
  const int64_t offset = call.integer(1);
  const int first = wrap_dim(call.integer(2), ndim), second = wrap_dim(call.integer(3), ndim);
  check(first != second, "diag_embed(): dim1 and dim2 must differ");
  check(std::abs(offset >> 1) < kMostOffset, "diag_embed(): offset ", offset, " is too large");
  const int64_t side = input.size(input.ndim() - 1) + std::abs(offset);
  Dims shape(IntSpan(input.shape().values, input.ndim() - 1));
  shape.insert(std::min(first, second), side);
  shape.insert(std::max(first, second), side);
  call.set_output(0, diagonal_backward(input, IntSpan(shape), offset, first, second));
}

void diag_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check(input.ndim() == 1 || input.ndim() == 2, "diag() needs a vector or a matrix, not shape ", input.shape());
  const Tensor result = input.ndim() == 1 ? diag_embed(input, call.value(1)) : ops::clone(diagonal(input, call.value(1)));
  call.set_output(0, result);
}

void diagflat_cpu(Call& call) {
  call.set_output(0, diag_embed(ops::reshape(call.tensor(0), IntSpan{-1}), call.value(1)));
}

void check_part(const Call& call, const Tensor& part, IntSpan shape) {
  check(part.shape() == shape, call.op.name(), "(): src has shape ", part.shape(), ", it must be ", shape);
}

// The input with a part replaced; both are given in place, among zeros. By where, so that no NaN of what
// is replaced comes through.
Tensor overlay(const Call& call, const Tensor& ones_of_part, const Tensor& part_in_place) {
  const Tensor is_replaced = ops::ne(ones_of_part, 0);
  return ops::where(is_replaced, part_in_place, call.tensor(0));
}

void select_scatter_cpu(Call& call) {
  const Tensor input = call.tensor(0), part = call.tensor(1);
  check_part(call, part, ops::select(input, call.value(2), call.value(3)).shape());
  auto embedded = [&](const Tensor& t) { return select_backward(t, input.shape(), call.value(2), call.value(3)); };
  call.set_output(0, overlay(call, embedded(ops::ones_like(part)), embedded(part)));
}

void slice_scatter_cpu(Call& call) {
  const Tensor input = call.tensor(0), part = call.tensor(1);
  const Value &dim = call.value(2), &start = call.value(3), &stop = call.value(4), &step = call.value(5);
  check_part(call, part, ops::slice(input, dim, start, stop, step).shape());
  auto embedded = [&](const Tensor& t) { return slice_backward(t, input.shape(), dim, start, stop, step); };
  call.set_output(0, overlay(call, embedded(ops::ones_like(part)), embedded(part)));
}

void diagonal_scatter_cpu(Call& call) {
  const Tensor input = call.tensor(0), part = call.tensor(1);
  const Value &offset = call.value(2), &dim1 = call.value(3), &dim2 = call.value(4);
  check_part(call, part, diagonal(input, offset, dim1, dim2).shape());
  auto embedded = [&](const Tensor& t) { return diagonal_backward(t, input.shape(), offset, dim1, dim2); };
  call.set_output(0, overlay(call, embedded(ops::ones_like(part)), embedded(part)));
}

const auto kComposite = {Trait::composite};

const Register register_diag_embed{
    "diag_embed(Tensor input, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
    "Zeros with the last dimension of the input on a diagonal of two new dimensions.", kComposite, diag_embed_cpu};
const Register register_diag{"diag(Tensor input, int diagonal=0) -> Tensor",
                             "A matrix with a vector on its diagonal, or a copy of the diagonal of a matrix.",
                             kComposite, diag_cpu};
const Register register_diagflat{"diagflat(Tensor input, int offset=0) -> Tensor",
                                 "A matrix with all elements on its diagonal.", kComposite, diagflat_cpu};
const Register register_select_scatter{
    "select_scatter(Tensor input, Tensor src, int dim, int index) -> Tensor",
    "A copy with one index of a dimension replaced.", kComposite, select_scatter_cpu};
const Register register_slice_scatter{
    "slice_scatter(Tensor input, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
    "A copy with start:end:step of a dimension replaced.", kComposite, slice_scatter_cpu};
const Register register_diagonal_scatter{
    "diagonal_scatter(Tensor input, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
    "A copy with a diagonal replaced.", kComposite, diagonal_scatter_cpu};

}  // namespace
}  // namespace relume
