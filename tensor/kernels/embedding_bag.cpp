// Sums, means and maxima of rows of a table, one for each bag of row numbers. Bag b holds the
// numbers from offsets[b] up to offsets[b + 1].
#include <cstring>
#include <vector>

#include "tensor/copy.h"
#include "tensor/kernels/bag_loops.h"
#include "tensor/kernels/best_isa.h"
#include "tensor/kernels/function_table.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/window.h"
#include "tensor/ops.h"
#include "tensor/parallel.h"

namespace relume {

RELUME_PER_ISA(BagLoops, bag_loops)

namespace {

template <class T>
const BagLoopsOf<T>& loops_of();
template <>
const BagLoopsOf<float>& loops_of<float>() {
  return best_bag_loops().float32;
}
template <>
const BagLoopsOf<double>& loops_of<double>() {
  return best_bag_loops().float64;
}

struct Bags {
  std::vector<int64_t> rows, offsets;  // one more offset than bags

  // From two arguments; every number must be below `table_rows`.
  Bags(const Call& call, int indices, int64_t table_rows) {
    rows = integers(call, indices);
    offsets = integers(call, indices + 1);
    for (int64_t row : rows) {
      check<IndexError>(row >= 0 && row < table_rows, "embedding_bag: index ", row, " is outside of a table of ",
                        table_rows, " rows");
    }
    const int64_t total = static_cast<int64_t>(rows.size());
    int64_t last = 0;
    for (int64_t offset : offsets) {
      check(offset >= last && offset <= total, "embedding_bag: offsets must grow from 0 up to the number of indices, ",
            total);
      last = offset;
    }
    check(offsets.empty() ? total == 0 : offsets[0] == 0, "embedding_bag: the first bag must begin at 0");
    offsets.push_back(total);
  }
  int64_t count() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t total() const { return static_cast<int64_t>(rows.size()); }

 private:
  static std::vector<int64_t> integers(const Call& call, int argument) {
    const Tensor given = call.tensor(argument);
    check<TypeError>(is_integer(given.dtype()), "embedding_bag: indices and offsets must be integers, not ",
                     name(given.dtype()));
    check(given.ndim() == 1, "embedding_bag: indices and offsets must have one dimension, not shape ", given.shape());
    const Tensor dense = contiguous_copy_if_needed(as_type(given, DType::int64));
    const int64_t* values = dense.data_as<const int64_t>();
    return {values, values + dense.numel()};
  }
};

Tensor dense_argument(const Call& call, int argument, DType dtype, int ndim) {
  const Tensor tensor = call.tensor(argument);
  check(tensor.ndim() == ndim, "embedding_bag: ", call.op.schema.arguments[argument].name, " must have ", ndim,
        " dimensions, not shape ", tensor.shape());
  return contiguous_copy_if_needed(as_type(tensor, dtype));
}

// Calls f(T{}) with the type to compute in; 16-bit types are computed in float.
template <class Function>
void with_type(DType dtype, const Function& f) {
  dtype == DType::float64 ? f(double{}) : f(float{});
}

// target += factor * source, by the loop of the op add.
template <class T>
class AddScaled {
 public:
  void operator()(T* target, T factor, const T* source, int64_t count) const {
    char* const data[] = {reinterpret_cast<char*>(target), reinterpret_cast<char*>(target),
                          reinterpret_cast<char*>(const_cast<T*>(source))};
    constexpr int64_t step = sizeof(T);
    const int64_t strides[] = {step, step, step};
    loop_(data, strides, count, &factor);
  }

