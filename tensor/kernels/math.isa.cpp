// Elementary functions. Those of math.h run on vectors; the others call the C library,
// for each element.
#include "tensor/kernels/math.h"

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
#undef RELUME_OWN

#define RELUME_LIBRARY(Name, function)                                     \
  template <class T>                                                       \
  struct Name {                                                            \
    T operator()(T x) const {                                              \
      if constexpr (std::is_same_v<T, float>) return __builtin_##function##f(x); \
      return __builtin_##function(x);                                      \
    }                                                                      \
  };
RELUME_LIBRARY(Sin, sin)
RELUME_LIBRARY(Cos, cos)
RELUME_LIBRARY(Tan, tan)
RELUME_LIBRARY(Asin, asin)
RELUME_LIBRARY(Acos, acos)
RELUME_LIBRARY(Atan, atan)
RELUME_LIBRARY(Sinh, sinh)
RELUME_LIBRARY(Cosh, cosh)
RELUME_LIBRARY(Erf, erf)
#undef RELUME_LIBRARY

// Loops that only call the C library gain nothing from another instruction set.
using LibraryTypes = std::conditional_t<kIsBaseline, FloatingTypes, Types<>>;

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
  fill<Sin, 1>(table, Function::sin, LibraryTypes{});
  fill<Cos, 1>(table, Function::cos, LibraryTypes{});
  fill<Tan, 1>(table, Function::tan, LibraryTypes{});
  fill<Asin, 1>(table, Function::asin, LibraryTypes{});
  fill<Acos, 1>(table, Function::acos, LibraryTypes{});
  fill<Atan, 1>(table, Function::atan, LibraryTypes{});
  fill<Sinh, 1>(table, Function::sinh, LibraryTypes{});
  fill<Cosh, 1>(table, Function::cosh, LibraryTypes{});
  fill<Erf, 1>(table, Function::erf, LibraryTypes{});
}

}  // namespace RELUME_ISA
}  // namespace relume
