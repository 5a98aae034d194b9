#include "tensor/kernels/row_conversions.h"

namespace relume {
namespace RELUME_ISA {
namespace {

constexpr int64_t kBlock = 64;  // elements that stay in the nearest cache as 32-bit numbers

template <class To, class From>
void convert_row(const From* source, int64_t count, To* target) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) target[i] = To(source[i]);
}

// The conversions of half.h in vectors of 32 bits throughout: where 16-bit numbers take part, the
// compiler splits and joins vectors at every step.
uint32_t half_bits(float value) {
  const uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffffu;
  // The sum has the half's last bit at its own last place, and so rounds to it; the exponent that it
  // is shifted to is at least that of the subnormal halves.
  const uint32_t exponent = magnitude & 0x7f800000u;
  const uint32_t shift = (exponent < 0x38800000u ? 0x38800000u : exponent) + (13u << 23);
  const uint32_t sum = bits_of(float_of(magnitude) + float_of(shift)) - shift;
  const uint32_t finite = sum + ((shift - (13u << 23) - 0x38800000u) >> 13);
  const uint32_t rest = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  return (magnitude >= 0x477ff000u ? rest : finite) | (bits >> 16 & 0x8000u);
}

void float_to_half(const float* source, int64_t count, Half* target) {
  uint32_t block[kBlock];
  for (; count > 0; source += kBlock, target += kBlock, count -= kBlock) {
    const int64_t here = count < kBlock ? count : kBlock;
#pragma GCC ivdep
    for (int64_t i = 0; i < here; i++) block[i] = half_bits(source[i]);
    for (int64_t i = 0; i < here; i++) target[i].bits = static_cast<uint16_t>(block[i]);
  }
}

void half_to_float(const Half* source, int64_t count, float* target) {
  constexpr float kScale = 0x1p112f;  // between the exponents of the two types
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) {
    const uint32_t half = source[i].bits;
    const uint32_t moved = (half & 0x7fffu) << 13;
    const uint32_t magnitude = bits_of(float_of(moved) * kScale);
    const uint32_t not_finite = moved >= 0x0f800000u ? 0x7f800000u : 0u;
    target[i] = float_of(magnitude | not_finite | (half & 0x8000u) << 16);
  }
}

}  // namespace

extern const RowConversions row_conversions;
const RowConversions row_conversions{float_to_half, half_to_float, convert_row<BFloat16, float>,
                                     convert_row<float, BFloat16>};

}  // namespace RELUME_ISA
}  // namespace relume
