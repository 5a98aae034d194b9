// Comparisons, logic and selection: eq, logical_and, bitwise_or, where, ...
#include "tensor/elementwise.h"

namespace relume {
namespace {

// Numbers that the type of the tensor cannot hold are compared as they are, not wrapped.
template <Function function>
void comparison_kernel(Call& call) {
  DType compute = common_type(call.arguments, 2);
  for (int i = 0; i < 2; ++i) {
    const Value& value = call.value(i);
    if (is_integer(compute) && value.is_number() && saturated(value.as_int(), compute) != value.as_int()) {
      compute = DType::int64;
    }
  }
  apply(call, {function, compute, DType::boolean, call.arguments, 2});
}

template <Function function>
constexpr Kernel logical_kernel = elementwise_kernel<function, TypeRule::boolean, 2>;
template <Function function>
constexpr Kernel bitwise_kernel = elementwise_kernel<function, TypeRule::numeric, 2>;

void where_cpu(Call& call) {
  const DType compute = common_type(call.arguments + 1, 2);
  Elementwise work{Function::where, compute, compute, call.arguments, 3};
  work.first_is_condition = true;
  apply(call, work);
}

const Register comparisons[] = {
    {"eq(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
     "Is input == other? Element by element, as bool.",
     {Trait::elementwise, Trait::not_differentiable}, comparison_kernel<Function::eq>},
    {"ne(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
     "Is input != other? Element by element, as bool.",
     {Trait::elementwise, Trait::not_differentiable}, comparison_kernel<Function::ne>},
    {"lt(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
     "Is input < other? Element by element, as bool.",
     {Trait::elementwise, Trait::not_differentiable}, comparison_kernel<Function::lt>},
    {"le(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
     "Is input <= other? Element by element, as bool.",
     {Trait::elementwise, Trait::not_differentiable}, comparison_kernel<Function::le>},
    {"gt(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
     "Is input > other? Element by element, as bool.",
     {Trait::elementwise, Trait::not_differentiable}, comparison_kernel<Function::gt>},
    {"ge(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
     "Is input >= other? Element by element, as bool.",
     {Trait::elementwise, Trait::not_differentiable}, comparison_kernel<Function::ge>},
};

const Register register_logical_and{
    "logical_and(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
    "Are both elements true (not zero)?", {Trait::elementwise, Trait::not_differentiable},
    logical_kernel<Function::logical_and>};
const Register register_logical_or{
    "logical_or(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
    "Is either element true (not zero)?", {Trait::elementwise, Trait::not_differentiable},
    logical_kernel<Function::logical_or>};
const Register register_logical_xor{
    "logical_xor(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
    "Is exactly one of the elements true (not zero)?",
    {Trait::elementwise, Trait::not_differentiable}, logical_kernel<Function::logical_xor>};
const Register register_logical_not{
    "logical_not(Tensor input) -> Tensor", "Is the element false (zero)?",
    {Trait::elementwise, Trait::not_differentiable},
    elementwise_kernel<Function::logical_not, TypeRule::boolean, 1>};

const Register register_bitwise_and{
    "bitwise_and(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
    "The bits that both integers have; for bool, logical and.",
    {Trait::elementwise, Trait::not_differentiable}, bitwise_kernel<Function::bitwise_and>};
const Register register_bitwise_or{
    "bitwise_or(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
    "The bits that either integer has; for bool, logical or.",
    {Trait::elementwise, Trait::not_differentiable}, bitwise_kernel<Function::bitwise_or>};
const Register register_bitwise_xor{
    "bitwise_xor(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
    "The bits that exactly one of the integers has.",
    {Trait::elementwise, Trait::not_differentiable}, bitwise_kernel<Function::bitwise_xor>};
const Register register_bitwise_not{
    "bitwise_not(Tensor input) -> Tensor", "Every bit turned over; for bool, logical not.",
    {Trait::elementwise, Trait::not_differentiable},
    elementwise_kernel<Function::bitwise_not, TypeRule::numeric, 1>};

const Register register_isnan{
    "isnan(Tensor input) -> Tensor", "Is the element NaN?",
    {Trait::elementwise, Trait::not_differentiable},
    elementwise_kernel<Function::isnan, TypeRule::boolean, 1>};
const Register register_isinf{
    "isinf(Tensor input) -> Tensor", "Is the element positive or negative infinity?",
    {Trait::elementwise, Trait::not_differentiable},
    elementwise_kernel<Function::isinf, TypeRule::boolean, 1>};
const Register register_isfinite{
    "isfinite(Tensor input) -> Tensor", "Is the element neither NaN nor infinite?",
    {Trait::elementwise, Trait::not_differentiable},
    elementwise_kernel<Function::isfinite, TypeRule::boolean, 1>};

const Register register_where{
    "where(Tensor condition, Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
    "The element of input where the condition is true (not zero), otherwise of other.",
    {Trait::elementwise, Trait::no_in_place}, where_cpu};

}  // namespace
}  // namespace relume
