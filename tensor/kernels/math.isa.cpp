// Elementary functions. Those of math.h run on vectors; the others call the C library,
// for each element.
#include "tensor/kernels/float_functions.h"
#include "tensor/kernels/loops.h"

namespace relume {
namespace RELUME_ISA {
namespace {

#define RELUME_OWN(Name, function)                            \
  template <class T>                                          \
  struct Name {                                               \
    T operator()(T x) const { return math::function(x); }     \
  };
RELUME_OWN(Exp, exp)
RELUME_OWN(Expm1, expm1)
RELUME_OWN(Log, log)
RELUME_OWN(Log1p, log1p)
RELUME_OWN(Log2, log2)
RELUME_OWN(Log10, log10)
RELUME_OWN(Tanh, tanh)
RELUME_OWN(Sigmoid, sigmoid)
RELUME_OWN(Sinh, sinh)
RELUME_OWN(Cosh, cosh)
RELUME_OWN(Erf, erf)
#undef RELUME_OWN

#define RELUME_LIBRARY(Name, function)                                     \
  template <class T>                                                       \
  struct Name {                                                            \
    T operator()(T x) const {                                              \
      if constexpr (std::is_same_v<T, float>) return __builtin_##function##f(x); \
      return __builtin_##function(x);                                      \
    }                                                                      \
  };
RELUME_LIBRARY(LibrarySin, sin)
RELUME_LIBRARY(LibraryCos, cos)
RELUME_LIBRARY(LibraryTan, tan)
#undef RELUME_LIBRARY

// Functions of which only that for float is our own.
#define RELUME_OWN_FOR_FLOAT(Name, function)                               \
  template <class T>                                                       \
  struct Name {                                                            \
    T operator()(T x) const {                                              \
      if constexpr (std::is_same_v<T, float>) return math::function(x);    \
      return __builtin_##function(x);                                      \
    }                                                                      \
  };
RELUME_OWN_FOR_FLOAT(Asin, asin)
RELUME_OWN_FOR_FLOAT(Acos, acos)
RELUME_OWN_FOR_FLOAT(Atan, atan)
#undef RELUME_OWN_FOR_FLOAT

// Large angles are left to the library.
template <template <class> class Function, template <class> class Library>
struct Trigonometric : Function<float> {
  static bool rare(float x) { return !(__builtin_fabsf(x) <= math::kTrigonometricLimit); }
  static float slow(float x) { return Library<float>()(x); }
};
template <class T>
struct OwnSin {
  T operator()(T x) const { return math::sin(x); }
};
template <class T>
struct OwnCos {
  T operator()(T x) const { return math::cos(x); }
};
template <class T>
struct OwnTan {
  T operator()(T x) const { return math::tan(x); }
};
template <class T>
struct Sin : LibrarySin<T> {};
template <>
struct Sin<float> : Trigonometric<OwnSin, LibrarySin> {};
template <class T>
struct Cos : LibraryCos<T> {};
template <>
struct Cos<float> : Trigonometric<OwnCos, LibraryCos> {};
template <class T>
struct Tan : LibraryTan<T> {};
template <>
struct Tan<float> : Trigonometric<OwnTan, LibraryTan> {};

// Loops that only call the C library gain nothing from another instruction set.
using FloatOnly = std::conditional_t<kIsBaseline, FloatingTypes, Types<float>>;

}  // namespace

void add_math_loops(LoopTable& table) {
  fill<Exp, 1>(table, Function::exp, FloatingTypes{});
  fill<Expm1, 1>(table, Function::expm1, FloatingTypes{});
  fill<Log, 1>(table, Function::log, FloatingTypes{});
  fill<Log1p, 1>(table, Function::log1p, FloatingTypes{});
  fill<Log2, 1>(table, Function::log2, FloatingTypes{});
  fill<Log10, 1>(table, Function::log10, FloatingTypes{});
  fill<Tanh, 1>(table, Function::tanh, FloatingTypes{});
  fill<Sigmoid, 1>(table, Function::sigmoid, FloatingTypes{});
  fill<Sin, 1>(table, Function::sin, FloatOnly{});
  fill<Cos, 1>(table, Function::cos, FloatOnly{});
  fill<Tan, 1>(table, Function::tan, FloatOnly{});
  fill<Asin, 1>(table, Function::asin, FloatOnly{});
  fill<Acos, 1>(table, Function::acos, FloatOnly{});
  fill<Atan, 1>(table, Function::atan, FloatOnly{});
  fill<Sinh, 1>(table, Function::sinh, FloatOnly{});
  fill<Cosh, 1>(table, Function::cosh, FloatOnly{});
  fill<Erf, 1>(table, Function::erf, FloatOnly{});
}

}  // namespace RELUME_ISA
}  // namespace relume
