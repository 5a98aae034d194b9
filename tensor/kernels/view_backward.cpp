// Gradients of view ops: the gradient of a part goes to its place in a tensor of zeros.
// Each is the transpose of its view op, and the view op is in turn its derivative.
#include "tensor/copy.h"
#include "tensor/dispatch.h"
#include "tensor/kernels/views.h"

namespace relume {
namespace {

Tensor zeros_output(Call& call, IntSpan shape) {
  const Tensor output = call.output(0, shape, call.tensor(0).dtype());
  fill(output, 0);
  return output;
}

void select_backward_cpu(Call& call) {
  const Tensor output = zeros_output(call, call.integers(1));
  const int dim = wrap_dim(call.integer(2), output.ndim());
  const int64_t index = wrap_index(call.integer(3), dim, output.size(dim));
  copy(select_view(output, dim, index), call.tensor(0));
}

void slice_backward_cpu(Call& call) {
  const Tensor output = zeros_output(call, call.integers(1));
  const int dim = wrap_dim(call.integer(2), output.ndim());
  const Slice slice = resolve_slice(call.value(3), call.value(4), call.integer(5), output.size(dim));
  copy(slice_view(output, dim, slice), call.tensor(0));
}

void diagonal_backward_cpu(Call& call) {
  const Tensor output = zeros_output(call, call.integers(1));
  copy(diagonal_view(output, call.integer(2), call.integer(3), call.integer(4)), call.tensor(0));
}

// target += source, element by element in order, where several elements of `target` may be
// one place in memory.
void add_to_overlapping(const Tensor& target, const Tensor& source) {
  const Tensor dense = contiguous_copy_if_needed(source);
  visit_any(target.dtype(), [&](auto example) {
    using T = decltype(example);
    T* const base = target.data_as<T>();
    const T* from = dense.data_as<T>();
    int64_t index[kMaxDims] = {};
    int64_t place = 0;
    for (int64_t left = target.numel(); left > 0; --left) {
      base[place] = static_cast<T>(base[place] + *from++);
      for (int dim = target.ndim() - 1; dim >= 0; --dim) {
        place += target.stride(dim);
        if (++index[dim] < target.size(dim)) break;
        place -= target.size(dim) * target.stride(dim);
        index[dim] = 0;
      }
    }
  });
}

void unfold_backward_cpu(Call& call) {
  const Tensor output = zeros_output(call, call.integers(1));
  add_to_overlapping(unfold_view(output, call.integer(2), call.integer(3), call.integer(4)),
                     call.tensor(0));
}

// Regions of a tensor that is read as row-major, whatever its strides; offsets count from
// its first element.
void as_strided_gather_cpu(Call& call) {
  const Tensor input = contiguous_copy_if_needed(call.tensor(0));
  const Tensor region =
      checked_view_of(input, call.integer(3), call.integers(1), call.integers(2));
  copy(call.output(0, region.shape(), region.dtype()), region);
}

void as_strided_scatter_cpu(Call& call) {
  const Tensor base = call.tensor(0);
  const Tensor output = call.output(0, base.shape(), base.dtype());
  copy(output, base);
  copy(checked_view_of(output, call.integer(4), call.integers(2), call.integers(3)), call.tensor(1));
}

void as_strided_backward_cpu(Call& call) {
  const Tensor output = zeros_output(call, call.integers(1));
  add_to_overlapping(checked_view_of(output, call.integer(4), call.integers(2), call.integers(3)),
                     call.tensor(0));
}

const Register register_as_strided_gather{
    "as_strided_gather(Tensor input, int[] size, int[] stride, int offset) -> Tensor",
    "A copy of a region of the row-major elements of a tensor.", {Trait::takes_complex, Trait::internal},
    as_strided_gather_cpu};
const Register register_as_strided_scatter{
    "as_strided_scatter(Tensor base, Tensor values, int[] size, int[] stride, int offset) -> Tensor",
    "A row-major copy of `base` with a region replaced by `values`.", {Trait::takes_complex, Trait::internal},
    as_strided_scatter_cpu};
const Register register_as_strided_backward{
    "as_strided_backward(Tensor grad, int[] shape, int[] size, int[] stride, int offset) -> Tensor",
    "Sums the gradient of a region into zeros of a shape.", {Trait::takes_complex, Trait::internal},
    as_strided_backward_cpu};
const Register register_select_backward{
    "select_backward(Tensor grad, int[] shape, int dim, int index) -> Tensor",
    "Zeros of a shape with `grad` at one index of a dimension.", {Trait::takes_complex, Trait::internal},
    select_backward_cpu};
const Register register_slice_backward{
    "slice_backward(Tensor grad, int[] shape, int dim, int? start, int? stop, int step) -> Tensor",
    "Zeros of a shape with `grad` at a slice of a dimension.", {Trait::takes_complex, Trait::internal},
    slice_backward_cpu};
const Register register_diagonal_backward{
    "diagonal_backward(Tensor grad, int[] shape, int offset, int dim1, int dim2) -> Tensor",
    "Zeros of a shape with `grad` on a diagonal.", {Trait::takes_complex, Trait::internal}, diagonal_backward_cpu};
const Register register_unfold_backward{
    "unfold_backward(Tensor grad, int[] shape, int dimension, int size, int step) -> Tensor",
    "Sums the gradients of windows into the tensor that they look at.", {Trait::takes_complex, Trait::internal},
    unfold_backward_cpu};

}  // namespace
}  // namespace relume
