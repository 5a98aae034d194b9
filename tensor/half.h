// 16-bit floating types, computed in float. Conversions round to nearest even.
#pragma once
#include <cstdint>
#include <cstring>

namespace relume {

inline uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Both conversions are written without branches, so that loops of them are vectorised.
inline float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  const uint32_t normal = (magnitude << 13) + (112u << 23);
  const uint32_t not_finite = (magnitude << 13) | 0x7f800000u;
  // Subnormal: fraction * 2^-24 is exact in float.
  const uint32_t subnormal = bits_of(static_cast<float>(static_cast<int32_t>(magnitude)) * 5.9604644775390625e-8f);
  const uint32_t finite = magnitude < 0x400u ? subnormal : normal;
  return float_of(sign | (magnitude >= 0x7c00u ? not_finite : finite));
}

inline uint16_t float_to_half(float value) {
  const uint32_t bits = bits_of(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t odd = (magnitude >> 13) & 1u;
  const uint32_t normal = (magnitude + 0xfffu + odd - 0x38000000u) >> 13;
  // Subnormal: adding 0.5 lines the half's last bit up with the float's, and rounds.
  const uint32_t subnormal = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
  const uint32_t not_finite = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const uint32_t rounded = magnitude >= 0x477ff000u ? not_finite : finite;
  return static_cast<uint16_t>(sign | rounded);
}

struct Half {
  uint16_t bits = 0;
  Half() = default;
  Half(float value) : bits(float_to_half(value)) {}
  operator float() const { return half_to_float(bits); }
};

struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  BFloat16(float value) {
    const uint32_t wide = bits_of(value);
    const bool is_nan = (wide & 0x7fffffffu) > 0x7f800000u;
    const uint32_t rounded = wide + 0x7fffu + ((wide >> 16) & 1u);
    bits = static_cast<uint16_t>(is_nan ? (wide >> 16) | 0x40u : rounded >> 16);
  }
  operator float() const { return float_of(static_cast<uint32_t>(bits) << 16); }
};

}  // namespace relume
