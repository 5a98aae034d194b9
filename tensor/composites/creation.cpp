// New tensors made by other ops: logspace, vander, tril_indices, triu_indices, random numbers
// (rand_like, randn_like, randint), combinations.
#include <algorithm>
#include <cmath>

#include "tensor/composites/composites.h"

namespace relume {
namespace {

const OpFunction linspace{"linspace"}, uniform_{"uniform_"}, normal_{"normal_"}, random_{"random_"},
    index_select{"index_select"};

void logspace_cpu(Call& call) {
  const DType dtype = call.dtype(4, kDefaultFloat);
  const Tensor exponents = linspace(call.value(0), call.value(1), call.value(2), DType::float64);
  call.set_output(0, ops::to_dtype(ops::pow(call.value(3), exponents), dtype));
}

void vander_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check(input.ndim() >= 1, "vander() needs at least 1 dimension");
  const int64_t count = call.has(1) ? call.integer(1) : input.size(input.ndim() - 1);
  check(count >= 0, "vander(): the number of columns must not be negative, got ", count);
  const Tensor powers = empty({count}, DType::int64);
  for (int64_t i = 0; i < count; ++i) powers.data_as<int64_t>()[i] = call.boolean(2) ? i : count - 1 - i;
  call.set_output(0, ops::pow(ops::unsqueeze(input, -1), ops::to_dtype(powers, input.dtype())));
}

// The row and column numbers of the elements of a matrix that lie in a triangle, row by row.
template <class Range>
void triangle_indices(Call& call, Range range) {
  const int64_t rows = call.integer(0), columns = call.integer(1), offset = call.integer(2);
  check(rows >= 0 && columns >= 0, call.op.name(), "(): sizes must not be negative, got ", rows, " and ", columns);
  std::vector<int64_t> row_numbers, column_numbers;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t middle = std::max<int64_t>(0, std::min(columns, range.split(row, offset)));
    const int64_t first = range.above ? middle : 0, end = range.above ? columns : middle;
    for (int64_t column = first; column < end; ++column) {
      row_numbers.push_back(row);
      column_numbers.push_back(column);
    }
  }
  const int64_t count = static_cast<int64_t>(row_numbers.size());
  const Tensor places = empty({2, count}, DType::int64);
  std::copy(row_numbers.begin(), row_numbers.end(), places.data_as<int64_t>());
  std::copy(column_numbers.begin(), column_numbers.end(), places.data_as<int64_t>() + count);
  call.set_output(0, ops::to_dtype(places, call.dtype(3, DType::int64)));
}

struct Above {
  static constexpr bool above = true;
  static int64_t split(int64_t row, int64_t offset) { return row + offset; }
};
struct Below {
  static constexpr bool above = false;
  static int64_t split(int64_t row, int64_t offset) { return row + offset + 1; }
};
void tril_indices_cpu(Call& call) { triangle_indices(call, Below{}); }
void triu_indices_cpu(Call& call) { triangle_indices(call, Above{}); }

void rand_like_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  call.set_output(0, uniform_(empty(input.shape(), call.dtype(1, input.dtype()))));
}
void randn_like_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  call.set_output(0, normal_(empty(input.shape(), call.dtype(1, input.dtype()))));
}

Tensor random_integers(const Call& call, IntSpan shape, const Value& low, const Value& high, DType dtype) {
  check(low.as_int() < high.as_int(), call.op.name(), "(): low must be less than high, got ", low.as_int(), " and ",
        high.as_int());
  return random_(empty(shape, dtype), low, high);
}

void randint_cpu(Call& call) {
  call.set_output(0, random_integers(call, call.integers(2), call.value(0), call.value(1),
                                     call.dtype(3, DType::int64)));
}
void randint_like_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  call.set_output(0, random_integers(call, input.shape(), call.value(1), call.value(2),
                                     call.dtype(3, input.dtype())));
}

