// Minus the log probability of target classes, and cross entropy on top of it.
#include <cmath>

#include "tensor/copy.h"
#include "tensor/kernels/losses.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/window.h"
#include "tensor/ops.h"
#include "tensor/parallel.h"

namespace relume {
namespace {

const OpFunction log_softmax{"log_softmax"}, nll_loss{"nll_loss"};

// Scores of shape (N, C, d1, ...) or (C) as outer x classes x inner, with one target each.
struct Classes {
  int64_t outer = 1, classes, inner = 1;

  Classes(const Call& call, IntSpan scores, IntSpan target) {
    check(scores.count >= 1, call.op.name(), ": the input must have shape (C), (N, C) or (N, C, d1, ...), not ",
          scores);
    const int place = scores.count == 1 ? 0 : 1;
    Dims expected(scores);
    expected.erase(place);
    check(IntSpan(expected) == target, call.op.name(), ": with an input of shape ", scores,
          " the target must have shape ", IntSpan(expected), ", not ", target);
    classes = scores[place];
    if (place == 1) outer = scores[0];
    for (int i = place + 1; i < scores.count; i++) inner *= scores[i];
  }
  int64_t targets() const { return outer * inner; }
  // Of a target's class in the scores.
  int64_t offset(int64_t target, int64_t label) const {
    return (target / inner * classes + label) * inner + target % inner;
  }
};

// Labels and their factors; a label that does not count is -1 with factor 0.
template <class T>
struct Labels {
  std::vector<int64_t> labels;
  std::vector<T> factors;
  double total = 0;  // of the factors

