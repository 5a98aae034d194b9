// Fractional max pooling: B. Graham, "Fractional Max-Pooling", 2014 (overlapping regions, from a
// pseudo-random sequence). Each plane has windows of its own, from one random number per dimension.
#include "tensor/copy.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/pooling.h"

namespace relume {
namespace {

// Windows begin at differences of a straight line's values rounded down.
void place_windows(PoolingAxis& axis, int64_t input, int64_t kernel, int64_t output, double sample) {
  axis.input = input;
  axis.windows = output;
  const double slope = output > 1 ? static_cast<double>(input - kernel) / static_cast<double>(output - 1) : 0;
  const auto line = [&](int64_t i) { return static_cast<int64_t>((static_cast<double>(i) + sample) * slope); };
  for (int64_t i = 0; i < output; i++) {
    const int64_t first = i == output - 1 ? input - kernel : std::min(line(i) - line(0), input - kernel);
    axis.first.push_back(first);
    axis.last.push_back(first + kernel);
  }
}

// fractional_max_pool(input, kernel_size, output_size, random_samples)
template <int dims>
void fractional_max_pool_cpu(Call& call) {
  const Volumes volumes(call, 0, dims);
  const Triple kernel = triple_argument(call, 1, dims, 1, 1), output = triple_argument(call, 2, dims, 1, 1);
  for (int i = 0; i < 3; i++) {
    check(output[i] + kernel[i] - 1 <= volumes.size[i], call.op.name(), ": ", output[i], " windows of ",
          kernel[i], " elements need an input of at least ", output[i] + kernel[i] - 1, ", but it has ",
          volumes.size[i]);
  }
  const IntSpan samples_shape = call.tensor(3).shape();
  const int64_t wanted[] = {volumes.batch, volumes.channels, dims};
  check(samples_shape == IntSpan(wanted, 3), call.op.name(), ": random_samples must have shape ",
        IntSpan(wanted, 3), ", not ", samples_shape);
  const Tensor samples = contiguous_copy_if_needed(as_type(call.tensor(3), DType::float64));
  const double* sample = samples.data_as<const double>();
  std::vector<PoolingWindows> windows(std::max<int64_t>(1, volumes.planes()));
  for (int64_t plane = 0; plane < static_cast<int64_t>(windows.size()); plane++) {
    for (int axis = 0; axis < 3; axis++) {
      // Samples are in the order width, height, depth for planes; depth, height, width for volumes.
      const int place = dims == 2 ? 2 - axis : axis;
      const bool is_there = axis >= 3 - dims && plane < volumes.planes();
      const double number = is_there ? sample[plane * dims + place] : 0;
      check(number >= 0 && number <= 1, call.op.name(), ": random_samples must be between 0 and 1, not ", number);
      place_windows(windows[plane].axis[axis], volumes.size[axis], kernel[axis], output[axis], number);
    }
  }
  pool_largest(call, volumes, {windows.data(), true}, true);
}

constexpr const char* kText =
    "Largest element of windows at random distances, and its flat index in its plane. random_samples, "
    "between 0 and 1, has shape (batch, channels, dimensions).";

const Register register_fractional_max_pool2d{
    "fractional_max_pool2d(Tensor input, int[] kernel_size, int[] output_size, Tensor random_samples) -> "
    "(Tensor, Tensor)",
    kText, {Trait::no_method}, fractional_max_pool_cpu<2>};
const Register register_fractional_max_pool3d{
    "fractional_max_pool3d(Tensor input, int[] kernel_size, int[] output_size, Tensor random_samples) -> "
    "(Tensor, Tensor)",
    kText, {Trait::no_method}, fractional_max_pool_cpu<3>};

}  // namespace
}  // namespace relume
