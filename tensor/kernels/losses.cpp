// Losses between two tensors, element by element. All are written in terms of other ops.
#include "tensor/kernels/losses.h"

#include <cmath>
#include <cstring>

#include "tensor/ops.h"
#include "tensor/parallel.h"

namespace relume {
namespace {

constexpr double kPi = 3.14159265358979323846;
const OpFunction logsigmoid{"logsigmoid"}, detach{"detach"}, cross_entropy_of_bits{"cross_entropy_of_bits"},
    huber{"huber_of_elements"};

Tensor at_least(const Tensor& tensor, double low) { return ops::clamp(tensor, low); }

}  // namespace

LossReduction loss_reduction(const Call& call, int argument) {
  const char* text = call.text(argument);
  if (std::strcmp(text, "mean") == 0) return LossReduction::mean;
  if (std::strcmp(text, "sum") == 0) return LossReduction::sum;
  check(std::strcmp(text, "none") == 0, call.op.name(), "(): reduction must be 'none', 'mean' or 'sum', not '",
        text, "'");
  return LossReduction::none;
}

Tensor reduced_loss(const Call& call, int argument, const Tensor& loss) {
  switch (loss_reduction(call, argument)) {
    case LossReduction::mean: return ops::mean(loss);
    case LossReduction::sum: return ops::sum(loss);
    case LossReduction::none: break;
  }
  return loss;
}

Tensor weighted_loss(const Call& call, int argument, const Tensor& loss) {
  return call.has(argument) ? loss * call.tensor(argument) : loss;
}

namespace {

// mse_loss and l1_loss: with weights the mean is over the weights.
void set_weighted_loss(Call& call, const Tensor& loss) {
  const Tensor weighted = weighted_loss(call, 3, loss);
  if (!call.has(3) || loss_reduction(call, 2) != LossReduction::mean) {
    return call.set_output(0, reduced_loss(call, 2, weighted));
  }
  call.set_output(0, ops::sum(weighted) / ops::sum(ops::expand(call.tensor(3), weighted.shape())));
}

void mse_loss_cpu(Call& call) { set_weighted_loss(call, ops::square(call.tensor(0) - call.tensor(1))); }
void l1_loss_cpu(Call& call) { set_weighted_loss(call, ops::abs(call.tensor(0) - call.tensor(1))); }

template <class T>
Tensor huber_of_rows(const Tensor& input, const Tensor& target, T limit) {
  const Tensor losses = empty_like(input);
  const T *x = input.data_as<const T>(), *y = target.data_as<const T>();
  T* loss = losses.data_as<T>();
  parallel_for(0, losses.numel(), kParallelGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T distance = x[i] - y[i], above = distance < -limit ? -limit : distance;
      const T near = above > limit ? limit : above;
      loss[i] = near * (distance - T(0.5) * near);
    }
  });
  return losses;
}

// distance^2 / 2 up to `limit`, from there straight on: m (d - m / 2) with m = d, clamped. Not
// composite, since its gradient is simpler than those of its parts.
void huber_of_elements_cpu(Call& call) {
  const Tensor input = call.tensor(0), target = call.tensor(1);
  const double limit = call.real(2);
  const bool plain = input.dtype() == target.dtype() && input.shape() == target.shape() && input.is_contiguous() &&
                     target.is_contiguous();
  if (plain && input.dtype() == DType::float32) {
    return call.set_output(0, huber_of_rows<float>(input, target, static_cast<float>(limit)));
  }
  if (plain && input.dtype() == DType::float64) return call.set_output(0, huber_of_rows<double>(input, target, limit));
  const Tensor distance = input - target;
  const Tensor near = ops::clamp(distance, -limit, limit);
  ops::sub.in_place(distance, near, 0.5);
  call.set_output(0, ops::mul.in_place(distance, near));
}

void huber_loss_cpu(Call& call) {
  const double delta = call.real(3);
  check(delta > 0, "huber_loss(): delta must be positive, not ", delta);
  const Tensor loss = huber(call.tensor(0), call.tensor(1), delta);
  call.set_output(0, reduced_loss(call, 2, weighted_loss(call, 4, loss)));
}

void smooth_l1_loss_cpu(Call& call) {
  const double beta = call.real(3);
  check(beta >= 0, "smooth_l1_loss(): beta must not be negative, but is ", beta);
  const Tensor loss = beta == 0 ? ops::abs(call.tensor(0) - call.tensor(1))
                                : huber(call.tensor(0), call.tensor(1), beta);
  call.set_output(0, reduced_loss(call, 2, beta == 0 || beta == 1 ? loss : loss / beta));
}