  Labels(const Call& call, int target_argument, int weight_argument, const Classes& shape, int64_t ignored) {
    const Tensor given = call.tensor(target_argument);
    check<TypeError>(is_integer(given.dtype()), call.op.name(), ": the target must hold class numbers (integers), not ",
                     name(given.dtype()));
    const Tensor target = contiguous_copy_if_needed(as_type(given, DType::int64));
    Tensor weight;
    if (call.has(weight_argument)) {
      weight = call.tensor(weight_argument);
      check(weight.ndim() == 1 && weight.size(0) == shape.classes, call.op.name(), ": weight must have shape (",
            shape.classes, "), one factor for each class, not ", weight.shape());
      weight = contiguous_copy_if_needed(as_type(weight, DTypeOf<T>::value));
    }
    const int64_t* label = target.data_as<const int64_t>();
    labels.assign(label, label + shape.targets());
    factors.assign(shape.targets(), T(1));
    for (int64_t i = 0; i < shape.targets(); i++) {
      if (labels[i] == ignored) {
        labels[i] = -1;
        factors[i] = 0;
        continue;
      }
      check<IndexError>(labels[i] >= 0 && labels[i] < shape.classes, call.op.name(), ": the target holds class ",
                        labels[i], ", but there are ", shape.classes, " classes (0-based)");
      if (weight.defined()) factors[i] = weight.data_as<const T>()[labels[i]];
      total += factors[i];
    }
  }
};

// nll_loss(input, target, weight, reduction, ignore_index)
template <class T>
void nll_loss_of(Call& call, const Tensor& input, const Classes& shape) {
  const DType dtype = call.tensor(0).dtype();
  const LossReduction reduction = loss_reduction(call, 3);
  const Labels<T> labels(call, 1, 2, shape, call.integer(4));
  const T* score = input.data_as<const T>();
  if (reduction == LossReduction::none) {
    Tensor losses = empty(call.tensor(1).shape(), input.dtype());
    T* loss = losses.data_as<T>();
    for (int64_t i = 0; i < shape.targets(); i++)
      loss[i] = labels.labels[i] < 0 ? T(0) : -labels.factors[i] * score[shape.offset(i, labels.labels[i])];
    return call.set_output(0, as_type(losses, dtype));
  }
  double sum = 0;
  for (int64_t i = 0; i < shape.targets(); i++) {
    if (labels.labels[i] >= 0) sum -= labels.factors[i] * score[shape.offset(i, labels.labels[i])];
  }
  if (reduction == LossReduction::mean) sum /= labels.total;
  call.set_output(0, scalar(sum, dtype));
}

void nll_loss_cpu(Call& call) {
  check_floating(call, 0);
  const Tensor input = contiguous_copy_if_needed(as_type(call.tensor(0), computing_type(call.tensor(0).dtype())));
  const Classes shape(call, input.shape(), call.tensor(1).shape());
  input.dtype() == DType::float64 ? nll_loss_of<double>(call, input, shape) : nll_loss_of<float>(call, input, shape);
}

// nll_loss_backward(grad, target, weight, input_shape, reduction, ignore_index)
template <class T>
void nll_loss_backward_of(Call& call, const Classes& shape) {
  const DType dtype = call.tensor(0).dtype(), wide = DTypeOf<T>::value;
  const LossReduction reduction = loss_reduction(call, 4);
  const Labels<T> labels(call, 1, 2, shape, call.integer(5));
  const Tensor grad = contiguous_copy_if_needed(as_type(call.tensor(0), wide));
  check(grad.numel() == (reduction == LossReduction::none ? shape.targets() : 1), call.op.name(),
        ": a gradient of shape ", grad.shape(), " does not fit");
  const Tensor result = full(shape_argument(call, 3), 0, wide);
  const T* gradient = grad.data_as<const T>();
  T* target = result.data_as<T>();
  const T scale = reduction == LossReduction::mean ? static_cast<T>(1 / labels.total) : T(1);
  const int64_t step = reduction == LossReduction::none ? 1 : 0;
  for (int64_t i = 0; i < shape.targets(); i++) {
    if (labels.labels[i] >= 0)
      target[shape.offset(i, labels.labels[i])] = -labels.factors[i] * scale * gradient[i * step];
  }
  call.set_output(0, as_type(result, dtype));
}

void nll_loss_backward_cpu(Call& call) {
  check_floating(call, 0);
  const Classes shape(call, shape_argument(call, 3), call.tensor(1).shape());
  call.tensor(0).dtype() == DType::float64 ? nll_loss_backward_of<double>(call, shape)
                                           : nll_loss_backward_of<float>(call, shape);
}

// Probabilities as the target: -sum_c target * weight * log_softmax(input).
Tensor cross_entropy_of_probabilities(Call& call, const Tensor& logarithms, int64_t dim, double smoothing) {
  Tensor target = call.tensor(1);
  const int64_t classes = logarithms.size(dim);
  if (smoothing > 0) target = target * (1 - smoothing) + smoothing / static_cast<double>(classes);
  Tensor product = logarithms * target;
  if (call.has(2)) {
    std::vector<int64_t> shape(logarithms.ndim(), 1);
    shape[dim] = classes;
    product = product * ops::reshape(call.tensor(2), shape);
  }
  const Tensor losses = -ops::sum(product, IntSpan({dim}));
  if (loss_reduction(call, 3) != LossReduction::mean) return reduced_loss(call, 3, losses);
  return ops::sum(losses) / static_cast<double>(losses.numel());
}

// What spreading a part of the target's probability over all classes adds.
Tensor smoothing_loss(Call& call, const Tensor& logarithms, int64_t dim) {
  const Tensor target = call.tensor(1);
  Tensor weighted = logarithms;
  if (call.has(2)) {
    std::vector<int64_t> shape(logarithms.ndim(), 1);
    shape[dim] = logarithms.size(dim);
    weighted = weighted * ops::reshape(call.tensor(2), shape);
  }
  const Tensor counts = ops::ne(target, call.integer(4));
  const Tensor losses = ops::where(counts, -ops::sum(weighted, IntSpan({dim})), 0);
  if (loss_reduction(call, 3) != LossReduction::mean) return reduced_loss(call, 3, losses);
  Tensor factors = ops::to_dtype(counts, logarithms.dtype());
  if (call.has(2)) {
    const Tensor safe = ops::reshape(ops::where(counts, target, 0), IntSpan({-1}));
    factors = factors * ops::reshape(OpFunction{"index_select"}(call.tensor(2), 0, safe), target.shape());
  }
  return ops::sum(losses) / ops::sum(factors);
}

void cross_entropy_cpu(Call& call) {
  check_floating(call, 0);
  const Tensor input = call.tensor(0), target = call.tensor(1);
  const double smoothing = call.real(5);
  check(input.ndim() >= 1, "cross_entropy: the input must have shape (C), (N, C) or (N, C, d1, ...), not ()");
  check(smoothing >= 0 && smoothing <= 1, "cross_entropy: label_smoothing must be between 0 and 1, not ", smoothing);
  const int64_t dim = input.ndim() == 1 ? 0 : 1;
  if (call.has(2)) {
    check(call.tensor(2).ndim() == 1 && call.tensor(2).size(0) == input.size(dim),
          "cross_entropy: weight must have shape (", input.size(dim), "), one factor for each class, not ",
          call.tensor(2).shape());
  }
  const Tensor logarithms = log_softmax(input, dim);
  if (target.shape() == input.shape() && is_floating(target.dtype())) {
    return call.set_output(0, cross_entropy_of_probabilities(call, logarithms, dim, smoothing));
  }
  const Tensor loss = nll_loss(logarithms, target, call.value(2), call.value(3), call.value(4));
  if (smoothing == 0) return call.set_output(0, loss);
  const double share = smoothing / static_cast<double>(input.size(dim));
  call.set_output(0, loss * (1 - smoothing) + smoothing_loss(call, logarithms, dim) * share);
}

const Register register_nll_loss{
    "nll_loss(Tensor input, Tensor target, Tensor? weight=None, str reduction='mean', int ignore_index=-100) -> Tensor",
    "Minus the input at the target class, times the weight of that class; the mean is over these weights.",
    {Trait::no_method}, nll_loss_cpu};
const Register register_nll_loss_backward{
    "nll_loss_backward(Tensor grad_output, Tensor target, Tensor? weight, int[] input_shape, str reduction, int "
    "ignore_index) -> Tensor",
    "Gradient of nll_loss.", {Trait::internal}, nll_loss_backward_cpu};
const Register register_cross_entropy{
    "cross_entropy(Tensor input, Tensor target, Tensor? weight=None, str reduction='mean', int ignore_index=-100, "
    "float label_smoothing=0.0) -> Tensor",
    "nll_loss of log_softmax(input) along the classes; the target may also hold probabilities, in the input's shape.",
    {Trait::composite, Trait::no_method}, cross_entropy_cpu};

}  // namespace
}  // namespace relume
