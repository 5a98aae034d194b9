// scatter_reduce and index_reduce: the elements that meet at one place are added, multiplied, averaged,
// or the largest or smallest of them stays.
#include <cstring>

#include "tensor/copy.h"
#include "tensor/kernels/along_dim.h"
#include "tensor/ops.h"

namespace relume {
namespace {

const OpFunction scatter_add{"scatter_add"}, scatter_reduce{"scatter_reduce"};

enum class Reduction { sum, prod, mean, amax, amin };

Reduction reduction_argument(const Call& call, int argument) {
  static constexpr std::pair<const char*, Reduction> kNames[] = {{"sum", Reduction::sum},
                                                                 {"prod", Reduction::prod},
                                                                 {"mean", Reduction::mean},
                                                                 {"amax", Reduction::amax},
                                                                 {"amin", Reduction::amin}};
  for (const auto& [text, reduction] : kNames) {
    if (std::strcmp(call.text(argument), text) == 0) return reduction;
  }
  throw ValueError(message(call.op.name(), "(): reduce must be 'sum', 'prod', 'mean', 'amax' or 'amin', not '",
                           call.text(argument), "'"));
}

struct Add {
  template <class T>
  static T combine(T a, T b) { return static_cast<T>(a + b); }
};
struct Multiply {
  template <class T>
  static T combine(T a, T b) { return static_cast<T>(a * b); }
};
struct Largest {  // NaN wins
  template <class T>
  static T combine(T a, T b) { return b > a || b != b ? b : a; }
};
struct Smallest {
  template <class T>
  static T combine(T a, T b) { return b < a || b != b ? b : a; }
};

template <class Combine>
void reduce_into(const Tensor& output, int dim, const Tensor& index, const Tensor& source) {
  visit(output.dtype(), [&](auto example) {
    using T = decltype(example);
    const T* from = source.data_as<T>();
    T* to = output.data_as<T>();
    for_each_place(index, output.shape(), dim, 0, index.numel(), Wrapped{}, [=](int64_t place, int64_t i) {
      to[place] = Combine::template combine<T>(to[place], from[i]);
    });
  });
}

// What is at the places before the reduction, when it is not to count: the neutral number, or for
// extremes one of the elements that come.
void forget(const Tensor& output, int dim, const Tensor& index, const Tensor& source, Reduction reduction) {
  const bool extreme = reduction == Reduction::amax || reduction == Reduction::amin;
  visit(output.dtype(), [&](auto example) {
    using T = decltype(example);
    const T neutral = static_cast<T>(reduction == Reduction::prod ? 1.0f : 0.0f);
    const T* from = source.data_as<T>();
    T* to = output.data_as<T>();
    for_each_place(index, output.shape(), dim, 0, index.numel(), Wrapped{},
                   [=](int64_t place, int64_t i) { to[place] = extreme ? from[i] : neutral; });
  });
}

Tensor divided_by_counts(const Tensor& sums, int dim, const Tensor& index, bool include_self) {
  const Tensor start = full(sums.shape(), include_self ? 1 : 0, sums.dtype());
  const Tensor counts = ops::clamp(scatter_add(start, dim, index, full(index.shape(), 1, sums.dtype())), 1);
  return is_floating(sums.dtype()) ? ops::div(sums, counts) : ops::floor_divide(sums, counts);
}

void scatter_reduce_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const int dim = wrap_dim(call.integer(1), input.ndim());
  const Tensor index = apart(call, gather_index(call, 2, input.shape(), dim));
  check_places(index, dim, Around(input.shape(), dim).size);
  const Tensor source = source_part(call, apart(call, call.tensor(3)), index, input.dtype());
  const Reduction reduction = reduction_argument(call, 4);
  const bool include_self = call.boolean(5);
  const WrittenTensor output(call);
  if (!include_self) forget(*output, dim, index, source, reduction);
  switch (reduction) {
    case Reduction::sum:
    case Reduction::mean: reduce_into<Add>(*output, dim, index, source); break;
    case Reduction::prod: reduce_into<Multiply>(*output, dim, index, source); break;
    case Reduction::amax: reduce_into<Largest>(*output, dim, index, source); break;
    case Reduction::amin: reduce_into<Smallest>(*output, dim, index, source); break;
  }
  if (reduction == Reduction::mean) copy(*output, divided_by_counts(*output, dim, index, include_self));
  output.finish();
}

// Every index stands for a whole row: scatter_reduce with the index repeated along the other dimensions.
void index_reduce_cpu(Call& call) {
  const Tensor input = call.tensor(0), source = call.tensor(3);
  const int dim = wrap_dim(call.integer(1), input.ndim());
  const Tensor index = call.tensor(2);
  check(index.ndim() <= 1, "index_reduce: index must have 1 dimension, not shape ", index.shape());
  std::vector<int64_t> shape(input.ndim(), 1);
  if (input.ndim() > 0) shape[dim] = index.numel();
  const Tensor wide = ops::expand(ops::reshape(index, shape), source.shape());
  call.set_output(0, scatter_reduce(input, dim, wide, source, call.value(4), call.value(5)));
}

const RegisterWriting register_scatter_reduce{
    "scatter_reduce(Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
    "A copy with the elements of `src` combined at the indices of the dimension; reduce is 'sum', 'prod', "
    "'mean', 'amax' or 'amin'.",
    scatter_reduce_cpu};
const Register register_index_reduce{
    "index_reduce(Tensor input, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor",
    "A copy with the rows of `source` combined at the indices of the dimension; reduce as in scatter_reduce.",
    {Trait::composite}, index_reduce_cpu};

}  // namespace
}  // namespace relume
