// NumPy's indexing by tensors: x[i, :, j], x[mask]; index, index_put, their gradients, nonzero.
#include <cstring>

#include "tensor/copy.h"
#include "tensor/dispatch.h"
#include "tensor/kernels/dense.h"
#include "tensor/kernels/along_dim.h"
#include "tensor/kernels/views.h"
#include "tensor/parallel.h"

namespace relume {
namespace {

// The dimensions of a tensor that are not indexed, as positions of their elements.
struct Positions {
  Dims shape, strides;

  void add(int64_t size, int64_t stride) {
    shape.push(size);
    strides.push(stride);
  }
  int64_t count() const { return product(shape); }
  bool is_row() const {  // one element next to the other?
    int64_t expected = 1;
    for (int i = shape.count - 1; i >= 0; --i) {
      if (shape[i] != 1 && strides[i] != expected) return false;
      expected *= shape[i];
    }
    return true;
  }
  std::vector<int64_t> list() const {
    std::vector<int64_t> positions{0};
    for (int i = 0; i < shape.count; ++i) {
      std::vector<int64_t> finer;
      finer.reserve(positions.size() * shape[i]);
      for (int64_t position : positions) {
        for (int64_t k = 0; k < shape[i]; ++k) finer.push_back(position + k * strides[i]);
      }
      positions = std::move(finer);
    }
    return positions;
  }
};

// What x[indices] means: the elements at before + place + after, for all three lists.
struct Selection {
  Positions before, after;
  Tensor places;  // int64, row-major: one for every element of the broadcast index tensors
  std::vector<int64_t> index_shape;

