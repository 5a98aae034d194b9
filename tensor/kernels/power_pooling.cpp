// The p-norm under every window: average pooling of powers.
#include "tensor/kernels/volume.h"
#include "tensor/ops.h"

namespace relume {
namespace {

const OpFunction avg_pool[] = {{"avg_pool1d"}, {"avg_pool2d"}, {"avg_pool3d"}};

template <int dims>
void lp_pool_cpu(Call& call) {
  const double norm = call.real(1);
  check(norm != 0, call.op.name(), ": norm_type must not be 0");
  const Triple kernel = triple_argument(call, 2, dims, 1, 1);
  const int64_t zero = 0;
  const Tensor powers = ops::pow(call.value(0), norm);
  const Tensor means =
      avg_pool[dims - 1](powers, call.value(2), call.value(3), IntSpan(&zero, 1), call.value(4));
  call.set_output(0, ops::pow(means * static_cast<double>(kernel.product()), 1 / norm));
}

constexpr const char* kText =
    "The p-norm (without absolute values) of every window: the sum of the powers to norm_type, to the "
    "power 1 / norm_type. stride is kernel_size when not given.";

const Register register_lp_pool1d{
    "lp_pool1d(Tensor input, float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False) "
    "-> Tensor",
    kText, {Trait::composite, Trait::no_method}, lp_pool_cpu<1>};
const Register register_lp_pool2d{
    "lp_pool2d(Tensor input, float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False) "
    "-> Tensor",
    kText, {Trait::composite, Trait::no_method}, lp_pool_cpu<2>};
const Register register_lp_pool3d{
    "lp_pool3d(Tensor input, float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False) "
    "-> Tensor",
    kText, {Trait::composite, Trait::no_method}, lp_pool_cpu<3>};

}  // namespace
}  // namespace relume
