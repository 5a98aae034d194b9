// Batch normalisation. Statistics are summed in double, whatever the type of the input.
#include <cmath>
#include <vector>

#include "tensor/copy.h"
#include "tensor/kernels/best_isa.h"
#include "tensor/kernels/layer_types.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/normalization_loops.h"
#include "tensor/kernels/views.h"
#include "tensor/kernels/window.h"
#include "tensor/parallel.h"

namespace relume {

RELUME_PER_ISA(NormalizationLoops, normalization_loops)

namespace {

template <class T>
const NormalizationLoopsOf<T>& loops();
template <>
const NormalizationLoopsOf<float>& loops<float>() {
  return best_normalization_loops().float32;
}
template <>
const NormalizationLoopsOf<double>& loops<double>() {
  return best_normalization_loops().float64;
}

// An input of shape (batch, channels, ...), seen as runs of `inner` elements of one channel.
struct Channels {
  int64_t batch, channels, inner = 1;
  bool channels_first = false;

  Channels(const Call& call, IntSpan shape) {
    check(shape.count >= 2, call.op.name(), ": the input must have shape (batch, channels, ...), not ",
          shape);
    batch = shape[0];
    channels = shape[1];
    for (int i = 2; i < shape.count; i++) inner *= shape[i];
    if (inner >= kShortRun || batch == 1) return;
    // Short runs are slow: work on memory in which a channel's elements are one run.
    channels_first = true;
    inner *= batch;
    batch = 1;
  }

  // The elements in the order that the loops want, and back.
  Tensor arranged(const Tensor& tensor) const {
    return contiguous_copy_if_needed(channels_first ? transpose_view(tensor, 0, 1) : tensor);
  }
  Tensor arranged_empty(const Tensor& like) const {
    return channels_first ? empty(transpose_view(like, 0, 1).shape(), like.dtype()) : like;
  }
  void restore(const Tensor& arranged, const Tensor& target) const {
    if (channels_first) copy(target, transpose_view(arranged, 0, 1));
  }

  int64_t count() const { return batch * inner; }  // values per channel

  // Calls f(channel, offset) for every run, split over the threads by channel.
  template <class Function>
  void for_each_run(const Function& function) const {
    const int64_t grain = std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(1, count()));
    parallel_for(0, channels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t n = 0; n < batch; n++) {
        for (int64_t channel = begin; channel < end; channel++)
          function(channel, (n * channels + channel) * inner);
      }
    });
  }

 private:
  static constexpr int64_t kShortRun = 16;
};

