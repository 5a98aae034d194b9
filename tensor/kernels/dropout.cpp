// Dropout: elements set to zero at random, the others scaled up to keep the mean.
#include "tensor/copy.h"
#include "tensor/dispatch.h"
#include "tensor/ops.h"

namespace relume {
namespace {

void dropout_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const double p = call.real(1);
  check<TypeError>(is_floating(input.dtype()), "dropout: input must have a floating-point type, not ",
                   name(input.dtype()));
  check(p >= 0 && p <= 1, "dropout: p must be between 0 and 1, not ", p);
  const bool active = call.boolean(2) && p > 0;
  Tensor mask = empty(input.shape(), input.dtype(), input.device());
  fill(mask, Value(active && p == 1 ? 0.0 : 1.0));
  if (active && p < 1) {
    static const OpFunction bernoulli_{"bernoulli_"};
    mask = ops::div(bernoulli_(mask, 1 - p), 1 - p);
  }
  call.set_output(0, active ? ops::mul(input, mask) : ops::clone(input));
  call.set_output(1, mask);
}

const Register register_dropout{
    "dropout(Tensor input, float p=0.5, bool training=True) -> (Tensor, Tensor)",
    "Elements set to zero with probability p, the others divided by 1 - p; and the factors. Without "
    "training, or with "
    "p 0, a copy and ones.",
    {Trait::random, Trait::no_method},
    dropout_cpu};

}  // namespace
}  // namespace relume
