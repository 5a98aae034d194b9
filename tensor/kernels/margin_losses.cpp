// Losses that ask for a distance between classes or between pairs of inputs, in terms of
// other ops.
#include "tensor/copy.h"
#include "tensor/kernels/losses.h"
#include "tensor/kernels/matmul.h"
#include "tensor/ops.h"

namespace relume {
namespace {

const OpFunction logsigmoid{"logsigmoid"}, gather{"gather"}, scatter{"scatter"}, index_select{"index_select"},
    pairwise_distance{"pairwise_distance"}, label_mask{"label_mask"};

Tensor not_below_zero(const Tensor& tensor) { return ops::clamp(tensor, 0.0); }
Tensor sum_along(const Tensor& tensor, int64_t dim) { return ops::sum(tensor, IntSpan({dim})); }
Tensor as_input(const Tensor& target, const Tensor& input) { return ops::to_dtype(target, input.dtype()); }

// A batch of lines of scores; a single line counts as a batch of one.
struct Scores {
  Tensor input;  // (batch, classes)
  int64_t batch, classes;
  bool batched;

  Scores(const Call& call, const Tensor& given) {
    check(given.ndim() <= 2, call.op.name(), "(): the input must have shape (N, C) or (C), not ", given.shape());
    batched = given.ndim() == 2;
    input = as_batch(given);
    batch = input.size(0);
    classes = input.size(1);
    check(classes > 0, call.op.name(), "(): there must be at least one class");
  }
  // (classes) as (1, classes); a single score, 0-d, is of one class.
  static Tensor as_batch(const Tensor& line) { return line.ndim() == 2 ? line : ops::reshape(line, IntSpan({1, -1})); }
  // A loss for every line; 0-d for a single line.
  Tensor per_line(const Tensor& losses) const { return batched ? losses : ops::select(losses, 0, 0); }
};

Tensor class_numbers(const Call& call, const Tensor& target) {
  check<TypeError>(is_integer(target.dtype()), call.op.name(),
                   "(): the target must hold class numbers (integers), not ", name(target.dtype()));
  return ops::to_dtype(target, DType::int64);
}

void check_classes(const Call& call, const Tensor& numbers, int64_t classes) {
  const Tensor dense = contiguous_copy_if_needed(numbers);
  const int64_t* number = dense.data_as<const int64_t>();
  for (int64_t i = 0; i < dense.numel(); i++) {
    check<IndexError>(number[i] >= 0 && number[i] < classes, call.op.name(), "(): the target holds class ", number[i],
                      ", but there are ", classes, " classes, counted from 0");
  }
}

void margin_ranking_loss_cpu(Call& call) {
  const Tensor difference = call.tensor(0) - call.tensor(1);
  const Tensor loss = not_below_zero(call.real(3) - call.tensor(2) * difference);
  call.set_output(0, reduced_loss(call, 4, loss));
}

void multi_margin_loss_cpu(Call& call) {
  const Scores scores(call, call.tensor(0));
  const int64_t p = call.integer(2);
  check(p == 1 || p == 2, "multi_margin_loss(): p must be 1 or 2, not ", p);
  const Tensor given = class_numbers(call, call.tensor(1));
  check(given.numel() == scores.batch && given.ndim() <= 1,
        "multi_margin_loss(): the target must hold one class for each of ", scores.batch,
        " lines, but has shape ", given.shape());
  check_classes(call, given, scores.classes);
  const Tensor target = ops::reshape(given, IntSpan({scores.batch, 1}));
  const Tensor margins = not_below_zero(call.real(3) - gather(scores.input, 1, target) + scores.input);
  const Tensor others = scatter(ops::ones_like(scores.input), 1, target, 0);
  Tensor losses = sum_along((p == 1 ? margins : ops::square(margins)) * others, 1);
  if (call.has(4)) {
    const Tensor weight = call.tensor(4);
    check(weight.ndim() == 1 && weight.size(0) == scores.classes,
          "multi_margin_loss(): weight must have shape (", scores.classes, "), not ", weight.shape());
    losses = losses * index_select(weight, 0, ops::reshape(given, IntSpan({scores.batch})));
  }
  call.set_output(0, reduced_loss(call, 5, scores.per_line(losses / static_cast<double>(scores.classes))));
}

// True up to the first -1 of every line.
void label_mask_cpu(Call& call) {
  const Tensor target = contiguous_copy_if_needed(as_type(call.tensor(0), DType::int64));
  const int64_t lines = target.size(0), length = target.size(1), classes = call.integer(1);
  const Tensor mask = call.output(0, {lines, length}, DType::boolean);
  const Tensor dense = mask.is_contiguous() ? mask : empty(mask.shape(), DType::boolean);
  const int64_t* label = target.data_as<const int64_t>();
  bool* is_label = dense.data_as<bool>();
  for (int64_t line = 0; line < lines; line++) {
    bool ended = false;
    for (int64_t i = 0; i < length; i++, label++, is_label++) {
      ended |= *label == -1;
      check<IndexError>(ended || (*label >= 0 && *label < classes),
                        "multilabel_margin_loss(): the target holds class ", *label, ", but there are ", classes,
                        " classes");
      *is_label = !ended;
    }
  }
  if (dense.body() != mask.body()) copy(mask, dense);
}

void multilabel_margin_loss_cpu(Call& call) {
  const Tensor input = call.tensor(0), given = class_numbers(call, call.tensor(1));
  check(input.shape() == given.shape(), "multilabel_margin_loss(): input and target must have one shape, not ",
        input.shape(), " and ", given.shape());
  const Scores scores(call, input);
  const Tensor target = Scores::as_batch(given);
  const Tensor mask = label_mask(target, scores.classes);
  const Tensor labels = ops::where(mask, target, 0), is_label = as_input(mask, input);
  const Tensor count = OpFunction{"scatter_add"}(ops::zeros_like(is_label), 1, labels, is_label);
  const Tensor is_other = as_input(ops::eq(count, 0), input);
  // (line, label, other class)
  const Tensor own = ops::unsqueeze(gather(scores.input, 1, labels), 2);
  const Tensor margins = not_below_zero(1 - own + ops::unsqueeze(scores.input, 1));
  const Tensor counted = margins * ops::unsqueeze(is_label, 2) * ops::unsqueeze(is_other, 1);
  const Tensor losses = ops::sum(counted, IntSpan({1, 2})) / static_cast<double>(scores.classes);
  call.set_output(0, reduced_loss(call, 2, scores.per_line(losses)));
}

void multilabel_soft_margin_loss_cpu(Call& call) {
  const Tensor input = call.tensor(0), target = call.tensor(1);
  check(input.ndim() >= 1, "multilabel_soft_margin_loss(): the input needs a dimension of classes");
  // -log(1 - sigmoid(x)) = x - log(sigmoid(x))
  const Tensor losses = (1 - target) * input - logsigmoid(input);
  const Tensor mean = ops::mean(weighted_loss(call, 2, losses), IntSpan({-1}));
  call.set_output(0, reduced_loss(call, 3, mean));
}

void cosine_embedding_loss_cpu(Call& call) {
  constexpr double tiny = 1e-12;
  const Tensor input1 = call.tensor(0), input2 = call.tensor(1), target = call.tensor(2);
  check(target.ndim() <= 1 && input1.ndim() == target.ndim() + 1 && input2.ndim() == target.ndim() + 1,
        "cosine_embedding_loss(): the inputs must have shape (N, D) with a target of shape (N), or (D) with a 0-d "
        "target, not ", input1.shape(), ", ", input2.shape(), " and ", target.shape());
  const Tensor squares = (sum_along(ops::square(input1), -1) + tiny) * (sum_along(ops::square(input2), -1) + tiny);
  const Tensor cosine = sum_along(input1 * input2, -1) / ops::sqrt(squares);
  const Tensor together = ops::where(ops::eq(target, 1), 1 - cosine, 0);
  const Tensor apart = ops::where(ops::eq(target, -1), not_below_zero(cosine - call.real(3)), 0);
  call.set_output(0, reduced_loss(call, 4, together + apart));
}

void triplet_margin_loss_cpu(Call& call) {
  const Tensor anchor = call.tensor(0), positive = call.tensor(1), negative = call.tensor(2);
  const double margin = call.real(3), p = call.real(4), epsilon = call.real(5);
  check(margin > 0, "triplet_margin_loss(): margin must be positive, not ", margin);
  Tensor far = pairwise_distance(anchor, negative, p, epsilon);
  if (call.boolean(6)) far = ops::minimum(far, pairwise_distance(positive, negative, p, epsilon));
  const Tensor loss = not_below_zero(pairwise_distance(anchor, positive, p, epsilon) - far + margin);
  call.set_output(0, reduced_loss(call, 7, loss));
}

const Register register_margin_ranking_loss{
    "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, str reduction='mean') -> Tensor",
    "max(0, -target * (input1 - input2) + margin); a target of 1 asks for a larger input1, -1 for a smaller.",
    {Trait::composite, Trait::no_method}, margin_ranking_loss_cpu};
const Register register_multi_margin_loss{
    "multi_margin_loss(Tensor input, Tensor target, int p=1, float margin=1.0, Tensor? weight=None, str "
    "reduction='mean') -> Tensor",
    "The mean over the other classes of max(0, margin - input[target] + input[class])^p.",
    {Trait::composite, Trait::no_method}, multi_margin_loss_cpu};
const Register register_label_mask{
    "label_mask(Tensor target, int classes) -> Tensor", "True up to the first -1 of every line.",
    {Trait::not_differentiable, Trait::internal}, label_mask_cpu};
const Register register_multilabel_margin_loss{
    "multilabel_margin_loss(Tensor input, Tensor target, str reduction='mean') -> Tensor",
    "The mean over the classes of max(0, 1 - input[label] + input[other]) for all labels and other classes; a "
    "line of labels ends at the first -1.",
    {Trait::composite, Trait::no_method}, multilabel_margin_loss_cpu};
const Register register_multilabel_soft_margin_loss{
    "multilabel_soft_margin_loss(Tensor input, Tensor target, Tensor? weight=None, str reduction='mean') -> Tensor",
    "The mean over the classes of the logistic loss of a class being there (1) or not (0).",
    {Trait::composite, Trait::no_method}, multilabel_soft_margin_loss_cpu};
const Register register_cosine_embedding_loss{
    "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, str reduction='mean') -> "
    "Tensor",
    "1 - cosine where the target is 1, max(0, cosine - margin) where it is -1.",
    {Trait::composite, Trait::no_method}, cosine_embedding_loss_cpu};
const Register register_triplet_margin_loss{
    "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float "
    "eps=1e-6, bool swap=False, str reduction='mean') -> Tensor",
    "max(0, distance(anchor, positive) - distance(anchor, negative) + margin) (Schroff et al., 2015).",
    {Trait::composite, Trait::no_method}, triplet_margin_loss_cpu};

}  // namespace
}  // namespace relume
