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

// Probability that a standard normal number is below x.
template <class T>
T normal_below(T x) {
  return T(0.5) * (T(1) + math::erf(x * T(kSqrtHalf)));
}

template <class T>
struct Gelu {
  T operator()(T x) const { return x * normal_below(x); }
};
template <class T>
struct GeluBackward {
  T operator()(T grad, T x) const {
    const T density = T(kNormalDensityAtZero) * math::exp(x * x * T(-0.5));
    return grad * (normal_below(x) + x * density);
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

template <class T>
struct LogSigmoid {
  T operator()(T x) const {
    const T tail = math::log1p(math::exp(-(x < T(0) ? -x : x)));
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
