// Ops that write along one dimension at the places that an index tensor names: index_add, index_copy,
// index_fill, scatter, scatter_add, put; each with its in-place form, and the gradients of the ops
// that read (gather_ops.cpp).
#include <atomic>
#include <cstring>

#include "tensor/kernels/along_dim.h"
#include "tensor/kernels/dense.h"
#include "tensor/kernels/views.h"
#include "tensor/ops.h"
#include "tensor/parallel.h"

namespace relume {
namespace {

// ---- a dimension at a vector of indices ----

// Calls `function(row of the target, row of the source)`, each `inner` elements long, for every index and
// every outer index. Parallel over the outer ones: rows of one outer index may be hit twice.
template <class Function>
void for_each_row(const Around& around, const Tensor& index, Function function) {
  const int64_t* places = index.data_as<int64_t>();
  const int64_t count = index.numel();
  const int64_t grain = std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(1, count * around.inner));
  parallel_for(0, around.outer, grain, [&](int64_t begin, int64_t end) {
    for (int64_t outer = begin; outer < end; ++outer) {
      for (int64_t i = 0; i < count; ++i) {
        function((outer * around.size + wrapped_place(places[i], around.size)) * around.inner,
                 (outer * count + i) * around.inner);
      }
    }
  });
}

template <class T>
void add_row(T* to, const T* from, int64_t count) {
  for (int64_t k = 0; k < count; ++k) to[k] = static_cast<T>(to[k] + from[k]);
}

// output[.., index[i], ..] += source[.., i, ..], both row-major.
void add_at(const Tensor& output, int dim, const Tensor& index, const Tensor& source) {
  const Around around(output.shape(), dim);
  visit_any(output.dtype(), [&](auto example) {
    using T = decltype(example);
    T* const to = output.data_as<T>();
    const T* const from = source.data_as<T>();
    const int64_t inner = around.inner;
    if (inner == 1) {
      for_each_row(around, index, [=](int64_t target, int64_t i) { to[target] = static_cast<T>(to[target] + from[i]); });
    } else {
      for_each_row(around, index, [=](int64_t target, int64_t i) { add_row(to + target, from + i, inner); });
    }
  });
}

struct VectorWrite {
  int dim;
  Tensor index;

  explicit VectorWrite(const Call& call) {
    const Tensor input = call.tensor(0);
    dim = wrap_dim(call.integer(1), input.ndim());
    index = vector_index(call, 2);
    check_places(index, dim, Around(input.shape(), dim).size);
  }
};

Tensor matching_source(const Call& call, const VectorWrite& write) {
  const Tensor input = call.tensor(0), source = call.tensor(3);
  Dims expected(input.shape());
  if (input.ndim() > 0) expected[write.dim] = write.index.numel();
  const bool both_numbers = input.ndim() == 0 && source.numel() == 1;
  check(both_numbers || source.shape() == expected, call.op.name(), ": source has shape ", source.shape(), ", for ",
        write.index.numel(), " indices along dimension ", write.dim, " of a tensor of shape ", input.shape(),
        " it must be ", expected);
  return as_dtype(apart(call, source), input.dtype());
}

void index_add_cpu(Call& call) {
  const VectorWrite write(call);
  const Tensor source = matching_source(call, write);
  const WrittenTensor output(call);
  const double alpha = call.real(4);
  add_at(*output, write.dim, write.index, alpha == 1 ? source : ops::mul(source, call.value(4)));
  output.finish();
}

void index_copy_cpu(Call& call) {
  const VectorWrite write(call);
  const Tensor source = matching_source(call, write);
  const WrittenTensor output(call);
  const Around around(output->shape(), write.dim);
  const int64_t size = static_cast<int64_t>(item_size(output->dtype()));
  char* const to = output->data_as<char>();
  const char* const from = source.data_as<char>();
  const std::size_t bytes = around.inner * size;
  for_each_row(around, write.index,
               [=](int64_t target, int64_t i) { std::memcpy(to + target * size, from + i * size, bytes); });
  output.finish();
}

// One number in the type of a tensor.
Tensor number_like(const Call& call, int argument, DType dtype) {
  const Tensor number = empty({1}, dtype);
  if (!call.value(argument).is_tensor()) {
    fill(number, call.value(argument));
    return number;
  }
  const Tensor given = call.tensor(argument);
  check(given.numel() == 1, call.op.name(), ": value must be a number or a tensor of one element, not of shape ",
        given.shape());
  copy(number, view_of(given, 0, {1}, {1}));
  return number;
}

void index_fill_cpu(Call& call) {
  const VectorWrite write(call);
  const Tensor value = number_like(call, 3, call.tensor(0).dtype());
  const WrittenTensor output(call);
  const Around around(output->shape(), write.dim);
  visit_size(output->dtype(), [&](auto example) {
    using T = decltype(example);
    const T filler = *value.data_as<T>();
    T* const to = output->data_as<T>();
    for_each_row(around, write.index,
                 [=, inner = around.inner](int64_t target, int64_t) { std::fill_n(to + target, inner, filler); });
  });
  output.finish();
}

void index_select_backward_cpu(Call& call) {
  const Tensor grad = call.tensor(0);
  const IntSpan shape = call.integers(1);
  const int dim = wrap_dim(call.integer(2), shape.count);
  const Tensor index = vector_index(call, 3);
  check_places(index, dim, Around(shape, dim).size);
  const DenseOutput output(call.output(0, shape, grad.dtype()));
  fill(*output, 0);
  add_at(*output, dim, index, contiguous_copy_if_needed(grad));
  output.write_back();
}

// ---- an index for every element ----

// How places are read that are checked as they are used; a wrong one stands for 0 and is noted.
struct Checked {
  std::atomic<bool>* good;

