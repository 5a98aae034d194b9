// The registered view ops: other shapes, strides and offsets on the same memory.
#include "tensor/copy.h"
#include "tensor/dispatch.h"
#include "tensor/kernels/views.h"

namespace relume {
namespace {

int dim_argument(const Call& call, int argument) {
  return wrap_dim(call.integer(argument), call.body(0)->ndim);
}

void reshape_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const Dims shape = resolve_shape(call.integers(1), input.numel());
  Tensor result = reshape_view(input, shape);
  if (!result.defined()) {
    result = empty(shape, input.dtype(), input.device());
    copy(reshape_view(result, input.shape()), input);
  }
  call.set_output(0, result);
}

void view_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const Dims shape = resolve_shape(call.integers(1), input.numel());
  Tensor result = reshape_view(input, shape);
  check(result.defined(), "view: a tensor of shape ", input.shape(), " with strides ",
        input.strides(), " cannot be seen as shape ", shape,
        " without a copy: use reshape, or call contiguous() first");
  call.set_output(0, result);
}

void flatten_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const int start = dim_argument(call, 1), end = dim_argument(call, 2);
  check(start <= end, "flatten: start_dim ", start, " comes after end_dim ", end);
  Dims shape;
  int64_t merged = 1;
  for (int i = 0; i < input.ndim(); ++i) {
    const bool inside = i >= start && i <= end;
    if (inside) merged *= input.size(i);
    if (i == end) shape.push(merged);
    if (!inside) shape.push(input.size(i));
  }
  if (input.ndim() == 0) shape.push(1);
  Tensor result = reshape_view(input, shape);
  if (!result.defined()) {
    result = empty(shape, input.dtype(), input.device());
    copy(reshape_view(result, input.shape()), input);
  }
  call.set_output(0, result);
}

void expand_cpu(Call& call) { call.set_output(0, expand_view(call.tensor(0), call.integers(1))); }

void permute_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const IntSpan dims = call.integers(1);
  check(dims.count == input.ndim(), "permute: ", dims.count, " dimensions were given for a tensor of ",
        input.ndim());
  Dims shape, strides;
  uint32_t seen = 0;
  for (int64_t given : dims) {
    const int dim = wrap_dim(given, input.ndim());
    check(!(seen & (1u << dim)), "permute: dimension ", dim, " is given twice");
    seen |= 1u << dim;
    shape.push(input.size(dim));
    strides.push(input.stride(dim));
  }
  call.set_output(0, view_of(input, 0, shape, strides));
}

void transpose_cpu(Call& call) {
  call.set_output(0, transpose_view(call.tensor(0), dim_argument(call, 1), dim_argument(call, 2)));
}

void t_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check(input.ndim() <= 2, "t: expected at most 2 dimensions, not shape ", input.shape(),
        "; use permute or transpose");
  call.set_output(0, input.ndim() == 2 ? transpose_view(input, 0, 1)
                                       : view_of(input, 0, input.shape(), input.strides()));
}

void narrow_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check(input.ndim() > 0, "narrow: a 0-d tensor has no dimension to narrow");
  const int dim = dim_argument(call, 1);
  const int64_t size = input.size(dim), length = call.integer(3);
  int64_t start = call.integer(2);
  check<IndexError>(start >= -size && start <= size, "narrow: start ", start,
                    " is out of range for dimension ", dim, " with size ", size);
  if (start < 0) start += size;
  check<IndexError>(length >= 0 && length <= size - start, "narrow: ", length, " elements from ",
                    start, " do not fit into dimension ", dim, " with size ", size);
  call.set_output(0, narrow_view(input, dim, start, length));
}

void select_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check<IndexError>(input.ndim() > 0, "select: a 0-d tensor cannot be indexed");
  const int dim = dim_argument(call, 1);
  call.set_output(0, select_view(input, dim, wrap_index(call.integer(2), dim, input.size(dim))));
}

void slice_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check<IndexError>(input.ndim() > 0, "slice: a 0-d tensor cannot be sliced");
  const int dim = dim_argument(call, 1);
  const Slice slice = resolve_slice(call.value(2), call.value(3), call.integer(4), input.size(dim));
  call.set_output(0, slice_view(input, dim, slice));
}

void squeeze_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  uint32_t candidates = call.has(1) ? 0 : ~0u;
  for (int64_t dim : call.integers(1)) candidates |= 1u << wrap_dim(dim, input.ndim());
  Dims shape, strides;
  for (int i = 0; i < input.ndim(); ++i) {
    if (input.size(i) == 1 && (candidates & (1u << i))) continue;
    shape.push(input.size(i));
    strides.push(input.stride(i));
  }
  call.set_output(0, view_of(input, 0, shape, strides));
}

