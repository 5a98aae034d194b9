// Special functions of one element. Most are computed in double, so that float results are
// rounded once; some have a shorter way for float (float_functions.h).
#include "tensor/kernels/bessel_functions.h"
#include "tensor/kernels/error_functions.h"
#include "tensor/kernels/float_functions.h"
#include "tensor/kernels/gamma_functions.h"
#include "tensor/kernels/loops.h"

namespace relume {
namespace RELUME_ISA {
namespace {

// sin(pi * x) / (pi * x); taking the nearest integer away is exact.
inline double sinc(double x) {
  const double n = (x + math::kRound) - math::kRound;
  const double fraction = __builtin_fabs(x) < 0x1p51 ? x - n : 0;
  const double angle = math::kPi * fraction, square = angle * angle;
  const double sine =
      angle * math::polynomial(square, 1.0 / 51090942171709440000.0, -1.0 / 121645100408832000.0,
                               1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0,
                               -1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6, 1.0);
  const bool odd = math::bits_as<uint64_t>(x + math::kRound) & 1;
  const double value = (odd ? -sine : sine) / (math::kPi * x);
  return x - x != 0 ? math::kNaN : x == 0 ? 1 : value;
}

inline double exp2(double x) {
  const double n = (x + math::kRound) - math::kRound, rest = x - n;
  // In two steps: subnormal results and infinity come out right.
  const double clipped = math::clip(n, -1100.0, 1030.0);
  const double half = (clipped * 0.5 + math::kRound) - math::kRound;
  const double fraction = __builtin_fabs(x) < 2000 ? rest : 0;
  const double value = 1 + math::expm1_near_zero(fraction * 0.69314718055994530942);
  const double result = value * math::power_of_two(half) * math::power_of_two(clipped - half);
  return x != x ? x : result;
}

// The inverse hyperbolic functions by log1p; beyond 2^28 one is lost beside the square.
inline double asinh(double x) {
  const double size = __builtin_fabs(x), square = size * size;
  const double near = math::log1p(size + square / (1 + __builtin_sqrt(square + 1)));
  const double far = math::log(size) + 0.69314718055994530942;
  return x != x ? x : __builtin_copysign(size < 0x1p28 ? near : far, x);
}
inline double acosh(double x) {
  const double above = x - 1;
  const double near = math::log1p(above + __builtin_sqrt(above * (x + 1)));
  const double far = math::log(x) + 0.69314718055994530942;
  return x < 0x1p28 ? near : far;
}
inline double atanh(double x) {
  const double size = __builtin_fabs(x);
  return __builtin_copysign(0.5 * math::log1p(2 * size / (1 - size)), x);
}

inline double entr(double x) {
  const double value = -x * math::log(x);
  return x == 0 ? 0 : x < 0 ? -math::kInfinity : value;
}

#define RELUME_BY_TYPE(Name, float_function, double_function)                                 \
  template <class T>                                                                          \
  struct Name {                                                                               \
    T operator()(T x) const {                                                                 \
      if constexpr (std::is_same_v<T, float>) return float_function(x);                       \
      return static_cast<T>(double_function(static_cast<double>(x)));                         \
    }                                                                                         \
  };
RELUME_BY_TYPE(Exp2, math::exp2, exp2)
RELUME_BY_TYPE(Erfc, math::erfc, math::erfc)
RELUME_BY_TYPE(Erfinv, math::erfinv, math::erfinv)
RELUME_BY_TYPE(Ndtr, math::ndtr, math::ndtr)
RELUME_BY_TYPE(LogNdtr, math::log_ndtr, math::log_ndtr)
RELUME_BY_TYPE(Ndtri, math::ndtri, math::ndtri)
#undef RELUME_BY_TYPE

#define RELUME_IN_DOUBLE(Name, function)                                                      \
  template <class T>                                                                          \
  struct Name {                                                                               \
    T operator()(T x) const { return static_cast<T>(function(static_cast<double>(x))); }      \
  };
RELUME_IN_DOUBLE(Asinh, asinh)
RELUME_IN_DOUBLE(Acosh, acosh)
RELUME_IN_DOUBLE(Atanh, atanh)
RELUME_IN_DOUBLE(Sinc, sinc)
RELUME_IN_DOUBLE(Entr, entr)
RELUME_IN_DOUBLE(Erfcx, math::erfcx)
RELUME_IN_DOUBLE(LogGamma, math::lgamma)
RELUME_IN_DOUBLE(Digamma, math::digamma)
RELUME_IN_DOUBLE(Trigamma, math::trigamma)
RELUME_IN_DOUBLE(BesselI0, math::i0)
RELUME_IN_DOUBLE(BesselI0e, math::i0e)
RELUME_IN_DOUBLE(BesselI1, math::i1)
RELUME_IN_DOUBLE(BesselI1e, math::i1e)
RELUME_IN_DOUBLE(BesselJ0, ::j0)
RELUME_IN_DOUBLE(BesselJ1, ::j1)
RELUME_IN_DOUBLE(BesselY0, ::y0)
RELUME_IN_DOUBLE(BesselY1, ::y1)
#undef RELUME_IN_DOUBLE

// The logarithm of the odds, with probabilities kept eps away from 0 and 1.
template <class T>
struct Logit {
  T eps;
  T operator()(T given) const {
    const double p = static_cast<double>(given), margin = static_cast<double>(eps);
    const double kept = margin < 0 || p != p ? p : math::clip(p, margin, 1 - margin);
    const double value = math::log(kept / (1 - kept));
    return static_cast<T>(value);
  }
};

template <class T>
struct Polygamma {
  T order;
  T operator()(T x) const {
    return static_cast<T>(math::polygamma(static_cast<double>(order), static_cast<double>(x)));
  }
};

// Functions with branches and loops gain nothing from another instruction set.
using BaselineFloats = std::conditional_t<kIsBaseline, FloatingTypes, Types<>>;

}  // namespace

void add_special_loops(LoopTable& table) {
  fill<Exp2, 1>(table, Function::exp2, FloatingTypes{});
  fill<Asinh, 1>(table, Function::asinh, FloatingTypes{});
  fill<Acosh, 1>(table, Function::acosh, FloatingTypes{});
  fill<Atanh, 1>(table, Function::atanh, FloatingTypes{});
  fill<Sinc, 1>(table, Function::sinc, FloatingTypes{});
  fill<Entr, 1>(table, Function::entr, FloatingTypes{});
  fill<Logit, 1>(table, Function::logit, FloatingTypes{});
  fill<Erfc, 1>(table, Function::erfc, FloatingTypes{});
  fill<Erfcx, 1>(table, Function::erfcx, FloatingTypes{});
  fill<Erfinv, 1>(table, Function::erfinv, FloatingTypes{});
  fill<Ndtr, 1>(table, Function::ndtr, FloatingTypes{});
  fill<LogNdtr, 1>(table, Function::log_ndtr, FloatingTypes{});
  fill<Ndtri, 1>(table, Function::ndtri, FloatingTypes{});
  fill<BesselI0, 1>(table, Function::i0, FloatingTypes{});
  fill<BesselI0e, 1>(table, Function::i0e, FloatingTypes{});
  fill<BesselI1, 1>(table, Function::i1, FloatingTypes{});
  fill<BesselI1e, 1>(table, Function::i1e, FloatingTypes{});
  fill<LogGamma, 1>(table, Function::lgamma, BaselineFloats{});
  fill<Digamma, 1>(table, Function::digamma, BaselineFloats{});
  fill<Trigamma, 1>(table, Function::trigamma, BaselineFloats{});
  fill<Polygamma, 1>(table, Function::polygamma, BaselineFloats{});
  fill<BesselJ0, 1>(table, Function::bessel_j0, BaselineFloats{});
  fill<BesselJ1, 1>(table, Function::bessel_j1, BaselineFloats{});
  fill<BesselY0, 1>(table, Function::bessel_y0, BaselineFloats{});
  fill<BesselY1, 1>(table, Function::bessel_y1, BaselineFloats{});
}

}  // namespace RELUME_ISA
}  // namespace relume