  bool is_of_elements() const { return before.shape.count == 0 && after.shape.count == 0; }
  Dims result_shape() const {
    Dims shape(before.shape);
    for (int64_t size : index_shape) shape.push(size);
    for (int64_t size : IntSpan(after.shape)) shape.push(size);
    return shape;
  }
};

// One index tensor: element i of the tensor is at places[i] * stride along the dimensions
// (bits) that it indexes; negative places count from the end of `size`.
struct DimIndex {
  uint32_t dims;
  Tensor places;
  int64_t stride, size;
};

// A mask has the shape of what it covers. As in NumPy one without elements may be smaller: it selects nothing.
bool fits_mask(IntSpan mask, IntSpan covered) {
  for (int i = 0; i < mask.count; ++i) {
    if (mask[i] != covered[i] && mask[i] != 0) return false;
  }
  return true;
}

// Masks become the places that they select; integers are checked.
std::vector<DimIndex> resolve_indices(const Call& call, int argument, const Tensor& input) {
  const int ndim = input.ndim();
  std::vector<DimIndex> resolved;
  int dim = 0;
  for (const Tensor& index : call.tensors(argument)) {
    if (!index.defined()) {
      ++dim;
      continue;
    }
    const bool is_mask = index.dtype() == DType::boolean;
    const int consumed = is_mask ? index.ndim() : 1;
    check<IndexError>(dim + consumed <= ndim, "too many indices for a tensor of ", ndim,
                      " dimensions");
    const uint32_t dims = ((1u << consumed) - 1) << dim;
    if (!is_mask) {
      const Tensor places = integer_index(index);
      check_places(places, dim, input.size(dim));
      resolved.push_back({dims, places, input.stride(dim), input.size(dim)});
    } else if (consumed == 0) {  // selects all of the tensor, or nothing
      resolved.push_back({0, full({item_as_int(index) != 0}, 0, DType::int64), 0, 0});
    } else {
      const IntSpan covered(input.shape().values + dim, consumed);
      check<IndexError>(fits_mask(index.shape(), covered), "a mask of shape ", index.shape(),
                        " does not fit dimensions of shape ", covered);
      const IntSpan strides(input.strides().values + dim, consumed);
      resolved.push_back({dims, nonzero_places(index, strides), 1, 0});
    }
    dim += consumed;
  }
  check<IndexError>(dim <= ndim, "too many indices for a tensor of ", ndim, " dimensions");
  check<IndexError>(!resolved.empty(), call.op.name(), ": at least one index must be a tensor");
  return resolved;
}

// The part of one index tensor in the places of all: set by the first, added by the others.
void add_places(const Tensor& sum, const DimIndex& index, bool is_first) {
  const Tensor places = contiguous_copy_if_needed(expand_view(index.places, sum.shape()));
  const int64_t* from = places.data_as<int64_t>();
  int64_t* to = sum.data_as<int64_t>();
  const int64_t size = index.size, stride = index.stride;
  parallel_for(0, sum.numel(), kParallelGrain, [=](int64_t begin, int64_t end) {
    if (is_first) {
      for (int64_t i = begin; i < end; ++i) to[i] = wrapped_place(from[i], size) * stride;
    } else {
      for (int64_t i = begin; i < end; ++i) to[i] += wrapped_place(from[i], size) * stride;
    }
  });
}

Selection select(const Call& call, int argument, const Tensor& input) {
  const std::vector<DimIndex> indices = resolve_indices(call, argument, input);
  Selection selection;
  uint32_t indexed = 0;
  for (const DimIndex& index : indices) {
    indexed |= index.dims;
    const IntSpan shape = index.places.shape();
    const std::vector<int64_t>& so_far = selection.index_shape;
    try {
      selection.index_shape = broadcast_shapes(so_far, shape);
    } catch (const ValueError&) {
      throw IndexError(message("index tensors of shapes ", to_string(so_far), " and ",
                               to_string(shape), " cannot be broadcast together"));
    }
  }
  selection.places = empty(selection.index_shape, DType::int64);
  for (std::size_t i = 0; i < indices.size(); ++i) add_places(selection.places, indices[i], i == 0);
  // Neighbouring indexed dimensions are replaced where they stand; apart, the dimensions
  // of the index tensors come first.
  const int first = indexed == 0 ? 0 : __builtin_ctz(indexed);
  const bool together = ((indexed >> first) & ((indexed >> first) + 1)) == 0;
  for (int i = 0; i < input.ndim(); ++i) {
    if (indexed & (1u << i)) continue;
    (together && i < first ? selection.before : selection.after).add(input.size(i), input.stride(i));
  }
  return selection;
}

// Calls `move(place, count)` for runs of elements that lie next to each other in the
// tensor, in the order of the row-major result; `count` is the same each time.
template <class Move>
void for_each_run(const Selection& selection, Move move) {
  const bool in_rows = selection.after.is_row();
  const std::vector<int64_t> after =
      in_rows ? std::vector<int64_t>{0} : selection.after.list();
  const int64_t count = in_rows ? selection.after.count() : 1;
  if (count == 0) return;
  const int64_t* places = selection.places.data_as<int64_t>();
  for (int64_t before : selection.before.list()) {
    for (int64_t i = 0; i < selection.places.numel(); ++i) {
      for (int64_t rest : after) move(before + places[i] + rest, count);
    }
  }
}

void gather_selection(const Tensor& output, const Tensor& input, const Selection& selection) {
  visit_size(input.dtype(), [&](auto example) {
    using T = decltype(example);
    const T* from = input.data_as<T>();
    T* to = output.data_as<T>();
    if (selection.is_of_elements()) {
      const int64_t* places = selection.places.data_as<int64_t>();
      parallel_for(0, selection.places.numel(), kParallelGrain, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) to[i] = from[places[i]];
      });
      return;
    }
    for_each_run(selection, [&](int64_t place, int64_t count) {
      if (count == 1) {
        *to++ = from[place];
      } else {
        std::memcpy(to, from + place, count * sizeof(T));
        to += count;
      }
    });
  });
}

void put_selection(const Tensor& output, const Tensor& values, const Selection& selection) {
  visit_size(output.dtype(), [&](auto example) {
    using T = decltype(example);
    T* to = output.data_as<T>();
    const T* from = values.data_as<T>();
    for_each_run(selection, [&](int64_t place, int64_t count) {
      if (count == 1) {
        to[place] = *from++;
      } else {
        std::memcpy(to + place, from, count * sizeof(T));
        from += count;
      }
    });
  });
}

