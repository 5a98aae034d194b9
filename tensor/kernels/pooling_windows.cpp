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

void lay_out(PoolingAxis& axis, int64_t windows, bool count_padding) {
  for (int64_t i = 0; i < windows; i++) {
    const int64_t start = i * axis.stride - axis.padding, dilation = axis.dilation;
    const int64_t first = start < 0 ? start + (-start + dilation - 1) / dilation * dilation : start;
    const int64_t last = std::min(start + axis.extent(), axis.input);
    axis.first.push_back(first);
    axis.last.push_back(last);
    // What hangs over the end in ceil mode is never counted. A mean of nothing is 0 / 1.
    axis.count.push_back(count_padding
                             ? std::min(start + axis.kernel, axis.input + axis.padding) - start
                             : std::max<int64_t>(1, last - first));
  }
}

}  // namespace

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
  Triple counts, extents;
  bool too_large = false, too_padded = false;
  for (int i = 0; i < 3; i++) {
    PoolingAxis& axis = windows.axis[i];
    axis.input = volumes.size[i];
    axis.kernel = kernel[i];
    axis.stride = stride[i];
    axis.padding = padding[i];
    axis.dilation = dilation[i];
    extents[i] = axis.extent();
    counts[i] = window_count(axis.input, axis.extent(), axis.stride, axis.padding, ceil);
    too_padded = too_padded || 2 * padding[i] > kernel[i];
    too_large = too_large || counts[i] < 1;
  }
  check(!too_padded, call.op.name(), ": padding must be at most half of the kernel, but they are ",
        own_part(padding, dims), " and ", own_part(kernel, dims));
  check(!too_large, call.op.name(), ": the kernel covers ", own_part(extents, dims),
        " elements, more than the input of size ", own_part(volumes.size, dims), " with its padding ",
        own_part(padding, dims));
  for (int i = 0; i < 3; i++) lay_out(windows.axis[i], counts[i], count_padding);
  if (at.divisor_override >= 0 && call.has(at.divisor_override)) {
    const int64_t divisor = call.integer(at.divisor_override);
    check(divisor != 0, call.op.name(), ": divisor_override must not be 0");
    for (int i = 0; i < 3; i++) windows.axis[i].count.assign(counts[i], i == 0 ? divisor : 1);
  }
  return windows;
}

PoolingWindows adaptive_windows(const Triple& input, const Triple& output) {
  PoolingWindows windows;
  for (int i = 0; i < 3; i++) {
    PoolingAxis& axis = windows.axis[i];
    axis.input = input[i];
    for (int64_t part = 0; part < output[i]; part++) {
      const int64_t first = part * input[i] / output[i];
      const int64_t last = ((part + 1) * input[i] + output[i] - 1) / output[i];
      axis.first.push_back(first);
      axis.last.push_back(last);
      axis.count.push_back(last - first);
    }
  }
  return windows;
}

}  // namespace relume
