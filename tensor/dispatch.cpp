#include "tensor/dispatch.h"

#include "tensor/complex_forms.h"
#include "tensor/copy.h"
#include "tensor/error_names.h"
#include "tensor/thread_state.h"

namespace relume {
namespace {

constexpr int kMaxArguments = 20;

RecordHook prepare_hook = nullptr;
RecordHook record_hook = nullptr;
TraceHook trace_hook = nullptr;

// Calls `function(body)` for every tensor among the arguments.
template <class Function>
void for_each_tensor(const Value* values, int count, Function function) {
  for (int i = 0; i < count; ++i) {
    if (values[i].type == Value::Type::tensor) {
      function(values[i].tensor);
    } else if (values[i].type == Value::Type::tensors) {
      for (int k = 0; k < values[i].count; ++k) {
        if (values[i].tensors[k]) function(values[i].tensors[k]);
      }
    }
  }
}

const char* type_of(const Value& value) {
  switch (value.type) {
    case Value::Type::none: return "None";
    case Value::Type::tensor: return "a tensor";
    case Value::Type::integer: return "an integer";
    case Value::Type::real: return "a float";
    case Value::Type::boolean: return "a bool";
    case Value::Type::integers: return "a list of integers";
    case Value::Type::tensors: return "a list of tensors";
    case Value::Type::dtype: return "a dtype";
    case Value::Type::text: return "a string";
    case Value::Type::complex: return "a complex number";
  }
  return "something else";
}

[[noreturn]] void refuse(const Op& op, const Argument& argument, const Value& value) {
  throw TypeError(message(op.name(), "(): argument '", argument.name, "' must be ", argument.type_name,
                          ", got ", type_of(value)));
}

// The arguments of one call: checked against the schema, completed by defaults.
struct Arguments {
  Value* values = reinterpret_cast<Value*>(memory_);
  int64_t single_integers[kMaxArguments];  // an int given for an int[]
  TensorBody* single_tensors[kMaxArguments];

  Arguments(const Op& op, const Value* given, int count) {
    const std::vector<Argument>& expected = op.schema.arguments;
    const int total = static_cast<int>(expected.size());
    check<TypeError>(count <= total, op.name(), "() takes at most ", total, " arguments, got ", count);
    for (int i = 0; i < total; ++i) {
      const Argument& argument = expected[i];
      if (i < count) {
        values[i] = given[i];
        if (!fits(argument, i)) refuse(op, argument, given[i]);
      } else if (argument.has_default) {
        values[i] = argument.default_value;
      } else if (!argument.optional) {
        throw TypeError(message(op.name(), "(): argument '", argument.name, "' (", argument.type_name,
                                ") is missing"));
      } else {
        values[i] = Value();
      }
    }
  }

 private:
  alignas(Value) unsigned char memory_[kMaxArguments * sizeof(Value)];  // only what is used is set

  bool fits(const Argument& argument, int i) {
    Value& value = values[i];
    if (value.is_none()) return argument.optional || (argument.has_default && argument.default_value.is_none());
    switch (argument.type) {
      case ArgumentType::tensor: return value.is_tensor();
      case ArgumentType::tensor_or_scalar: return value.is_tensor() || value.is_number();
      case ArgumentType::scalar: return value.is_number();
      case ArgumentType::real: return value.is_real_number();
      case ArgumentType::integer:
      case ArgumentType::boolean:
        if (value.type == Value::Type::real && value.real == static_cast<double>(static_cast<int64_t>(value.real))) {
          value = Value(static_cast<int64_t>(value.real));
        }
        return value.type == Value::Type::integer || value.type == Value::Type::boolean;
      case ArgumentType::integers:
        if (value.type == Value::Type::integer) {
          single_integers[i] = value.integer;
          value = Value(IntSpan(&single_integers[i], 1));
        }
        return value.type == Value::Type::integers;
      case ArgumentType::tensors:
        if (value.is_tensor()) {
          single_tensors[i] = value.tensor;
          value = Value(&single_tensors[i], 1);
        }
        return value.type == Value::Type::tensors;
      case ArgumentType::dtype: return value.type == Value::Type::dtype;
      case ArgumentType::text: return value.type == Value::Type::text;
    }
    return false;
  }
};

// What the dispatcher needs to know of a call's tensors.
struct Survey {
  Device device;
  bool wants_gradient = false;
  bool any_complex = false;
};

// Does the kernel, or what it stands on, know complex types?
bool takes_complex(const Op& op) {
  return op.has(Trait::takes_complex) || op.has(Trait::elementwise) || op.has(Trait::view) || op.has(Trait::composite);
}

Survey survey(const Op& op, const Value* values, int count) {
  Survey result;
  bool has_device = false;
  for_each_tensor(values, count, [&](const TensorBody* body) {
    result.wants_gradient |= wants_gradient(body);
    result.any_complex |= is_complex(body->dtype);
    if (!body->storage) return;
    if (!has_device) {
      has_device = true;
      result.device = body->storage->device;
    } else if (__builtin_expect(body->storage->device != result.device, 0)) {
      throw ValueError(message(op.name(), "(): all tensors must be on one device, got ", result.device, " and ",
                               body->storage->device));
    }
  });
  return result;
}

// An op stands for what its kernel calls: the tracer does not see both.
class UntracedKernel {
 public:
  explicit UntracedKernel(ThreadState& state) : state_(state), tracing_(state.tracing) { state.tracing = false; }
  ~UntracedKernel() { state_.tracing = tracing_; }
  UntracedKernel(const UntracedKernel&) = delete;
  UntracedKernel& operator=(const UntracedKernel&) = delete;