// -(t log(x) + (1 - t) log(1 - x)) with logarithms kept above -100. Not composite: at 0 and 1
// the gradient of the clamped logarithm would be 0 times infinity.
void cross_entropy_of_bits_cpu(Call& call) {
  const Tensor input = call.tensor(0), target = call.tensor(1);
  const bool inside = item_as_int(OpFunction{"all"}(ops::logical_and(ops::ge(input, 0), ops::le(input, 1)))) != 0;
  check(inside, "binary_cross_entropy(): all elements of input must be between 0 and 1");
  const Tensor yes = at_least(ops::log(input), -100), no = at_least(ops::log(1 - input), -100);
  call.set_output(0, (target - 1) * no - target * yes);
}

void binary_cross_entropy_cpu(Call& call) {
  const Tensor input = call.tensor(0), target = call.tensor(1);
  check(input.shape() == target.shape(), "binary_cross_entropy(): input and target must have one shape, not ",
        input.shape(), " and ", target.shape());
  const Tensor loss = cross_entropy_of_bits(input, target);
  call.set_output(0, reduced_loss(call, 3, weighted_loss(call, 2, loss)));
}

// With l = -log(sigmoid(x)), the other logarithm -log(1 - sigmoid(x)) is x + l.
void binary_cross_entropy_with_logits_cpu(Call& call) {
  const Tensor input = call.tensor(0), target = call.tensor(1);
  check(input.shape() == target.shape(),
        "binary_cross_entropy_with_logits(): input and target must have one shape, not ", input.shape(), " and ",
        target.shape());
  const Tensor yes = -logsigmoid(input);
  Tensor factor = yes;
  if (call.has(3)) factor = yes * ((call.tensor(3) - 1.0) * target + 1.0);
  const Tensor loss = (1 - target) * input + factor;
  call.set_output(0, reduced_loss(call, 4, weighted_loss(call, 2, loss)));
}

// target * log(target), 0 at 0; NaN below, where there is no logarithm.
Tensor times_own_logarithm(const Tensor& target) {
  const Tensor positive = ops::gt(target, 0);
  const Tensor product = target * ops::log(ops::where(positive, target, 1));
  return ops::where(positive, product, ops::where(ops::eq(target, 0), 0, std::nan("")));
}

void kl_div_cpu(Call& call) {
  const Tensor input = call.tensor(0), target = call.tensor(1);
  const bool log_target = call.boolean(3);
  const Tensor loss = log_target ? ops::exp(target) * (target - input)
                                 : times_own_logarithm(target) - target * input;
  if (std::strcmp(call.text(2), "batchmean") == 0) {
    const double batch = loss.ndim() > 0 ? static_cast<double>(loss.size(0)) : 1;
    return call.set_output(0, ops::sum(loss) / batch);
  }
  call.set_output(0, reduced_loss(call, 2, loss));
}

void poisson_nll_loss_cpu(Call& call) {
  const Tensor input = call.tensor(0), target = call.tensor(1);
  Tensor loss = call.boolean(2) ? ops::exp(input) - target * input
                                : input - target * ops::log(input + call.real(4));
  if (call.boolean(3)) {  // Stirling's approximation of log(target!)
    const Tensor large = ops::gt(target, 1), safe = ops::where(large, target, 1);
    const Tensor factorial = safe * ops::log(safe) - safe + ops::log(safe * (2 * kPi)) * 0.5;
    loss = loss + ops::where(large, factorial, 0);
  }
  call.set_output(0, reduced_loss(call, 5, loss));
}

void gaussian_nll_loss_cpu(Call& call) {
  const Tensor input = call.tensor(0), target = call.tensor(1);
  Tensor variance = call.tensor(2);
  check(item_as_int(OpFunction{"any"}(ops::lt(variance, 0))) == 0,
        "gaussian_nll_loss(): the variance must not be negative");
  // One variance for each last dimension.
  if (variance.ndim() + 1 == input.ndim() && variance.shape() == IntSpan(input->shape, variance.ndim())) {
    variance = ops::unsqueeze(variance, -1);
  }
  // Raised without a change of its gradient.
  const Tensor raised = variance + detach(at_least(variance, call.real(4)) - variance);
  Tensor loss = (ops::log(raised) + ops::square(input - target) / raised) * 0.5;
  if (call.boolean(3)) loss = loss + 0.5 * std::log(2 * kPi);
  call.set_output(0, reduced_loss(call, 5, loss));
}

void hinge_embedding_loss_cpu(Call& call) {
  const Tensor input = call.tensor(0), target = call.tensor(1);
  const Tensor apart = ops::where(ops::ne(target, 1), at_least(call.real(2) - input, 0), 0);
  const Tensor together = ops::where(ops::ne(target, -1), input, 0);
  call.set_output(0, reduced_loss(call, 3, apart + together));
}

