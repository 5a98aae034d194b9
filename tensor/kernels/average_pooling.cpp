// Average pooling with sliding and adaptive windows, and its adjoints.
#include "tensor/kernels/pooling.h"
#include "tensor/ops.h"

namespace relume {
namespace {

constexpr PoolingSettings kSettings1d{1, -1, 4, 5, -1};  // 1-D pooling has no divisor_override
constexpr PoolingSettings kSettings{1, -1, 4, 5, 6};
constexpr PoolingSettings kAdjointSettings{2, -1, 5, 6, 7};

// Means of integers are whole: their fraction is dropped.
void pool_integers(Call& call) {
  const Tensor input = ops::to_dtype(call.tensor(0), DType::float64);
  std::vector<Value> values(call.arguments, call.arguments + call.op.schema.arguments.size());
  values[0] = Value(input);
  const Tensor means = std::move(invoke(call.op, values.data(), static_cast<int>(values.size()))[0]);
  call.set_output(0, ops::to_dtype(means, call.tensor(0).dtype()));
}

template <int dims>
void avg_pool_cpu(Call& call) {
  if (is_integer(call.tensor(0).dtype())) return pool_integers(call);
  const Volumes volumes(call, 0, dims);
  pool_mean(call, volumes, sliding_windows(call, volumes, dims == 1 ? kSettings1d : kSettings));
}

template <int dims>
void avg_pool_backward_cpu(Call& call) {
  const Volumes volumes = Volumes::of_shape_argument(call, 1, dims);
  spread_mean(call, volumes, sliding_windows(call, volumes, kAdjointSettings));
}

template <int dims>
void adaptive_avg_pool_cpu(Call& call) {
  const Volumes volumes(call, 0, dims);
  const Triple output = triple_argument(call, 1, dims, 0, 1);
  check(volumes.elements() > 0, call.op.name(), ": the input of size ", own_part(volumes.size, dims),
        " has no elements");
  pool_mean(call, volumes, adaptive_windows(volumes.size, output));
}

template <int dims>
void adaptive_avg_pool_backward_cpu(Call& call) {
  const Volumes volumes = Volumes::of_shape_argument(call, 1, dims), grad(call, 0, dims);
  spread_mean(call, volumes, adaptive_windows(volumes.size, grad.size));
}

constexpr const char* kMean =
    "Mean of every window. stride is kernel_size when not given; divisor_override is what the sums are "
    "divided by, instead of the number of elements.";
constexpr const char* kSpread = "Gradient of average pooling: every element spread over its window.";
constexpr const char* kAdaptive =
    "Means of as many nearly equal parts of every plane as output_size says.";

const Register register_avg_pool1d{
    "avg_pool1d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=[0], bool "
    "ceil_mode=False, bool count_include_pad=True) -> Tensor",
    kMean, {Trait::no_method}, avg_pool_cpu<1>};
const Register register_avg_pool2d{
    "avg_pool2d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=[0, 0], bool "
    "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
    kMean, {Trait::no_method}, avg_pool_cpu<2>};
const Register register_avg_pool3d{
    "avg_pool3d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=[0, 0, 0], bool "
    "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
    kMean, {Trait::no_method}, avg_pool_cpu<3>};
const Register register_avg_pool1d_backward{
    "avg_pool1d_backward(Tensor grad_output, int[] input_shape, int[] kernel_size, int[]? stride, int[] "
    "padding, bool ceil_mode, bool count_include_pad, int? divisor_override=None) -> Tensor",
    kSpread, {Trait::internal}, avg_pool_backward_cpu<1>};
const Register register_avg_pool2d_backward{
    "avg_pool2d_backward(Tensor grad_output, int[] input_shape, int[] kernel_size, int[]? stride, int[] "
    "padding, bool ceil_mode, bool count_include_pad, int? divisor_override=None) -> Tensor",
    kSpread, {Trait::internal}, avg_pool_backward_cpu<2>};
const Register register_avg_pool3d_backward{
    "avg_pool3d_backward(Tensor grad_output, int[] input_shape, int[] kernel_size, int[]? stride, int[] "
    "padding, bool ceil_mode, bool count_include_pad, int? divisor_override=None) -> Tensor",
    kSpread, {Trait::internal}, avg_pool_backward_cpu<3>};
const Register register_adaptive_avg_pool1d{
    "adaptive_avg_pool1d(Tensor input, int[] output_size) -> Tensor", kAdaptive, {Trait::no_method},
    adaptive_avg_pool_cpu<1>};
const Register register_adaptive_avg_pool2d{
    "adaptive_avg_pool2d(Tensor input, int[] output_size) -> Tensor", kAdaptive, {Trait::no_method},
    adaptive_avg_pool_cpu<2>};
const Register register_adaptive_avg_pool3d{
    "adaptive_avg_pool3d(Tensor input, int[] output_size) -> Tensor", kAdaptive, {Trait::no_method},
    adaptive_avg_pool_cpu<3>};
const Register register_adaptive_avg_pool1d_backward{
    "adaptive_avg_pool1d_backward(Tensor grad_output, int[] input_shape) -> Tensor", kSpread,
    {Trait::internal}, adaptive_avg_pool_backward_cpu<1>};
const Register register_adaptive_avg_pool2d_backward{
    "adaptive_avg_pool2d_backward(Tensor grad_output, int[] input_shape) -> Tensor", kSpread,
    {Trait::internal}, adaptive_avg_pool_backward_cpu<2>};
const Register register_adaptive_avg_pool3d_backward{
    "adaptive_avg_pool3d_backward(Tensor grad_output, int[] input_shape) -> Tensor", kSpread,
    {Trait::internal}, adaptive_avg_pool_backward_cpu<3>};

}  // namespace
}  // namespace relume
