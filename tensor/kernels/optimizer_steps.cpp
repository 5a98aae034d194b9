// One step of an optimizer over all its parameters, in place: one call instead of several small
// ops for each parameter.
#include "tensor/copy.h"
#include "tensor/dispatch.h"
#include "tensor/kernels/best_isa.h"
#include "tensor/kernels/optimizer_loops.h"
#include "tensor/parallel.h"

namespace relume {

RELUME_PER_ISA(OptimizerLoops, optimizer_loops)

namespace {

constexpr int kParameters = 0, kGradients = 1;
constexpr int kMaxStates = 3;

template <class T>
const OptimizerLoopsOf<T>& loops() {
  if constexpr (std::is_same_v<T, float>) return best_optimizer_loops().float32;
  else return best_optimizer_loops().float64;
}

// A tensor that a step changes, in a layout and type that the loops take.
class InPlace {
 public:
  explicit InPlace(const Tensor& target) : target_(target), working_(target) {
    const bool direct = target.dtype() == DType::float32 || target.dtype() == DType::float64;
    if (direct && target.is_contiguous()) return;
    working_ = empty(target.shape(), direct ? target.dtype() : DType::float32);
    copy(working_, target);
  }
  DType dtype() const { return working_.dtype(); }
  template <class T>
  T* data() const {
    return working_.data_as<T>();
  }
  void finish() const {
    if (working_.body() != target_.body()) copy(target_, working_);
    target_.bump_version();
  }

