// The inner loops of element-wise functions, by function and element type.
#pragma once
#include <cstdint>

#include "tensor/dtype.h"

namespace relume {

// Functions that cost many instructions stand together: grain_of in elementwise.cpp names the
// first and the last of each group.
enum class Function : uint8_t {
  // one operand
  neg, abs, sign, conj, square, reciprocal, sqrt, rsqrt,
  exp, exp2, expm1, log, log1p, log2, log10, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh,
  asinh, acosh, atanh, sigmoid, logsigmoid, sinc, entr, logit,
  erf, erfc, erfcx, erfinv, ndtr, log_ndtr, ndtri, lgamma, digamma, trigamma, polygamma,
  i0, i0e, i1, i1e, bessel_j0, bessel_j1, bessel_y0, bessel_y1,
  floor, ceil, round, trunc, frac, nan_to_num,
  logical_not, bitwise_not, signbit, isnan, isinf, isfinite, isposinf, isneginf,
  // one operand and parameters
  relu, leaky_relu, hardswish, hardsigmoid, hardshrink, softshrink,
  elu, gelu, gelu_tanh, silu, mish, softplus, threshold, clamp, clamp_min, clamp_max,
  // two operands
  add, sub, mul, div, add_scaled,
  floor_divide, trunc_divide, remainder, fmod, pow, hypot, ldexp, nextafter, xlogy, xlog1py,
  logaddexp, logaddexp2, gcd, lcm, zeta, gammainc, gammaincc, atan2,
  maximum, minimum, fmax, fmin, copysign, heaviside, isclose,
  eq, ne, lt, le, gt, ge, logical_and, logical_or, logical_xor,
  bitwise_and, bitwise_or, bitwise_xor, bitwise_left_shift, bitwise_right_shift,
  prelu, tanh_backward, sigmoid_backward, sqrt_backward, square_backward, relu_backward, threshold_backward,
  leaky_relu_backward, hardswish_backward, hardsigmoid_backward, softshrink_backward,
  elu_backward, gelu_backward, gelu_tanh_backward, silu_backward, mish_backward, softplus_backward, clamp_backward,
  // three operands
  where, addcmul, addcdiv, lerp, betainc,
  count,
};

// Applies a function to `count` elements: data[0] is the output, data[1], ... the operands;
// `strides` are in bytes. `parameters` are numbers of the type that is computed in (float for
// the 16-bit types). Only an operand that begins where the output does, with its strides, may
// overlap the output.
using Loop = void (*)(char* const* data, const int64_t* strides, int64_t count,
                      const void* parameters);

struct LoopTable {
  Loop loops[static_cast<int>(Function::count)][kDTypeCount] = {};
};

// nullptr where the function does not take that type.
Loop find_loop(Function function, DType dtype);

// What each instruction set adds to the table (function_table.isa.cpp): the baseline all
// types, the others again what they make faster.
namespace baseline {
void add_loops(LoopTable& table);
}
namespace avx2 {
void add_loops(LoopTable& table);
}
namespace avx512 {
void add_loops(LoopTable& table);
}

}  // namespace relume
