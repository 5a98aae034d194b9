// Activation functions that are curved versions or relatives of relu, and their gradients,
// which take the incoming gradient first.
#include "tensor/kernels/loops.h"
#include "tensor/kernels/math.h"

namespace relume {
namespace RELUME_ISA {
namespace {

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kNormalDensityAtZero = 0.39894228040143267794;  // 1 / sqrt(2 pi)
constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
constexpr double kGeluCubic = 0.044715;

// The probability that a standard normal number is below x, and exp(-x^2 / 2), of which the
// former is made.
template <class T>
struct Normal {
  T below, bell;
};
inline Normal<double> normal(double x) {
  return {0.5 * (1 + math::erf(x * kSqrtHalf)), math::exp(x * x * -0.5)};
}
// The tail over its bell is smooth in t: a fit with relative error 5e-8. Largest error seen of `below`
// 2e-7, and 8e-7 of its size in the lower tail.
inline Normal<float> normal(float x) {
  const float t = 1 / (1 + 0.42f * static_cast<float>(kSqrtHalf) * __builtin_fabsf(x));
  const float ratio = math::polynomial(t, 7.875547558e-02f, -3.586683273e-01f, 5.137385130e-01f, -2.069364637e-01f,
                                       3.166619539e-01f, 1.763156205e-01f, 2.438101619e-01f, 2.362954170e-01f,
                                       2.765682075e-05f);
  const float bell = math::exp(x * x * -0.5f), tail = 0.5f * ratio * bell;
  return {x < 0 ? tail : 1 - tail, bell};
}

template <class T>
struct Gelu {
  T operator()(T x) const { return x * normal(x).below; }
};
template <class T>
struct GeluBackward {
  T operator()(T grad, T x) const {
    const Normal<T> parts = normal(x);
    return grad * (parts.below + x * T(kNormalDensityAtZero) * parts.bell);
  }
};

// gelu with a tanh in place of the normal distribution.
template <class T>
struct GeluTanh {
  T operator()(T x) const {
    const T inner = T(kSqrtTwoOverPi) * (x + T(kGeluCubic) * x * x * x);
    return T(0.5) * x * (T(1) + math::tanh(inner));
  }
};
template <class T>
struct GeluTanhBackward {
  T operator()(T grad, T x) const {
    const T square = x * x;
    const T t = math::tanh(T(kSqrtTwoOverPi) * (x + T(kGeluCubic) * square * x));
    const T slope = T(kSqrtTwoOverPi) * (T(1) + T(3 * kGeluCubic) * square);
    return grad * T(0.5) * ((T(1) + t) + x * (T(1) - t * t) * slope);
  }
};

template <class T>
struct Silu {
  T operator()(T x) const { return x * math::sigmoid(x); }
};
template <class T>
struct SiluBackward {
  T operator()(T grad, T x) const {
    const T s = math::sigmoid(x);
    return grad * s * (T(1) + x * (T(1) - s));
  }
};

// tanh(softplus(x)) = n / (n + 2) with n = e^x (e^x + 2); 1 to the last bit from 20 on.
template <class T>
struct MishParts {
  T exponential, n;
  explicit MishParts(T x) : exponential(math::exp(x > T(20) ? T(20) : x)), n(exponential * (exponential + T(2))) {}
};
template <class T>
struct Mish {
  T operator()(T x) const {
    const MishParts<T> parts(x);
    return x * (parts.n / (parts.n + T(2)));
  }
};
template <class T>
struct MishBackward {
  T operator()(T grad, T x) const {
    const MishParts<T> parts(x);
    const T below_one = T(2) / (parts.n + T(2)), t = parts.n / (parts.n + T(2));
    const T sigmoid = parts.exponential / (T(1) + parts.exponential);
    return grad * (t + x * below_one * (T(1) + t) * sigmoid);
  }
};

// log(1 + y) for y between 0 and 1.
inline double log1p_of_fraction(double y) { return math::log1p(y); }
inline float log1p_of_fraction(float y) {  // twice the inverse hyperbolic tangent of s
  const float s = y / (2 + y);
  return 2 * s * math::polynomial(s * s, 1 / 13.f, 1 / 11.f, 1 / 9.f, 1 / 7.f, 1 / 5.f, 1 / 3.f, 1.f);
}
template <class T>
struct LogSigmoid {
  T operator()(T x) const {
    const T tail = log1p_of_fraction(math::exp(-(x < T(0) ? -x : x)));
    return (x > T(0) ? T(0) : x) - tail;  // NaN stays NaN
  }
};

template <class T>
struct Hardswish {
  T operator()(T x) const { return x * math::clip(x + T(3), T(0), T(6)) / T(6); }
};
template <class T>
struct HardswishBackward {
  T operator()(T grad, T x) const {
    const T curved = grad * (x / T(3) + T(0.5));
    return x <= T(-3) ? T(0) : x >= T(3) ? grad : curved;
  }
};

template <class T>
struct Hardsigmoid {
  T operator()(T x) const { return math::clip(x + T(3), T(0), T(6)) / T(6); }
};
template <class T>
struct HardsigmoidBackward {
  T operator()(T grad, T x) const { return (x > T(-3)) & (x < T(3)) ? grad / T(6) : T(0); }
};

template <class T>
struct Hardshrink {
  T lambd;
  T operator()(T x) const { return (x >= -lambd) & (x <= lambd) ? T(0) : x; }
};
template <class T>
struct Softshrink {
  T lambd;
  T operator()(T x) const { return x > lambd ? x - lambd : x < -lambd ? x + lambd : x * T(0); }
};
template <class T>
struct ShrinkBackward {  // of both
  T lambd;
  T operator()(T grad, T x) const { return (x >= -lambd) & (x <= lambd) ? T(0) : grad; }
};

}  // namespace

void add_smooth_activation_loops(LoopTable& table) {
  fill<Gelu, 1>(table, Function::gelu, FloatingTypes{});
  fill<GeluTanh, 1>(table, Function::gelu_tanh, FloatingTypes{});
  fill<Silu, 1>(table, Function::silu, FloatingTypes{});
  fill<Mish, 1>(table, Function::mish, FloatingTypes{});
  fill<LogSigmoid, 1>(table, Function::logsigmoid, FloatingTypes{});
  fill<Hardswish, 1>(table, Function::hardswish, FloatingTypes{});
  fill<Hardsigmoid, 1>(table, Function::hardsigmoid, FloatingTypes{});
  fill<Hardshrink, 1>(table, Function::hardshrink, FloatingTypes{});
  fill<Softshrink, 1>(table, Function::softshrink, FloatingTypes{});
  fill<GeluBackward, 2>(table, Function::gelu_backward, FloatingTypes{});
  fill<GeluTanhBackward, 2>(table, Function::gelu_tanh_backward, FloatingTypes{});
  fill<SiluBackward, 2>(table, Function::silu_backward, FloatingTypes{});
  fill<MishBackward, 2>(table, Function::mish_backward, FloatingTypes{});
  fill<HardswishBackward, 2>(table, Function::hardswish_backward, FloatingTypes{});
  fill<HardsigmoidBackward, 2>(table, Function::hardsigmoid_backward, FloatingTypes{});
  fill<ShrinkBackward, 2>(table, Function::softshrink_backward, FloatingTypes{});
}

}  // namespace RELUME_ISA
}  // namespace relume
