// Filling tensors with random numbers, and sampling indices. Every element takes its draws in
// logical (row-major) order, whatever the strides and the type: that is Torch7's order.
#include <algorithm>
#include <cmath>
#include <utility>

#include "tensor/convert.h"
#include "tensor/copy.h"
#include "tensor/default_dtype.h"
#include "tensor/dispatch.h"
#include "tensor/kernels/random_fill.h"
#include "tensor/ops.h"
#include "tensor/random.h"

namespace relume {
namespace {

// Complex numbers are filled part by part.
Tensor parts_of(const Tensor& target) {
  return is_complex(target.dtype()) ? OpFunction{"view_as_real"}(target) : target;
}

// The parts of a complex number have half of its variance each.
double share_of_deviation(DType dtype) { return is_complex(dtype) ? std::sqrt(0.5) : 1; }

template <class Draw>
void fill_input(Call& call, Draw draw) {
  fill_with(parts_of(call.tensor(0)), draw);
  call.set_output(0, call.tensor(0));
}

void check_floating(const Call& call) {
  DType dtype = call.tensor(0).dtype();
  check<TypeError>(is_differentiable(dtype), call.op.name(), " needs a floating-point tensor, got ",
                   name(dtype), "; use random_ for integers");
}

// A parameter of a distribution as the tensor's type holds it: FloatTensor:uniform(-0.1, 0.1) draws
// between the floats nearest to -0.1 and 0.1.
double parameter(const Call& call, int argument) {
  return visit(real_type(call.tensor(0).dtype()), [&](auto zero) {
    return static_cast<double>(convert<decltype(zero)>(call.real(argument)));
  });
}

void uniform(Call& call) {
  check_floating(call);
  double low = parameter(call, 1), high = parameter(call, 2);
  fill_input(call, [=](Generator& g, int64_t) { return g.uniform(low, high); });
}

void normal(Call& call) {
  check_floating(call);
  double mean = parameter(call, 1), std = parameter(call, 2);
  check(std >= 0, "expected std >= 0, got ", std);
  std *= share_of_deviation(call.tensor(0).dtype());
  fill_input(call, [=](Generator& g, int64_t) { return g.normal(mean, std); });
}

void exponential(Call& call) {
  check_floating(call);
  double rate = parameter(call, 1);
  check_positive("lambd", rate);
  fill_input(call, [=](Generator& g, int64_t) { return g.exponential(rate); });
}

void cauchy(Call& call) {
  check_floating(call);
  double median = parameter(call, 1), scale = parameter(call, 2);
  fill_input(call, [=](Generator& g, int64_t) { return g.cauchy(median, scale); });
}

void log_normal(Call& call) {
  check_floating(call);
  double mean = parameter(call, 1), std = parameter(call, 2);
  check_positive("std", std);
  fill_input(call, [=](Generator& g, int64_t) { return g.log_normal(mean, std); });
}

void geometric(Call& call) {
  double p = call.real(1);
  check_geometric(p);
  fill_input(call, [=](Generator& g, int64_t) { return g.geometric(p); });
}

void bernoulli(Call& call) {
  if (!call.value(1).is_tensor()) {
    double p = call.real(1);
    check_probability(p);
    return fill_input(call, [=](Generator& g, int64_t) { return g.bernoulli(p); });
  }
  Tensor input = call.tensor(0);
  Tensor probabilities = empty(input.shape(), DType::float64);
  copy(probabilities, ops::expand(call.tensor(1), input.shape()));
  const double* p = probabilities.data_as<double>();
  for (int64_t i = 0; i < input.numel(); ++i) check_probability(p[i]);
  fill_input(call, [=](Generator& g, int64_t i) { return g.bernoulli(p[i]); });
}

// How many integers random_() draws from: every one from 0 that the type holds exactly.
uint64_t integers_from_zero(DType dtype) {
  switch (dtype) {
    case DType::boolean: return 2;
    case DType::uint8: return uint64_t{1} << 8;
    case DType::int8: return uint64_t{1} << 7;
    case DType::int16: return uint64_t{1} << 15;
    case DType::int32: return uint64_t{1} << 31;
    case DType::int64: return uint64_t{1} << 63;
    case DType::float16: return (uint64_t{1} << 11) + 1;
    case DType::bfloat16: return (uint64_t{1} << 8) + 1;
    case DType::float32: return (uint64_t{1} << 24) + 1;
    case DType::float64: return (uint64_t{1} << 53) + 1;
    default: refuse_complex(dtype);
  }
}

void random(Call& call) {
  int64_t low = 0;
  uint64_t count = integers_from_zero(call.tensor(0).dtype());
  if (call.has(1) || call.has(2)) {  // one bound is the upper one, as in range()
    low = call.has(1) && call.has(2) ? call.integer(1) : 0;
    int64_t high = call.integer(call.has(2) ? 2 : 1);
    constexpr int64_t kExact = int64_t{1} << 53;  // a double holds every integer up to here
    check(low >= -kExact && high <= kExact, "expected bounds between -2^53 and 2^53, got ",
          low, " and ", high);
    check(low < high, "expected from < to, got from=", low, " and to=", high);
    count = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  }
  fill_input(call, [=](Generator& g, int64_t) {
    return static_cast<double>(low) + static_cast<double>(g.random_below(count));
  });
}

DType dtype_of_new(Call& call, int argument) {
  DType dtype = call.dtype(argument, default_float());
  check<TypeError>(is_differentiable(dtype), call.op.name(), " makes floating-point tensors, got dtype ",
                   name(dtype));
  return dtype;
}

void rand(Call& call) {
  Tensor out = call.output(0, call.integers(0), dtype_of_new(call, 1));
  fill_with(parts_of(out), [](Generator& g, int64_t) { return g.uniform(); });
}

void randn(Call& call) {
  Tensor out = call.output(0, call.integers(0), dtype_of_new(call, 1));
  const double deviation = share_of_deviation(out.dtype());
  fill_with(parts_of(out), [=](Generator& g, int64_t) { return g.normal(0, deviation); });
}

void randperm(Call& call) {
  int64_t n = call.integer(0);
  check(n >= 0, "randperm expected n >= 0, got ", n);
  Tensor permutation = empty({n}, DType::int64);
  int64_t* values = permutation.data_as<int64_t>();
  for (int64_t i = 0; i < n; ++i) values[i] = i;
  {
    Generator& generator = current_generator();
    std::lock_guard<std::mutex> lock(generator.mutex());
    for (int64_t i = 0; i + 1 < n; ++i) {
      std::swap(values[i], values[i + static_cast<int64_t>(generator.random_below(n - i))]);
    }
  }
  Tensor out = call.output(0, {n}, call.dtype(1, DType::int64));
  copy(out, permutation);
}

void multinomial_indices(Call& call) {
  Tensor probabilities = call.tensor(0);
  int64_t count = call.integer(1);
  bool replacement = call.boolean(2);
  int ndim = probabilities.ndim();
  check(ndim == 1 || ndim == 2, "multinomial(): expected probabilities of shape (n,) or (rows, n), got ",
        probabilities.shape());
  int64_t categories = probabilities.size(ndim - 1);
  check(count > 0, "multinomial(): expected num_samples > 0, got ", count);
  check(categories > 0, "multinomial cannot draw from no categories");
  check(replacement || count <= categories, "multinomial cannot draw ", count, " samples from ",
        categories, " categories without replacement; pass replacement=True");
  Tensor samples = ndim == 2 ? empty({probabilities.size(0), count}, DType::int64)
                             : empty({count}, DType::int64);
  {
    Generator& generator = current_generator();
    std::lock_guard<std::mutex> lock(generator.mutex());
    multinomial(generator, probabilities, count, replacement, samples);
  }
  call.set_output(0, samples);
}

const std::initializer_list<Trait> kFill = {Trait::in_place, Trait::random};
const std::initializer_list<Trait> kFillComplex = {Trait::in_place, Trait::random, Trait::takes_complex};
const std::initializer_list<Trait> kMake = {Trait::random, Trait::not_differentiable, Trait::no_method};

const Register register_uniform{
    "uniform_(Tensor input, float from=0, float to=1) -> Tensor",
    "Fills with numbers spread evenly over [from, to); of complex ones both parts.", kFillComplex, uniform};
const Register register_normal{
    "normal_(Tensor input, float mean=0, float std=1) -> Tensor",
    "Fills with numbers of the normal distribution; of complex ones each part has half the variance.", kFillComplex,
    normal};
const Register register_exponential{
    "exponential_(Tensor input, float lambd=1) -> Tensor",
    "Fills with numbers of the exponential distribution with rate lambd.", kFill, exponential};
const Register register_cauchy{
    "cauchy_(Tensor input, float median=0, float sigma=1) -> Tensor",
    "Fills with numbers of the Cauchy distribution.", kFill, cauchy};
const Register register_log_normal{
    "log_normal_(Tensor input, float mean=1, float std=2) -> Tensor",
    "Fills with numbers whose logarithm has the normal distribution with this mean and std.", kFill,
    log_normal};
const Register register_geometric{
    "geometric_(Tensor input, float p) -> Tensor",
    "Fills with 1, 2, 3, ...: floor(log(1-u) / log(p)) + 1 for u spread evenly over [0, 1).", kFill,
    geometric};
const Register register_bernoulli{
    "bernoulli_(Tensor input, Tensor|Scalar p=0.5) -> Tensor",
    "Fills with ones with probability p (one for all, or a tensor of them), and zeros.", kFill,
    bernoulli};
const Register register_random{
    "random_(Tensor input, int? from=None, int? to=None) -> Tensor",
    "Fills with integers of [from, to), or [0, to); of all that the type holds exactly from 0 when "
    "neither is given.",
    kFill, random};
const Register register_rand{
    "rand(int[] size, *, dtype? dtype=None) -> Tensor",
    "A tensor of numbers spread evenly over [0, 1).", kMake, rand};
const Register register_randn{
    "randn(int[] size, *, dtype? dtype=None) -> Tensor",
    "A tensor of numbers of the standard normal distribution.", kMake, randn};
const Register register_randperm{
    "randperm(int n, *, dtype? dtype=None) -> Tensor",
    "A random order of 0 .. n-1 (int64).", kMake, randperm};
const Register register_multinomial{
    "multinomial(Tensor input, int num_samples, bool replacement=False) -> Tensor",
    "Draws 0-based indices (int64) with the probabilities in input, one row of samples per row; "
    "rows need a positive sum, not a sum of 1.",
    {Trait::random, Trait::not_differentiable}, multinomial_indices};

}  // namespace
}  // namespace relume
