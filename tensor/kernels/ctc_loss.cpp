// Connectionist temporal classification: minus the log likelihood of a label sequence over all
// ways to align it with an input (Graves et al., 2006).
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/copy.h"
#include "tensor/kernels/losses.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/window.h"
#include "tensor/ops.h"
#include "tensor/parallel.h"

namespace relume {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// log(exp(a) + exp(b))
double log_add(double a, double b) {
  const double larger = std::max(a, b);
  return larger == kNever ? kNever : larger + std::log1p(std::exp(std::min(a, b) - larger));
}

// One sample: log probabilities of `time` steps over classes, and labels with blanks between.
struct Alignment {
  const double* probabilities;  // (time, classes) with rows `stride` apart
  int64_t time, stride;
  std::vector<int64_t> labels;  // blank, label, blank, label, ..., blank

  double at(int64_t t, int64_t s) const { return probabilities[t * stride + labels[s]]; }
  int64_t states() const { return static_cast<int64_t>(labels.size()); }
  // May a path go to state s from two states before? Not to a blank, nor to a repeated label.
  bool skips_to(int64_t s) const { return s >= 2 && s % 2 == 1 && labels[s] != labels[s - 2]; }

  // alpha[t][s]: all paths through steps 0..t that end in state s.
  std::vector<double> forward() const {
    std::vector<double> alpha(time * states(), kNever);
    for (int64_t s = 0; s < std::min<int64_t>(2, states()); s++) alpha[s] = at(0, s);
    for (int64_t t = 1; t < time; t++) {
      const double* before = &alpha[(t - 1) * states()];
      for (int64_t s = 0; s < states(); s++) {
        double sum = before[s];
        if (s >= 1) sum = log_add(sum, before[s - 1]);
        if (skips_to(s)) sum = log_add(sum, before[s - 2]);
        alpha[t * states() + s] = sum + at(t, s);
      }
    }
    return alpha;
  }

  // beta[t][s]: all paths through the steps after t that begin in state s.
  std::vector<double> backward() const {
    std::vector<double> beta(time * states(), kNever);
    for (int64_t s = std::max<int64_t>(0, states() - 2); s < states(); s++) beta[(time - 1) * states() + s] = 0;
    for (int64_t t = time - 2; t >= 0; t--) {
      const double* after = &beta[(t + 1) * states()];
      for (int64_t s = 0; s < states(); s++) {
        double sum = after[s] + at(t + 1, s);
        if (s + 1 < states()) sum = log_add(sum, after[s + 1] + at(t + 1, s + 1));
        if (s + 2 < states() && skips_to(s + 2)) sum = log_add(sum, after[s + 2] + at(t + 1, s + 2));
        beta[t * states() + s] = sum;
      }
    }
    return beta;
  }

