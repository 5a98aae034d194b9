// Arithmetic of whole numbers: common divisors and multiples, shifts of bits.
#include "tensor/elementwise.h"

namespace relume {
namespace {

template <Function function, int operands>
constexpr Kernel numeric = elementwise_kernel<function, TypeRule::numeric, operands>;

const Register whole_numbers[] = {
    {"gcd(Tensor|Scalar input, Tensor|Scalar other) -> Tensor", "The greatest common divisor.",
     {Trait::elementwise, Trait::not_differentiable}, numeric<Function::gcd, 2>},
    {"lcm(Tensor|Scalar input, Tensor|Scalar other) -> Tensor", "The least common multiple.",
     {Trait::elementwise, Trait::not_differentiable}, numeric<Function::lcm, 2>},
    {"bitwise_left_shift(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
     "The bits of input, moved up by other places.",
     {Trait::elementwise, Trait::not_differentiable}, numeric<Function::bitwise_left_shift, 2>},
    {"bitwise_right_shift(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
     "The bits of input, moved down by other places; the sign stays.",
     {Trait::elementwise, Trait::not_differentiable}, numeric<Function::bitwise_right_shift, 2>},
};

}  // namespace
}  // namespace relume
