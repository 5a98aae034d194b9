// Dropout of whole channels, and dropout that keeps mean and variance, in terms of other ops.
#include <cmath>

#include "tensor/ops.h"

namespace relume {
namespace {

const OpFunction bernoulli_{"bernoulli_"};

void check_arguments(const Call& call) {
  const Tensor input = call.tensor(0);
  const double p = call.real(1);
  check<TypeError>(is_floating(input.dtype()), call.op.name(), "(): input must have a floating-point type, not ",
                   name(input.dtype()));
  check(p >= 0 && p <= 1, call.op.name(), "(): p must be between 0 and 1, not ", p);
}

// One for each channel of (N, C, ...), with shape (N, C, 1, ...).
std::vector<int64_t> channel_shape(const Call& call) {
  const Tensor input = call.tensor(0);
  check(input.ndim() >= 2, call.op.name(), "(): the input must have shape (N, C, ...), not ", input.shape());
  std::vector<int64_t> shape(input.ndim(), 1);
  shape[0] = input.size(0);
  shape[1] = input.size(1);
  return shape;
}

// Ones with probability `keep`, zeros otherwise.
Tensor kept(const Call& call, IntSpan shape, double keep) {
  const Tensor input = call.tensor(0);
  const Tensor mask = full(shape, 1, input.dtype(), input.device());
  if (keep == 0) return full(shape, 0, input.dtype(), input.device());
  return keep == 1 ? mask : bernoulli_(mask, keep);
}

void feature_dropout_cpu(Call& call) {
  check_arguments(call);
  const Tensor input = call.tensor(0);
  const double p = call.real(1);
  if (!call.boolean(2) || p == 0) return call.set_output(0, ops::clone(input));
  const Tensor mask = kept(call, channel_shape(call), 1 - p);
  call.set_output(0, input * (p == 1 ? mask : ops::div(mask, 1 - p)));
}

// Elements that are dropped become the limit that selu has far below zero; all are then
// scaled and shifted back to mean 0 and variance 1.
void drop_to_the_limit(Call& call, IntSpan shape) {
  constexpr double limit = -1.7580993408473766;  // -alpha * scale of selu
  const Tensor input = call.tensor(0);
  const double p = call.real(1), keep = 1 - p;
  if (p == 1) return call.set_output(0, input * 0.0);
  const double scale = 1 / std::sqrt(keep * (1 + p * limit * limit));
  const Tensor mask = kept(call, shape, keep);
  const Tensor shift = ops::add(ops::mul(ops::sub(1, mask), limit * scale), -limit * p * scale);
  call.set_output(0, input * ops::mul(mask, scale) + shift);
}

void alpha_dropout_cpu(Call& call) {
  check_arguments(call);
  if (!call.boolean(2) || call.real(1) == 0) return call.set_output(0, ops::clone(call.tensor(0)));
  drop_to_the_limit(call, call.tensor(0).shape());
}

void feature_alpha_dropout_cpu(Call& call) {
  check_arguments(call);
  if (!call.boolean(2) || call.real(1) == 0) return call.set_output(0, ops::clone(call.tensor(0)));
  drop_to_the_limit(call, channel_shape(call));
}

const Register register_feature_dropout{
    "feature_dropout(Tensor input, float p=0.5, bool training=True) -> Tensor",
    "Whole channels of (N, C, ...) set to zero with probability p, the others divided by 1 - p.",
    {Trait::composite, Trait::random, Trait::no_method}, feature_dropout_cpu};
const Register register_alpha_dropout{
    "alpha_dropout(Tensor input, float p=0.5, bool training=False) -> Tensor",
    "Dropout for networks of selu: keeps mean 0 and variance 1 (Klambauer et al., 2017).",
    {Trait::composite, Trait::random, Trait::no_method}, alpha_dropout_cpu};
const Register register_feature_alpha_dropout{
    "feature_alpha_dropout(Tensor input, float p=0.5, bool training=False) -> Tensor",
    "alpha_dropout of whole channels of (N, C, ...).", {Trait::composite, Trait::random, Trait::no_method},
    feature_alpha_dropout_cpu};

}  // namespace
}  // namespace relume
