// Distributions whose parameters are tensors: gamma, Poisson, binomial. Each element takes its
// draws in row-major order.
#include <cmath>

#include "tensor/default_dtype.h"
#include "tensor/dispatch.h"
#include "tensor/kernels/random_fill.h"
#include "tensor/ops.h"

namespace relume {
namespace {

double positive_uniform(Generator& generator) { return 1.0 - generator.uniform(); }  // in (0, 1]

double log_factorial(double n) { return std::lgamma(n + 1); }

// Marsaglia and Tsang, "A simple method for generating gamma variables" (2000), with rate 1.
double draw_gamma(Generator& generator, double shape) {
  if (shape < 1) {
    const double larger = draw_gamma(generator, shape + 1);
    return larger * std::pow(positive_uniform(generator), 1 / shape);
  }
  const double d = shape - 1.0 / 3.0, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = generator.normal(0, 1);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(positive_uniform(generator)) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

// By multiplying uniform draws until their product falls below exp(-rate).
double draw_small_poisson(Generator& generator, double rate) {
  const double limit = std::exp(-rate);
  double product = positive_uniform(generator);
  double count = 0;
  while (product > limit) {
    product *= positive_uniform(generator);
    ++count;
  }
  return count;
}

// What Hörmann's transformed rejection draws before its test: a candidate and how to judge it.
struct Candidate {
  double count;
  double height;    // uniform, to be compared
  double distance;  // from the ends of the interval, in (0, 0.5]
};

Candidate draw_candidate(Generator& generator, double a, double b, double center) {
  const double u = generator.uniform() - 0.5;
  const double distance = 0.5 - std::abs(u);
  return {std::floor((2 * a / distance + b) * u + center), positive_uniform(generator), distance};
}

// Algorithm PTRS of Hörmann, "The transformed rejection method for generating Poisson random
// variables" (1993), for rates from 10 on.
double draw_large_poisson(Generator& generator, double rate) {
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double surely = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const Candidate k = draw_candidate(generator, a, b, rate + 0.43);
    if (k.distance >= 0.07 && k.height <= surely) return k.count;
    if (k.count < 0 || (k.distance < 0.013 && k.height > k.distance)) continue;
    const double tried = std::log(k.height * inverse_alpha / (a / (k.distance * k.distance) + b));
    if (tried <= -rate + k.count * std::log(rate) - log_factorial(k.count)) return k.count;
  }
}

double draw_poisson(Generator& generator, double rate) {
  if (rate == 0) return 0;
  return rate < 10 ? draw_small_poisson(generator, rate) : draw_large_poisson(generator, rate);
}

// By the gaps between successes, which have a geometric distribution.
double draw_small_binomial(Generator& generator, double trials, double p) {
  const double log_failure = std::log1p(-p);
  double successes = 0, tried = 0;
  for (;;) {
    tried += std::floor(std::log(positive_uniform(generator)) / log_failure) + 1;
    if (tried > trials) return successes;
    ++successes;
  }
}

// Algorithm BTRS of Hörmann, "The generation of binomial random variates" (1993), for
// trials * p from 10 on and p up to 0.5.
double draw_large_binomial(Generator& generator, double trials, double p) {
  const double spread = std::sqrt(trials * p * (1 - p));
  const double b = 1.15 + 2.53 * spread;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double surely = 0.92 - 4.2 / b;
  const double alpha = (2.83 + 5.1 / b) * spread;
  const double log_odds = std::log(p / (1 - p));
  const double mode = std::floor((trials + 1) * p);
  const double at_mode = log_factorial(mode) + log_factorial(trials - mode);
  for (;;) {
    const Candidate k = draw_candidate(generator, a, b, trials * p + 0.5);
    if (k.count < 0 || k.count > trials) continue;
    if (k.distance >= 0.07 && k.height <= surely) return k.count;
    const double tried = std::log(k.height * alpha / (a / (k.distance * k.distance) + b));
    const double ratio = at_mode - log_factorial(k.count) - log_factorial(trials - k.count);
    if (tried <= ratio + (k.count - mode) * log_odds) return k.count;
  }
}

double draw_binomial(Generator& generator, double trials, double p) {
  if (p > 0.5) return trials - draw_binomial(generator, trials, 1 - p);
  if (p == 0 || trials == 0) return 0;
  return trials * p < 10 ? draw_small_binomial(generator, trials, p)
                         : draw_large_binomial(generator, trials, p);
}

// A parameter as contiguous doubles of a shape.
Tensor as_doubles(const Tensor& parameter, IntSpan shape) {
  Tensor doubles = empty(shape, DType::float64);
  copy(doubles, ops::expand(parameter, shape));
  return doubles;
}

DType drawn_type(const Call& call, int parameter_count) {
  DType dtype = call.tensor(0).dtype();
  for (int i = 1; i < parameter_count; ++i) dtype = promote(dtype, call.tensor(i).dtype());
  return is_floating(dtype) ? dtype : default_float();
}

void check_all(const Call& call, const Tensor& values, bool (*fits)(double), const char* expected) {
  const double* element = values.data_as<double>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    check(fits(element[i]), call.op.name(), "() expected ", expected, ", got ", element[i]);
  }
}

void standard_gamma(Call& call) {
  const Tensor shape = as_doubles(call.tensor(0), call.tensor(0).shape());
  check_all(call, shape, [](double x) { return x > 0 && std::isfinite(x); }, "finite shape parameters > 0");
  const double* element = shape.data_as<double>();
  fill_with(call.output(0, shape.shape(), drawn_type(call, 1)),
            [=](Generator& g, int64_t i) { return draw_gamma(g, element[i]); });
}

void poisson(Call& call) {
  const Tensor rates = as_doubles(call.tensor(0), call.tensor(0).shape());
  check_all(call, rates, [](double x) { return x >= 0 && x < 1e15; }, "rates >= 0");
  const double* element = rates.data_as<double>();
  fill_with(call.output(0, rates.shape(), drawn_type(call, 1)),
            [=](Generator& g, int64_t i) { return draw_poisson(g, element[i]); });
}

void binomial(Call& call) {
  const Tensor sample = ops::add(call.tensor(0), call.tensor(1));  // for its shape
  const Tensor counts = as_doubles(call.tensor(0), sample.shape());
  const Tensor probabilities = as_doubles(call.tensor(1), sample.shape());
  check_all(call, counts, [](double x) { return x >= 0 && x == std::floor(x) && x < 1e15; },
            "whole numbers of trials >= 0");
  check_all(call, probabilities, [](double x) { return x >= 0 && x <= 1; }, "probabilities between 0 and 1");
  const double* trials = counts.data_as<double>();
  const double* p = probabilities.data_as<double>();
  fill_with(call.output(0, sample.shape(), drawn_type(call, 2)),
            [=](Generator& g, int64_t i) { return draw_binomial(g, trials[i], p[i]); });
}

const std::initializer_list<Trait> kSample = {Trait::random, Trait::not_differentiable, Trait::no_method};

const Register register_standard_gamma{
    "standard_gamma(Tensor input) -> Tensor",
    "Draws from the gamma distribution with rate 1 and the shape parameters in `input`.", kSample,
    standard_gamma};
const Register register_poisson{
    "poisson(Tensor input) -> Tensor", "Draws from the Poisson distribution with the rates in `input`.",
    kSample, poisson};
const Register register_binomial{
    "binomial(Tensor count, Tensor prob) -> Tensor",
    "Draws how many of `count` trials succeed, each with probability `prob`; the two broadcast.",
    kSample, binomial};

}  // namespace
}  // namespace relume
