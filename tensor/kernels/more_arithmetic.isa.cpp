// Arithmetic of two and three elements that few programs need: whole numbers, signs, powers of
// two, logarithms of sums, and special functions of several arguments.
#include <limits>

#include "tensor/kernels/gamma_functions.h"
#include "tensor/kernels/loops.h"
#include "tensor/kernels/quotients.h"

namespace relume {
namespace RELUME_ISA {
namespace {

// The quotient rounded toward zero; an integer divided by zero gives 0.
template <class T>
struct TruncDivide {
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == T(0)) return 0;
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(a));
      return static_cast<T>(a / b);
    } else {
      return static_cast<T>(__builtin_trunc(static_cast<double>(a / b)));
    }
  }
};

template <class T>
struct Hypot {
  T operator()(T a, T b) const {
    if constexpr (std::is_same_v<T, float>) {
      const double x = a, y = b;
      const bool infinite = __builtin_fabsf(a) == __builtin_inff() || __builtin_fabsf(b) == __builtin_inff();
      return infinite ? __builtin_inff() : static_cast<float>(__builtin_sqrt(x * x + y * y));
    } else {
      return __builtin_hypot(a, b);
    }
  }
};

// What the library gives for the pairs that quotients.h leaves to it.
struct LibraryFmod {
  float operator()(float a, float b) const { return __builtin_fmodf(a, b); }
};
struct LibraryRemainder {
  float operator()(float a, float b) const {
    const float remainder = __builtin_fmodf(a, b);
    if (remainder == 0) return __builtin_copysignf(0.0f, b);
    return (remainder < 0) != (b < 0) ? remainder + b : remainder;
  }
};
struct LibraryFloorDivide {
  float operator()(float a, float b) const {
    if (b == 0) return a / b;
    if (!ShortQuotient::rare(a, b)) return QuickFloorDivide<float>()(a, b);
    const float quotient = __builtin_rintf((a - LibraryRemainder()(a, b)) / b);
    return quotient == 0 ? __builtin_copysignf(0.0f, a / b) : quotient;
  }
};

template <class Quick, class Library>
void fill_guarded(LoopTable& table, Function name) {
  table.loops[static_cast<int>(name)][static_cast<int>(DType::float32)] = guarded_loop<Quick, Library>;
}

// a * 2^b, exact for whole b.
template <class T>
struct Ldexp {
  T operator()(T a, T b) const {
    const double power = static_cast<double>(b);
    if (power != power) return b;
    const double bounded = math::clip(power, -5000.0, 5000.0), whole = __builtin_trunc(bounded);
    const double scaled = std::ldexp(static_cast<double>(a), static_cast<int>(whole));
    return static_cast<T>(bounded == whole ? scaled : scaled * std::exp2(bounded - whole));
  }
};
// Steps of the number's bits, which are ordered as numbers of one sign are.
template <class T>
struct NextAfter {
  T operator()(T a, T b) const {
    using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    const Bits bits = math::bits_as<Bits>(a);
    const bool away_from_zero = (b > a) == (a > 0);
    const T next = math::bits_as<T>(static_cast<Bits>(bits + (away_from_zero ? 1 : -1)));
    const Bits sign_of_b = math::bits_as<Bits>(b) & std::numeric_limits<Bits>::min();
    const T from_zero = math::bits_as<T>(static_cast<Bits>(sign_of_b | 1));
    const T moved = a == T(0) ? from_zero : next;
    return (a != a) | (b != b) ? a + b : a == b ? b : moved;
  }
};
// The same among the numbers of a 16-bit type.
template <class Small>
struct NextAfterOf {
  float operator()(float a, float b) const {
    if (a != a || b != b) return a + b;
    if (a == b) return b;
    Small next(a);
    if (a == 0) {
      next.bits = b > 0 ? 0x0001 : 0x8001;
    } else {
      next.bits += (a < b) == (a > 0) ? 1 : -1;
    }
    return next;
  }
};
template <class Small>
void fill_nextafter_of(LoopTable& table) {
  table.loops[static_cast<int>(Function::nextafter)][static_cast<int>(DTypeOf<Small>::value)] =
      binary_loop<NextAfterOf<Small>, Small, Small>;
}
template <class T>
struct CopySign {
  T operator()(T a, T b) const { return static_cast<T>(__builtin_copysign(a, b)); }
};
// The step function, with `at_zero` at the step.
template <class T>
struct Heaviside {
  T operator()(T a, T at_zero) const {
    return a != a ? a : a == T(0) ? at_zero : static_cast<T>(a > T(0));
  }
};

