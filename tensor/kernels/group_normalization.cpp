// Layer and group normalisation: a mean and a variance for every row of elements, where a row
// is a group of channels of one sample, or the last dimensions.
#include <cmath>
#include <vector>

#include "tensor/copy.h"
#include "tensor/kernels/best_isa.h"
#include "tensor/kernels/group_normalization_loops.h"
#include "tensor/kernels/layer_types.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/window.h"
#include "tensor/ops.h"
#include "tensor/parallel.h"

namespace relume {

RELUME_PER_ISA(GroupNormalizationLoops, group_normalization_loops)

namespace {

template <class T>
const GroupNormalizationLoopsOf<T>& loops();
template <>
const GroupNormalizationLoopsOf<float>& loops<float>() {
  return best_group_normalization_loops().float32;
}
template <>
const GroupNormalizationLoopsOf<double>& loops<double>() {
  return best_group_normalization_loops().float64;
}

// An input seen as rows of `channels` runs of `inner` elements. Each run has a weight: that of
// run c in row r is number (r % groups) * channels + c.
struct Rows {
  int64_t rows, groups, channels, inner;

  int64_t length() const { return channels * inner; }
  int64_t parameters() const { return groups * channels; }
  int64_t first_parameter(int64_t row) const { return row % groups * channels; }
  int64_t grain() const { return std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(1, length())); }

  // Reads rows, groups and channels from three arguments.
  Rows(const Call& call, int first, int64_t numel)
      : rows(call.integer(first)), groups(call.integer(first + 1)), channels(call.integer(first + 2)) {
    check(rows >= 0 && groups > 0 && channels >= 0, call.op.name(), ": sizes must not be negative");
    const int64_t runs = product({rows, channels});
    inner = runs > 0 ? numel / runs : 0;
    check(runs * inner == numel, call.op.name(), ": ", rows, " rows of ", channels, " channels do not fit ", numel,
          " elements");
  }
};

// A contiguous tensor of T, or an undefined one.
template <class T>
Tensor parameter(const Call& call, int argument, const Rows& rows) {
  if (!call.has(argument)) return {};
  const Tensor tensor = contiguous_copy_if_needed(as_type(call.tensor(argument), DTypeOf<T>::value));
  check(tensor.numel() == rows.parameters(), call.op.name(), ": ", call.op.schema.arguments[argument].name,
        " must have ", rows.parameters(), " elements, not shape ", tensor.shape());
  return tensor;
}
template <class T>
const T* start(const Tensor& tensor, int64_t offset) {
  return tensor.defined() ? tensor.data_as<const T>() + offset : nullptr;
}
template <class T>
T number(const Tensor& tensor, int64_t i, T otherwise) {
  return tensor.defined() ? tensor.data_as<const T>()[i] : otherwise;
}

// normalize_rows(input, weight, bias, rows, groups, channels, eps) -> (output, mean, inverse deviation)
template <class T>
void normalize_rows(Call& call, const Rows& rows, const Tensor& input, const Tensor& output) {
  check_layer_type(call, 1, true);
  check_layer_type(call, 2, true);
  const Tensor weight = parameter<T>(call, 1, rows), bias = parameter<T>(call, 2, rows);
  T* means = dense_output(call, 1, {rows.rows}, DTypeOf<T>::value).template data_as<T>();
  T* inverses = dense_output(call, 2, {rows.rows}, DTypeOf<T>::value).template data_as<T>();
  const double epsilon = call.real(6), count = static_cast<double>(rows.length());
  parallel_for(0, rows.rows, rows.grain(), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; row++) {
      const T* values = input.data_as<const T>() + row * rows.length();
      T* result = output.data_as<T>() + row * rows.length();
      const T mean = means[row] = static_cast<T>(loops<T>().sum(values, rows.length()) / count);
      const double variance = loops<T>().sum_of_squares(values, rows.length(), mean) / count;
      const T inverse = inverses[row] = static_cast<T>(1 / std::sqrt(variance + epsilon));
      const int64_t first = rows.first_parameter(row);
      if (rows.inner == 1) {
        loops<T>().normalize(values, rows.length(), mean, inverse, start<T>(weight, first), start<T>(bias, first),
                             result);
        continue;
      }
      for (int64_t c = 0; c < rows.channels; c++) {
        const T scale = inverse * number<T>(weight, first + c, 1), shift = number<T>(bias, first + c, 0);
        const int64_t at = c * rows.inner;
        loops<T>().scale_and_shift(values + at, rows.inner, mean, scale, shift, result + at);
      }
    }
  });
}

