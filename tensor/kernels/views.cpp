#include "tensor/kernels/views.h"

#include <algorithm>

namespace relume {

Tensor view_of(const Tensor& input, int64_t offset, IntSpan shape, IntSpan strides) {
  Tensor view = Tensor::steal(new TensorBody);
  if (input->storage) input->storage->retain();
  view->storage = input->storage;
  view->dtype = input.dtype();
  view->is_view = true;
  set_geometry(view.body(), shape, strides);
  // Without elements there is no first one, and an offset could lie anywhere.
  view->offset = input->offset + (view.numel() > 0 ? offset : 0);
  return view;
}

Tensor checked_view_of(const Tensor& input, int64_t offset, IntSpan shape, IntSpan strides) {
  return make_view(input->storage, input->offset + offset, shape, strides, input.dtype());
}

Tensor expand_view(const Tensor& input, IntSpan shape) {
  const int added = shape.count - input.ndim();
  check(added >= 0, "cannot expand a tensor of shape ", input.shape(), " to ",
        shape, ": it has more dimensions");
  Dims sizes(shape), strides(shape);
  for (int i = 0; i < shape.count; ++i) {
    const int64_t size = i < added ? 1 : input.size(i - added);
    if (sizes[i] == -1 && i >= added) sizes[i] = size;
    check(sizes[i] == size || (size == 1 && sizes[i] >= 0), "cannot expand a tensor of shape ",
          input.shape(), " to ", shape, ": dimension ", i, " has size ",
          size, ", and only dimensions of size 1 can be repeated");
    strides[i] = i < added || (size == 1 && sizes[i] != 1) ? 0 : input.stride(i - added);
  }
  product(sizes);  // throws when it overflows: repeating takes no memory that could run out
  return view_of(input, 0, sizes, strides);
}

Tensor select_view(const Tensor& input, int dim, int64_t index) {
  Dims shape(input.shape()), strides(input.strides());
  shape.erase(dim);
  strides.erase(dim);
  return view_of(input, index * input.stride(dim), shape, strides);
}

Tensor narrow_view(const Tensor& input, int dim, int64_t start, int64_t length) {
  return slice_view(input, dim, {start, 1, length});
}

Tensor transpose_view(const Tensor& input, int dim0, int dim1) {
  Dims shape(input.shape()), strides(input.strides());
  if (shape.count > 0) {
    std::swap(shape[dim0], shape[dim1]);
    std::swap(strides[dim0], strides[dim1]);
  }
  return view_of(input, 0, shape, strides);
}

Tensor move_to_end_view(const Tensor& input, int dim) {
  Dims shape(input.shape()), strides(input.strides());
  if (shape.count > 0) {
    shape.erase(dim);
    strides.erase(dim);
    shape.push(input.size(dim));
    strides.push(input.stride(dim));
  }
  return view_of(input, 0, shape, strides);
}

namespace {

// The shape with neighbouring dimensions merged where one stride walks both.
struct Runs {
  Dims sizes, strides;

  explicit Runs(const Tensor& tensor) {
    for (int i = 0; i < tensor.ndim(); ++i) {
      if (tensor.size(i) != 1) add(tensor.size(i), tensor.stride(i));
    }
  }

