// New tensors made by other ops: logspace, vander, tril_indices, triu_indices, random numbers
// (rand_like, randn_like, randint), combinations.
#include <algorithm>
#include <cmath>

#include "tensor/composites/composites.h"
#include "tensor/default_dtype.h"
#include "tensor/public_names.h"

namespace relume {
namespace {

const OpFunction linspace{"linspace"}, uniform_{"uniform_"}, normal_{"normal_"}, random_{"random_"},
    index_select{"index_select"};

constexpr int64_t kMostIndices = int64_t{1} << 31;  // of one result: a slip of the pen must not fill the memory

void logspace_cpu(Call& call) {
  const DType dtype = call.dtype(4, default_float());
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

// The columns [first, end) of each row of a matrix that lie in a triangle.
struct Triangle {
  int64_t rows, columns, offset;
  bool above;

  Triangle(const Call& call, bool above) : rows(call.integer(0)), columns(call.integer(1)), above(above) {
    check(rows >= 0 && columns >= 0, public_name(call.op), "(): sizes must not be negative, got ", rows, " and ", columns);
    product({rows, columns});  // throws where the matrix would have too many elements
    if (rows == 0) columns = 0;
    offset = std::max(-rows, std::min(call.integer(2), columns));
  }

  int64_t split(int64_t row) const {
    return std::max<int64_t>(0, std::min(columns, row + offset + (above ? 0 : 1)));
  }
  int64_t first(int64_t row) const { return above ? split(row) : 0; }
  int64_t end(int64_t row) const { return above ? columns : split(row); }
  // The rows that have any elements.
  int64_t first_row() const { return columns == 0 ? rows : above ? 0 : std::min(rows, std::max<int64_t>(0, -offset)); }
  int64_t end_row() const { return columns == 0 || !above ? rows : std::max<int64_t>(0, std::min(rows, columns - offset)); }
};

void triangle_indices(Call& call, bool above) {
  const Triangle triangle(call, above);
  int64_t count = std::max<int64_t>(0, triangle.end_row() - triangle.first_row());  // each row has one at least
  check(count <= kMostIndices, public_name(call.op), "(): more than ", kMostIndices, " elements");
  count = 0;
  for (int64_t row = triangle.first_row(); row < triangle.end_row(); ++row) {
    count += triangle.end(row) - triangle.first(row);
    check(count <= kMostIndices, public_name(call.op), "(): more than ", kMostIndices, " elements");
  }
  const Tensor places = empty({2, count}, DType::int64);
  int64_t* row_numbers = places.data_as<int64_t>();
  int64_t* column_numbers = row_numbers + count;
  for (int64_t row = triangle.first_row(); row < triangle.end_row(); ++row) {
    for (int64_t column = triangle.first(row); column < triangle.end(row); ++column) {
      *row_numbers++ = row;
      *column_numbers++ = column;
    }
  }
  call.set_output(0, ops::to_dtype(places, call.dtype(3, DType::int64)));
}

void tril_indices_cpu(Call& call) { triangle_indices(call, false); }
void triu_indices_cpu(Call& call) { triangle_indices(call, true); }

void rand_like_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  call.set_output(0, uniform_(empty(input.shape(), call.dtype(1, input.dtype()))));
}
void randn_like_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  call.set_output(0, normal_(empty(input.shape(), call.dtype(1, input.dtype()))));
}

Tensor random_integers(const Call& call, IntSpan shape, const Value& low, const Value& high, DType dtype) {
  check(low.as_int() < high.as_int(), public_name(call.op), "(): low must be less than high, got ", low.as_int(), " and ",
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

// How many numbers the choices of `length` out of `count` have together.
double choice_numbers(int64_t count, int64_t length, bool with_replacement) {
  const double pool = static_cast<double>(count + (with_replacement ? length - 1 : 0));
  double total = static_cast<double>(length);
  for (int64_t i = 0; i < length && total > 0 && total <= static_cast<double>(kMostIndices); ++i) {
    total *= (pool - static_cast<double>(i)) / static_cast<double>(i + 1);
  }
  return total;
}

// Every increasing (or non-decreasing) choice of `length` out of `count` numbers, in lexical order.
std::vector<int64_t> choices(int64_t count, int64_t length, bool with_replacement) {
  if (count == 0 || (!with_replacement && length > count)) return {};
  std::vector<int64_t> all, current(length);
  for (int64_t i = 0; i < length; ++i) current[i] = with_replacement ? 0 : i;
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
  check(length <= kMostIndices && choice_numbers(input.numel(), length, call.boolean(2)) <= kMostIndices,
        "combinations(): too many choices of ", length, " out of ", input.numel());
  const std::vector<int64_t> chosen = choices(input.numel(), length, call.boolean(2));
  const int64_t count = static_cast<int64_t>(chosen.size());
  const Tensor index = empty({count}, DType::int64);
  std::copy(chosen.begin(), chosen.end(), index.data_as<int64_t>());
  call.set_output(0, ops::reshape(index_select(input, 0, index), IntSpan{count / length, length}));
}

const auto kFunction = {Trait::not_differentiable, Trait::no_method};
const auto kRandomLike = {Trait::takes_complex, Trait::not_differentiable, Trait::no_method, Trait::random};
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
                                  "Uniform numbers in [0, 1) in the shape of `input`.", kRandomLike, rand_like_cpu};
const Register register_randn_like{"randn_like(Tensor input, *, dtype? dtype=None) -> Tensor",
                                   "Normal numbers of mean 0 and deviation 1 in the shape of `input`.", kRandomLike,
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