void normalize_rows_cpu(Call& call) {
  check_floating(call, 0);
  const DType dtype = call.tensor(0).dtype(), wide = computing_type(dtype);
  const Tensor input = contiguous_copy_if_needed(as_type(call.tensor(0), wide));
  const Rows rows(call, 3, input.numel());
  const Tensor out = dense_output(call, 0, input.shape(), dtype);
  const Tensor target = dtype == wide ? out : empty(input.shape(), wide);
  wide == DType::float64 ? normalize_rows<double>(call, rows, input, target)
                         : normalize_rows<float>(call, rows, input, target);
  if (dtype != wide) copy(out, target);
}

// Gradients of weight and bias that one part of the rows gives.
struct ParameterGradients {
  std::vector<double> weight, bias;
  explicit ParameterGradients(int64_t count) : weight(count), bias(count) {}
};

template <class T>
struct RowGradient {
  const Rows& rows;
  const T *grad, *values;
  const T* weight;  // or null
  T mean, inverse;
  T* result;

  // Elements that have a weight each; the gradients of the weights are taken for several rows at once.
  void run_elements(int64_t first) const {
    double sums[2];
    const T* row_weight = weight ? weight + first : nullptr;
    loops<T>().gradient_sums(grad, values, row_weight, rows.length(), mean, sums);
    const T constant = level(sums[0]), slope = steepness(sums[1]);
    loops<T>().input_gradient(grad, values, row_weight, rows.length(), mean, inverse, constant, slope, result);
  }

  // Runs of elements with one weight.
  void run_channels(ParameterGradients& parameters, int64_t first) const {
    double total[2] = {};
    for (int64_t c = 0; c < rows.channels; c++) {
      double sums[2];
      const int64_t at = c * rows.inner;
      loops<T>().gradient_sums(grad + at, values + at, nullptr, rows.inner, mean, sums);
      parameters.bias[first + c] += sums[0];
      parameters.weight[first + c] += sums[1] * inverse;
      const double factor = weight ? weight[first + c] : 1;
      for (int k = 0; k < 2; k++) total[k] += factor * sums[k];
    }
    const T constant = level(total[0]), slope = steepness(total[1]);
    for (int64_t c = 0; c < rows.channels; c++) {
      const int64_t at = c * rows.inner;
      const T factor = weight ? weight[first + c] * inverse : inverse;
      loops<T>().input_gradient(grad + at, values + at, nullptr, rows.inner, mean, factor, constant, slope,
                                result + at);
    }
  }

 private:
  T level(double sum) const { return static_cast<T>(sum * inverse / static_cast<double>(rows.length())); }
  T steepness(double sum) const {
    const double cube = static_cast<double>(inverse) * inverse * inverse;
    return static_cast<T>(sum * cube / static_cast<double>(rows.length()));
  }
};

// The gradients of some rows.
template <class T>
struct RowGradients {
  const Rows& rows;
  const T *grad, *values;
  const T* weight;  // or null
  const T *mean, *inverse;
  T* result;

  void run(int64_t begin, int64_t end, ParameterGradients& parameters) const {
    if (rows.inner != 1) {
      for (int64_t row = begin; row < end; row++) of_row(row).run_channels(parameters, rows.first_parameter(row));
      return;
    }
    constexpr int64_t kNear = 2048;  // elements that stay in the nearest cache
    const int64_t block = rows.groups > 1 ? 1 : std::clamp<int64_t>(kNear / rows.length(), 1, 64);
    for (int64_t start = begin; start < end; start += block) {
      const int64_t count = std::min(block, end - start), first = rows.first_parameter(start);
      for (int64_t row = start; row < start + count; row++) of_row(row).run_elements(first);
      const int64_t at = start * rows.length();
      loops<T>().add_parameter_gradients(grad + at, values + at, count, rows.length(), mean + start, inverse + start,
                                         &parameters.weight[first], &parameters.bias[first]);
    }
  }

