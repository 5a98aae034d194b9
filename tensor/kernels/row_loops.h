// Loops over a row of memory, per instruction set (row_loops.isa.cpp): 16-bit floats to and from
// float32, one value again and again, and a row from its end.
#pragma once
#include <cstdint>

#include "tensor/half.h"

namespace relume {

template <class To, class From>
using RowConversion = void (*)(const From* source, int64_t count, To* target);

// Elements of one size, whatever they hold.
template <class Unit>
struct RowLoopsOfSize {
  void (*fill)(Unit value, int64_t count, Unit* target);
  void (*reverse)(const Unit* last, int64_t count, Unit* target);  // from `last` downward
};

struct RowLoops {
  RowConversion<Half, float> float_to_half;
  RowConversion<float, Half> half_to_float;
  RowConversion<BFloat16, float> float_to_bfloat16;
  RowConversion<float, BFloat16> bfloat16_to_float;
  RowLoopsOfSize<uint8_t> of_1_byte;
  RowLoopsOfSize<uint16_t> of_2_bytes;
  RowLoopsOfSize<uint32_t> of_4_bytes;
  RowLoopsOfSize<uint64_t> of_8_bytes;
};

}  // namespace relume
