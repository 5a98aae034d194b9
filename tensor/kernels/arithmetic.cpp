// The arithmetic ops: add, mul, pow, maximum, ...
#include <cmath>
#include <string_view>

#include "tensor/copy.h"
#include "tensor/elementwise.h"
#include "tensor/ops.h"

namespace relume {
namespace {

bool is_one(const Value& value) { return value.is_real_number() && value.as_double() == 1; }

// Integers wrap around, as those of tensors do: the smallest one is its own negative.
Value negated(const Value& value) {
  if (value.type == Value::Type::real) return Value(-value.real);
  return Value(static_cast<int64_t>(0 - static_cast<uint64_t>(value.as_int())));
}

// input + scale * other; `scale` is a number.
void add_scaled(Call& call, const Value& scale) {
  const Value all[] = {call.value(0), call.value(1), scale};
  const DType compute = common_type(all, 3);
  apply(call, {Function::add_scaled, compute, compute, call.arguments, 2, &scale, 1});
}

void add_cpu(Call& call) {
  if (!is_one(call.value(2))) return add_scaled(call, call.value(2));
  elementwise_kernel<Function::add, TypeRule::numeric, 2>(call);
}

void sub_cpu(Call& call) {
  if (call.value(2).is_complex()) return add_scaled(call, Value(-*call.value(2).complex));
  if (!is_one(call.value(2))) return add_scaled(call, negated(call.value(2)));
  elementwise_kernel<Function::sub, TypeRule::numeric, 2>(call);
}

// Division: exact, or with the quotient rounded down or toward zero.
void div_cpu(Call& call) {
  if (!call.has(2)) return elementwise_kernel<Function::div, TypeRule::floating, 2>(call);
  const std::string_view mode = call.text(2);
  if (mode == "floor") return elementwise_kernel<Function::floor_divide, TypeRule::numeric, 2>(call);
  check(mode == "trunc", "div(): rounding_mode must be 'trunc', 'floor' or None, not '", mode, "'");
  elementwise_kernel<Function::trunc_divide, TypeRule::numeric, 2>(call);
}

// Powers that are one instruction.
Function shorter_power(double exponent) {
  if (exponent == 2) return Function::square;
  if (exponent == 0.5) return Function::sqrt;
  if (exponent == -1) return Function::reciprocal;
  return Function::pow;
}

void pow_cpu(Call& call) {
  const DType compute = common_type(call.arguments, 2);
  const Value &base = call.value(0), &exponent = call.value(1);
  if (base.is_real_number() && base.as_double() == 2 && is_floating(compute)) {
    return apply(call, {Function::exp2, compute, compute, call.arguments + 1, 1});
  }
  if (exponent.is_real_number() && base.is_tensor()) {
    if (is_differentiable(compute)) {
      const Function function = shorter_power(exponent.as_double());
      if (function != Function::pow) {
        return apply(call, {function, compute, compute, call.arguments, 1});
      }
    } else {
      check(exponent.as_int() >= 0, "pow(): an integer tensor cannot be raised to the power ",
            exponent.as_int(), "; convert it to a floating type, or give a float exponent");
    }
  }
  apply(call, {Function::pow, compute, compute, call.arguments, 2});
}

// value * tensor1 * tensor2, added to the input.
template <Function function, bool floating>
void add_product_kernel(Call& call) {
  const Value& value = call.value(3);
  const DType common = common_type(call.arguments, is_one(value) ? 3 : 4);
  const DType compute = floating ? floating_type(common) : common;
  apply(call, {function, compute, compute, call.arguments, 3, &value, 1});
}

// The element times a number.
void scale(Call& call, double factor) {
  const Value operands[] = {call.value(0), factor};
  const DType compute = floating_type(call.body(0)->dtype);
  apply(call, {Function::mul, compute, compute, operands, 2});
}
void deg2rad_cpu(Call& call) { scale(call, 3.14159265358979323846 / 180); }
void rad2deg_cpu(Call& call) { scale(call, 180 / 3.14159265358979323846); }

void rsub_cpu(Call& call) {
  call.set_output(0, ops::sub(call.value(1), ops::mul(call.value(0), call.value(2))));
}

void float_power_cpu(Call& call) {
  const DType dtype = is_complex(common_type(call.arguments, 2)) ? DType::complex128 : DType::float64;
  const auto wide = [&](const Value& value) {
    if (value.is_tensor()) return ops::to_dtype(value, dtype);
    const Tensor number = empty({}, dtype);
    fill(number, value);
    return number;
  };
  call.set_output(0, ops::pow(wide(call.value(0)), wide(call.value(1))));
}

const Register register_add{
    "add(Tensor|Scalar input, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor",
    "input + alpha * other, element by element.", {Trait::elementwise}, add_cpu};
const Register register_sub{
    "sub(Tensor|Scalar input, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor",
    "input - alpha * other, element by element.", {Trait::elementwise}, sub_cpu};
const Register register_mul{
    "mul(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
    "input * other, element by element.", {Trait::elementwise},
    elementwise_kernel<Function::mul, TypeRule::numeric, 2>};
const Register register_div{
    "div(Tensor|Scalar input, Tensor|Scalar other, *, str? rounding_mode=None) -> Tensor",
    "input / other, element by element; integers give a floating result. The quotient may be "
    "rounded: 'floor' or 'trunc' (toward zero), which leave the type.",
    {Trait::elementwise}, div_cpu};
const Register register_floor_divide{
    "floor_divide(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
    "The quotient rounded down, as Python's //; an integer divided by zero gives 0.",
    {Trait::elementwise, Trait::not_differentiable},
    elementwise_kernel<Function::floor_divide, TypeRule::numeric, 2>};
const Register register_remainder{
    "remainder(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
    "The remainder with the sign of the divisor, as Python's %.", {Trait::elementwise},
    elementwise_kernel<Function::remainder, TypeRule::numeric, 2>};
const Register register_fmod{
    "fmod(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
    "The remainder with the sign of the dividend, as C's fmod.", {Trait::elementwise},
    elementwise_kernel<Function::fmod, TypeRule::numeric, 2>};
const Register register_pow{
    "pow(Tensor|Scalar input, Tensor|Scalar exponent) -> Tensor",
    "input to the power of exponent, element by element.", {Trait::elementwise}, pow_cpu};
const Register register_atan2{
    "atan2(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
    "The angle of the point (other, input), in radians.", {Trait::elementwise},
    elementwise_kernel<Function::atan2, TypeRule::floating, 2>};
const Register register_maximum{
    "maximum(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
    "The larger element of each pair; NaN if either is.", {Trait::elementwise},
    elementwise_kernel<Function::maximum, TypeRule::numeric, 2>};
const Register register_minimum{
    "minimum(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
    "The smaller element of each pair; NaN if either is.", {Trait::elementwise},
    elementwise_kernel<Function::minimum, TypeRule::numeric, 2>};
const Register register_addcmul{
    "addcmul(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    "input + value * tensor1 * tensor2, element by element.", {Trait::elementwise},
    add_product_kernel<Function::addcmul, false>};
const Register register_addcdiv{
    "addcdiv(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    "input + value * tensor1 / tensor2, element by element.", {Trait::elementwise},
    add_product_kernel<Function::addcdiv, true>};
const Register register_lerp{
    "lerp(Tensor input, Tensor end, Tensor|Scalar weight) -> Tensor",
    "input + weight * (end - input), element by element.", {Trait::elementwise},
    elementwise_kernel<Function::lerp, TypeRule::floating, 3>};
const Register composed[] = {
    {"rsub(Tensor input, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor",
     "other - alpha * input, element by element.", {Trait::composite}, rsub_cpu},
    {"float_power(Tensor|Scalar input, Tensor|Scalar exponent) -> Tensor",
     "input to the power of exponent, in float64.", {Trait::composite}, float_power_cpu},
    {"hypot(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
     "sqrt(input**2 + other**2), without overflow.", {Trait::elementwise},
     elementwise_kernel<Function::hypot, TypeRule::floating, 2>},
    {"deg2rad(Tensor input) -> Tensor", "Degrees in radians.", {Trait::elementwise}, deg2rad_cpu},
    {"rad2deg(Tensor input) -> Tensor", "Radians in degrees.", {Trait::elementwise}, rad2deg_cpu},
};

}  // namespace
}  // namespace relume
