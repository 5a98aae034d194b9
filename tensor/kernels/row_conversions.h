// Rows of 16-bit floats to and from float32, per instruction set (row_conversions.isa.cpp).
#pragma once
#include <cstdint>

#include "tensor/half.h"

namespace relume {

template <class To, class From>
using RowConversion = void (*)(const From* source, int64_t count, To* target);

struct RowConversions {
  RowConversion<Half, float> float_to_half;
  RowConversion<float, Half> half_to_float;
  RowConversion<BFloat16, float> float_to_bfloat16;
  RowConversion<float, BFloat16> bfloat16_to_float;
};

}  // namespace relume