 private:
  const Loop loop_ = find_loop(Function::add_scaled, DTypeOf<T>::value);
};

// bag_sum(weight, indices, offsets, factors): sum of factors[i] * weight[indices[i]]
void bag_sum_cpu(Call& call) {
  check_floating(call, 0);
  const DType dtype = call.tensor(0).dtype(), wide = computing_type(dtype);
  const Tensor weight = dense_argument(call, 0, wide, 2), factors = dense_argument(call, 3, wide, 1);
  const int64_t width = weight.size(1);
  const Bags bags(call, 1, weight.size(0));
  check(factors.numel() == bags.total(), "embedding_bag: there must be one factor for each index");
  const Tensor result = empty({bags.count(), width}, wide);
  with_type(wide, [&](auto zero) {
    using T = decltype(zero);
    const int64_t work = std::max<int64_t>(1, bags.total() * width / std::max<int64_t>(1, bags.count()));
    parallel_for(0, bags.count(), std::max<int64_t>(1, kParallelGrain / work), [&](int64_t begin, int64_t end) {
      for (int64_t bag = begin; bag < end; bag++) {
        const int64_t first = bags.offsets[bag];
        loops_of<T>().sum({weight.data_as<const T>(), width, bags.rows.data() + first,
                           factors.data_as<const T>() + first, bags.offsets[bag + 1] - first},
                          result.data_as<T>() + bag * width);
      }
    });
  });
  call.set_output(0, as_type(result, dtype));
}

// bag_sum_weight_gradient(grad, indices, offsets, factors, rows)
void bag_sum_weight_gradient_cpu(Call& call) {
  check_floating(call, 0);
  const DType dtype = call.tensor(0).dtype(), wide = computing_type(dtype);
  const Tensor grad = dense_argument(call, 0, wide, 2), factors = dense_argument(call, 3, wide, 1);
  check_setting(call, 4, call.integer(4), 0);
  const int64_t width = grad.size(1), rows = call.integer(4);
  const Bags bags(call, 1, rows);
  check(factors.numel() == bags.total() && grad.size(0) == bags.count(),
        "embedding_bag: the gradient does not fit the bags");
  const Tensor result = full({rows, width}, 0, wide);
  with_type(wide, [&](auto zero) {
    using T = decltype(zero);
    const AddScaled<T> add_scaled;
    for (int64_t bag = 0; bag < bags.count(); bag++) {
      const T* source = grad.data_as<const T>() + bag * width;
      for (int64_t i = bags.offsets[bag]; i < bags.offsets[bag + 1]; i++) {
        const T factor = factors.data_as<const T>()[i];
        add_scaled(result.data_as<T>() + bags.rows[i] * width, factor, source, width);
      }
    }
  });
  call.set_output(0, as_type(result, dtype));
}

// bag_dot(grad, weight, indices, offsets): for each index the product of its bag's and its row's vectors
void bag_dot_cpu(Call& call) {
  check_floating(call, 0);
  const DType dtype = call.tensor(0).dtype(), wide = computing_type(dtype);
  const Tensor grad = dense_argument(call, 0, wide, 2), weight = dense_argument(call, 1, wide, 2);
  const int64_t width = weight.size(1);
  const Bags bags(call, 2, weight.size(0));
  check(grad.size(0) == bags.count() && grad.size(1) == width, "embedding_bag: the gradient does not fit the bags");
  const Tensor result = empty({bags.total()}, wide);
  with_type(wide, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t bag = 0; bag < bags.count(); bag++) {
      const T* a = grad.data_as<const T>() + bag * width;
      for (int64_t i = bags.offsets[bag]; i < bags.offsets[bag + 1]; i++) {
        const T* b = weight.data_as<const T>() + bags.rows[i] * width;
        double sum = 0;
        for (int64_t j = 0; j < width; j++) sum += static_cast<double>(a[j]) * b[j];
        result.data_as<T>()[i] = static_cast<T>(sum);
      }
    }
  });
  call.set_output(0, as_type(result, dtype));
}

// bag_factors(indices, offsets, mean, padding_idx, dtype): 0 for padding, otherwise 1, or for means
// one over the number of rows of the bag that count.
void bag_factors_cpu(Call& call) {
  const Bags bags(call, 0, INT64_MAX);
  const bool mean = call.boolean(2);
  const int64_t padding = call.integer(3);
  const Tensor factors = full({bags.total()}, 1, DType::float64);
  double* factor = factors.data_as<double>();
  for (int64_t bag = 0; bag < bags.count(); bag++) {
    const int64_t begin = bags.offsets[bag], end = bags.offsets[bag + 1];
    double count = 0;
    for (int64_t i = begin; i < end; i++) count += bags.rows[i] != padding;
    for (int64_t i = begin; i < end; i++) factor[i] = bags.rows[i] == padding ? 0 : mean ? 1 / count : 1;
  }
  call.set_output(0, as_type(factors, call.dtype(4, DType::float32)));
}

// bag_largest_rows(weight, indices, offsets, padding_idx): for each bag and column the row with the
// largest element, -1 in bags without rows.
void bag_largest_rows_cpu(Call& call) {
  check_floating(call, 0);
  const Tensor weight = dense_argument(call, 0, computing_type(call.tensor(0).dtype()), 2);
  const Bags bags(call, 1, weight.size(0));
  const int64_t width = weight.size(1), padding = call.integer(3);
  const Tensor result = full({bags.count(), width}, -1, DType::int64);
  with_type(weight.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* table = weight.data_as<const T>();
    for (int64_t bag = 0; bag < bags.count(); bag++) {
      int64_t* best = result.data_as<int64_t>() + bag * width;
      for (int64_t i = bags.offsets[bag]; i < bags.offsets[bag + 1]; i++) {
        const int64_t row = bags.rows[i];
        if (row == padding) continue;
        for (int64_t j = 0; j < width; j++) {
          if (best[j] < 0 || table[row * width + j] > table[best[j] * width + j]) best[j] = row;
        }
      }
    }
  });
  call.set_output(0, result);
}

