// The derivative of an op, as a table row in autograd/derivatives/*.cpp:
//
//   const Derive derive_mul{"mul", {
//       {0, saves(1), [](Backward& b) { return b.grad() * b.operand(1); }},
//       {1, saves(0), [](Backward& b) { return b.grad() * b.operand(0); }}}};
//   const Derive derive_tanh{"tanh", {
//       {0, saves_output(), [](Backward& b) { return ops::tanh_backward(b.grad(), b.out()); }}}};
//
// A derivative is written in terms of registered ops, so that it is differentiable itself.
// Gradients of broadcast inputs of element-wise ops are summed back to the input's shape by
// the tape, and every gradient is cast to its input's type by the tape.
#pragma once
#include <initializer_list>
#include <vector>

#include "tensor/ops.h"

namespace relume {

class OpNode;

// Which arguments (bits 0-15) and outputs (bits 16-31) a gradient needs again.
using Saves = uint32_t;
template <class... Positions>
constexpr Saves saves(Positions... argument) {
  return (Saves{0} | ... | (Saves{1} << argument));
}
constexpr Saves saves_output(int output = 0) { return Saves{1} << (16 + output); }
constexpr Saves saves_nothing = 0;

// What a derivative sees of the recorded call and of the gradients that came in.
class Backward {
 public:
  Backward(OpNode& node, const Tensor* output_gradients, const bool* wanted, Tensor* input_gradients)
      : node_(node), output_gradients_(output_gradients), wanted_(wanted), input_gradients_(input_gradients) {}

  // Gradient of an output; zeros when nobody gave one (ask has_grad first to avoid them).
  Tensor grad(int output = 0);
  bool has_grad(int output) const { return output_gradients_[output].defined(); }

  Tensor in(int argument);             // a tensor argument that was saved
  Tensor in(int argument, int position);  // of a tensor list
  Value operand(int argument);         // a saved Tensor|Scalar argument, whichever it was
  Tensor out(int output = 0);          // an output that was saved

  const Value& value(int argument) const;  // numbers and lists: always there
  bool is_tensor(int argument) const;      // was a tensor given for this argument?
  int64_t integer(int argument) const { return value(argument).as_int(); }
  double real(int argument) const { return value(argument).as_double(); }
  bool boolean(int argument) const { return value(argument).as_int() != 0; }
  IntSpan integers(int argument) const { return value(argument).as_integers(); }

  IntSpan shape(int argument, int position = 0) const;  // of a tensor argument
  DType dtype(int argument, int position = 0) const;
  int64_t offset(int argument) const;   // in its storage, of a contiguous tensor argument
  int list_size(int argument) const;
  bool is_given(int argument, int position) const;  // or is it None, in a tensor list?
  int output_count() const;
  bool needs(int argument, int position = 0) const;     // is its gradient wanted?

  // For derivatives that compute several gradients at once.
  void set(int argument, Tensor gradient) { set(argument, 0, std::move(gradient)); }
  void set(int argument, int position, Tensor gradient);

 private:
  OpNode& node_;
  const Tensor* output_gradients_;
  const bool* wanted_;
  Tensor* input_gradients_;
};

inline Tensor operator*(const Tensor& a, const Value& b) { return ops::mul(a, b); }
inline Tensor operator/(const Tensor& a, const Value& b) { return ops::div(a, b); }

struct Gradient {
  int argument;
  Saves saves;
  Tensor (*function)(Backward&);
};

struct Derivative {
  std::vector<Gradient> gradients;        // one function per argument, or
  Saves joint_saves = 0;
  void (*joint)(Backward&) = nullptr;     // one for all, which calls Backward::set

  // What is to be saved when these arguments (bits) need a gradient.
  Saves saves_for(uint32_t arguments) const;
};

// Attaches a derivative to an op at static initialisation.
struct Derive {
  Derive(const char* op, std::initializer_list<Gradient> gradients);
  Derive(const char* op, Saves saves, void (*joint)(Backward&));
};
const Derivative* find_derivative(const std::string& op);

}  // namespace relume