 private:
  Tensor target_, working_;
};

Tensor readable(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return contiguous_copy_if_needed(tensor);
  Tensor converted = empty(tensor.shape(), dtype);
  copy(converted, tensor);
  return converted;
}

void check_lists(const Call& call, int list) {
  check(call.value(list).count == call.value(kParameters).count, call.op.name(), "(): ",
        call.value(kParameters).count, " parameters, but ", call.value(list).count, " ",
        call.op.schema.arguments[list].name);
}

void check_alike(const Call& call, const Tensor& parameter, const Tensor& other) {
  check<TypeError>(is_floating(parameter.dtype()), call.op.name(), "(): parameters must be floating, not ",
                   name(parameter.dtype()));
  check(other.shape() == parameter.shape() && other.dtype() == parameter.dtype(), call.op.name(),
        "(): a parameter of shape ", parameter.shape(), " and type ", name(parameter.dtype()),
        " has a gradient or state of shape ", other.shape(), " and type ", name(other.dtype()));
}

// Calls `loop(count, gradient, parameter, states)` for runs of elements of every parameter.
// The lists of states follow the gradients; those after the `required` ones may be empty, which
// means that they are not used.
template <class Loop>
void step(Call& call, int state_count, int required, const Loop& loop) {
  check_lists(call, kGradients);
  for (int s = 0; s < state_count; s++) {
    if (s < required || call.value(kGradients + 1 + s).count) check_lists(call, kGradients + 1 + s);
  }
  const int count = call.value(kParameters).count;
  for (int i = 0; i < count; i++) {
    const Tensor target = Tensor::borrow(call.value(kParameters).tensors[i]);
    const Tensor gradient = Tensor::borrow(call.value(kGradients).tensors[i]);
    check_alike(call, target, gradient);
    check_writable(target, call.op.name());
    const InPlace parameter(target);
    std::vector<InPlace> states;
    int places[kMaxStates] = {-1, -1, -1};
    for (int s = 0; s < state_count; s++) {
      const Value& list = call.value(kGradients + 1 + s);
      if (!list.count) continue;
      const Tensor state = Tensor::borrow(list.tensors[i]);
      check_alike(call, target, state);
      check_writable(state, call.op.name());
      places[s] = static_cast<int>(states.size());
      states.emplace_back(state);
    }
    const Tensor read = readable(gradient, parameter.dtype());
    const auto run_as = [&](auto zero) {
      using T = decltype(zero);
      parallel_for(0, target.numel(), kParallelGrain, [&](int64_t first, int64_t last) {
        T* pointers[kMaxStates] = {};
        for (int s = 0; s < state_count; s++) {
          if (places[s] >= 0) pointers[s] = states[places[s]].template data<T>() + first;
        }
        loop(last - first, read.data_as<T>() + first, parameter.data<T>() + first, pointers);
      });
    };
    if (parameter.dtype() == DType::float32) run_as(0.0f);
    else run_as(0.0);
    parameter.finish();
    for (const InPlace& state : states) state.finish();
  }
}

template <class T>
const OptimizerLoopsOf<T>& loops_for(const T*) {
  return loops<T>();
}

void sgd_step_cpu(Call& call) {
  const SgdSettings settings{call.real(3), call.real(4), call.real(5), call.real(6),
                             call.boolean(7), call.boolean(8), call.boolean(9)};
  step(call, 1, 0, [&](int64_t count, const auto* gradient, auto* parameter, auto* const* states) {
    loops_for(parameter).sgd(settings, count, gradient, parameter, states[0]);
  });
}

void adam_step_cpu(Call& call) {
  const AdamSettings settings{call.real(5), call.real(6), call.real(7), call.real(8), call.real(9),
                              call.real(10), call.real(11), call.boolean(12), call.boolean(13)};
  step(call, 3, 2, [&](int64_t count, const auto* gradient, auto* parameter, auto* const* states) {
    loops_for(parameter).adam(settings, count, gradient, parameter, states[0], states[1], states[2]);
  });
}

void rmsprop_step_cpu(Call& call) {
  const RmspropSettings settings{call.real(5), call.real(6), call.real(7),
                                 call.real(8), call.real(9), call.boolean(10)};
  step(call, 3, 1, [&](int64_t count, const auto* gradient, auto* parameter, auto* const* states) {
    loops_for(parameter).rmsprop(settings, count, gradient, parameter, states[0], states[1], states[2]);
  });
}

void adagrad_step_cpu(Call& call) {
  const AdagradSettings settings{call.real(3), call.real(4), call.real(5), call.boolean(6)};
  step(call, 1, 1, [&](int64_t count, const auto* gradient, auto* parameter, auto* const* states) {
    loops_for(parameter).adagrad(settings, count, gradient, parameter, states[0]);
  });
}

const Register register_sgd{
    "sgd_step(Tensor[] parameters, Tensor[] gradients, Tensor[] momentum_buffers, float lr, "
    "float momentum, float dampening, float weight_decay, bool nesterov, bool maximize, bool first) "
    "-> Tensor[]",
    "A step of stochastic gradient descent, in place.",
    {Trait::internal, Trait::not_differentiable, Trait::no_out}, sgd_step_cpu};
const Register register_adam{
    "adam_step(Tensor[] parameters, Tensor[] gradients, Tensor[] averages, Tensor[] square_averages, "
    "Tensor[] largest_squares, float lr, float beta1, float beta2, float eps, float weight_decay, "
    "float correction1, float correction2, bool decoupled, bool maximize) -> Tensor[]",
    "A step of Adam or AdamW, in place.",
    {Trait::internal, Trait::not_differentiable, Trait::no_out}, adam_step_cpu};
const Register register_rmsprop{
    "rmsprop_step(Tensor[] parameters, Tensor[] gradients, Tensor[] square_averages, "
    "Tensor[] momentum_buffers, Tensor[] averages, float lr, float alpha, float eps, "
    "float weight_decay, float momentum, bool maximize) -> Tensor[]",
    "A step of RMSprop, in place.",
    {Trait::internal, Trait::not_differentiable, Trait::no_out}, rmsprop_step_cpu};
const Register register_adagrad{
    "adagrad_step(Tensor[] parameters, Tensor[] gradients, Tensor[] sums, float lr, float eps, "
    "float weight_decay, bool maximize) -> Tensor[]",
    "A step of Adagrad, in place.",
    {Trait::internal, Trait::not_differentiable, Trait::no_out}, adagrad_step_cpu};

}  // namespace
}  // namespace relume
