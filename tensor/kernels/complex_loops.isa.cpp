// Functions of complex elements. One instruction set computes them all.
#include <cmath>
#include <complex>

#include "tensor/kernels/loops.h"

namespace relume {
namespace RELUME_ISA {
namespace {

template <class T>
using Part = typename T::value_type;

struct ToPart {
  template <class T>
  using Result = typename T::value_type;
};

// Spelled out: the product of std::complex looks for infinities that NaN parts may have come from.
template <class T>
T product(T a, T b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
// Smith's method: scaled by the larger part of the divisor, so that nothing overflows.
template <class T>
T quotient(T a, T b) {
  if (std::abs(b.real()) >= std::abs(b.imag())) {
    if (b.real() == 0 && b.imag() == 0) return {a.real() / std::abs(b.real()), a.imag() / std::abs(b.real())};
    const Part<T> ratio = b.imag() / b.real();
    const Part<T> scale = Part<T>(1) / (b.real() + b.imag() * ratio);
    return {(a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale};
  }
  const Part<T> ratio = b.real() / b.imag();
  const Part<T> scale = Part<T>(1) / (b.imag() + b.real() * ratio);
  return {(a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale};
}
template <class T>
T reciprocal_of(T x) {
  return quotient(T(1), x);
}

template <class T>
T whole_power(T base, int64_t exponent) {
  T result(1);
  for (uint64_t rest = exponent < 0 ? -static_cast<uint64_t>(exponent) : exponent; rest > 0; rest >>= 1) {
    if (rest & 1) result = product(result, base);
    base = product(base, base);
  }
  return exponent < 0 ? reciprocal_of(result) : result;
}

constexpr int kMostMultiplied = 100;  // as whole powers

template <class T>
T power(T base, T exponent) {
  const Part<T> real = exponent.real();
  if (exponent.imag() == 0 && std::abs(real) < kMostMultiplied && real == std::trunc(real)) {
    return whole_power(base, static_cast<int64_t>(real));
  }
  if (base == T(0)) return real > 0 ? T(0) : T(NAN, NAN);
  return std::pow(base, exponent);
}

// ---- one operand ----

template <class T>
struct Neg {
  T operator()(T x) const { return {-x.real(), -x.imag()}; }
};
template <class T>
struct Conj {
  T operator()(T x) const { return {x.real(), -x.imag()}; }
};
template <class T>
struct Abs {
  Part<T> operator()(T x) const { return std::hypot(x.real(), x.imag()); }
};
template <class T>
struct Sign {
  T operator()(T x) const {
    const Part<T> size = std::hypot(x.real(), x.imag());
    return size == 0 ? T(0) : T(x.real() / size, x.imag() / size);
  }
};
template <class T>
struct Square {
  T operator()(T x) const { return product(x, x); }
};
template <class T>
struct Reciprocal {
  T operator()(T x) const { return reciprocal_of(x); }
};
template <class T>
struct Sqrt {
  T operator()(T x) const { return std::sqrt(x); }
};
template <class T>
struct Rsqrt {
  T operator()(T x) const { return reciprocal_of(std::sqrt(x)); }
};
template <class T>
struct Exp {
  T operator()(T x) const { return std::exp(x); }
};
template <class T>
struct Exp2 {
  T operator()(T x) const { return std::exp(x * Part<T>(M_LN2)); }
};
template <class T>
struct Expm1 {
  T operator()(T x) const {
    if (!std::isfinite(x.real()) || !std::isfinite(x.imag())) return std::exp(x) - Part<T>(1);
    const Part<T> half_sine = std::sin(x.imag() / 2);
    return {std::expm1(x.real()) * std::cos(x.imag()) - 2 * half_sine * half_sine,
            std::exp(x.real()) * std::sin(x.imag())};
  }
};
template <class T>
struct Log {
  T operator()(T x) const { return std::log(x); }
};
template <class T>
struct Log1p {
  T operator()(T x) const {
    if (std::abs(x.real()) > Part<T>(0.5) || std::abs(x.imag()) > Part<T>(0.5)) return std::log(x + Part<T>(1));
    return {std::log1p(x.real() * (2 + x.real()) + x.imag() * x.imag()) / 2,
            std::atan2(x.imag(), 1 + x.real())};
  }
};
template <class T>
struct Log2 {
  T operator()(T x) const { return std::log(x) * Part<T>(M_LOG2E); }
};
template <class T>
struct Log10 {
  T operator()(T x) const { return std::log(x) * Part<T>(M_LOG10E); }
};
template <class T>
struct Sin {
  T operator()(T x) const { return std::sin(x); }
};
template <class T>
struct Cos {
  T operator()(T x) const { return std::cos(x); }
};
template <class T>
struct Tan {
  T operator()(T x) const { return std::tan(x); }
};
template <class T>
struct Asin {
  T operator()(T x) const { return std::asin(x); }
};
template <class T>
struct Acos {
  T operator()(T x) const { return std::acos(x); }
};
template <class T>
struct Atan {
  T operator()(T x) const { return std::atan(x); }
};
template <class T>
struct Sinh {
  T operator()(T x) const { return std::sinh(x); }
};
template <class T>
struct Cosh {
  T operator()(T x) const { return std::cosh(x); }
};
template <class T>
struct Tanh {
  T operator()(T x) const { return std::tanh(x); }
};
template <class T>
struct Asinh {
  T operator()(T x) const { return std::asinh(x); }
};
template <class T>
struct Acosh {
  T operator()(T x) const { return std::acosh(x); }
};
template <class T>
struct Atanh {
  T operator()(T x) const { return std::atanh(x); }
};
template <class T>
struct Sigmoid {
  T operator()(T x) const { return reciprocal_of(T(1) + std::exp(T(-x.real(), -x.imag()))); }
};
template <class T>
struct Round {
  T operator()(T x) const { return {std::nearbyint(x.real()), std::nearbyint(x.imag())}; }
};

template <class T>
struct LogicalNot {
  bool operator()(T x) const { return x == T(0); }
};
template <class T>
struct IsNan {
  bool operator()(T x) const { return std::isnan(x.real()) || std::isnan(x.imag()); }
};
template <class T>
struct IsInf {
  bool operator()(T x) const { return std::isinf(x.real()) || std::isinf(x.imag()); }
};
template <class T>
struct IsFinite {
  bool operator()(T x) const { return std::isfinite(x.real()) && std::isfinite(x.imag()); }
};

// ---- two operands ----

template <class T>
struct Add {
  T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct Sub {
  T operator()(T a, T b) const { return a - b; }
};
template <class T>
struct Mul {
  T operator()(T a, T b) const { return product(a, b); }
};
template <class T>
struct Div {
  T operator()(T a, T b) const { return quotient(a, b); }
};
template <class T>
struct AddScaled {
  T alpha;
  T operator()(T a, T b) const { return a + product(alpha, b); }
};
template <class T>
struct Pow {
  T operator()(T a, T b) const { return power(a, b); }
};
template <class T>
struct Equal {
  bool operator()(T a, T b) const { return a == b; }
};
template <class T>
struct NotEqual {
  bool operator()(T a, T b) const { return a != b; }
};
template <class T>
struct LogicalAnd {
  bool operator()(T a, T b) const { return a != T(0) && b != T(0); }
};
template <class T>
struct LogicalOr {
  bool operator()(T a, T b) const { return a != T(0) || b != T(0); }
};
template <class T>
struct LogicalXor {
  bool operator()(T a, T b) const { return (a != T(0)) != (b != T(0)); }
};

// The gradients of the real formulas: the tape conjugates what goes in and comes out.
template <class T>
struct TanhBackward {
  T operator()(T grad, T y) const { return product(grad, T(1) - product(y, y)); }
};
template <class T>
struct SigmoidBackward {
  T operator()(T grad, T y) const { return product(grad, product(y, T(1) - y)); }
};
template <class T>
struct SqrtBackward {
  T operator()(T grad, T y) const { return quotient(grad, y + y); }
};
template <class T>
struct SquareBackward {
  T operator()(T grad, T x) const { return product(grad, x + x); }
};

// ---- three operands ----

template <class T>
struct Addcmul {
  T value;
  T operator()(T a, T b, T c) const { return a + product(value, product(b, c)); }
};
template <class T>
struct Addcdiv {
  T value;
  T operator()(T a, T b, T c) const { return a + product(value, quotient(b, c)); }
};
template <class T>
struct Lerp {
  T operator()(T start, T end, T weight) const { return start + product(weight, end - start); }
};

template <class T>
void where_loop(char* const* data, const int64_t* strides, int64_t count, const void*) {
  for (int64_t i = 0; i < count; ++i) {
    element<T>(data[0], strides[0], i) = element<uint8_t>(data[1], strides[1], i)
                                             ? element<T>(data[2], strides[2], i)
                                             : element<T>(data[3], strides[3], i);
  }
}
template <class... Ts>
void fill_where(LoopTable& table, Types<Ts...>) {
  ((table.loops[static_cast<int>(Function::where)][static_cast<int>(DTypeOf<Ts>::value)] = where_loop<Ts>), ...);
}

using ComplexTypes = std::conditional_t<kIsBaseline, Types<Complex64, Complex128>, Types<>>;

}  // namespace

void add_complex_loops(LoopTable& table) {
  constexpr ComplexTypes all{};
  fill<Neg, 1>(table, Function::neg, all);
  fill<Conj, 1>(table, Function::conj, all);
  fill<Abs, 1, ToPart>(table, Function::abs, all);
  fill<Sign, 1>(table, Function::sign, all);
  fill<Square, 1>(table, Function::square, all);
  fill<Reciprocal, 1>(table, Function::reciprocal, all);
  fill<Sqrt, 1>(table, Function::sqrt, all);
  fill<Rsqrt, 1>(table, Function::rsqrt, all);
  fill<Exp, 1>(table, Function::exp, all);
  fill<Exp2, 1>(table, Function::exp2, all);
  fill<Expm1, 1>(table, Function::expm1, all);
  fill<Log, 1>(table, Function::log, all);
  fill<Log1p, 1>(table, Function::log1p, all);
  fill<Log2, 1>(table, Function::log2, all);
  fill<Log10, 1>(table, Function::log10, all);
  fill<Sin, 1>(table, Function::sin, all);
  fill<Cos, 1>(table, Function::cos, all);
  fill<Tan, 1>(table, Function::tan, all);
  fill<Asin, 1>(table, Function::asin, all);
  fill<Acos, 1>(table, Function::acos, all);
  fill<Atan, 1>(table, Function::atan, all);
  fill<Sinh, 1>(table, Function::sinh, all);
  fill<Cosh, 1>(table, Function::cosh, all);
  fill<Tanh, 1>(table, Function::tanh, all);
  fill<Asinh, 1>(table, Function::asinh, all);
  fill<Acosh, 1>(table, Function::acosh, all);
  fill<Atanh, 1>(table, Function::atanh, all);
  fill<Sigmoid, 1>(table, Function::sigmoid, all);
  fill<Round, 1>(table, Function::round, all);
  fill<LogicalNot, 1, ToBool>(table, Function::logical_not, all);
  fill<IsNan, 1, ToBool>(table, Function::isnan, all);
  fill<IsInf, 1, ToBool>(table, Function::isinf, all);
  fill<IsFinite, 1, ToBool>(table, Function::isfinite, all);
  fill<Add, 2>(table, Function::add, all);
  fill<Sub, 2>(table, Function::sub, all);
  fill<Mul, 2>(table, Function::mul, all);
  fill<Div, 2>(table, Function::div, all);
  fill<AddScaled, 2>(table, Function::add_scaled, all);
  fill<Pow, 2>(table, Function::pow, all);
  fill<Equal, 2, ToBool>(table, Function::eq, all);
  fill<NotEqual, 2, ToBool>(table, Function::ne, all);
  fill<LogicalAnd, 2, ToBool>(table, Function::logical_and, all);
  fill<LogicalOr, 2, ToBool>(table, Function::logical_or, all);
  fill<LogicalXor, 2, ToBool>(table, Function::logical_xor, all);
  fill<TanhBackward, 2>(table, Function::tanh_backward, all);
  fill<SigmoidBackward, 2>(table, Function::sigmoid_backward, all);
  fill<SqrtBackward, 2>(table, Function::sqrt_backward, all);
  fill<SquareBackward, 2>(table, Function::square_backward, all);
  fill<Addcmul, 3>(table, Function::addcmul, all);
  fill<Addcdiv, 3>(table, Function::addcdiv, all);
  fill<Lerp, 3>(table, Function::lerp, all);
  fill_where(table, all);
}

}  // namespace RELUME_ISA
}  // namespace relume