// 0 wherever a is 0, unless b is NaN.
template <class T>
struct XLogY {
  T operator()(T a, T b) const {
    const T product = a * static_cast<T>(math::log(b));
    return b != b ? b : a == T(0) ? T(0) : product;
  }
};
template <class T>
struct XLog1pY {
  T operator()(T a, T b) const {
    const T product = a * static_cast<T>(math::log1p(b));
    return b != b ? b : a == T(0) ? T(0) : product;
  }
};

// log(exp(a) + exp(b)), from the larger of the two.
template <class T>
struct LogAddExp {
  T operator()(T a, T b) const {
    const T larger = a > b ? a : b, distance = __builtin_fabs(a - b);
    const T sum = larger + static_cast<T>(math::log1p(math::exp(-distance)));
    return a == b ? a + static_cast<T>(0.69314718055994530942) : sum;
  }
};
template <class T>
struct LogAddExp2 {
  T operator()(T a, T b) const {
    constexpr T ln2 = static_cast<T>(0.69314718055994530942), log2e = static_cast<T>(math::kLog2E);
    const T larger = a > b ? a : b, distance = __builtin_fabs(a - b);
    const T sum = larger + static_cast<T>(math::log1p(math::exp(-distance * ln2))) * log2e;
    return a == b ? a + T(1) : sum;
  }
};

// The number that is not NaN, where there is one.
template <class T>
struct Fmax {
  T operator()(T a, T b) const { return (a > b) | (b != b) ? a : b; }
};
template <class T>
struct Fmin {
  T operator()(T a, T b) const { return (a < b) | (b != b) ? a : b; }
};

template <class T>
uint64_t magnitude(T x) {
  return x < T(0) ? uint64_t{0} - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
}
template <class T>
uint64_t greatest_common_divisor(T a, T b) {
  uint64_t x = magnitude(a), y = magnitude(b);
  while (y != 0) {
    const uint64_t rest = x % y;
    x = y;
    y = rest;
  }
  return x;
}
template <class T>
struct Gcd {
  T operator()(T a, T b) const { return static_cast<T>(greatest_common_divisor(a, b)); }
};
template <class T>
struct Lcm {
  T operator()(T a, T b) const {
    const uint64_t divisor = greatest_common_divisor(a, b);
    const T multiple = divisor == 0 ? T(0) : static_cast<T>(magnitude(a) / divisor * magnitude(b));
    return multiple < T(0) ? static_cast<T>(uint64_t{0} - static_cast<uint64_t>(multiple)) : multiple;
  }
};

// Shifts by more than the bits that there are leave nothing, or the sign.
template <class T>
struct ShiftLeft {
  T operator()(T a, T b) const {
    constexpr int bits = 8 * sizeof(T);
    if constexpr (bits == 8) {  // in numbers that vectors shift one by one
      const bool all = static_cast<uint8_t>(b) >= bits;
      return all ? T(0) : static_cast<T>(static_cast<uint32_t>(a) << (static_cast<uint32_t>(b) & 7));
    }
    const uint64_t steps = static_cast<uint64_t>(b);
    return steps >= bits ? T(0) : static_cast<T>(static_cast<uint64_t>(a) << steps);
  }
};
template <class T>
struct ShiftRight {
  T operator()(T a, T b) const {
    constexpr int bits = 8 * sizeof(T);
    const uint64_t steps = static_cast<uint64_t>(b);
    return static_cast<T>(a >> (steps >= bits ? bits - 1 : steps) >> (steps >= bits ? 1 : 0));
  }
};

// |a - b| <= atol + rtol * |b|; NaN counts as close to NaN when `equal_nan` is not 0.
template <class T>
struct IsClose {
  T rtol, atol, equal_nan;
  bool operator()(T a, T b) const {
    const T bound = atol + rtol * static_cast<T>(__builtin_fabs(b));
    const T distance = static_cast<T>(__builtin_fabs(a - b));
    const bool finite = distance < static_cast<T>(__builtin_inf());
    const bool both_nan = (a != a) & (b != b) & (equal_nan != T(0));
    return (a == b) | (finite & (distance <= bound)) | both_nan;
  }
};

