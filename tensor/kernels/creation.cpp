// New tensors: constants, ranges, the identity matrix.
#include <algorithm>
#include <cmath>

#include "tensor/convert.h"
#include "tensor/copy.h"
#include "tensor/default_dtype.h"
#include "tensor/dispatch.h"
#include "tensor/kernels/dense.h"
#include "tensor/parallel.h"

namespace relume {
namespace {

void fill_output(Call& call, IntSpan shape, DType dtype, const Value& value) {
  fill(call.output(0, shape, dtype), value);
}

// The type of a tensor made from a number alone.
DType dtype_of(const Value& number) {
  if (number.is_complex()) return default_complex();
  if (number.type == Value::Type::boolean) return DType::boolean;
  return number.type == Value::Type::integer ? DType::int64 : default_float();
}

void zeros_cpu(Call& call) {
  fill_output(call, call.integers(0), call.dtype(1, default_float()), 0);
}
void ones_cpu(Call& call) {
  fill_output(call, call.integers(0), call.dtype(1, default_float()), 1);
}
void empty_cpu(Call& call) { call.output(0, call.integers(0), call.dtype(1, default_float())); }
void full_cpu(Call& call) {
  fill_output(call, call.integers(0), call.dtype(2, dtype_of(call.value(1))), call.value(1));
}

void fill_like(Call& call, int dtype_argument, const Value& value) {
  const Tensor input = call.tensor(0);
  fill_output(call, input.shape(), call.dtype(dtype_argument, input.dtype()), value);
}
void zeros_like_cpu(Call& call) { fill_like(call, 1, 0); }
void ones_like_cpu(Call& call) { fill_like(call, 1, 1); }
void full_like_cpu(Call& call) { fill_like(call, 2, call.value(1)); }
void empty_like_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  call.output(0, input.shape(), call.dtype(1, input.dtype()));
}

// Calls `write(T* to, int64_t start, int32_t count)` for blocks of elements that cover the output;
// counted in 32 bits, which every CPU can vectorise.
template <class Write>
void generate(const Tensor& output, const Write& write) {
  constexpr int64_t kBlock = 1024;
  const DenseOutput dense(output);
  const int64_t count = output.numel();
  visit_any(output.dtype(), [&](auto example) {
    using T = decltype(example);
    T* to = dense->data_as<T>();
    parallel_for(0, (count + kBlock - 1) / kBlock, kParallelGrain / kBlock, [&](int64_t begin, int64_t end) {
      for (int64_t start = begin * kBlock; start < std::min(count, end * kBlock); start += kBlock) {
        write(to + start, start, static_cast<int32_t>(std::min(kBlock, count - start)));
      }
    });
  });
  dense.write_back();
}

// Element i is function(i).
template <class Function>
void generate_by_place(const Tensor& output, const Function& function) {
  generate(output, [&](auto* to, int64_t start, int32_t count) {
    using T = std::remove_pointer_t<decltype(to)>;
    const double first = static_cast<double>(start);
    for (int32_t i = 0; i < count; ++i) to[i] = convert<T>(function(first + i));
  });
}

constexpr double kMostElements = 9e18;

int64_t range_length(double start, double end, double step) {
  check(step != 0 && !std::isnan(step), "arange: step must not be ", step);
  const double length = std::ceil((end - start) / step);
  check(!std::isnan(length) && length < kMostElements, "arange: cannot count from ", start, " to ", end,
        " in steps of ", step);
  return length > 0 ? static_cast<int64_t>(length) : 0;
}

int64_t range_length(int64_t start, int64_t end, int64_t step) {
  check(step != 0, "arange: step must not be 0");
  if (step > 0 ? start >= end : start <= end) return 0;
  // Unsigned: the distance of two int64 may not fit into one.
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(end) - static_cast<uint64_t>(start)
                                     : static_cast<uint64_t>(start) - static_cast<uint64_t>(end);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  const uint64_t length = (distance - 1) / stride + 1;
  check(length <= static_cast<uint64_t>(INT64_MAX), "arange: too many elements");
  return static_cast<int64_t>(length);
}

void arange_cpu(Call& call) {
  const Value &start = call.value(0), &end = call.value(1), &step = call.value(2);
  bool integers = true;
  for (const Value* number : {&start, &end, &step}) integers &= number->type != Value::Type::real;
  if (integers) {
    const int64_t first = start.as_int(), by = step.as_int();
    const Tensor output = call.output(0, {range_length(first, end.as_int(), by)},
                                      call.dtype(3, DType::int64));
    // Unsigned: a product may not fit where the sum does, nor the number behind the last one.
    generate(output, [=](auto* to, int64_t start, int32_t count) {
      using T = std::remove_pointer_t<decltype(to)>;
      const uint64_t step = static_cast<uint64_t>(by);
      uint64_t number = static_cast<uint64_t>(first) + static_cast<uint64_t>(start) * step;
      for (int32_t i = 0; i < count; ++i, number += step) to[i] = convert<T>(static_cast<int64_t>(number));
    });
  } else {
    const double first = start.as_double(), by = step.as_double();
    const Tensor output = call.output(0, {range_length(first, end.as_double(), by)},
                                      call.dtype(3, default_float()));
    generate_by_place(output, [=](double i) { return first + i * by; });
  }
}

void linspace_cpu(Call& call) {
  const double start = call.real(0), end = call.real(1);
  const int64_t steps = call.integer(2);
  check(steps >= 0, "linspace: steps must not be negative, got ", steps);
  const Tensor output = call.output(0, {steps}, call.dtype(3, default_float()));
  const double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  // From both ends, so that the last element is exactly `end`.
  const double last = static_cast<double>(steps - 1);
  generate_by_place(output, [=](double i) {
    return 2 * i <= last ? start + step * i : end - step * (last - i);
  });
}

void eye_cpu(Call& call) {
  const int64_t rows = call.integer(0), columns = call.has(1) ? call.integer(1) : rows;
  const Tensor output = call.output(0, {rows, columns}, call.dtype(2, default_float()));
  fill(output, 0);
  const int64_t length = std::min(rows, columns);
  if (length == 0) return;
  fill(make_view(output->storage, output->offset, {length}, {output.stride(0) + output.stride(1)},
                 output.dtype()),
       1);
}

const auto kFunction = {Trait::takes_complex, Trait::not_differentiable, Trait::no_method};

const Register register_zeros{"zeros(int[] size, *, dtype? dtype=None) -> Tensor",
                              "A tensor of zeros.", kFunction, zeros_cpu};
const Register register_ones{"ones(int[] size, *, dtype? dtype=None) -> Tensor",
                             "A tensor of ones.", kFunction, ones_cpu};
const Register register_empty{"empty(int[] size, *, dtype? dtype=None) -> Tensor",
                              "A tensor whose elements are not set.", kFunction, empty_cpu};
const Register register_full{
    "full(int[] size, Scalar fill_value, *, dtype? dtype=None) -> Tensor",
    "A tensor of one value, of the value's type unless one is given.", kFunction, full_cpu};
const Register register_zeros_like{"zeros_like(Tensor input, *, dtype? dtype=None) -> Tensor",
                                   "Zeros of the shape and type of `input`.", kFunction,
                                   zeros_like_cpu};
const Register register_ones_like{"ones_like(Tensor input, *, dtype? dtype=None) -> Tensor",
                                  "Ones of the shape and type of `input`.", kFunction,
                                  ones_like_cpu};
const Register register_empty_like{"empty_like(Tensor input, *, dtype? dtype=None) -> Tensor",
                                   "A tensor of the shape and type of `input`, not set.",
                                   kFunction, empty_like_cpu};
const Register register_full_like{
    "full_like(Tensor input, Scalar fill_value, *, dtype? dtype=None) -> Tensor",
    "One value in the shape and type of `input`.", kFunction, full_like_cpu};
const Register register_arange{
    "arange(Scalar start, Scalar end, Scalar step=1, *, dtype? dtype=None) -> Tensor",
    "The numbers from `start` to below `end` in steps; int64 when all three are integers.",
    kFunction, arange_cpu};
const Register register_linspace{
    "linspace(Scalar start, Scalar end, int steps, *, dtype? dtype=None) -> Tensor",
    "`steps` evenly spaced numbers from `start` to `end`, both included.", kFunction,
    linspace_cpu};
const Register register_eye{"eye(int n, int? m=None, *, dtype? dtype=None) -> Tensor",
                            "The identity matrix of n rows and m (or n) columns.", kFunction,
                            eye_cpu};

}  // namespace
}  // namespace relume