void unsqueeze_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const int dim = wrap_dim(call.integer(1), input.ndim() + 1);
  Dims shape(input.shape()), strides(input.strides());
  strides.insert(dim, dim < input.ndim() ? input.size(dim) * input.stride(dim) : 1);
  shape.insert(dim, 1);
  call.set_output(0, view_of(input, 0, shape, strides));
}

void unfold_cpu(Call& call) {
  call.set_output(0, unfold_view(call.tensor(0), call.integer(1), call.integer(2), call.integer(3)));
}

void diagonal_cpu(Call& call) {
  call.set_output(
      0, diagonal_view(call.tensor(0), call.integer(1), call.integer(2), call.integer(3)));
}

void as_strided_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check(call.integers(1).count == call.integers(2).count, "as_strided: size ",
        call.integers(1), " and stride ", call.integers(2),
        " need the same length");
  const int64_t offset = call.has(3) ? call.integer(3) : input->offset;
  call.set_output(
      0, checked_view_of(input, offset - input->offset, call.integers(1), call.integers(2)));
}

void flip_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  Dims strides(input.strides());
  int64_t start = 0;
  uint32_t seen = 0;
  for (int64_t given : call.integers(1)) {
    const int dim = wrap_dim(given, input.ndim());
    check(!(seen & (1u << dim)), "flip: dimension ", dim, " is given twice");
    seen |= 1u << dim;
    if (input.ndim() == 0 || input.numel() == 0) continue;
    start += (input.size(dim) - 1) * input.stride(dim);
    strides[dim] = -strides[dim];
  }
  const Tensor output = call.output(0, input.shape(), input.dtype());
  copy(output, view_of(input, start, input.shape(), strides));
}

const auto kView = {Trait::view, Trait::no_out};

const Register register_reshape{
    "reshape(Tensor input, int[] shape) -> Tensor",
    "The same elements in another shape: a view where strides allow it, otherwise a copy. One size "
    "may be -1.",
    kView, reshape_cpu};
const Register register_view{
    "view(Tensor input, int[] shape) -> Tensor",
    "The same memory in another shape; refuses where that needs a copy. One size may be -1.",
    {Trait::view, Trait::no_out, Trait::method_only}, view_cpu};
const Register register_flatten{
    "flatten(Tensor input, int start_dim=0, int end_dim=-1) -> Tensor",
    "Merges the dimensions from start_dim to end_dim into one.", kView, flatten_cpu};
const Register register_expand{
    "expand(Tensor input, int[] shape) -> Tensor",
    "A view that repeats dimensions of size 1 without copying; -1 keeps a size.", kView,
    expand_cpu};
const Register register_permute{"permute(Tensor input, int[] dims) -> Tensor",
                                "A view with the dimensions in another order.", kView,
                                permute_cpu};
const Register register_transpose{"transpose(Tensor input, int dim0, int dim1) -> Tensor",
                                  "A view with two dimensions swapped.", kView, transpose_cpu};
const Register register_t{"t(Tensor input) -> Tensor",
                          "The transpose of a matrix, as a view; a vector is returned as it is.",
                          kView, t_cpu};
const Register register_narrow{
    "narrow(Tensor input, int dim, int start, int length) -> Tensor",
    "A view of `length` elements along a dimension, from `start` on.", kView, narrow_cpu};
const Register register_select{
    "select(Tensor input, int dim, int index) -> Tensor",
    "A view of one index of a dimension, without that dimension.", kView, select_cpu};
const Register register_slice{
    "slice(Tensor input, int dim, int? start=None, int? stop=None, int step=1) -> Tensor",
    "A view of start:stop:step along a dimension, by Python's rules (the step may be negative).",
    kView, slice_cpu};
const Register register_squeeze{
    "squeeze(Tensor input, int[]? dim=None) -> Tensor",
    "A view without the dimensions of size 1 (those in `dim`, or all).", kView, squeeze_cpu};
const Register register_unsqueeze{"unsqueeze(Tensor input, int dim) -> Tensor",
                                  "A view with a dimension of size 1 inserted at `dim`.", kView,
                                  unsqueeze_cpu};
const Register register_unfold{
    "unfold(Tensor input, int dimension, int size, int step) -> Tensor",
    "A view of all windows of `size` elements, `step` apart, along a dimension; the window is the "
    "last dimension.",
    {Trait::view, Trait::no_out, Trait::method_only}, unfold_cpu};
const Register register_diagonal{
    "diagonal(Tensor input, int offset=0, int dim1=0, int dim2=1) -> Tensor",
    "A view of the diagonal of two dimensions, which becomes the last dimension.", kView,
    diagonal_cpu};
const Register register_as_strided{
    "as_strided(Tensor input, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
    "A view of the storage with any size, strides and offset (in elements) that stay inside it.",
    kView, as_strided_cpu};
const Register register_flip{"flip(Tensor input, int[] dims) -> Tensor",
                             "A copy with the order of elements reversed along `dims`.",
                             {Trait::takes_complex}, flip_cpu};

}  // namespace
}  // namespace relume
