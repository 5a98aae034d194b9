// Batch normalisation. Statistics are summed in double, whatever the type of the input.
#include <cmath>

#include "tensor/copy.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/window.h"
#include "tensor/parallel.h"

namespace relume {
namespace {

// A contiguous input of shape (batch, channels, ...): `inner` elements follow a channel.
struct Channels {
  int64_t batch, channels, inner = 1;

  Channels(const Call& call, IntSpan shape) {
    check(shape.count >= 2, call.op.name(), ": the input must have shape (batch, channels, ...), not ", shape);
    batch = shape[0];
    channels = shape[1];
    for (int i = 2; i < shape.count; i++) inner *= shape[i];
  }
  int64_t count() const { return batch * inner; }  // values per channel

  // Splits the channels over the threads.
  template <class Function>
  void split(const Function& function) const {
    const int64_t grain = std::max<int64_t>(inner == 1 ? 16 : 1, kParallelGrain / std::max<int64_t>(1, count()));
    parallel_for(0, channels, grain, function);
  }
  // Calls f(offset of a run of `inner` elements, channel) in the order of memory.
  template <class Function>
  void for_each_run(int64_t begin, int64_t end, const Function& function) const {
    for (int64_t n = 0; n < batch; n++) {
      for (int64_t channel = begin; channel < end; channel++) function((n * channels + channel) * inner, channel);
    }
  }
};

void check_per_channel(const Call& call, int argument, int64_t channels) {
  if (!call.has(argument)) return;
  const Tensor tensor = call.tensor(argument);
  check(tensor.ndim() == 1 && tensor.size(0) == channels, call.op.name(), ": ",
        call.op.schema.arguments[argument].name, " must have shape (", channels, "), as the input has ", channels,
        " channels, not ", tensor.shape());
}

// One number per channel, in double; `otherwise` for all when there is no tensor.
std::vector<double> per_channel(const Call& call, int argument, int64_t channels, double otherwise) {
  std::vector<double> values(channels, otherwise);
  if (!call.has(argument)) return values;
  const Tensor tensor = contiguous_copy_if_needed(as_type(call.tensor(argument), DType::float64));
  std::copy_n(tensor.data_as<const double>(), channels, values.begin());
  return values;
}

// Writes numbers into a tensor of any type and layout.
void store(const Tensor& target, const std::vector<double>& values) {
  Tensor source = empty({static_cast<int64_t>(values.size())}, DType::float64);
  std::copy(values.begin(), values.end(), source.data_as<double>());
  copy(target, source);
}

struct Statistics {
  std::vector<double> mean, variance;  // biased
};

// Sums `value(offset)` over the `inner` elements of every run, per channel.
template <class Value>
void sum_per_channel(const Channels& channels, int64_t begin, int64_t end, double* sums, const Value& value) {
  channels.for_each_run(begin, end, [&](int64_t offset, int64_t channel) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < channels.inner; i++) sum += value(offset + i, channel);
    sums[channel] += sum;
  });
}

template <class T>
Statistics batch_statistics(const Channels& channels, const T* input) {
  Statistics result{std::vector<double>(channels.channels), std::vector<double>(channels.channels)};
  double* mean = result.mean.data();
  double* variance = result.variance.data();
  const double count = static_cast<double>(channels.count());
  channels.split([&](int64_t begin, int64_t end) {
    sum_per_channel(channels, begin, end, mean, [&](int64_t i, int64_t) { return static_cast<double>(input[i]); });
    for (int64_t channel = begin; channel < end; channel++) mean[channel] /= count;
    sum_per_channel(channels, begin, end, variance, [&](int64_t i, int64_t channel) {
      const double distance = input[i] - mean[channel];
      return distance * distance;
    });
    for (int64_t channel = begin; channel < end; channel++) variance[channel] /= count;
  });
  return result;
}