 private:
  RowGradient<T> of_row(int64_t row) const {
    const int64_t at = row * rows.length();
    return {rows, grad + at, values + at, weight, mean[row], inverse[row], result + at};
  }
};

// normalize_rows_backward(grad_output, input, weight, mean, inverse deviation, rows, groups, channels)
template <class T>
void normalize_rows_backward(Call& call, const Rows& rows, const Tensor& grad, const Tensor& input,
                             const Tensor& result) {
  const DType dtype = DTypeOf<T>::value;
  const Tensor weight = parameter<T>(call, 2, rows);
  const Tensor mean = contiguous_copy_if_needed(as_type(call.tensor(3), dtype));
  const Tensor inverse = contiguous_copy_if_needed(as_type(call.tensor(4), dtype));
  const int64_t parts = std::max<int64_t>(1, std::min<int64_t>(num_threads(), rows.rows / rows.grain()));
  std::vector<ParameterGradients> gradients(parts, ParameterGradients(rows.parameters()));
  const RowGradients<T> row_gradients{rows,
                                      grad.data_as<const T>(),
                                      input.data_as<const T>(),
                                      start<T>(weight, 0),
                                      mean.data_as<const T>(),
                                      inverse.data_as<const T>(),
                                      result.data_as<T>()};
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; part++) {
      row_gradients.run(part * rows.rows / parts, (part + 1) * rows.rows / parts, gradients[part]);
    }
  });
  T* weight_gradient = dense_output(call, 1, {rows.parameters()}, dtype).template data_as<T>();
  T* bias_gradient = dense_output(call, 2, {rows.parameters()}, dtype).template data_as<T>();
  for (int64_t i = 0; i < rows.parameters(); i++) {
    double weight_sum = 0, bias_sum = 0;
    for (const ParameterGradients& part : gradients) {
      weight_sum += part.weight[i];
      bias_sum += part.bias[i];
    }
    weight_gradient[i] = static_cast<T>(weight_sum);
    bias_gradient[i] = static_cast<T>(bias_sum);
  }
}

void normalize_rows_backward_cpu(Call& call) {
  check_floating(call, 0);
  check_floating(call, 1);
  const DType dtype = call.tensor(1).dtype(), wide = computing_type(dtype);
  const Tensor grad = contiguous_copy_if_needed(as_type(call.tensor(0), wide));
  const Tensor input = contiguous_copy_if_needed(as_type(call.tensor(1), wide));
  check(grad.shape() == input.shape(), call.op.name(), ": gradient and input must have one shape");
  const Rows rows(call, 5, input.numel());
  for (int argument : {3, 4}) {
    check(call.tensor(argument).numel() == rows.rows, call.op.name(), ": there must be one number for each row");
  }
  const Tensor out = dense_output(call, 0, input.shape(), dtype);
  const Tensor target = dtype == wide ? out : empty(input.shape(), wide);
  wide == DType::float64 ? normalize_rows_backward<double>(call, rows, grad, input, target)
                         : normalize_rows_backward<float>(call, rows, grad, input, target);
  if (dtype != wide) copy(out, target);
}

const OpFunction normalize_rows_op{"normalize_rows"};

// The last dimensions must be `normalized_shape`; gives their number of elements.
int64_t check_last_dimensions(const Call& call, int first_parameter, int last_parameter) {
  const IntSpan shape = call.body(0)->ndim ? call.tensor(0).shape() : IntSpan(), last = call.integers(1);
  const bool fits = last.count > 0 && last.count <= shape.count &&
                    IntSpan(shape.values + shape.count - last.count, last.count) == last;
  check(fits, call.op.name(), ": normalized_shape ", last, " must be the last dimensions of the input's shape ",
        call.tensor(0).shape());
  for (int argument = first_parameter; argument <= last_parameter; argument++) {
    if (!call.has(argument)) continue;
    check(call.tensor(argument).shape() == last, call.op.name(), ": ", call.op.schema.arguments[argument].name,
          " must have shape ", last, ", not ", call.tensor(argument).shape());
  }
  return product(last);
}