  int64_t operator()(int64_t place, int64_t size) const {
    if (__builtin_expect(static_cast<uint64_t>(place) < static_cast<uint64_t>(size), 1)) return place;
    place += size;
    if (static_cast<uint64_t>(place) < static_cast<uint64_t>(size)) return place;
    *good = false;
    return 0;
  }
};

// for_each_place over a whole index tensor, on several threads where they cannot meet: they take
// different indices of the dimensions before `dim`. Throws IndexError, afterwards, for a wrong place.
template <class Function>
void for_all_places(const Tensor& index, IntSpan shape, int dim, Function function) {
  const int64_t size = Around(shape, dim).size;
  if (size == 0) return check_places(index, dim, size);
  std::atomic<bool> good{true};
  int64_t outer = 1;
  for (int d = 0; d < dim; ++d) outer *= index.size(d);
  if (outer == 0) return;
  const int64_t each = index.numel() / outer;
  const int64_t grain = std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(1, each));
  parallel_for(0, outer, grain, [&](int64_t begin, int64_t end) {
    for_each_place(index, shape, dim, begin * each, end * each, Checked{&good}, function);
  });
  if (!good) throw_bad_place(index, dim, size);
}

struct ElementWrite {
  int dim;
  Tensor index;

  explicit ElementWrite(const Call& call) {
    const Tensor input = call.tensor(0);
    dim = wrap_dim(call.integer(1), input.ndim());
    index = apart(call, gather_index(call, 2, input.shape(), dim));
    if (call.in_place) check_places(index, dim, Around(input.shape(), dim).size);  // before anything changes
  }
};

void scatter_cpu(Call& call) {
  const ElementWrite write(call);
  const DType dtype = call.tensor(0).dtype();
  const bool is_tensor = call.value(3).is_tensor();
  const Tensor source = is_tensor ? source_part(call, apart(call, call.tensor(3)), write.index, dtype)
                                  : number_like(call, 3, dtype);
  const WrittenTensor output(call);
  visit_size(dtype, [&](auto example) {
    using T = decltype(example);
    const T* from = source.data_as<T>();
    T* to = output->data_as<T>();
    const IntSpan shape = output->shape();
    if (is_tensor) {
      for_all_places(write.index, shape, write.dim, [=](int64_t place, int64_t i) { to[place] = from[i]; });
    } else {
      const T filler = *from;
      for_all_places(write.index, shape, write.dim, [=](int64_t place, int64_t) { to[place] = filler; });
    }
  });
  output.finish();
}

void scatter_add_into(const Tensor& output, int dim, const Tensor& index, const Tensor& source) {
  visit_any(output.dtype(), [&](auto example) {
    using T = decltype(example);
    const T* from = source.data_as<T>();
    T* to = output.data_as<T>();
    for_all_places(index, output.shape(), dim,
                   [=](int64_t place, int64_t i) { to[place] = static_cast<T>(to[place] + from[i]); });
  });
}

