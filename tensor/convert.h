// Conversion of one element from one type to another, defined for every value.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tensor/value.h"

namespace relume {

template <class T>
constexpr bool is_complex_type = std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>;
template <class T>
constexpr bool is_half_type = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// Floating to integer as C does on x86: truncated toward zero, then wrapped (-1.0 is 255
// as uint8). NaN and values that fit no int64 (no int32, for types of up to 32 bits)
// give the most negative number of that type, wrapped.
template <class To, class From>
To truncate(From value) {
  using Wide = std::conditional_t<(sizeof(To) <= 4), int32_t, int64_t>;
  constexpr Wide lowest = std::numeric_limits<Wide>::min();
  constexpr From bound = -static_cast<From>(lowest);
  const bool fits = value >= -bound && value < bound;
  return static_cast<To>(fits ? static_cast<Wide>(value) : lowest);
}

// The float that a double lies at or next to, with its last bit set when they differ: it
// rounds on to 16 bits as the double itself would.
inline float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = nearest;
  if (back == value || back != back) return nearest;
  uint32_t bits = bits_of(nearest);
  const bool away_from_zero = value < 0 ? back < value : back > value;
  if (away_from_zero) --bits;
  return float_of(bits | 1u);
}

// A complex number loses its imaginary part on the way to a real type; as a bool it is true
// when either part is.
template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (is_complex_type<To> && is_complex_type<From>) {
    return To(value);
  } else if constexpr (is_complex_type<To>) {
    return To(convert<typename To::value_type>(value));
  } else if constexpr (is_complex_type<From>) {
    if constexpr (std::is_same_v<To, bool>) return value != From(0);
    return convert<To>(value.real());
  } else if constexpr (is_half_type<From>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (is_half_type<To>) {
    if constexpr (std::is_same_v<From, float>) return To(value);
    return To(round_to_odd(static_cast<double>(value)));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return truncate<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

// A number given as an argument, as an element of a tensor.
template <class T>
T number_as(const Value& number) {
  if (number.is_complex()) return convert<T>(*number.complex);
  return number.type == Value::Type::real ? convert<T>(number.real) : convert<T>(number.as_int());
}

}  // namespace relume
