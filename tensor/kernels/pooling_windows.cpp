#include "tensor/kernels/pooling.h"

namespace relume {
namespace {

// Number of windows along one dimension. With `ceil`, a last window may hang over the end, as
// long as it begins inside the input or the padding before it.
int64_t window_count(int64_t input, int64_t extent, int64_t stride, int64_t padding, bool ceil) {
  const int64_t room = input + 2 * padding - extent;
  if (room < 0 && !ceil) return 0;
  int64_t count = (room + (ceil ? stride - 1 : 0)) / stride + 1;
  if (room < 0) count = -room < stride ? 1 : 0;
  if (ceil && (count - 1) * stride >= input + padding) count--;
  return count;
}

}  // namespace

void PoolingAxis::make_table() {
  first.resize(windows);
  last.resize(windows);
  count.resize(windows);
  for (int64_t i = 0; i < windows; i++) {
    if (!slides()) {  // adaptive: nearly equal parts
      first[i] = i * input / windows;
      last[i] = ((i + 1) * input + windows - 1) / windows;
      count[i] = last[i] - first[i];
      continue;
    }
    const int64_t start = i * stride - padding;
    first[i] = start < 0 ? start + (-start + dilation - 1) / dilation * dilation : start;
    last[i] = std::min(start + extent(), input);
    // What hangs over the end in ceil mode is never counted. A mean of nothing is 0 / 1.
    count[i] = counts_padding ? std::min(start + kernel, input + padding) - start
                              : std::max<int64_t>(1, last[i] - first[i]);
    if (divisor != 0) count[i] = divisor;
  }
}

int64_t PoolingWindows::work() const {
  int64_t work = 1;
  for (const PoolingAxis& along : axis) {
    const int64_t window = along.slides() ? along.kernel : along.input / std::max<int64_t>(1, along.output()) + 1;
    work *= along.output() * window;
  }
  return work;
}

PoolingWindows sliding_windows(const Call& call, const Volumes& volumes, const PoolingSettings& at) {
  const int dims = volumes.dims, stride_at = at.kernel + 1, padding_at = at.kernel + 2;
  const Triple kernel = triple_argument(call, at.kernel, dims, 1, 1);
  const bool has_stride = call.has(stride_at) && call.integers(stride_at).count > 0;
  const Triple stride = has_stride ? triple_argument(call, stride_at, dims, 1, 1) : kernel;
  const Triple padding = triple_argument(call, padding_at, dims, 0, 0);
  const Triple dilation = at.dilation < 0 ? Triple{} : triple_argument(call, at.dilation, dims, 1, 1);
  const bool ceil = call.boolean(at.ceil_mode);
  const bool count_padding = at.count_include_pad < 0 || call.boolean(at.count_include_pad);

  PoolingWindows windows;
  Triple extents;
  bool too_large = false, too_padded = false;
  for (int i = 0; i < 3; i++) {
    PoolingAxis& axis = windows.axis[i];
    axis.input = volumes.size[i];
    axis.kernel = kernel[i];
    axis.stride = stride[i];
    axis.padding = padding[i];
    axis.dilation = dilation[i];
    extents[i] = axis.extent();
    axis.counts_padding = count_padding;
    axis.windows = window_count(axis.input, axis.extent(), axis.stride, axis.padding, ceil);
    too_padded = too_padded || 2 * padding[i] > kernel[i];
    too_large = too_large || axis.windows < 1;
  }
  check(!too_padded, call.op.name(), ": padding must be at most half of the kernel, but they are ",
        own_part(padding, dims), " and ", own_part(kernel, dims));
  check(!too_large, call.op.name(), ": the kernel covers ", own_part(extents, dims),
        " elements, more than the input of size ", own_part(volumes.size, dims), " with its padding ",
        own_part(padding, dims));
  if (at.divisor_override >= 0 && call.has(at.divisor_override)) {
    const int64_t divisor = call.integer(at.divisor_override);
    check(divisor != 0, call.op.name(), ": divisor_override must not be 0");
    for (int i = 0; i < 3; i++) windows.axis[i].divisor = i == 0 ? divisor : 1;
  }
  return windows;
}

PoolingWindows adaptive_windows(const Triple& input, const Triple& output) {
  PoolingWindows windows;
  for (int i = 0; i < 3; i++) {
    windows.axis[i].input = input[i];
    windows.axis[i].windows = output[i];
  }
  return windows;
}

}  // namespace relume
