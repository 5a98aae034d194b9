// Activation functions in terms of other ops.
#include "tensor/ops.h"

namespace relume {
namespace {

const OpFunction elu{"elu"}, hardtanh{"hardtanh"}, leaky_relu{"leaky_relu"}, softmax{"softmax"}, uniform_{"uniform_"};

void relu6_cpu(Call& call) { call.set_output(0, hardtanh(call.tensor(0), 0.0, 6.0)); }

// The two constants for which activations keep mean 0 and variance 1.
void selu_cpu(Call& call) {
  constexpr double alpha = 1.6732632423543772848170429916717, scale = 1.0507009873554804934193349852946;
  call.set_output(0, elu(call.tensor(0), alpha) * scale);
}

void celu_cpu(Call& call) {
  const double alpha = call.real(1);
  check(alpha != 0, "celu(): alpha must not be 0");
  const Tensor input = call.tensor(0);
  call.set_output(0, alpha == 1 ? elu(input) : elu(input / alpha) * alpha);
}

void softsign_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  call.set_output(0, input / (ops::abs(input) + 1.0));
}

void tanhshrink_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  call.set_output(0, input - ops::tanh(input));
}

void softmin_cpu(Call& call) { call.set_output(0, softmax(-call.tensor(0), call.integer(1))); }

void glu_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check(input.ndim() > 0, "glu(): the input needs at least one dimension");
  const int64_t dim = wrap_dim(call.integer(1), input.ndim()), size = input.size(dim);
  check(size % 2 == 0, "glu(): dimension ", dim, " must have an even size, not ", size);
  const Tensor values = ops::narrow(input, dim, int64_t{0}, size / 2);
  const Tensor gates = ops::narrow(input, dim, size / 2, size / 2);
  call.set_output(0, values * ops::sigmoid(gates));
}

void rrelu_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const double lower = call.real(1), upper = call.real(2);
  check(lower <= upper, "rrelu(): lower must not be above upper, but they are ", lower, " and ", upper);
  if (!call.boolean(3)) return call.set_output(0, leaky_relu(input, (lower + upper) / 2));
  check<TypeError>(is_floating(input.dtype()), "rrelu(): the input must have a floating-point type, not ",
                   name(input.dtype()));
  const Tensor slopes = uniform_(empty(input.shape(), input.dtype(), input.device()), lower, upper);
  call.set_output(0, input * ops::where(ops::gt(input, 0), 1, slopes));
}

const Register register_relu6{"relu6(Tensor input) -> Tensor", "The element, kept between 0 and 6.",
                              {Trait::composite}, relu6_cpu};
const Register register_selu{
    "selu(Tensor input) -> Tensor",
    "elu with the alpha and the scale that keep mean 0 and variance 1 (Klambauer et al., 2017).",
    {Trait::composite}, selu_cpu};
const Register register_celu{
    "celu(Tensor input, float alpha=1.0) -> Tensor",
    "The element where it is positive, otherwise alpha * (exp(input / alpha) - 1) (Barron, 2017).",
    {Trait::composite}, celu_cpu};
const Register register_softsign{"softsign(Tensor input) -> Tensor", "input / (1 + |input|).", {Trait::composite},
                                 softsign_cpu};
const Register register_tanhshrink{"tanhshrink(Tensor input) -> Tensor", "input - tanh(input).", {Trait::composite},
                                   tanhshrink_cpu};
const Register register_softmin{"softmin(Tensor input, int dim) -> Tensor", "softmax of -input.", {Trait::composite},
                                softmin_cpu};
const Register register_glu{
    "glu(Tensor input, int dim=-1) -> Tensor",
    "The first half along a dimension times the sigmoid of the second (Dauphin et al., 2017).", {Trait::composite},
    glu_cpu};
const Register register_rrelu{
    "rrelu(Tensor input, float lower=0.125, float upper=0.3333333333333333, bool training=False) -> Tensor",
    "leaky_relu with a slope drawn between lower and upper for every element; without training, with their mean "
    "(Xu et al., 2015).",
    {Trait::composite, Trait::random}, rrelu_cpu};

}  // namespace
}  // namespace relume
