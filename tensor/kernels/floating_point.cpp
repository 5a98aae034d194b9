// The parts of floating-point numbers (sign, mantissa, exponent, neighbours), NaN and infinity, and
// questions about them.
#include <cmath>
#include <limits>

#include "tensor/elementwise.h"
#include "tensor/kernels/dense.h"
#include "tensor/ops.h"

namespace relume {
namespace {

template <Function function, int operands>
constexpr Kernel numeric = elementwise_kernel<function, TypeRule::numeric, operands>;
template <Function function, int operands>
constexpr Kernel floating = elementwise_kernel<function, TypeRule::floating, operands>;
template <Function function>
constexpr Kernel question = elementwise_kernel<function, TypeRule::boolean, 1>;

double largest_of(DType dtype) {
  switch (dtype) {
    case DType::float16: return 65504;
    case DType::bfloat16: return 3.38953138925153547590e38;
    case DType::float32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

void nan_to_num_cpu(Call& call) {
  const DType dtype = call.body(0)->dtype;
  if (is_complex(dtype)) refuse_complex(dtype);
  if (!is_floating(dtype)) {
    copy(call.output(0, call.tensor(0).shape(), dtype), call.tensor(0));
    return;
  }
  const double largest = largest_of(dtype);
  const Value replacements[] = {call.real(1), call.has(2) ? call.real(2) : largest,
                                call.has(3) ? call.real(3) : -largest};
  apply(call, {Function::nan_to_num, dtype, dtype, call.arguments, 1, replacements, 3});
}

Tensor size_of(const Value& value) {
  if (value.is_tensor()) return ops::abs(value);
  return scalar(std::abs(value.as_complex()), default_float());
}

// Integers are compared as doubles.
void isclose_cpu(Call& call) {
  const DType common = common_type(call.arguments, 2);
  const DType compute = is_floating(common) ? common : DType::float64;
  const Value parameters[] = {call.value(2), call.value(3), call.boolean(4) ? 1.0 : 0.0};
  if (is_complex(common)) {
    const Tensor difference = ops::abs(ops::sub(call.value(0), call.value(1)));
    const Tensor bound = ops::mul(size_of(call.value(1)), call.real(2)) + call.real(3);
    static const OpFunction logical_or{"logical_or"};
    return call.set_output(0, logical_or(ops::eq(call.value(0), call.value(1)), ops::le(difference, bound)));
  }
  check(call.real(2) >= 0 && call.real(3) >= 0, "isclose(): rtol and atol must not be negative, got ",
        call.real(2), " and ", call.real(3));
  apply(call, {Function::isclose, compute, DType::boolean, call.arguments, 2, parameters, 3});
}

// input = mantissa * 2^exponent with 1/2 <= |mantissa| < 1.
void frexp_cpu(Call& call) {
  const Tensor input = contiguous_copy_if_needed(call.tensor(0));
  check<TypeError>(is_floating(input.dtype()), "frexp() takes tensors of floating types, not ",
                   name(input.dtype()));
  const Tensor mantissa = call.output(0, input.shape(), input.dtype());
  const Tensor exponent = call.output(1, input.shape(), DType::int32);
  const DenseOutput mantissas(mantissa), exponents(exponent);
  visit(input.dtype(), [&](auto example) {
    using T = decltype(example);
    for (int64_t i = 0; i < input.numel(); ++i) {
      int power = 0;
      const double part = std::frexp(static_cast<double>(input.data_as<T>()[i]), &power);
      mantissas->data_as<T>()[i] = static_cast<T>(part);
      exponents->data_as<int32_t>()[i] = std::isfinite(part) ? power : 0;
    }
  });
  mantissas.write_back();
  exponents.write_back();
}

const Register parts[] = {
    {"ldexp(Tensor|Scalar input, Tensor|Scalar other) -> Tensor", "input * 2**other.",
     {Trait::elementwise}, floating<Function::ldexp, 2>},
    {"frexp(Tensor input) -> (Tensor, Tensor)",
     "Mantissa and exponent: input = mantissa * 2**exponent, with a mantissa from 0.5 up to 1.",
     {}, frexp_cpu},
    {"copysign(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
     "The size of input with the sign of other.", {Trait::elementwise},
     floating<Function::copysign, 2>},
    {"nextafter(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
     "The number next to input in the direction of other.",
     {Trait::elementwise, Trait::not_differentiable}, floating<Function::nextafter, 2>},
    {"heaviside(Tensor|Scalar input, Tensor|Scalar values) -> Tensor",
     "0 where input is negative, 1 where it is positive, values where it is 0.",
     {Trait::elementwise, Trait::not_differentiable}, numeric<Function::heaviside, 2>},
    {"fmax(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
     "The larger element of each pair, the other one where one is NaN.", {Trait::elementwise},
     numeric<Function::fmax, 2>},
    {"fmin(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
     "The smaller element of each pair, the other one where one is NaN.", {Trait::elementwise},
     numeric<Function::fmin, 2>},
    {"nan_to_num(Tensor input, float nan=0.0, float? posinf=None, float? neginf=None) -> Tensor",
     "Numbers in place of NaN and infinities; those default to the largest of the type.",
     {Trait::elementwise}, nan_to_num_cpu},
};

const Register questions[] = {
    {"signbit(Tensor input) -> Tensor", "Is the sign negative? That of -0.0 is.",
     {Trait::elementwise, Trait::not_differentiable}, question<Function::signbit>},
    {"isposinf(Tensor input) -> Tensor", "Is the element positive infinity?",
     {Trait::elementwise, Trait::not_differentiable}, question<Function::isposinf>},
    {"isneginf(Tensor input) -> Tensor", "Is the element negative infinity?",
     {Trait::elementwise, Trait::not_differentiable}, question<Function::isneginf>},
    {"isclose(Tensor|Scalar input, Tensor|Scalar other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
     "Is abs(input - other) <= atol + rtol * abs(other)? Infinities are close to themselves.",
     {Trait::elementwise, Trait::not_differentiable}, isclose_cpu},
};

}  // namespace
}  // namespace relume