// Every increasing (or non-decreasing) choice of `length` out of `count` numbers, in lexical order.
std::vector<int64_t> choices(int64_t count, int64_t length, bool with_replacement) {
  std::vector<int64_t> all, current(length);
  for (int64_t i = 0; i < length; ++i) current[i] = with_replacement ? 0 : i;
  if (!with_replacement && length > count) return all;
  if (length > 0 && count == 0) return all;
  while (true) {
    all.insert(all.end(), current.begin(), current.end());
    int64_t i = length - 1;
    const auto last = [&](int64_t place) { return with_replacement ? count - 1 : count - length + place; };
    while (i >= 0 && current[i] == last(i)) --i;
    if (i < 0) return all;
    ++current[i];
    for (int64_t k = i + 1; k < length; ++k) current[k] = with_replacement ? current[i] : current[k - 1] + 1;
  }
}

void combinations_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const int64_t length = call.integer(1);
  check(input.ndim() == 1, "combinations() needs a vector, not shape ", input.shape());
  check(length >= 0, "combinations(): r must not be negative, got ", length);
  if (length == 0) return call.set_output(0, empty({0}, input.dtype()));
  const std::vector<int64_t> chosen = choices(input.numel(), length, call.boolean(2));
  const int64_t count = static_cast<int64_t>(chosen.size());
  const Tensor index = empty({count}, DType::int64);
  std::copy(chosen.begin(), chosen.end(), index.data_as<int64_t>());
  call.set_output(0, ops::reshape(index_select(input, 0, index), IntSpan{count / length, length}));
}

const auto kFunction = {Trait::not_differentiable, Trait::no_method};
const auto kRandom = {Trait::not_differentiable, Trait::no_method, Trait::random};

const Register register_logspace{
    "logspace(Scalar start, Scalar end, int steps, Scalar base=10, *, dtype? dtype=None) -> Tensor",
    "`steps` powers of `base`, evenly spaced exponents from `start` to `end`, both included.", kFunction,
    logspace_cpu};
const Register register_vander{"vander(Tensor x, int? N=None, bool increasing=False) -> Tensor",
                               "Powers of every element along a new last dimension, the highest first.",
                               {Trait::composite, Trait::no_method}, vander_cpu};
const Register register_tril_indices{
    "tril_indices(int row, int col, int offset=0, *, dtype? dtype=None) -> Tensor",
    "Row and column numbers of the lower triangle of a matrix, as a tensor of 2 rows.", kFunction, tril_indices_cpu};
const Register register_triu_indices{
    "triu_indices(int row, int col, int offset=0, *, dtype? dtype=None) -> Tensor",
    "Row and column numbers of the upper triangle of a matrix, as a tensor of 2 rows.", kFunction, triu_indices_cpu};
const Register register_rand_like{"rand_like(Tensor input, *, dtype? dtype=None) -> Tensor",
                                  "Uniform numbers in [0, 1) in the shape of `input`.", kRandom, rand_like_cpu};
const Register register_randn_like{"randn_like(Tensor input, *, dtype? dtype=None) -> Tensor",
                                   "Normal numbers of mean 0 and deviation 1 in the shape of `input`.", kRandom,
                                   randn_like_cpu};
const Register register_randint{
    "random_integers(int low, int high, int[] size, *, dtype? dtype=None) -> Tensor",
    "Integers from `low` to `high` - 1, all equally likely.",
    {Trait::not_differentiable, Trait::no_method, Trait::random, Trait::internal}, randint_cpu};
const Register register_randint_like{
    "random_integers_like(Tensor input, int low, int high, *, dtype? dtype=None) -> Tensor",
    "Integers from `low` to `high` - 1 in the shape of `input`.",
    {Trait::not_differentiable, Trait::no_method, Trait::random, Trait::internal}, randint_like_cpu};
const Register register_combinations{
    "combinations(Tensor input, int r=2, bool with_replacement=False) -> Tensor",
    "All choices of r elements of a vector, in order, one row each.", {Trait::composite}, combinations_cpu};

}  // namespace
}  // namespace relume
