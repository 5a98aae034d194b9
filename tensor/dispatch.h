// The one point that every call of a registered op passes.
#pragma once
#include <vector>

#include "tensor/registry.h"

namespace relume {

// The outputs of a call: nearly always one or two, held inline.
class Outputs {
 public:
  int size() const { return count_; }
  Tensor& operator[](int i) { return i < kInline ? inline_[i] : more_[i - kInline]; }
  const Tensor& operator[](int i) const { return i < kInline ? inline_[i] : more_[i - kInline]; }
  void resize(int count) {
    count_ = count;
    if (count > kInline) more_.resize(count - kInline);
  }
  void push_back(Tensor tensor) {
    resize(count_ + 1);
    (*this)[count_ - 1] = std::move(tensor);
  }

 private:
  static constexpr int kInline = 3;
  int count_ = 0;
  Tensor inline_[kInline];
  std::vector<Tensor> more_;
};

// A call in flight: what a kernel sees.
struct Call {
  const Op& op;
  Value* arguments;   // exactly as many as the schema has, defaults filled in
  Outputs outputs;    // a kernel fills them; with out= or in place, outputs[0..] are given
  bool has_out = false;
  bool in_place = false;  // outputs[0] is the first argument
  Device device;          // of the inputs: where outputs are made

  explicit Call(const Op& op, Value* arguments) : op(op), arguments(arguments) {}

  // Arguments by position in the schema. They do not check types: the dispatcher has.
  bool has(int i) const { return !arguments[i].is_none(); }
  Tensor tensor(int i) const {
    return arguments[i].is_tensor() ? Tensor::borrow(arguments[i].tensor) : Tensor();
  }
  TensorBody* body(int i) const { return arguments[i].tensor; }
  const Value& value(int i) const { return arguments[i]; }
  int64_t integer(int i) const { return arguments[i].as_int(); }
  double real(int i) const { return arguments[i].as_double(); }
  bool boolean(int i) const { return arguments[i].as_int() != 0; }
  IntSpan integers(int i) const { return arguments[i].as_integers(); }  // empty when None
  DType dtype(int i, DType otherwise) const {
    return arguments[i].is_none() ? otherwise : arguments[i].dtype;
  }
  const char* text(int i) const { return arguments[i].text; }
  std::vector<Tensor> tensors(int i) const;

  // The tensor that a kernel writes output `i` into: fresh, or the one given by out= /
  // in place, when it has this shape and type and does not overlap an input in a way
  // that the kernel could trip over. Otherwise a fresh one whose contents the
  // dispatcher copies into the given one after the kernel has returned (out= of
  // another shape is resized when it is empty, and refused otherwise).
  const Tensor& output(int i, IntSpan shape, DType dtype);

  // Sets output `i` to a tensor that the kernel made some other way (a view, a result
  // of other ops); copied into out= where one was given.
  void set_output(int i, Tensor tensor);

  Tensor original;  // with an in-place call: a copy of what it overwrites, when the tape needs it

 private:
  friend void run(Call& call);
  Outputs given_;  // what out= gave, where output() had to hand out another tensor
  void copy_into_given();
};

// Runs a call: checks devices, runs the kernel, informs the tracer, records on the tape.
void run(Call& call);

// Fills in defaults and runs. `values` holds the first `count` arguments in schema order.
Outputs invoke(const Op& op, const Value* values, int count);
Outputs invoke_into(const Op& op, const Value* values, int count, const Tensor* out, int out_count);
// The in-place form: the first argument is also the output.
Tensor invoke_in_place(const Op& op, const Value* values, int count);

// Does a gradient flow to this tensor (or to what it is a view of)?
inline bool wants_gradient(const TensorBody* body) {
  return body->requires_grad || (body->base && body->base->requires_grad);
}

// Set by autograd: records a call whose inputs require a gradient.
using RecordHook = void (*)(Call& call);
// `prepare` sees an in-place call before its kernel overwrites what a derivative may need.
void set_record_hook(RecordHook prepare, RecordHook record);
// Set by a tracer: sees every call after its kernel has run.
using TraceHook = void (*)(const Call& call);
void set_trace_hook(TraceHook hook);

// Called by name from C++: `ops::mul(a, b)`, `ops::sum(a, dims, true)`.
struct OpFunction {
  const char* name;
  mutable const Op* op = nullptr;

  const Op& get() const {
    if (!op) op = &get_op(name);
    return *op;
  }
  template <class... Arguments>
  Tensor operator()(const Arguments&... arguments) const {
    Value values[] = {Value(arguments)...};
    return invoke(get(), values, sizeof...(arguments))[0];
  }
  template <class... Arguments>
  Outputs all(const Arguments&... arguments) const {  // for ops with several results
    Value values[] = {Value(arguments)...};
    return invoke(get(), values, sizeof...(arguments));
  }
  template <class... Arguments>
  Tensor in_place(const Arguments&... arguments) const {
    Value values[] = {Value(arguments)...};
    return invoke_in_place(get(), values, sizeof...(arguments));
  }
};

}  // namespace relume