void soft_margin_loss_cpu(Call& call) {
  call.set_output(0, reduced_loss(call, 2, -logsigmoid(call.tensor(0) * call.tensor(1))));
}

const Register register_mse_loss{
    "mse_loss(Tensor input, Tensor target, str reduction='mean', Tensor? weight=None) -> Tensor",
    "Squared differences; the mean of weighted ones is over the weights.", {Trait::composite, Trait::no_method}, mse_loss_cpu};
const Register register_l1_loss{
    "l1_loss(Tensor input, Tensor target, str reduction='mean', Tensor? weight=None) -> Tensor",
    "Absolute differences; the mean of weighted ones is over the weights.", {Trait::composite, Trait::no_method}, l1_loss_cpu};
const Register register_huber_of_elements{
    "huber_of_elements(Tensor input, Tensor target, float limit) -> Tensor",
    "Half of the squared difference up to a limit, from there on straight.",
    {Trait::elementwise, Trait::internal, Trait::no_in_place}, huber_of_elements_cpu};
const Register register_huber_loss{
    "huber_loss(Tensor input, Tensor target, str reduction='mean', float delta=1.0, Tensor? weight=None) -> Tensor",
    "Half of the squared difference below delta, and straight from there on (Huber, 1964).",
    {Trait::composite, Trait::no_method}, huber_loss_cpu};
const Register register_smooth_l1_loss{
    "smooth_l1_loss(Tensor input, Tensor target, str reduction='mean', float beta=1.0) -> Tensor",
    "huber_loss with delta=beta, divided by beta; l1_loss when beta is 0 (Girshick, 2015).",
    {Trait::composite, Trait::no_method}, smooth_l1_loss_cpu};
const Register register_cross_entropy_of_bits{
    "cross_entropy_of_bits(Tensor input, Tensor target) -> Tensor",
    "-(target log(input) + (1 - target) log(1 - input)), logarithms being at least -100.",
    {Trait::elementwise, Trait::internal, Trait::no_in_place}, cross_entropy_of_bits_cpu};
const Register register_binary_cross_entropy{
    "binary_cross_entropy(Tensor input, Tensor target, Tensor? weight=None, str reduction='mean') -> Tensor",
    "Minus the log likelihood of targets between 0 and 1 under probabilities; logarithms are at "
    "least -100.",
    {Trait::composite, Trait::no_method}, binary_cross_entropy_cpu};
const Register register_binary_cross_entropy_with_logits{
    "binary_cross_entropy_with_logits(Tensor input, Tensor target, Tensor? weight=None, Tensor? "
    "pos_weight=None, str reduction='mean') -> Tensor",
    "binary_cross_entropy of sigmoid(input), exact at both ends; pos_weight is a factor of positive "
    "targets.",
    {Trait::composite, Trait::no_method}, binary_cross_entropy_with_logits_cpu};
const Register register_kl_div{
    "kl_div(Tensor input, Tensor target, str reduction='mean', bool log_target=False) -> Tensor",
    "target * (log(target) - input) of log probabilities; reduction may be 'batchmean' too.",
    {Trait::composite, Trait::no_method}, kl_div_cpu};
const Register register_poisson_nll_loss{
    "poisson_nll_loss(Tensor input, Tensor target, bool log_input=True, bool full=False, float eps=1e-8, "
    "str reduction='mean') -> Tensor",
    "Minus the log likelihood of counts under Poisson rates (or their logarithms).",
    {Trait::composite, Trait::no_method}, poisson_nll_loss_cpu};
const Register register_gaussian_nll_loss{
    "gaussian_nll_loss(Tensor input, Tensor target, Tensor var, bool full=False, float eps=1e-6, str "
    "reduction='mean') -> Tensor",
    "Minus the log likelihood of targets under normal distributions of mean input.",
    {Trait::composite, Trait::no_method}, gaussian_nll_loss_cpu};
const Register register_hinge_embedding_loss{
    "hinge_embedding_loss(Tensor input, Tensor target, float margin=1.0, str reduction='mean') -> Tensor",
    "The input where the target is 1, max(0, margin - input) where it is -1.",
    {Trait::composite, Trait::no_method}, hinge_embedding_loss_cpu};
const Register register_soft_margin_loss{
    "soft_margin_loss(Tensor input, Tensor target, str reduction='mean') -> Tensor",
    "log(1 + exp(-target * input)) for targets of 1 and -1.", {Trait::composite, Trait::no_method},
    soft_margin_loss_cpu};

}  // namespace
}  // namespace relume