void layer_norm_cpu(Call& call) {
  check_floating(call, 0);
  const int64_t length = check_last_dimensions(call, 2, 3);
  const Tensor input = call.tensor(0);
  const int64_t rows = length > 0 ? input.numel() / length : 0;
  call.set_output(0, normalize_rows_op(input, call.value(2), call.value(3), rows, int64_t{1}, length, call.real(4)));
}

void rms_norm_cpu(Call& call) {
  if (!is_complex(call.body(0)->dtype)) check_floating(call, 0);
  check_last_dimensions(call, 2, 2);
  const Tensor input = call.tensor(0);
  std::vector<int64_t> dims;
  for (int i = 1; i <= call.integers(1).count; i++) dims.push_back(-i);
  // By default the smallest step of the type at 1.
  const DType part = real_type(input.dtype());
  const double step = part == DType::float64   ? 0x1p-52
                      : part == DType::float32 ? 0x1p-23
                      : part == DType::float16 ? 0x1p-10
                                               : 0x1p-7;
  const double epsilon = call.has(3) ? call.real(3) : step;
  const bool is_short = item_size(input.dtype()) == 2;  // whose squares do not fit
  const Tensor wide = is_short ? ops::to_dtype(input, DType::float32) : input;
  Tensor result = wide * ops::rsqrt(ops::mean(ops::square(wide), dims, true) + epsilon);
  if (call.has(2)) result = result * call.tensor(2);
  call.set_output(0, is_short ? ops::to_dtype(result, input.dtype()) : result);
}

void group_norm_cpu(Call& call) {
  check_floating(call, 0);
  const Tensor input = call.tensor(0);
  const int64_t groups = call.integer(1);
  check(input.ndim() >= 2, "group_norm: the input must have shape (N, C, ...), not ", input.shape());
  const int64_t channels = input.size(1);
  check(groups > 0 && channels % groups == 0, "group_norm: num_groups ", groups, " must divide the number of channels ",
        channels);
  for (int argument : {2, 3}) {
    check(!call.has(argument) || (call.tensor(argument).ndim() == 1 && call.tensor(argument).size(0) == channels),
          "group_norm: ", call.op.schema.arguments[argument].name, " must have shape (", channels, ")");
  }
  call.set_output(0, normalize_rows_op(input, call.value(2), call.value(3), input.size(0) * groups, groups,
                                       channels / groups, call.real(4)));
}

const Register register_normalize_rows{
    "normalize_rows(Tensor input, Tensor? weight, Tensor? bias, int rows, int groups, int channels, float eps) -> "
    "(Tensor, Tensor, Tensor)",
    "Every row brought to mean 0 and variance 1, then scaled and shifted by channel; the means and inverse "
    "standard deviations.",
    {Trait::internal}, normalize_rows_cpu};
// Called with the tape off only, as batch_norm_backward is.
const Register register_normalize_rows_backward{
    "normalize_rows_backward(Tensor grad_output, Tensor input, Tensor? weight, Tensor mean, Tensor "
    "inverse_deviation, int rows, int groups, int channels) -> (Tensor, Tensor, Tensor)",
    "Gradients of normalize_rows with respect to input, weight and bias.",
    {Trait::internal, Trait::not_differentiable}, normalize_rows_backward_cpu};
const Register register_layer_norm{
    "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-5) -> "
    "Tensor",
    "The last dimensions brought to mean 0 and variance 1, then scaled and shifted (Ba et al., 2016).",
    {Trait::composite, Trait::no_method}, layer_norm_cpu};
const Register register_rms_norm{
    "rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
    "The last dimensions divided by the root of their mean square (Zhang and Sennrich, 2019).",
    {Trait::composite, Trait::no_method}, rms_norm_cpu};
const Register register_group_norm{
    "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-5) -> Tensor",
    "Groups of channels of every sample brought to mean 0 and variance 1, then scaled and shifted by channel (Wu "
    "and He, 2018).",
    {Trait::composite, Trait::no_method}, group_norm_cpu};

}  // namespace
}  // namespace relume