 private:
  void add(int64_t size, int64_t stride) {
    const int last = sizes.count - 1;
    if (last >= 0 && strides[last] == stride * size) {
      sizes[last] *= size;
      strides[last] = stride;
    } else {
      sizes.push(size);
      strides.push(stride);
    }
  }
};

}  // namespace

Tensor reshape_view(const Tensor& input, IntSpan shape) {
  if (input.is_contiguous() || input.numel() == 0) {
    return view_of(input, 0, shape, contiguous_strides(shape));
  }
  const Runs runs(input);
  Dims strides = contiguous_strides(shape);
  int dim = 0;
  for (int run = 0; run < runs.sizes.count; ++run) {
    const int first = dim;
    int64_t covered = 1;
    while (dim < shape.count && covered < runs.sizes[run]) covered *= shape[dim++];
    if (covered != runs.sizes[run]) return Tensor();
    int64_t step = runs.strides[run];
    for (int i = dim - 1; i >= first; --i) {
      strides[i] = step;
      step *= shape[i];
    }
  }
  return view_of(input, 0, shape, strides);
}

Tensor diagonal_view(const Tensor& input, int64_t offset, int64_t dim1, int64_t dim2) {
  const int rows = wrap_dim(dim1, input.ndim()), columns = wrap_dim(dim2, input.ndim());
  check(input.ndim() >= 2, "diagonal needs a tensor with at least 2 dimensions, not shape ",
        input.shape());
  check(rows != columns, "diagonal needs two different dimensions, not ", rows, " twice");
  const int64_t row = offset < 0 ? -std::max(offset, -INT64_MAX) : 0, column = offset > 0 ? offset : 0;
  const int64_t below = input.size(rows) - row, right = input.size(columns) - column;
  const int64_t length = std::max<int64_t>(0, std::min(below, right));
  const int64_t start =
      length == 0 ? 0 : row * input.stride(rows) + column * input.stride(columns);
  Dims shape(input.shape()), strides(input.strides());
  for (int dim : {std::max(rows, columns), std::min(rows, columns)}) {
    shape.erase(dim);
    strides.erase(dim);
  }
  shape.push(length);
  strides.push(input.stride(rows) + input.stride(columns));
  return view_of(input, start, shape, strides);
}

Tensor unfold_view(const Tensor& input, int64_t dimension, int64_t size, int64_t step) {
  const int dim = wrap_dim(dimension, input.ndim());
  Dims shape(input.shape()), strides(input.strides());
  if (input.ndim() == 0) {
    shape.push(1);
    strides.push(1);
  }
  check(size >= 0 && size <= shape[dim], "unfold needs a size between 0 and ", shape[dim],
        ", the size of dimension ", dim, ", not ", size);
  check(step > 0, "unfold needs a step of at least 1, not ", step);
  const int64_t stride = strides[dim];
  shape[dim] = (shape[dim] - size) / step + 1;
  strides[dim] = stride * step;
  if (input.ndim() == 0) {
    shape.count = strides.count = 0;
  }
  shape.push(size);
  strides.push(stride);
  product(shape);  // throws when it overflows: windows overlap
  return view_of(input, 0, shape, strides);
}

Slice resolve_slice(const Value& start, const Value& stop, int64_t step, int64_t length) {
  check(step != 0, "a slice cannot have a step of 0");
  // Positions are clipped to what a walk in this direction can reach.
  const int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? length : length - 1;
  const auto clip = [&](const Value& value, int64_t missing) {
    if (value.is_none()) return missing;
    int64_t position = value.as_int();
    if (position < 0) position += length;
    return std::max(lowest, std::min(position, highest));
  };
  const int64_t first = clip(start, step > 0 ? lowest : highest);
  const int64_t end = clip(stop, step > 0 ? highest : lowest);
  const int64_t distance = step > 0 ? end - first : first - end;
  if (distance <= 0) return {0, step, 0};
  // -step overflows for the lowest integer, unsigned arithmetic does not.
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  return {first, step, static_cast<int64_t>((distance - 1) / stride) + 1};
}

Tensor slice_view(const Tensor& input, int dim, const Slice& slice) {
  Dims shape(input.shape()), strides(input.strides());
  shape[dim] = slice.count;
  if (slice.count > 1) strides[dim] *= slice.step;
  const int64_t start = slice.count > 0 ? slice.start * input.stride(dim) : 0;
  return view_of(input, start, shape, strides);
}

int64_t wrap_index(int64_t index, int dim, int64_t size) {
  check<IndexError>(index >= -size && index < size, "index ", index,
                    " is out of range for dimension ", dim, " with size ", size);
  return index < 0 ? index + size : index;
}

Dims resolve_shape(IntSpan shape, int64_t numel) {
  Dims result(shape);
  int inferred = -1;
  for (int i = 0; i < shape.count; ++i) {
    if (shape[i] == -1) {
      check(inferred < 0, "only one size can be -1 in the shape ", shape);
      inferred = i;
      result[i] = 1;
    } else {
      check(shape[i] >= 0, "a size cannot be negative in the shape ", shape);
    }
  }
  const int64_t known = product(result);
  if (inferred >= 0) {
    check(known != 0 || numel != 0, "cannot infer the -1 in the shape ", shape,
          " for a tensor without elements: write the size");
    check(known != 0 && numel % known == 0, "cannot reshape ", numel, " elements to ",
          shape);
    result[inferred] = numel / known;
  } else {
    check(known == numel, "cannot reshape ", numel, " elements to ", shape);
  }
  return result;
}

}  // namespace relume