 private:
  ThreadState& state_;
  const bool tracing_;
};

// A leaf's value is what its gradient is taken with respect to: it may not change under the tape.
void check_in_place(const Op& op, const TensorBody* target) {
  const TensorBody* owner = target->base ? target->base : target;
  check<Error>(!(owner->requires_grad && !owner->grad_fn), op.name(),
               "(): cannot change a leaf that requires a gradient (or a view of one) in place while "
               "the tape records; use no_grad()");
}

}  // namespace

void set_record_hook(RecordHook prepare, RecordHook record) {
  prepare_hook = prepare;
  record_hook = record;
}
void set_trace_hook(TraceHook hook) { trace_hook = hook; }

std::vector<Tensor> Call::tensors(int i) const {
  std::vector<Tensor> list;
  list.reserve(arguments[i].count);
  for (int k = 0; k < arguments[i].count; ++k) list.push_back(Tensor::borrow(arguments[i].tensors[k]));
  return list;
}

namespace {

// Could these share memory? Two storages that own their memory cannot.
bool may_share_memory(const TensorBody* a, const TensorBody* b) {
  if (!a->storage || !b->storage) return false;
  if (a->storage == b->storage) return true;
  return a->storage->deleter && b->storage->deleter;
}

// Can a kernel write here while it reads its inputs?
bool is_safe_output(const Call& call, const Tensor& output) {
  const bool elementwise = call.op.has(Trait::elementwise);
  bool safe = true;
  for_each_tensor(call.arguments, static_cast<int>(call.op.schema.arguments.size()), [&](TensorBody* body) {
    if ((body == output.body() && elementwise) || !may_share_memory(body, output.body())) return;
    const Tensor input = Tensor::borrow(body);
    if (may_overlap(input, output) && !(elementwise && same_layout(input, output))) safe = false;
  });
  return safe;
}

}  // namespace

const Tensor& Call::output(int i, IntSpan shape, DType dtype) {
  if (outputs.size() <= i) outputs.resize(i + 1);
  Tensor& output = outputs[i];
  if (output.defined()) {
    if (output.dtype() == dtype && output.shape() == shape && is_safe_output(*this, output)) {
      check_writable(output, op.name());
      return output;
    }
    if (given_.size() <= i) given_.resize(i + 1);
    given_[i] = output;
  }
  output = empty(shape, dtype, device);
  return output;
}

void Call::set_output(int i, Tensor tensor) {
  if (outputs.size() <= i) outputs.resize(i + 1);
  if (outputs[i].defined() && outputs[i].body() != tensor.body()) {
    if (given_.size() <= i) given_.resize(i + 1);
    given_[i] = outputs[i];
  }
  outputs[i] = std::move(tensor);
}

void Call::copy_into_given() {
  for (int i = 0; i < given_.size(); ++i) {
    Tensor& target = given_[i];
    if (!target.defined()) continue;
    const Tensor& source = outputs[i];
    check<TypeError>(info(source.dtype()).kind <= info(target.dtype()).kind, op.name(), "(): a result of type ",
                     name(source.dtype()), " cannot be written into a tensor of type ", name(target.dtype()));
    if (target.shape() != source.shape()) {
      check(!in_place, op.name(), "_(): the result has shape ", source.shape(),
            " and cannot replace a tensor of shape ", target.shape());
      check(target.numel() == 0, op.name(), "(): out has shape ", target.shape(),
            ", the result has shape ", source.shape());
      resize(target, source.shape());
    }
    check_writable(target, op.name());
    copy(target, source);
    outputs[i] = target;
  }
}

void run(Call& call) {
  const Op& op = call.op;
  ThreadState& state = thread_state();
  const int argument_count = static_cast<int>(op.schema.arguments.size());
  const Survey inputs = survey(op, call.arguments, argument_count);
  call.device = inputs.device;
  Kernel kernel = op.kernels[static_cast<int>(call.device.type)];
  bool composite = op.has(Trait::composite);
  if (__builtin_expect(inputs.any_complex, 0)) {
    if (const Kernel form = complex_form(op)) {
      kernel = form;
      composite = true;
    } else {
      check<TypeError>(takes_complex(op), op.name(), "() does not take complex tensors; take real(), imag() or abs() "
                       "of them first");
    }
  }
  if (__builtin_expect(kernel == nullptr, 0)) {
    throw NotImplementedError(message(op.name(), "() has no implementation on ", call.device));
  }

  bool record = false;
  if (state.grad_mode && !op.has(Trait::not_differentiable)) {
    record = inputs.wants_gradient;
    if (call.in_place) {
      check_in_place(op, call.outputs[0].body());
      record |= wants_gradient(call.outputs[0].body());
      if (record) prepare_hook(call);
    } else if (call.has_out) {
      check<Error>(!record, op.name(), "(): out= cannot be recorded on the tape; use no_grad() or no out=");
    }
  } else if (state.grad_mode && call.in_place) {
    check_in_place(op, call.outputs[0].body());
  }

  if (composite && !call.has_out) {
    kernel(call);  // the ops inside are recorded and traced instead
    return;
  }
  {
    UntracedKernel untraced(state);
    if (state.grad_mode) {
      GradMode off(false);  // what a kernel calls is covered by its own derivative
      kernel(call);
      if (call.has_out) call.copy_into_given();
    } else {
      kernel(call);
      if (call.has_out) call.copy_into_given();
    }
  }
  if (call.has_out) {
    for (int i = 0; i < call.outputs.size(); ++i) call.outputs[i].bump_version();
  }

  if (state.grad_mode && op.has(Trait::view) && !op.has(Trait::not_differentiable)) {
    // Remember what the view looks at: either may be changed in place later.
    TensorBody* source = call.body(0);
    TensorBody* base = source->base ? source->base : source;
    for (int i = 0; i < call.outputs.size(); ++i) {
      TensorBody* view = call.outputs[i].body();
      if (view == source || view->base || view->storage != base->storage) continue;
      base->retain();
      view->base = base;
      view->base_generation = base->generation;
    }
  }
  if (record) record_hook(call);
  if (__builtin_expect(state.tracing && trace_hook, 0)) trace_hook(call);
}

namespace {

// Errors of kernels say which op they are of.
void run_named(Call& call) {
  try {
    run(call);
  } catch (const Error& error) {
    throw_named(error, call.op.name());
  }
}

}  // namespace

Outputs invoke(const Op& op, const Value* values, int count) {
  Arguments arguments(op, values, count);
  Call call(op, arguments.values);
  if (op.has(Trait::in_place)) {
    call.outputs.push_back(call.tensor(0));
    call.has_out = call.in_place = true;
  }
  run_named(call);
  return std::move(call.outputs);
}

Outputs invoke_into(const Op& op, const Value* values, int count, const Tensor* out, int out_count) {
  check<TypeError>(!op.has(Trait::no_out) && !op.has(Trait::view) && !op.has(Trait::in_place), op.name(),
                   "() has no out= form");
  check<TypeError>(out_count == op.schema.return_count, op.name(), "(): out must be ", op.schema.return_count,
                   " tensor(s), got ", out_count);
  Arguments arguments(op, values, count);
  Call call(op, arguments.values);
  for (int i = 0; i < out_count; ++i) call.outputs.push_back(out[i]);
  call.has_out = true;
  run_named(call);
  return std::move(call.outputs);
}

Tensor invoke_in_place(const Op& op, const Value* values, int count) {
  if (op.has(Trait::in_place)) return invoke(op, values, count)[0];
  check<TypeError>(op.has_in_place_form(), op.name(), "() has no in-place form");
  Arguments arguments(op, values, count);
  check<TypeError>(arguments.values[0].is_tensor(), op.name(), "_(): expected a tensor to change");
  Call call(op, arguments.values);
  call.outputs.push_back(call.tensor(0));
  call.has_out = call.in_place = true;
  run_named(call);
  return call.outputs[0];
}

}  // namespace relume
