// Max pooling with sliding, adaptive and fractional windows, and the ops that move elements
// to and from the places it found.
#include "tensor/copy.h"
#include "tensor/kernels/pooling.h"
#include "tensor/ops.h"

namespace relume {
namespace {

constexpr PoolingSettings kSettings{1, 4, 5, -1, -1};

template <int dims>
void max_pool_with_indices_cpu(Call& call) {
  const Volumes volumes(call, 0, dims);
  PoolingWindows windows = sliding_windows(call, volumes, kSettings);
  pool_largest(call, volumes, {&windows}, true);
}

const OpFunction max_pool_with_indices[] = {
    {"max_pool1d_with_indices"}, {"max_pool2d_with_indices"}, {"max_pool3d_with_indices"}};

// Nobody needs the indices where no gradient will flow.
template <int dims>
void max_pool_cpu(Call& call) {
  if (wants_gradient(call.body(0))) {
    call.set_output(0, max_pool_with_indices[dims - 1](call.value(0), call.value(1), call.value(2),
                                                       call.value(3), call.value(4), call.value(5)));
    return;
  }
  const Volumes volumes(call, 0, dims);
  PoolingWindows windows = sliding_windows(call, volumes, kSettings);
  pool_largest(call, volumes, {&windows}, false);
}

template <int dims>
void adaptive_max_pool_cpu(Call& call) {
  const Volumes volumes(call, 0, dims);
  const Triple output = triple_argument(call, 1, dims, 0, 1);
  PoolingWindows windows = adaptive_windows(volumes.size, output);
  pool_largest(call, volumes, {&windows}, true);
}

constexpr const char* kValues = "Largest element of every window. stride is kernel_size when not given.";
constexpr const char* kBoth =
    "Largest element of every window, and its flat index in its plane. stride is kernel_size when not "
    "given.";
constexpr const char* kAdaptive =
    "Largest elements of as many nearly equal parts of every plane as output_size says, and their flat "
    "indices in the plane.";

const Register register_max_pool1d{
    "max_pool1d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=[0], int[] "
    "dilation=[1], bool ceil_mode=False) -> Tensor",
    kValues, {Trait::composite, Trait::no_method}, max_pool_cpu<1>};
const Register register_max_pool2d{
    "max_pool2d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=[0, 0], int[] "
    "dilation=[1, 1], bool ceil_mode=False) -> Tensor",
    kValues, {Trait::composite, Trait::no_method}, max_pool_cpu<2>};
const Register register_max_pool3d{
    "max_pool3d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=[0, 0, 0], int[] "
    "dilation=[1, 1, 1], bool ceil_mode=False) -> Tensor",
    kValues, {Trait::composite, Trait::no_method}, max_pool_cpu<3>};
const Register register_max_pool1d_with_indices{
    "max_pool1d_with_indices(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=[0], "
    "int[] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)",
    kBoth, {Trait::no_method}, max_pool_with_indices_cpu<1>};
const Register register_max_pool2d_with_indices{
    "max_pool2d_with_indices(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=[0, 0], "
    "int[] dilation=[1, 1], bool ceil_mode=False) -> (Tensor, Tensor)",
    kBoth, {Trait::no_method}, max_pool_with_indices_cpu<2>};
const Register register_max_pool3d_with_indices{
    "max_pool3d_with_indices(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=[0, 0, "
    "0], int[] dilation=[1, 1, 1], bool ceil_mode=False) -> (Tensor, Tensor)",
    kBoth, {Trait::no_method}, max_pool_with_indices_cpu<3>};
const Register register_adaptive_max_pool1d{
    "adaptive_max_pool1d(Tensor input, int[] output_size) -> (Tensor, Tensor)",
    kAdaptive, {Trait::no_method}, adaptive_max_pool_cpu<1>};
const Register register_adaptive_max_pool2d{
    "adaptive_max_pool2d(Tensor input, int[] output_size) -> (Tensor, Tensor)",
    kAdaptive, {Trait::no_method}, adaptive_max_pool_cpu<2>};
const Register register_adaptive_max_pool3d{
    "adaptive_max_pool3d(Tensor input, int[] output_size) -> (Tensor, Tensor)",
    kAdaptive, {Trait::no_method}, adaptive_max_pool_cpu<3>};

}  // namespace
}  // namespace relume
