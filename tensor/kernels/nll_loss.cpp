// Minus the log probability of target classes, and cross entropy on top of it.
#include <algorithm>
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
};

// The class and the factor of every target; those of one class, which is ignored, do not count.
template <class T>
struct Labels {
  Tensor target, weight;
  const Classes& shape;
  const int64_t ignored;
  double total = 0;  // of the factors

  Labels(const Call& call, int target_argument, int weight_argument, const Classes& shape, int64_t ignored)
      : shape(shape), ignored(ignored) {
    const Tensor given = call.tensor(target_argument);
    check<TypeError>(is_integer(given.dtype()), call.op.name(), ": the target must hold class numbers (integers), not ",
                     name(given.dtype()));
    target = contiguous_copy_if_needed(as_type(given, DType::int64));
    if (call.has(weight_argument)) {
      weight = call.tensor(weight_argument);
      check(weight.ndim() == 1 && weight.size(0) == shape.classes, call.op.name(), ": weight must have shape (",
            shape.classes, "), one factor for each class, not ", weight.shape());
      weight = contiguous_copy_if_needed(as_type(weight, DTypeOf<T>::value));
    }
    check_labels(call);
    if (!weight.defined()) {
      total = static_cast<double>(counted());
    } else {
      for_each([&](int64_t, int64_t, T factor) { total += static_cast<double>(factor); });
    }
  }

  // Calls f(number of the target, place of its class in the scores, factor) for those that count.
  template <class Function>
  void for_each(const Function& function) const {
    const int64_t* label = target.data_as<const int64_t>();
    const T* factors = weight.defined() ? weight.data_as<const T>() : nullptr;
    for (int64_t n = 0, i = 0; n < shape.outer; n++) {
      for (int64_t k = 0; k < shape.inner; k++, i++) {
        if (label[i] == ignored) continue;
        function(i, (n * shape.classes + label[i]) * shape.inner + k, factors ? factors[label[i]] : T(1));
      }
    }
  }

 private:
  int64_t counted() const {
    const int64_t* label = target.data_as<const int64_t>();
    int64_t count = 0;
    for (int64_t i = 0; i < shape.targets(); i++) count += label[i] != ignored;
    return count;
  }
  void check_labels(const Call& call) const {
    const int64_t* label = target.data_as<const int64_t>();
    const auto is_wrong = [this](int64_t label) {
      return (label < 0 || label >= shape.classes) && label != ignored;
    };
    const int64_t* wrong = std::find_if(label, label + shape.targets(), is_wrong);
    check<IndexError>(wrong == label + shape.targets(), call.op.name(), ": the target holds class ",
                      wrong == label + shape.targets() ? 0 : *wrong, ", but there are ", shape.classes,
                      " classes (0-based)");
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
    const Tensor losses = full(call.tensor(1).shape(), 0, input.dtype());
    T* loss = losses.data_as<T>();
    labels.for_each([&](int64_t i, int64_t place, T factor) { loss[i] = -factor * score[place]; });
    return call.set_output(0, as_type(losses, dtype));
  }
  double sum = 0;
  labels.for_each([&](int64_t, int64_t place, T factor) { sum -= factor * score[place]; });
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
  labels.for_each([&](int64_t i, int64_t place, T factor) {
    target[place] = -factor * scale * gradient[i * step];
  });
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
