#include "tensor/kernels/row_loops.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

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

#if defined(__F16C__)
// The processor has an instruction for eight elements, which compilers do not find. It would keep
// what a NaN carries besides its sign, which the conversion of one element does not.
int64_t convert_eights(const float* source, int64_t count, Half* target) {
  const __m256 sign = _mm256_set1_ps(-0.0f), nan = _mm256_set1_ps(__builtin_nanf(""));
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 x = _mm256_loadu_ps(source + i);
    const __m256 plain_nan = _mm256_or_ps(_mm256_and_ps(x, sign), nan);
    const __m256 plain = _mm256_blendv_ps(x, plain_nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target + i), _mm256_cvtps_ph(plain, _MM_FROUND_TO_NEAREST_INT));
  }
  return i;
}
#else
int64_t convert_eights(const float*, int64_t, Half*) { return 0; }
#endif

void float_to_half(const float* source, int64_t count, Half* target) {
  const int64_t done = convert_eights(source, count, target);
  source += done;
  target += done;
  count -= done;
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

template <class Unit>
void fill(Unit value, int64_t count, Unit* target) {
  for (int64_t i = 0; i < count; i++) target[i] = value;
}

template <class Unit>
void reverse(const Unit* last, int64_t count, Unit* target) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) target[i] = last[-i];
}

}  // namespace

extern const RowLoops row_loops;
const RowLoops row_loops{float_to_half,
                         half_to_float,
                         convert_row<BFloat16, float>,
                         convert_row<float, BFloat16>,
                         {fill<uint8_t>, reverse<uint8_t>},
                         {fill<uint16_t>, reverse<uint16_t>},
                         {fill<uint32_t>, reverse<uint32_t>},
                         {fill<uint64_t>, reverse<uint64_t>}};

}  // namespace RELUME_ISA
}  // namespace relume
