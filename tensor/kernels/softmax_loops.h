// The inner loops of softmax, its logarithm and their gradients, per instruction set
// (softmax.isa.cpp).
#pragma once
#include <cstdint>

namespace relume {

// `width` lines of `length` elements each; the elements of a line lie `stride` apart. With stride 1
// one line comes after the other, otherwise they are neighbours.
struct LineBlock {
  int64_t length, stride, width;
};
constexpr int64_t kMaxLineWidth = 64;
constexpr int64_t kMaxShortLine = 128;  // longer lines come one by one

// operands: input; or the gradient of the output, and the output.
template <class T>
using LineLoop = void (*)(const LineBlock& block, const T* const* operands, T* result);

template <class T>
struct SoftmaxLoopsOf {
  LineLoop<T> softmax, log_softmax, softmax_backward, log_softmax_backward;
};
struct SoftmaxLoops {
  SoftmaxLoopsOf<float> float32;
  SoftmaxLoopsOf<double> float64;
};

}  // namespace relume
