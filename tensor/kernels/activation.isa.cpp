// The activation functions of neural networks and the fused kernels of their gradients,
// which take the incoming gradient first.
#include "tensor/kernels/loops.h"
#include "tensor/kernels/math.h"

namespace relume {
namespace RELUME_ISA {
namespace {

template <class T>
struct Relu {
  T operator()(T x) const { return x <= T(0) ? T(0) : x; }  // NaN stays NaN
};
template <class T>
struct ReluBackward {  // from the output
  T operator()(T grad, T out) const { return out > T(0) ? grad : T(0); }
};

template <class T>
struct LeakyRelu {
  T slope;
  T operator()(T x) const { return x > T(0) ? x : x * slope; }
};
template <class T>
struct LeakyReluBackward {
  T slope;
  T operator()(T grad, T x) const { return x > T(0) ? grad : grad * slope; }
};

template <class T>
struct Elu {
  T alpha;
  T operator()(T x) const {
    const T curved = alpha * math::expm1(x);
    return x > T(0) ? x : curved;
  }
};
template <class T>
struct EluBackward {
  T alpha;
  T operator()(T grad, T x) const {
    const T curved = grad * alpha * math::exp(x);
    return x > T(0) ? grad : curved;
  }
};

template <class T>
struct Softplus {
  T beta, threshold;
  T operator()(T x) const {
    const T scaled = x * beta;
    const T curved = math::log1p(math::exp(scaled)) / beta;
    return scaled > threshold ? x : curved;
  }
};
template <class T>
struct SoftplusBackward {
  T beta, threshold;
  T operator()(T grad, T x) const {
    const T scaled = x * beta;
    const T curved = grad * math::sigmoid(scaled);
    return scaled > threshold ? grad : curved;
  }
};

template <class T>
struct Threshold {
  T threshold, value;
  T operator()(T x) const { return x <= threshold ? value : x; }
};
template <class T>
struct ThresholdBackward {
  T threshold;
  T operator()(T grad, T x) const { return x > threshold ? grad : T(0); }
};

template <class T>
struct Clamp {
  T low, high;
  T operator()(T x) const {
    const T raised = x < low ? low : x;
    return raised > high ? high : raised;
  }
};
template <class T>
struct ClampMin {
  T low;
  T operator()(T x) const { return x < low ? low : x; }
};
template <class T>
struct ClampMax {
  T high;
  T operator()(T x) const { return x > high ? high : x; }
};
template <class T>
struct ClampBackward {  // passes between the ends, and at them where `ends` is 1
  T low, high, ends;
  T operator()(T grad, T x) const {
    const bool inside = (x > low) & (x < high);
    const bool at_end = (x == low) | (x == high);
    return inside | (at_end & (ends != T(0))) ? grad : T(0);
  }
};

template <class T>
struct Prelu {
  T operator()(T x, T weight) const { return x > T(0) ? x : weight * x; }
};
template <class T>
struct TanhBackward {
  T operator()(T grad, T out) const { return grad * (T(1) - out * out); }
};
template <class T>
struct SigmoidBackward {
  T operator()(T grad, T out) const { return grad * ((T(1) - out) * out); }
};
template <class T>
struct SqrtBackward {
  T operator()(T grad, T out) const { return grad / (out + out); }
};
template <class T>
struct SquareBackward {
  T operator()(T grad, T x) const { return grad * (x + x); }
};

}  // namespace

void add_activation_loops(LoopTable& table) {
  fill<Relu, 1>(table, Function::relu, NumberTypes{});
  fill<LeakyRelu, 1>(table, Function::leaky_relu, FloatingTypes{});
  fill<Elu, 1>(table, Function::elu, FloatingTypes{});
  fill<Softplus, 1>(table, Function::softplus, FloatingTypes{});
  fill<Threshold, 1>(table, Function::threshold, NumberTypes{});
  fill<Clamp, 1>(table, Function::clamp, NumberTypes{});
  fill<ClampMin, 1>(table, Function::clamp_min, NumberTypes{});
  fill<ClampMax, 1>(table, Function::clamp_max, NumberTypes{});
  fill<Prelu, 2>(table, Function::prelu, FloatingTypes{});
  fill<TanhBackward, 2>(table, Function::tanh_backward, FloatingTypes{});
  fill<SigmoidBackward, 2>(table, Function::sigmoid_backward, FloatingTypes{});
  fill<SqrtBackward, 2>(table, Function::sqrt_backward, FloatingTypes{});
  fill<SquareBackward, 2>(table, Function::square_backward, FloatingTypes{});
  fill<ReluBackward, 2>(table, Function::relu_backward, FloatingTypes{});
  fill<ThresholdBackward, 2>(table, Function::threshold_backward, FloatingTypes{});
  fill<LeakyReluBackward, 2>(table, Function::leaky_relu_backward, FloatingTypes{});
  fill<EluBackward, 2>(table, Function::elu_backward, FloatingTypes{});
  fill<SoftplusBackward, 2>(table, Function::softplus_backward, FloatingTypes{});
  fill<ClampBackward, 2>(table, Function::clamp_backward, FloatingTypes{});
}

}  // namespace RELUME_ISA
}  // namespace relume
