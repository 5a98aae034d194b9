// Ops that read and write along one dimension at the places that an index tensor names:
// index_select, index_add, gather, scatter, scatter_add, take.
#include "tensor/dispatch.h"
#include "tensor/kernels/dense.h"
#include "tensor/kernels/indexing.h"
#include "tensor/kernels/views.h"

namespace relume {
namespace {

// A row-major tensor seen as (outer, size, inner) around one dimension.
struct Around {
  int64_t outer = 1, size = 1, inner = 1;

  Around(IntSpan shape, int dim) {
    for (int i = 0; i < shape.count; ++i) (i < dim ? outer : i == dim ? size : inner) *= shape[i];
  }
};

Tensor vector_index(const Call& call, int argument) {
  const Tensor index = call.tensor(argument);
  check(index.ndim() <= 1, call.op.name(), ": index must have 1 dimension, not shape ",
        index.shape());
  return index;
}

void index_select_cpu(Call& call) {
  const Tensor input = contiguous_copy_if_needed(call.tensor(0));
  const int dim = wrap_dim(call.integer(1), input.ndim());
  const Around around(input.shape(), dim);
  const Tensor index = checked_index(vector_index(call, 2), dim, around.size);
  Dims shape(input.shape());
  if (input.ndim() > 0) shape[dim] = index.numel();
  const DenseOutput output(call.output(0, shape, input.dtype()));
  const int64_t count = index.numel();
  const std::size_t bytes = around.inner * item_size(input.dtype());
  const int64_t* places = index.data_as<int64_t>();
  const char* from = input.data_as<char>();
  char* to = output->data_as<char>();
  for (int64_t outer = 0; outer < around.outer; ++outer) {
    copy_blocks(to, from, places, count, bytes);
    to += count * bytes;
    from += around.size * bytes;
  }
  output.write_back();
}

// output[.., index[i], ..] += source[.., i, ..], both row-major.
void add_at(const Tensor& output, int dim, const Tensor& index, const Tensor& source) {
  const Around around(output.shape(), dim);
  const int64_t* places = index.data_as<int64_t>();
  visit(output.dtype(), [&](auto example) {
    using T = decltype(example);
    T* to = output.data_as<T>();
    const T* from = source.data_as<T>();
    for (int64_t outer = 0; outer < around.outer; ++outer, to += around.size * around.inner) {
      for (int64_t i = 0; i < index.numel(); ++i, from += around.inner) {
        T* row = to + places[i] * around.inner;
        for (int64_t k = 0; k < around.inner; ++k) row[k] = static_cast<T>(row[k] + from[k]);
      }
    }
  });
}

Tensor as_dtype(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return contiguous_copy_if_needed(tensor);
  Tensor converted = empty(tensor.shape(), dtype);
  copy(converted, tensor);
  return converted;
}

void index_add_cpu(Call& call) {
  const Tensor input = call.tensor(0), source = call.tensor(3);
  const int dim = wrap_dim(call.integer(1), input.ndim());
  const Tensor given = vector_index(call, 2);
  Dims expected(input.shape());
  if (input.ndim() > 0) expected[dim] = given.numel();
  check(source.shape() == expected, "index_add: source has shape ", source.shape(),
        ", for ", given.numel(), " indices along dimension ", dim, " of a tensor of shape ",
        input.shape(), " it must be ", expected);
  const Tensor index = checked_index(given, dim, Around(input.shape(), dim).size);
  const DenseOutput output(call.output(0, input.shape(), input.dtype()));
  copy(*output, input);
  add_at(*output, dim, index, as_dtype(source, input.dtype()));
  output.write_back();
}

void index_select_backward_cpu(Call& call) {
  const Tensor grad = call.tensor(0);
  const IntSpan shape = call.integers(1);
  const int dim = wrap_dim(call.integer(2), shape.count);
  const Tensor index = checked_index(call.tensor(3), dim, Around(shape, dim).size);
  const DenseOutput output(call.output(0, shape, grad.dtype()));
  fill(*output, 0);
  add_at(*output, dim, index, contiguous_copy_if_needed(grad));
  output.write_back();
}

// Calls `function(position in tensor, position in index)` for every element of an index
// tensor; `tensor` is row-major of `shape`, which the index fits into but for `dim`.
template <class Function>
void for_each_place(const Tensor& index, IntSpan shape, int dim, Function function) {
  if (index.numel() == 0) return;
  const Dims steps = contiguous_strides(shape);
  const int last = index.ndim() - 1;
  const int64_t along = last < 0 ? 0 : steps[dim];
  const int64_t step = last < 0 || dim == last ? 0 : steps[last];
  const int64_t length = last < 0 ? 1 : index.size(last);
  const int64_t* places = index.data_as<int64_t>();
  int64_t position[kMaxDims] = {};
  int64_t start = 0;  // of the row of the tensor, without the part along `dim`
  for (int64_t i = 0; i < index.numel(); i += length) {
    for (int64_t k = 0; k < length; ++k) function(start + k * step + places[i + k] * along, i + k);
    for (int d = last - 1; d >= 0; --d) {
      const int64_t outer_step = d == dim ? 0 : steps[d];
      start += outer_step;
      if (++position[d] < index.size(d)) break;
      start -= index.size(d) * outer_step;
      position[d] = 0;
    }
  }
}

Tensor gather_index(const Call& call, int argument, IntSpan shape, int dim) {
  const Tensor index = call.tensor(argument);
  bool fits = index.ndim() == shape.count;
  for (int i = 0; fits && i < shape.count; ++i) fits = i == dim || index.size(i) <= shape[i];
  check(fits, call.op.name(), ": index has shape ", index.shape(),
        ", it must fit into the tensor's shape ", shape, " but for dimension ", dim);
  return checked_index(index, dim, Around(shape, dim).size);
}

void gather_cpu(Call& call) {
  const Tensor input = contiguous_copy_if_needed(call.tensor(0));
  const int dim = wrap_dim(call.integer(1), input.ndim());
  const Tensor index = gather_index(call, 2, input.shape(), dim);
  const DenseOutput output(call.output(0, index.shape(), input.dtype()));
  visit_size(input.dtype(), [&](auto example) {
    using T = decltype(example);
    const T* from = input.data_as<T>();
    T* to = output->data_as<T>();
    for_each_place(index, input.shape(), dim, [=](int64_t place, int64_t i) { to[i] = from[place]; });
  });
  output.write_back();
}

// The part of `source` that an index tensor of another shape uses, row-major.
Tensor source_part(const Call& call, const Tensor& source, const Tensor& index, DType dtype) {
  bool fits = source.ndim() == index.ndim();
  for (int i = 0; fits && i < index.ndim(); ++i) fits = index.size(i) <= source.size(i);
  check(fits, call.op.name(), ": src has shape ", source.shape(),
        ", too small for an index of shape ", index.shape());
  return as_dtype(view_of(source, 0, index.shape(), source.strides()), dtype);
}

DenseOutput copied_output(Call& call) {
  const Tensor input = call.tensor(0);
  DenseOutput output(call.output(0, input.shape(), input.dtype()));
  copy(*output, input);
  return output;
}

void scatter_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const int dim = wrap_dim(call.integer(1), input.ndim());
  const Tensor index = gather_index(call, 2, input.shape(), dim);
  const bool is_tensor = call.value(3).is_tensor();
  Tensor source;
  if (is_tensor) {
    source = source_part(call, call.tensor(3), index, input.dtype());
  } else {
    source = empty({1}, input.dtype());
    fill(source, call.value(3));
  }
  const DenseOutput output = copied_output(call);
  const int64_t step = is_tensor ? 1 : 0;
  visit_size(input.dtype(), [&](auto example) {
    using T = decltype(example);
    const T* from = source.data_as<T>();
    T* to = output->data_as<T>();
    for_each_place(index, input.shape(), dim,
                   [=](int64_t place, int64_t i) { to[place] = from[i * step]; });
  });
  output.write_back();
}

void scatter_add_into(const Tensor& output, int dim, const Tensor& index, const Tensor& source) {
  visit(output.dtype(), [&](auto example) {
    using T = decltype(example);
    const T* from = source.data_as<T>();
    T* to = output.data_as<T>();
    for_each_place(index, output.shape(), dim, [=](int64_t place, int64_t i) {
      to[place] = static_cast<T>(to[place] + from[i]);
    });
  });
}

void scatter_add_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const int dim = wrap_dim(call.integer(1), input.ndim());
  const Tensor index = gather_index(call, 2, input.shape(), dim);
  const Tensor source = source_part(call, call.tensor(3), index, input.dtype());
  const DenseOutput output = copied_output(call);
  scatter_add_into(*output, dim, index, source);
  output.write_back();
}