template <class T>
struct Zeta {
  T operator()(T s, T q) const { return static_cast<T>(math::zeta(s, q)); }
};
template <class T>
struct GammaInc {
  T operator()(T a, T x) const { return static_cast<T>(math::gammainc(a, x)); }
};
template <class T>
struct GammaIncC {
  T operator()(T a, T x) const { return static_cast<T>(math::gammaincc(a, x)); }
};
template <class T>
struct BetaInc {
  T operator()(T a, T b, T x) const { return static_cast<T>(math::betainc(a, b, x)); }
};

// ---- of one element ----

template <class T>
struct NanToNum {
  T nan, positive_infinity, negative_infinity;
  T operator()(T x) const {
    constexpr T infinity = static_cast<T>(__builtin_inf());
    return x != x ? nan : x == infinity ? positive_infinity : x == -infinity ? negative_infinity : x;
  }
};
template <class T>
struct SignBit {
  bool operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return __builtin_copysign(1.0, x) < 0;
    return x < T(0);
  }
};
template <class T>
struct IsPositiveInfinity {
  bool operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return x == static_cast<T>(__builtin_inf());
    return false;
  }
};
template <class T>
struct IsNegativeInfinity {
  bool operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return x == -static_cast<T>(__builtin_inf());
    return false;
  }
};

using BaselineFloats = std::conditional_t<kIsBaseline, FloatingTypes, Types<>>;
using BaselineNumbers = std::conditional_t<kIsBaseline, NumberTypes, Types<>>;

}  // namespace

void add_more_arithmetic_loops(LoopTable& table) {
  fill_guarded<QuickFmod<float>, LibraryFmod>(table, Function::fmod);
  fill_guarded<QuickRemainder<float>, LibraryRemainder>(table, Function::remainder);
  fill_guarded<QuickFloorDivide<float>, LibraryFloorDivide>(table, Function::floor_divide);
  fill<QuickAtan2, 2>(table, Function::atan2, Types<float>{});
  fill<TruncDivide, 2>(table, Function::trunc_divide, NumberTypes{});
  fill<Hypot, 2>(table, Function::hypot, FloatingTypes{});
  fill<Ldexp, 2>(table, Function::ldexp, BaselineFloats{});
  fill<NextAfter, 2>(table, Function::nextafter, WideFloats{});
  if constexpr (kIsBaseline) {
    fill_nextafter_of<Half>(table);
    fill_nextafter_of<BFloat16>(table);
  }
  fill<CopySign, 2>(table, Function::copysign, FloatingTypes{});
  fill<Heaviside, 2>(table, Function::heaviside, NumberTypes{});
  fill<XLogY, 2>(table, Function::xlogy, FloatingTypes{});
  fill<XLog1pY, 2>(table, Function::xlog1py, FloatingTypes{});
  fill<LogAddExp, 2>(table, Function::logaddexp, FloatingTypes{});
  fill<LogAddExp2, 2>(table, Function::logaddexp2, FloatingTypes{});
  fill<Fmax, 2>(table, Function::fmax, NumberTypes{});
  fill<Fmin, 2>(table, Function::fmin, NumberTypes{});
  fill<Gcd, 2>(table, Function::gcd, IntegerTypes{});
  fill<Lcm, 2>(table, Function::lcm, IntegerTypes{});
  fill<ShiftLeft, 2>(table, Function::bitwise_left_shift, IntegerTypes{});
  fill<ShiftRight, 2>(table, Function::bitwise_right_shift, IntegerTypes{});
  fill<IsClose, 2, ToBool>(table, Function::isclose, FloatingTypes{});
  fill<Zeta, 2>(table, Function::zeta, BaselineFloats{});
  fill<GammaInc, 2>(table, Function::gammainc, BaselineFloats{});
  fill<GammaIncC, 2>(table, Function::gammaincc, BaselineFloats{});
  fill<BetaInc, 3>(table, Function::betainc, BaselineFloats{});
  fill<NanToNum, 1>(table, Function::nan_to_num, FloatingTypes{});
  fill<SignBit, 1, ToBool>(table, Function::signbit, BaselineNumbers{});
  fill<IsPositiveInfinity, 1, ToBool>(table, Function::isposinf, BaselineNumbers{});
  fill<IsNegativeInfinity, 1, ToBool>(table, Function::isneginf, BaselineNumbers{});
}

}  // namespace RELUME_ISA
}  // namespace relume