void add_selection(const Tensor& output, const Tensor& values, const Selection& selection) {
  visit_any(output.dtype(), [&](auto example) {
    using T = decltype(example);
    T* to = output.data_as<T>();
    const T* from = values.data_as<T>();
    for_each_run(selection, [&](int64_t place, int64_t count) {
      for (int64_t k = 0; k < count; ++k) {
        to[place + k] = static_cast<T>(to[place + k] + *from++);
      }
    });
  });
}

void index_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const Selection selection = select(call, 1, input);
  const DenseOutput output(call.output(0, selection.result_shape(), input.dtype()));
  gather_selection(*output, input, selection);
  output.write_back();
}

// x[mask] = number, for a mask of the shape of x.
bool put_number_by_mask(Call& call, const Tensor& target) {
  const Value& indices = call.value(1);
  if (indices.count != 1 || !indices.tensors[0] || call.boolean(3) || !target.is_contiguous()) return false;
  const Tensor mask = Tensor::borrow(indices.tensors[0]), value = call.tensor(2);
  if (mask.dtype() != DType::boolean || mask.shape() != target.shape() || value.numel() != 1) return false;
  fill_masked(target, contiguous_copy_if_needed(mask), as_dtype(value, target.dtype()));
  return true;
}

// Writes or adds `values`, broadcast and converted, into `target`.
void put(Call& call, const Tensor& target) {
  if (put_number_by_mask(call, target)) return;
  const Selection selection = select(call, 1, target);
  const Tensor given = call.tensor(2);
  const Dims shape = selection.result_shape();
  // NumPy ignores leading dimensions of size 1 of what is assigned.
  Dims trimmed(given.shape());
  while (trimmed.count > shape.count && trimmed[0] == 1) trimmed.erase(0);
  const Tensor source = trimmed.count == given.ndim() ? given : reshape_view(given, trimmed);
  const Tensor values = empty(shape, target.dtype());
  copy(values, expand_view(source, shape));
  if (call.boolean(3)) {
    add_selection(target, values, selection);
  } else {
    put_selection(target, values, selection);
  }
}

void index_put_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const Tensor output = call.output(0, input.shape(), input.dtype());
  copy(output, input);
  put(call, output);
}

void index_put_in_place_cpu(Call& call) {
  check_writable(call.tensor(0), call.op.name());
  put(call, call.tensor(0));
  call.set_output(0, call.tensor(0));
}

void index_backward_cpu(Call& call) {
  const Tensor grad = contiguous_copy_if_needed(call.tensor(0));
  const Tensor output = call.output(0, call.integers(1), grad.dtype());
  fill(output, 0);
  add_selection(output, grad, select(call, 2, output));
}

void nonzero_cpu(Call& call) { call.set_output(0, nonzero_positions(call.tensor(0))); }

const Register register_index{
    "index(Tensor input, Tensor?[] indices) -> Tensor",
    "NumPy's indexing by integer tensors and bool masks, one per dimension (None: all of it).",
    {Trait::takes_complex, Trait::method_only}, index_cpu};
const Register register_index_put{
    "index_put(Tensor input, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    "A copy with `values` written (or added) at the indices; places given twice keep the last.",
    {Trait::takes_complex, Trait::method_only}, index_put_cpu};
const Register register_index_put_in_place{
    "index_put_(Tensor input, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    "Writes (or adds) `values` at the indices.",
    {Trait::takes_complex, Trait::in_place, Trait::no_out, Trait::method_only}, index_put_in_place_cpu};
const Register register_index_backward{
    "index_backward(Tensor grad, int[] shape, Tensor?[] indices) -> Tensor",
    "Adds gradients into zeros of a shape, at indices.", {Trait::takes_complex, Trait::internal}, index_backward_cpu};
const Register register_nonzero{
    "nonzero(Tensor input) -> Tensor",
    "The indices of the elements that are not 0, one row each, in row-major order.",
    {Trait::takes_complex, Trait::not_differentiable}, nonzero_cpu};

}  // namespace
}  // namespace relume