void update_running(const Call& call, int argument, const std::vector<double>& batch, double factor) {
  if (!call.has(argument)) return;
  const double momentum = call.real(6);
  std::vector<double> values = per_channel(call, argument, batch.size(), 0);
  for (std::size_t i = 0; i < values.size(); i++) values[i] = (1 - momentum) * values[i] + momentum * factor * batch[i];
  const Tensor target = call.tensor(argument);
  store(target, values);
  target.bump_version();
}

// output = (input - mean) * scale + shift, channel by channel.
template <class T>
void normalize(const Channels& channels, const T* input, const std::vector<double>& mean,
               const std::vector<double>& scale, const std::vector<double>& shift, T* output) {
  channels.split([&](int64_t begin, int64_t end) {
    channels.for_each_run(begin, end, [&](int64_t offset, int64_t channel) {
      const T middle = static_cast<T>(mean[channel]), factor = static_cast<T>(scale[channel]), added = static_cast<T>(shift[channel]);
      for (int64_t i = offset; i < offset + channels.inner; i++) output[i] = (input[i] - middle) * factor + added;
    });
  });
}

void batch_norm_cpu(Call& call) {
  check_floating(call, 0);
  const DType dtype = call.tensor(0).dtype(), wide = computing_type(dtype);
  const Tensor input = contiguous_copy_if_needed(as_type(call.tensor(0), wide));
  const Channels channels(call, input.shape());
  const int64_t count = channels.channels;
  for (int argument = 1; argument <= 4; argument++) check_per_channel(call, argument, count);
  const bool training = call.boolean(5);
  const double epsilon = call.real(7);
  Statistics statistics;
  if (training) {
    check(channels.count() > 0, "batch_norm: there are no values to take statistics of; the input has shape ", input.shape());
    statistics = wide == DType::float64 ? batch_statistics(channels, input.data_as<const double>())
                                        : batch_statistics(channels, input.data_as<const float>());
    const double n = static_cast<double>(channels.count());
    update_running(call, 3, statistics.mean, 1);
    update_running(call, 4, statistics.variance, n / std::max(n - 1, 1.0));
  } else {
    check(call.has(3) && call.has(4), "batch_norm: running_mean and running_var are needed when training is False");
    statistics = {per_channel(call, 3, count, 0), per_channel(call, 4, count, 1)};
  }
  std::vector<double> inverse(count), scale = per_channel(call, 1, count, 1);
  for (int64_t i = 0; i < count; i++) inverse[i] = 1 / std::sqrt(statistics.variance[i] + epsilon);
  for (int64_t i = 0; i < count; i++) scale[i] *= inverse[i];
  const std::vector<double> shift = per_channel(call, 2, count, 0);

  const Tensor out = dense_output(call, 0, input.shape(), dtype);
  const Tensor target = dtype == wide ? out : empty(input.shape(), wide);
  if (wide == DType::float64) {
    normalize(channels, input.data_as<const double>(), statistics.mean, scale, shift, target.data_as<double>());
  } else {
    normalize(channels, input.data_as<const float>(), statistics.mean, scale, shift, target.data_as<float>());
  }
  if (dtype != wide) copy(out, target);
  store(call.output(1, {count}, wide), statistics.mean);
  store(call.output(2, {count}, wide), inverse);
}

// What a channel's values contribute to the gradients.
struct GradientSums {
  std::vector<double> grad;           // of grad_output
  std::vector<double> grad_distance;  // of grad_output * (input - mean)
};

template <class T>
GradientSums sum_gradients(const Channels& channels, const T* grad, const T* input, const std::vector<double>& mean) {
  GradientSums sums{std::vector<double>(channels.channels), std::vector<double>(channels.channels)};
  channels.split([&](int64_t begin, int64_t end) {
    sum_per_channel(channels, begin, end, sums.grad.data(), [&](int64_t i, int64_t) { return static_cast<double>(grad[i]); });
    sum_per_channel(channels, begin, end, sums.grad_distance.data(),
                    [&](int64_t i, int64_t channel) { return grad[i] * (input[i] - mean[channel]); });
  });
  return sums;
}

