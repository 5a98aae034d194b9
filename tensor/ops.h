// Registered ops as C++ functions, for code that is written in terms of ops
// (derivatives, composite ops, C++ users). Only ops that C++ code calls are listed;
// an op needs no entry here to exist.
#pragma once
#include "tensor/dispatch.h"

namespace relume {
namespace ops {

inline const OpFunction add{"add"}, sub{"sub"}, mul{"mul"}, div{"div"}, pow{"pow"}, neg{"neg"};
inline const OpFunction abs{"abs"}, sign{"sign"}, exp{"exp"}, log{"log"}, sqrt{"sqrt"}, square{"square"},
    reciprocal{"reciprocal"}, sin{"sin"}, cos{"cos"}, tanh{"tanh"}, sigmoid{"sigmoid"};
inline const OpFunction eq{"eq"}, ne{"ne"}, lt{"lt"}, le{"le"}, gt{"gt"}, ge{"ge"},
    logical_and{"logical_and"}, logical_not{"logical_not"};
inline const OpFunction maximum{"maximum"}, minimum{"minimum"}, where{"where"}, clamp{"clamp"};
inline const OpFunction addcmul{"addcmul"}, floor_divide{"floor_divide"}, trunc{"trunc"}, erf{"erf"}, sinh{"sinh"},
    cosh{"cosh"}, rsqrt{"rsqrt"};
inline const OpFunction tanh_backward{"tanh_backward"}, sigmoid_backward{"sigmoid_backward"},
    sqrt_backward{"sqrt_backward"}, square_backward{"square_backward"}, relu_backward{"relu_backward"},
    threshold_backward{"threshold_backward"}, leaky_relu_backward{"leaky_relu_backward"},
    elu_backward{"elu_backward"}, softplus_backward{"softplus_backward"}, clamp_backward{"clamp_backward"};
inline const OpFunction sum{"sum"}, mean{"mean"}, sum_to{"sum_to"};
inline const OpFunction matmul{"matmul"};
inline const OpFunction conv2d{"conv2d"}, conv2d_input_gradient{"conv2d_input_gradient"},
    conv2d_weight_gradient{"conv2d_weight_gradient"};
inline const OpFunction max_pool2d_scatter{"max_pool2d_scatter"}, max_pool2d_gather{"max_pool2d_gather"},
    avg_pool2d{"avg_pool2d"}, avg_pool2d_backward{"avg_pool2d_backward"};
inline const OpFunction pad{"pad"}, pad_backward{"pad_backward"}, upsample_nearest2d{"upsample_nearest2d"};
inline const OpFunction batch_norm_backward{"batch_norm_backward"};
inline const OpFunction softmax_backward{"softmax_backward"}, log_softmax_backward{"log_softmax_backward"};
inline const OpFunction embedding{"embedding"}, embedding_backward{"embedding_backward"};
inline const OpFunction reshape{"reshape"}, expand{"expand"}, permute{"permute"}, transpose{"transpose"},
    narrow{"narrow"}, select{"select"}, slice{"slice"}, squeeze{"squeeze"}, unsqueeze{"unsqueeze"},
    contiguous{"contiguous"}, clone{"clone"}, cat{"cat"}, stack{"stack"};
inline const OpFunction to_dtype{"to_dtype"}, copy_{"copy_"}, fill_{"fill_"};
inline const OpFunction zeros_like{"zeros_like"}, ones_like{"ones_like"};

}  // namespace ops

inline Tensor operator+(const Tensor& a, const Tensor& b) { return ops::add(a, b); }
inline Tensor operator+(const Tensor& a, double b) { return ops::add(a, b); }
inline Tensor operator+(double a, const Tensor& b) { return ops::add(b, a); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return ops::sub(a, b); }
inline Tensor operator-(const Tensor& a, double b) { return ops::sub(a, b); }
inline Tensor operator-(double a, const Tensor& b) { return ops::sub(a, b); }
inline Tensor operator-(const Tensor& a) { return ops::neg(a); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return ops::mul(a, b); }
inline Tensor operator*(const Tensor& a, double b) { return ops::mul(a, b); }
inline Tensor operator*(double a, const Tensor& b) { return ops::mul(b, a); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return ops::div(a, b); }
inline Tensor operator/(const Tensor& a, double b) { return ops::div(a, b); }
inline Tensor operator/(double a, const Tensor& b) { return ops::div(a, b); }

}  // namespace relume