const OpFunction bag_sum{"bag_sum"}, bag_factors{"bag_factors"}, bag_largest_rows{"bag_largest_rows"},
    row_factors{"row_factors"}, detach{"detach"}, gather{"gather"};

// embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, per_sample_weights, padding_idx)
void embedding_bag_cpu(Call& call) {
  const Tensor weight = call.tensor(0), indices = call.tensor(1), offsets = call.tensor(2);
  check(weight.ndim() == 2, "embedding_bag: weight must have shape (rows, width), not ", weight.shape());
  const char* mode = call.text(4);
  const bool sum = std::strcmp(mode, "sum") == 0, mean = std::strcmp(mode, "mean") == 0;
  check(sum || mean || std::strcmp(mode, "max") == 0, "embedding_bag: mode must be 'sum', 'mean' or 'max', not '", mode,
        "'");
  check(!call.has(5) || sum, "embedding_bag: per_sample_weights are for mode 'sum', not '", mode, "'");
  const int64_t padding = call.integer(6);
  if (!sum && !mean) {
    const Tensor rows = bag_largest_rows(weight, indices, offsets, padding);
    return call.set_output(0, ops::where(ops::lt(rows, 0), 0, gather(weight, 0, ops::clamp(rows, 0))));
  }
  Tensor factors = bag_factors(indices, offsets, mean, padding, weight.dtype());
  if (call.has(5)) {
    check(call.tensor(5).shape() == indices.shape(), "embedding_bag: per_sample_weights must have shape ",
          indices.shape(), ", one for each index, not ", call.tensor(5).shape());
    factors = factors * call.tensor(5);
  }
  const Tensor result = bag_sum(weight, indices, offsets, factors);
  if (!call.boolean(3)) return call.set_output(0, result);
  // The same value with a gradient divided by how often a row comes.
  const Tensor rare = detach(factors) * row_factors(indices, weight.size(0), int64_t{-1}, true, weight.dtype());
  const Tensor scaled = bag_sum(weight, indices, offsets, rare);
  const Tensor fixed = bag_sum(detach(weight), indices, offsets, factors);
  call.set_output(0, fixed + (scaled - detach(scaled)));
}

const Register register_bag_sum{
    "bag_sum(Tensor weight, Tensor indices, Tensor offsets, Tensor factors) -> Tensor",
    "For each bag the sum of the rows with these numbers times their factors.", {Trait::internal}, bag_sum_cpu};
const Register register_bag_sum_weight_gradient{
    "bag_sum_weight_gradient(Tensor grad, Tensor indices, Tensor offsets, Tensor factors, int rows) -> Tensor",
    "Gradient of bag_sum with respect to weight.", {Trait::internal}, bag_sum_weight_gradient_cpu};
const Register register_bag_dot{
    "bag_dot(Tensor grad, Tensor weight, Tensor indices, Tensor offsets) -> Tensor",
    "Gradient of bag_sum with respect to factors.", {Trait::internal}, bag_dot_cpu};
const Register register_bag_factors{
    "bag_factors(Tensor indices, Tensor offsets, bool mean, int padding_idx, dtype dtype) -> Tensor",
    "What each row of a bag is multiplied with for a sum or a mean.", {Trait::internal, Trait::not_differentiable},
    bag_factors_cpu};
const Register register_bag_largest_rows{
    "bag_largest_rows(Tensor weight, Tensor indices, Tensor offsets, int padding_idx) -> Tensor",
    "For each bag and column the number of the row with the largest element; -1 in empty bags.",
    {Trait::internal, Trait::not_differentiable}, bag_largest_rows_cpu};
const Register register_embedding_bag{
    "embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, str mode='mean', "
    "Tensor? per_sample_weights=None, int padding_idx=-1) -> Tensor",
    "Sums, means or maxima of rows of weight, one for each bag of numbers; offsets says where each bag begins.",
    {Trait::composite, Trait::no_method}, embedding_bag_cpu};

}  // namespace
}  // namespace relume