// grad_input = (grad - a - (input - mean) * b) * scale, channel by channel.
template <class T>
void input_gradient(const Channels& channels, const T* grad, const T* input, const std::vector<double>& mean,
                    const std::vector<double>& a, const std::vector<double>& b, const std::vector<double>& scale,
                    T* grad_input) {
  channels.split([&](int64_t begin, int64_t end) {
    channels.for_each_run(begin, end, [&](int64_t offset, int64_t channel) {
      const T middle = static_cast<T>(mean[channel]), constant = static_cast<T>(a[channel]),
              slope = static_cast<T>(b[channel]), factor = static_cast<T>(scale[channel]);
      for (int64_t i = offset; i < offset + channels.inner; i++) {
        grad_input[i] = (grad[i] - constant - (input[i] - middle) * slope) * factor;
      }
    });
  });
}

template <class T>
void batch_norm_backward(Call& call, const Channels& channels, const Tensor& grad, const Tensor& input, const Tensor& target) {
  const int64_t count = channels.channels;
  const bool training = call.boolean(5);
  const std::vector<double> mean = per_channel(call, 3, count, 0), inverse = per_channel(call, 4, count, 1);
  const GradientSums sums = sum_gradients(channels, grad.data_as<const T>(), input.data_as<const T>(), mean);
  std::vector<double> scale = per_channel(call, 2, count, 1), constant(count), slope(count), weight_gradient(count);
  for (int64_t i = 0; i < count; i++) {
    weight_gradient[i] = sums.grad_distance[i] * inverse[i];
    scale[i] *= inverse[i];
    if (!training) continue;
    constant[i] = sums.grad[i] / channels.count();
    slope[i] = weight_gradient[i] * inverse[i] / channels.count();
  }
  input_gradient(channels, grad.data_as<const T>(), input.data_as<const T>(), mean, constant, slope, scale, target.data_as<T>());
  const DType parameter_type = computing_type(call.tensor(1).dtype());
  store(call.output(1, {count}, parameter_type), weight_gradient);
  store(call.output(2, {count}, parameter_type), sums.grad);
}

void batch_norm_backward_cpu(Call& call) {
  check_floating(call, 0);
  check_floating(call, 1);
  const DType dtype = call.tensor(1).dtype(), wide = computing_type(dtype);
  const Tensor input = contiguous_copy_if_needed(as_type(call.tensor(1), wide));
  const Tensor grad = contiguous_copy_if_needed(as_type(call.tensor(0), wide));
  check(grad.shape() == input.shape(), "batch_norm_backward: grad_output and input must have one shape, not ",
        grad.shape(), " and ", input.shape());
  const Channels channels(call, input.shape());
  for (int argument = 2; argument <= 4; argument++) check_per_channel(call, argument, channels.channels);
  const Tensor out = dense_output(call, 0, input.shape(), dtype);
  const Tensor target = dtype == wide ? out : empty(input.shape(), wide);
  if (wide == DType::float64) {
    batch_norm_backward<double>(call, channels, grad, input, target);
  } else {
    batch_norm_backward<float>(call, channels, grad, input, target);
  }
  if (dtype != wide) copy(out, target);
}

const Register register_batch_norm{
    "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
    "float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    "Channels (dimension 1) brought to mean 0 and variance 1, then scaled by weight and shifted by bias; with them the "
    "mean and the inverse standard deviation that were used. In training these are the batch's, and the running "
    "statistics move towards them by momentum.",
    {Trait::no_method}, batch_norm_cpu};
// Called with the tape off only: what is recorded instead is the same formula in ops
// (autograd/derivatives/normalization.cpp).
const Register register_batch_norm_backward{
    "batch_norm_backward(Tensor grad_output, Tensor input, Tensor? weight, Tensor mean, Tensor inverse_deviation, "
    "bool training) -> (Tensor, Tensor, Tensor)",
    "Gradients of batch_norm with respect to input, weight and bias.", {Trait::internal, Trait::not_differentiable},
    batch_norm_backward_cpu};

}  // namespace
}  // namespace relume