  // The loss; adds its gradient to `gradient`, laid out as the probabilities.
  double loss(double* gradient) const {
    if (time == 0) return states() == 1 ? 0 : -kNever;
    const std::vector<double> alpha = forward(), beta = backward();
    const double* last = &alpha[(time - 1) * states()];
    double likelihood = last[states() - 1];
    if (states() > 1) likelihood = log_add(likelihood, last[states() - 2]);
    if (likelihood == kNever) return -kNever;
    for (int64_t t = 0; t < time; t++) {
      for (int64_t s = 0; s < states(); s++) {
        gradient[t * stride + labels[s]] -= std::exp(alpha[t * states() + s] + beta[t * states() + s] - likelihood);
      }
    }
    return -likelihood;
  }
};

// Where the labels of each sample begin: rows of a matrix, or one after the other.
std::vector<std::vector<int64_t>> label_sequences(const Call& call, IntSpan lengths, int64_t classes, int64_t blank) {
  const Tensor given = call.tensor(1);
  check<TypeError>(is_integer(given.dtype()), "ctc_loss: targets must be integers, not ", name(given.dtype()));
  const Tensor targets = contiguous_copy_if_needed(as_type(given, DType::int64));
  const int64_t batch = lengths.count;
  const bool rows = targets.ndim() == 2;
  check(targets.ndim() == 1 || (rows && targets.size(0) == batch), "ctc_loss: targets must have shape (", batch,
        ", longest) or (sum of lengths), not ", targets.shape());
  std::vector<std::vector<int64_t>> result(batch);
  int64_t place = 0;
  for (int64_t n = 0; n < batch; n++) {
    if (rows) place = n * targets.size(1);
    const int64_t room = rows ? targets.size(1) : targets.numel() - place;
    check(lengths[n] >= 0 && lengths[n] <= room, "ctc_loss: the target of sample ", n, " cannot have ", lengths[n],
          " labels, there are ", room);
    result[n].push_back(blank);
    for (int64_t i = 0; i < lengths[n]; i++) {
      const int64_t label = targets.data_as<const int64_t>()[place + i];
      check<IndexError>(label >= 0 && label < classes && label != blank, "ctc_loss: label ", label,
                        " is not one of ", classes, " classes other than the blank, ", blank);
      result[n].insert(result[n].end(), {label, blank});
    }
    place += lengths[n];
  }
  return result;
}

// ctc_loss_with_gradient(log_probs, targets, input_lengths, target_lengths, blank) -> (losses, gradient)
void ctc_loss_with_gradient_cpu(Call& call) {
  check_floating(call, 0);
  const Tensor given = call.tensor(0);
  check(given.ndim() == 3, "ctc_loss: log_probs must have shape (time, batch, classes), not ", given.shape());
  const int64_t time = given.size(0), batch = given.size(1), classes = given.size(2), blank = call.integer(4);
  const IntSpan input_lengths = call.integers(2), target_lengths = call.integers(3);
  check(input_lengths.count == batch && target_lengths.count == batch, "ctc_loss: there must be ", batch,
        " input lengths and target lengths, one for each sample, not ", input_lengths.count, " and ",
        target_lengths.count);
  check(blank >= 0 && blank < classes, "ctc_loss: blank must be one of ", classes, " classes, not ", blank);
  for (int64_t length : input_lengths) {
    check(length >= 0 && length <= time, "ctc_loss: input lengths must be between 0 and ", time, ", not ", length);
  }
  const Tensor input = contiguous_copy_if_needed(as_type(given, DType::float64));
  const std::vector<std::vector<int64_t>> labels = label_sequences(call, target_lengths, classes, blank);
  const Tensor losses = empty({batch}, DType::float64), gradient = full(input.shape(), 0, DType::float64);
  const int64_t grain = std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(1, time * classes));
  for (int64_t n = 0; n < batch; n++) check(!labels[n].empty(), "ctc_loss: no labels");
  parallel_for(0, batch, grain, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; n++) {
      const Alignment alignment{input.data_as<const double>() + n * classes, input_lengths[n], batch * classes,
                                labels[n]};
      losses.data_as<double>()[n] = alignment.loss(gradient.data_as<double>() + n * classes);
    }
  });
  call.set_output(0, as_type(losses, given.dtype()));
  call.set_output(1, as_type(gradient, given.dtype()));
}

// ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)
void ctc_loss_cpu(Call& call) {
  Tensor log_probs = call.tensor(0), targets = call.tensor(1);
  const bool batched = log_probs.ndim() == 3;
  check(batched || log_probs.ndim() == 2, "ctc_loss: log_probs must have shape (time, batch, classes) or (time, "
        "classes), not ", log_probs.shape());
  if (!batched) log_probs = ops::unsqueeze(log_probs, 1);
  static const OpFunction with_gradient{"ctc_loss_with_gradient"};
  const IntSpan lengths = call.integers(3);
  Tensor losses = with_gradient.all(log_probs, targets, call.value(2), call.value(3), call.value(4))[0];
  if (call.boolean(6)) losses = ops::where(OpFunction{"isinf"}(losses), 0, losses);
  if (!batched && loss_reduction(call, 5) == LossReduction::none) losses = ops::select(losses, 0, 0);
  if (loss_reduction(call, 5) == LossReduction::mean) {
    const Tensor divisors = empty({lengths.count}, losses.dtype());
    const Tensor wide = empty({lengths.count}, DType::float64);
    for (int n = 0; n < lengths.count; n++) wide.data_as<double>()[n] = std::max<double>(1, lengths[n]);
    copy(divisors, wide);
    losses = losses / divisors;
  }
  call.set_output(0, reduced_loss(call, 5, losses));
}

const Register register_ctc_loss_with_gradient{
    "ctc_loss_with_gradient(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank) -> "
    "(Tensor, Tensor)",
    "The losses of all samples and the gradient of their sum.", {Trait::internal}, ctc_loss_with_gradient_cpu};
const Register register_ctc_loss{
    "ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, str "
    "reduction='mean', bool zero_infinity=False) -> Tensor",
    "Minus the log likelihood of label sequences over all alignments with log_probs of shape (time, batch, classes) "
    "(Graves et al., 2006). The mean divides each loss by the length of its target first.",
    {Trait::composite, Trait::no_method}, ctc_loss_cpu};

}  // namespace
}  // namespace relume
