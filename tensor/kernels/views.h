// Views as plain functions, off the tape: what the registered view ops and the kernels
// that work on parts of a tensor share.
#pragma once
#include "tensor/dims.h"
#include "tensor/value.h"

namespace relume {

// Looks at the memory of `input`; `offset` counts from the first element of `input`. All
// elements must be elements of `input`: that is not checked.
Tensor view_of(const Tensor& input, int64_t offset, IntSpan shape, IntSpan strides);
// The same for any part of the storage; throws ValueError when it would reach outside.
Tensor checked_view_of(const Tensor& input, int64_t offset, IntSpan shape, IntSpan strides);

Tensor expand_view(const Tensor& input, IntSpan shape);  // throws ValueError
Tensor select_view(const Tensor& input, int dim, int64_t index);
Tensor narrow_view(const Tensor& input, int dim, int64_t start, int64_t length);
Tensor transpose_view(const Tensor& input, int dim0, int dim1);
// Last dimension: `dim` is moved there.
Tensor move_to_end_view(const Tensor& input, int dim);
// Undefined when strides cannot express the shape.
Tensor reshape_view(const Tensor& input, IntSpan shape);
Tensor diagonal_view(const Tensor& input, int64_t offset, int64_t dim1, int64_t dim2);
Tensor unfold_view(const Tensor& input, int64_t dim, int64_t size, int64_t step);

// Python's slice, resolved for a length: `count` elements from `start` in steps of `step`.
struct Slice {
  int64_t start, step, count;
};
Slice resolve_slice(const Value& start, const Value& stop, int64_t step, int64_t length);
Tensor slice_view(const Tensor& input, int dim, const Slice& slice);

// Negative indices count from the end; throws IndexError naming index, dim and size.
int64_t wrap_index(int64_t index, int dim, int64_t size);

// Fills in one -1 and checks the number of elements; throws ValueError.
Dims resolve_shape(IntSpan shape, int64_t numel);

}  // namespace relume