void scatter_add_cpu(Call& call) {
  const ElementWrite write(call);
  const Tensor source = source_part(call, apart(call, call.tensor(3)), write.index, call.tensor(0).dtype());
  const WrittenTensor output(call);
  scatter_add_into(*output, write.dim, write.index, source);
  output.finish();
}

void gather_backward_cpu(Call& call) {
  const Tensor grad = call.tensor(0);
  const IntSpan shape = call.integers(1);
  const int dim = wrap_dim(call.integer(2), shape.count);
  const DenseOutput output(call.output(0, shape, grad.dtype()));
  const Tensor target = at_least_1d(*output);
  const Tensor index = gather_index(call, 3, target.shape(), dim);
  fill(target, 0);
  scatter_add_into(target, dim, index, contiguous_copy_if_needed(grad));
  output.write_back();
}

// ---- positions in row-major order ----

void put_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const Tensor index = apart(call, integer_index(call.tensor(1)));
  check_places(index, 0, input.numel());
  const Tensor source = as_dtype(apart(call, call.tensor(2)), input.dtype());
  check(source.numel() == index.numel(), "put: source has ", source.numel(), " elements for ", index.numel(),
        " indices");
  const WrittenTensor output(call);
  const int64_t size = output->numel(), count = index.numel();
  const int64_t* places = index.data_as<int64_t>();
  if (call.boolean(3)) {
    add_at(reshape_view(*output, {size}), 0, reshape_view(index, {count}), source);
  } else {
    visit_size(output->dtype(), [&](auto example) {
      using T = decltype(example);
      T* to = output->data_as<T>();
      const T* from = source.data_as<T>();
      for (int64_t i = 0; i < count; ++i) to[wrapped_place(places[i], size)] = from[i];
    });
  }
  output.finish();
}

void take_backward_cpu(Call& call) {
  const Tensor grad = contiguous_copy_if_needed(call.tensor(0));
  const DenseOutput output(call.output(0, call.integers(1), grad.dtype()));
  const Tensor index = integer_index(call.tensor(2));
  check_places(index, 0, output->numel());
  fill(*output, 0);
  add_at(reshape_view(*output, {output->numel()}), 0, reshape_view(index, {index.numel()}), grad);
  output.write_back();
}

const RegisterWriting register_index_add{
    "index_add(Tensor input, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
    "A copy with alpha * source[.., i, ..] added at [.., index[i], ..].", index_add_cpu};
const RegisterWriting register_index_copy{
    "index_copy(Tensor input, int dim, Tensor index, Tensor source) -> Tensor",
    "A copy with source[.., i, ..] written at [.., index[i], ..]; of several for one place the last.",
    index_copy_cpu};
const RegisterWriting register_index_fill{
    "index_fill(Tensor input, int dim, Tensor index, Tensor|Scalar value) -> Tensor",
    "A copy with the given indices of a dimension set to a number.", index_fill_cpu};
const RegisterWriting register_scatter{
    "scatter(Tensor input, int dim, Tensor index, Tensor|Scalar src) -> Tensor",
    "A copy with the elements of `src` written at the indices of the dimension.", scatter_cpu};
const RegisterWriting register_scatter_add{
    "scatter_add(Tensor input, int dim, Tensor index, Tensor src) -> Tensor",
    "A copy with the elements of `src` added at the indices of the dimension.", scatter_add_cpu};
const RegisterWriting register_put{
    "put(Tensor input, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
    "A copy with the elements of `source` written (or added) at positions in row-major order.", put_cpu};
const Register register_index_select_backward{
    "index_select_backward(Tensor grad, int[] shape, int dim, Tensor index) -> Tensor",
    "Adds gradients into zeros of a shape, at indices of a dimension.", {Trait::takes_complex, Trait::internal},
    index_select_backward_cpu};
const Register register_gather_backward{
    "gather_backward(Tensor grad, int[] shape, int dim, Tensor index) -> Tensor",
    "Adds gradients into zeros of a shape, where gather had read.", {Trait::takes_complex, Trait::internal},
    gather_backward_cpu};
const Register register_take_backward{
    "take_backward(Tensor grad, int[] shape, Tensor index) -> Tensor",
    "Adds gradients into zeros of a shape, at row-major positions.", {Trait::takes_complex, Trait::internal},
    take_backward_cpu};

}  // namespace
}  // namespace relume
