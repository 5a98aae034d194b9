// Sliding windows over the last two dimensions: what convolution and pooling share.
#pragma once
#include <algorithm>
#include <cstdint>

#include "tensor/dims.h"
#include "tensor/dispatch.h"

namespace relume {

struct Pair {
  int64_t height, width;
};
inline bool operator==(Pair a, Pair b) { return a.height == b.height && a.width == b.width; }
inline std::ostream& operator<<(std::ostream& stream, Pair pair) {
  return stream << "(" << pair.height << ", " << pair.width << ")";
}

// No stride, padding, ... is larger, so that arithmetic on sizes cannot overflow.
constexpr int64_t kLargestSetting = INT32_MAX;

// Throws unless smallest <= value <= kLargestSetting.
void check_setting(const Call& call, int argument, int64_t value, int64_t smallest);
// A shape that an argument gives.
IntSpan shape_argument(const Call& call, int argument);

// An int[] argument: one number for both directions, or (height, width). Throws when it holds
// another count or a number below `smallest`.
Pair pair_argument(const Call& call, int argument, int64_t smallest);

// A batch of images from a (channels, height, width) or (batch, channels, height, width) tensor.
struct Images {
  int64_t batch, channels;
  Pair size;
  bool batched;

  Images() = default;
  Images(const Call& call, int argument);                           // of a tensor argument
  static Images of_shape_argument(const Call& call, int argument);  // of an int[] argument
  // The shape of such a tensor with other channels and size.
  Dims shape(int64_t channels, Pair size) const;

 private:
  Images(const Call& call, int argument, IntSpan shape);
};

// How windows of `kernel` elements, `dilation` apart, step over an input.
struct Window {
  Pair kernel, stride, padding, dilation;

  Pair extent() const {  // from a window's first to its last element
    return {dilation.height * (kernel.height - 1) + 1, dilation.width * (kernel.width - 1) + 1};
  }
};

// Along one dimension: where in the input the element `tap` of window 0 lies, and the range
// of windows for which that element lies inside the input.
struct TapRange {
  int64_t start;        // may be negative: in the padding
  int64_t first, last;  // windows in [first, last)

  TapRange(int64_t tap, int64_t dilation, int64_t padding, int64_t stride, int64_t input,
           int64_t windows) {
    start = tap * dilation - padding;
    first = start >= 0 ? 0 : std::min(windows, (-start + stride - 1) / stride);
    last = start >= input ? 0 : std::min(windows, (input - 1 - start) / stride + 1);
    last = std::max(first, last);
  }
};

// A contiguous tensor to write output `i` into.
Tensor dense_output(Call& call, int i, IntSpan shape, DType dtype);

// Throws TypeError unless the tensor argument has a floating type.
void check_floating(const Call& call, int argument);

// The type that a kernel computes in: float64, or float32 for everything smaller.
inline DType computing_type(DType dtype) { return dtype == DType::float64 ? dtype : DType::float32; }

}  // namespace relume