void gather_backward_cpu(Call& call) {
  const Tensor grad = call.tensor(0);
  const IntSpan shape = call.integers(1);
  const int dim = wrap_dim(call.integer(2), shape.count);
  const Tensor index = gather_index(call, 3, shape, dim);
  const DenseOutput output(call.output(0, shape, grad.dtype()));
  fill(*output, 0);
  scatter_add_into(*output, dim, index, contiguous_copy_if_needed(grad));
  output.write_back();
}

void take_cpu(Call& call) {
  const Tensor input = contiguous_copy_if_needed(call.tensor(0));
  const Tensor index = checked_index(call.tensor(1), 0, input.numel());
  const DenseOutput output(call.output(0, index.shape(), input.dtype()));
  copy_blocks(output->data_as<char>(), input.data_as<char>(), index.data_as<int64_t>(),
              index.numel(), item_size(input.dtype()));
  output.write_back();
}

void take_backward_cpu(Call& call) {
  const Tensor grad = contiguous_copy_if_needed(call.tensor(0));
  const DenseOutput output(call.output(0, call.integers(1), grad.dtype()));
  const Tensor index = checked_index(call.tensor(2), 0, output->numel());
  fill(*output, 0);
  add_at(reshape_view(*output, {output->numel()}), 0, index, grad);
  output.write_back();
}

