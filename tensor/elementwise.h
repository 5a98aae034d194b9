// What all element-wise ops share: the types they compute in, broadcasting, the loop over
// memory of any layout, threads.
#pragma once
#include "tensor/default_dtype.h"
#include "tensor/dispatch.h"
#include "tensor/kernels/function_table.h"

namespace relume {

constexpr int kMaxOperands = 3;
constexpr int kMaxParameters = 3;

// The type that numbers and tensors have together. Tensors follow promote(); a number has
// no type of its own, so it only raises the kind: an integer among bool tensors gives int64,
// a float among integer tensors the default float.
DType common_type(const Value* operands, int count);
// Integers and bool become the default float.
inline DType floating_type(DType dtype) { return is_differentiable(dtype) ? dtype : default_float(); }

// The nearest number that an integer type can hold.
int64_t saturated(int64_t number, DType dtype);

// A function of `loops` applied to operands (tensors and numbers, which broadcast) and
// parameters (numbers that the function is made with).
struct Elementwise {
  Function function;
  DType compute;  // the loop's type: operands and parameters are converted to it
  DType result;   // what the loop writes: `compute` or bool
  const Value* operands;
  int operand_count;
  const Value* parameters = nullptr;
  int parameter_count = 0;
  bool first_is_condition = false;  // operand 0 is bool, whatever `compute` is
};
// Writes output 0 of the call.
void apply(Call& call, const Elementwise& work);

enum class TypeRule : uint8_t {
  numeric,   // the common type of the operands
  floating,  // the same, integers becoming the default float
  boolean,   // computed in the common type, the result is bool
};

// The kernel of an op whose first arguments are operands and whose next ones are parameters.
template <Function function, TypeRule rule, int operands, int parameters = 0>
void elementwise_kernel(Call& call) {
  DType compute = common_type(call.arguments, operands);
  if (rule == TypeRule::floating) compute = floating_type(compute);
  const DType result = rule == TypeRule::boolean ? DType::boolean : compute;
  apply(call, {function, compute, result, call.arguments, operands, call.arguments + operands,
               parameters});
}

}  // namespace relume