void check_per_channel(const Call& call, int argument, int64_t channels) {
  if (!call.has(argument)) return;
  check_layer_type(call, argument, true);
  const Tensor tensor = call.tensor(argument);
  check(tensor.ndim() == 1 && tensor.size(0) == channels, call.op.name(), ": ",
        call.op.schema.arguments[argument].name, " must have shape (", channels, "), as the input has ",
        channels, " channels, not ", tensor.shape());
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

template <class T>
Statistics batch_statistics(const Channels& channels, const T* input) {
  Statistics result{std::vector<double>(channels.channels), std::vector<double>(channels.channels)};
  const int64_t inner = channels.inner, count = channels.count();
  channels.for_each_run([&](int64_t channel, int64_t offset) {
    result.mean[channel] += loops<T>().sum(input + offset, inner) / count;
  });
  channels.for_each_run([&](int64_t channel, int64_t offset) {
    result.variance[channel] +=
        loops<T>().sum_of_squares(input + offset, inner, result.mean[channel]) / count;
  });
  return result;
}

void update_running(const Call& call, int argument, const std::vector<double>& batch, double factor) {
  if (!call.has(argument)) return;
  const double momentum = call.real(6);
  std::vector<double> values = per_channel(call, argument, batch.size(), 0);
  for (std::size_t i = 0; i < values.size(); i++)
    values[i] = (1 - momentum) * values[i] + momentum * factor * batch[i];
  const Tensor target = call.tensor(argument);
  store(target, values);
  target.bump_version();
}

template <class T>
void normalize(const Channels& channels, const T* input, const std::vector<double>& mean,
               const std::vector<double>& scale, const std::vector<double>& shift, T* output) {
  channels.for_each_run([&](int64_t channel, int64_t offset) {
    loops<T>().normalize(input + offset, channels.inner, mean[channel], scale[channel], shift[channel],
                         output + offset);
  });
}

void batch_norm_cpu(Call& call) {
  check_floating(call, 0);
  const DType dtype = call.tensor(0).dtype(), wide = computing_type(dtype);
  const IntSpan shape(call.body(0)->shape, call.body(0)->ndim);
  const Channels channels(call, shape);
  const Tensor input = channels.arranged(as_type(call.tensor(0), wide));
  const int64_t count = channels.channels;
  for (int argument = 1; argument <= 4; argument++) check_per_channel(call, argument, count);
  const bool training = call.boolean(5);
  const double epsilon = call.real(7);
  Statistics statistics;
  if (training && channels.count() == 0) {  // an empty batch changes nothing
    statistics = {std::vector<double>(count), std::vector<double>(count)};
  } else if (training) {
    statistics = wide == DType::float64 ? batch_statistics(channels, input.data_as<const double>())
                                        : batch_statistics(channels, input.data_as<const float>());
    const double n = static_cast<double>(channels.count());
    update_running(call, 3, statistics.mean, 1);
    update_running(call, 4, statistics.variance, n / std::max(n - 1, 1.0));
  } else {
    check(call.has(3) && call.has(4),
          "batch_norm: running_mean and running_var are needed when training is False");
    statistics = {per_channel(call, 3, count, 0), per_channel(call, 4, count, 1)};
  }
  std::vector<double> inverse(count), scale = per_channel(call, 1, count, 1);
  for (int64_t i = 0; i < count; i++) inverse[i] = 1 / std::sqrt(statistics.variance[i] + epsilon);
  for (int64_t i = 0; i < count; i++) scale[i] *= inverse[i];
  const std::vector<double> shift = per_channel(call, 2, count, 0);

  const Tensor out = dense_output(call, 0, shape, dtype);
  const Tensor dense = dtype == wide ? out : empty(shape, wide);
  const Tensor target = channels.arranged_empty(dense);
  if (wide == DType::float64) {
    normalize(channels, input.data_as<const double>(), statistics.mean, scale, shift,
              target.data_as<double>());
  } else {
    normalize(channels, input.data_as<const float>(), statistics.mean, scale, shift,
              target.data_as<float>());
  }
  channels.restore(target, dense);
  if (dtype != wide) copy(out, dense);
  store(call.output(1, {count}, wide), statistics.mean);
  store(call.output(2, {count}, wide), inverse);
}

// What a channel's values contribute to the gradients.
struct GradientSums {
  std::vector<double> grad;           // of grad_output
  std::vector<double> grad_distance;  // of grad_output * (input - mean)
};

template <class T>
GradientSums sum_gradients(const Channels& channels, const T* grad, const T* input,
                           const std::vector<double>& mean) {
  GradientSums sums{std::vector<double>(channels.channels), std::vector<double>(channels.channels)};
  channels.for_each_run([&](int64_t channel, int64_t offset) {
    sums.grad[channel] += loops<T>().sum(grad + offset, channels.inner);
    sums.grad_distance[channel] +=
        loops<T>().sum_of_products(grad + offset, input + offset, channels.inner, mean[channel]);
  });
  return sums;
}

template <class T>
void batch_norm_backward(Call& call, const Channels& channels, const Tensor& grad, const Tensor& input,
                         const Tensor& target) {
  const int64_t count = channels.channels;
  const bool training = call.boolean(5);
  const std::vector<double> mean = per_channel(call, 3, count, 0),
                            inverse = per_channel(call, 4, count, 1);
  const GradientSums sums =
      sum_gradients(channels, grad.data_as<const T>(), input.data_as<const T>(), mean);
  std::vector<double> scale = per_channel(call, 2, count, 1), constant(count), slope(count),
                      weight_gradient(count);
  for (int64_t i = 0; i < count; i++) {
    weight_gradient[i] = sums.grad_distance[i] * inverse[i];
    scale[i] *= inverse[i];
    if (!training) continue;
    constant[i] = sums.grad[i] / channels.count();
    slope[i] = weight_gradient[i] * inverse[i] / channels.count();
  }
  channels.for_each_run([&](int64_t channel, int64_t offset) {
    loops<T>().input_gradient(grad.data_as<const T>() + offset, input.data_as<const T>() + offset,
                              channels.inner, mean[channel], constant[channel], slope[channel],
                              scale[channel], target.data_as<T>() + offset);
  });
  const DType parameter_type = computing_type(call.tensor(1).dtype());
  store(call.output(1, {count}, parameter_type), weight_gradient);
  store(call.output(2, {count}, parameter_type), sums.grad);
}

void batch_norm_backward_cpu(Call& call) {
  check_floating(call, 0);
  check_floating(call, 1);
  const DType dtype = call.tensor(1).dtype(), wide = computing_type(dtype);
  const IntSpan shape(call.body(1)->shape, call.body(1)->ndim);
  check(call.tensor(0).shape() == shape,
        "batch_norm_backward: grad_output and input must have one shape, not ", call.tensor(0).shape(),
        " and ", shape);
  const Channels channels(call, shape);
  for (int argument = 2; argument <= 4; argument++) check_per_channel(call, argument, channels.channels);
  const Tensor grad = channels.arranged(as_type(call.tensor(0), wide));
  const Tensor input = channels.arranged(as_type(call.tensor(1), wide));
  const Tensor out = dense_output(call, 0, shape, dtype);
  const Tensor dense = dtype == wide ? out : empty(shape, wide);
  const Tensor target = channels.arranged_empty(dense);
  if (wide == DType::float64) {
    batch_norm_backward<double>(call, channels, grad, input, target);
  } else {
    batch_norm_backward<float>(call, channels, grad, input, target);
  }
  channels.restore(target, dense);
  if (dtype != wide) copy(out, dense);
}

const Register register_batch_norm{
    "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
    "bool training, "
    "float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    "Channels (dimension 1) brought to mean 0 and variance 1, then scaled by weight and shifted by "
    "bias; with them the "
    "mean and the inverse standard deviation that were used. In training these are the batch's, and the "
    "running "
    "statistics move towards them by momentum.",
    {Trait::no_method},
    batch_norm_cpu};
// Called with the tape off only: what is recorded instead is the same formula in ops
// (autograd/derivatives/normalization.cpp).
const Register register_batch_norm_backward{
    "batch_norm_backward(Tensor grad_output, Tensor input, Tensor? weight, Tensor mean, Tensor "
    "inverse_deviation, "
    "bool training) -> (Tensor, Tensor, Tensor)",
    "Gradients of batch_norm with respect to input, weight and bias.",
    {Trait::internal, Trait::not_differentiable},
    batch_norm_backward_cpu};

}  // namespace
}  // namespace relume