const Register register_index_select{
    "index_select(Tensor input, int dim, Tensor index) -> Tensor",
    "A copy of the given indices of a dimension, in that order.", {}, index_select_cpu};
const Register register_index_add{
    "index_add(Tensor input, int dim, Tensor index, Tensor source) -> Tensor",
    "A copy with source[.., i, ..] added at [.., index[i], ..].", {}, index_add_cpu};
const Register register_gather{
    "gather(Tensor input, int dim, Tensor index) -> Tensor",
    "For every element of `index`, the element of `input` at that index of the dimension.", {},
    gather_cpu};
const Register register_scatter{
    "scatter(Tensor input, int dim, Tensor index, Tensor|Scalar src) -> Tensor",
    "A copy with the elements of `src` written at the indices of the dimension.", {},
    scatter_cpu};
const Register register_scatter_add{
    "scatter_add(Tensor input, int dim, Tensor index, Tensor src) -> Tensor",
    "A copy with the elements of `src` added at the indices of the dimension.", {},
    scatter_add_cpu};
const Register register_take{"take(Tensor input, Tensor index) -> Tensor",
                             "The elements at positions in row-major order.", {}, take_cpu};
const Register register_index_select_backward{
    "index_select_backward(Tensor grad, int[] shape, int dim, Tensor index) -> Tensor",
    "Adds gradients into zeros of a shape, at indices of a dimension.", {Trait::internal},
    index_select_backward_cpu};
const Register register_gather_backward{
    "gather_backward(Tensor grad, int[] shape, int dim, Tensor index) -> Tensor",
    "Adds gradients into zeros of a shape, where gather had read.", {Trait::internal},
    gather_backward_cpu};
const Register register_take_backward{
    "take_backward(Tensor grad, int[] shape, Tensor index) -> Tensor",
    "Adds gradients into zeros of a shape, at row-major positions.", {Trait::internal},
    take_backward_cpu};

}  // namespace
}  // namespace relume
