// What the ops share that read or write along one dimension at the places an index tensor names
// (gather_ops.cpp, scatter_ops.cpp, scatter_reduce.cpp).
#pragma once
#include <algorithm>

#include "tensor/dims.h"
#include "tensor/dispatch.h"
#include "tensor/kernels/indexing.h"

namespace relume {

// A row-major tensor seen as (outer, size, inner) around one dimension.
struct Around {
  int64_t outer = 1, size = 1, inner = 1;

  Around(IntSpan shape, int dim) {
    for (int i = 0; i < shape.count; ++i) (i < dim ? outer : i == dim ? size : inner) *= shape[i];
  }
};

// A row-major copy in another type; the tensor itself where nothing needs to change.
Tensor as_dtype(const Tensor& tensor, DType dtype);

// A 0-d tensor seen as a vector of one element; others as they are.
Tensor at_least_1d(const Tensor& tensor);

// An argument that indexes one dimension: at most 1-d; not checked for range.
Tensor vector_index(const Call& call, int argument);

// An index tensor for gather and scatter on a tensor of `shape`: row-major int64, of a shape that fits
// but along `dim` (a 0-d one into a vector as well); not checked for range.
Tensor gather_index(const Call& call, int argument, IntSpan shape, int dim);

// The part of `source` that an index tensor of another shape uses, row-major.
Tensor source_part(const Call& call, const Tensor& source, const Tensor& index, DType dtype);

// What a writing op changes: `input` itself in place, otherwise a copy of it in the output. Row-major;
// `finish` puts it where it belongs.
class WrittenTensor {
 public:
  explicit WrittenTensor(Call& call);
  WrittenTensor(Call& call, IntSpan shape);  // the input is repeated to fill the shape
  const Tensor& operator*() const { return dense_; }
  const Tensor* operator->() const { return &dense_; }
  void finish() const;

 private:
  Tensor output_, dense_;
};

// Registers a writing op and its in-place form ("scatter" and "scatter_").
struct RegisterWriting {
  RegisterWriting(const char* schema, const char* documentation, Kernel kernel);
};

// Writes one value where a mask (bool or uint8) is not 0; all three row-major.
void fill_masked(const Tensor& target, const Tensor& mask, const Tensor& value);

// An argument of a writing op; a copy where the op writes over its memory.
Tensor apart(const Call& call, const Tensor& argument);

// An index that may be counted from the end of `size`.
inline int64_t wrapped_place(int64_t place, int64_t size) { return place + (size & (place >> 63)); }

// How places are read: as they are, or counted from the end where negative.
struct AsIs {
  int64_t operator()(int64_t place, int64_t) const { return place; }
};
struct Wrapped {
  int64_t operator()(int64_t place, int64_t size) const { return wrapped_place(place, size); }
};

// Where the rows of an index tensor point in a row-major tensor of `shape`: element k of a row at `start`
// stands for position start + k * step + place * along.
struct IndexRows {
  const Tensor& index;
  Dims steps;
  int dim, last;
  int64_t along, size, step, length;

  IndexRows(const Tensor& index, IntSpan shape, int dim)
      : index(index), steps(contiguous_strides(shape)), dim(dim), last(index.ndim() - 1) {
    along = last < 0 ? 0 : steps[dim];
    size = last < 0 ? 1 : shape[dim];
    step = last < 0 || dim == last ? 0 : steps[last];
    length = last < 0 ? 1 : index.size(last);
  }

  // Calls `function(start, begin, end)` for the parts of rows among the elements [begin, end) of the index.
  template <class Function>
  void for_each(int64_t begin, int64_t end, Function function) const {
    if (begin >= end) return;
    // Where row `begin / length` starts in the tensor, without the part along `dim`.
    int64_t position[kMaxDims] = {};
    int64_t start = 0, row = begin / length;
    for (int d = last - 1; d >= 0; --d) {
      position[d] = row % index.size(d);
      row /= index.size(d);
      if (d != dim) start += position[d] * steps[d];
    }
    int64_t k = begin % length;
    for (int64_t i = begin; i < end; k = 0) {
      const int64_t stop = std::min(end, i + length - k);
      function(start + k * step, i, stop);
      i = stop;
      for (int d = last - 1; d >= 0; --d) {
        const int64_t outer_step = d == dim ? 0 : steps[d];
        start += outer_step;
        if (++position[d] < index.size(d)) break;
        start -= index.size(d) * outer_step;
        position[d] = 0;
      }
    }
  }
};

// Calls `function(position in the tensor, position in the index)` for the elements [begin, end) of an
// index tensor; the tensor is row-major of `shape`. Places must be in range.
template <class Wrap, class Function>
void for_each_place(const Tensor& index, IntSpan shape, int dim, int64_t begin, int64_t end, Wrap wrap,
                    Function function) {
  const IndexRows rows(index, shape, dim);
  const int64_t* places = index.data_as<int64_t>();
  const int64_t along = rows.along, size = rows.size, step = rows.step;
  rows.for_each(begin, end, [&](int64_t start, int64_t i, int64_t stop) {
    if (along == 1) {  // `dim` is the last one
      for (; i < stop; ++i) function(start + wrap(places[i], size), i);
    } else {
      for (; i < stop; ++i, start += step) function(start + wrap(places[i], size) * along, i);
    }
  });
}

}  // namespace relume
