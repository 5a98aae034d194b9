// Windows of images as the columns of a matrix, and their sum back to images.
#include "tensor/copy.h"
#include "tensor/kernels/volume.h"
#include "tensor/public_names.h"

namespace relume {
namespace {

// How windows step over planes (depth 1); the settings are arguments of the op.
struct Windows {
  Triple input, kernel, dilation, padding, stride, steps;

  // kernel_size, dilation, padding, stride from argument `at` on.
  Windows(const Call& call, const Triple& input, int at)
      : input(input),
        kernel(triple_argument(call, at, 2, 1, 1)),
        dilation(triple_argument(call, at + 1, 2, 1, 1)),
        padding(triple_argument(call, at + 2, 2, 0, 0)),
        stride(triple_argument(call, at + 3, 2, 1, 1)) {
    for (int i = 0; i < 3; i++) {
      const int64_t extent = dilation[i] * (kernel[i] - 1) + 1, padded = input[i] + 2 * padding[i];
      check(padded >= extent, public_name(call.op), ": the kernel covers ", extent,
            " elements, more than the input with its padding, ", padded);
      steps[i] = (padded - extent) / stride[i] + 1;
    }
  }

  int64_t taps() const { return kernel.product(); }
  int64_t columns() const { return steps.product(); }

  // Calls f(first element of a plane's row, its step, place in the matrix, count) for every run of
  // elements of a row that windows side by side hold at one tap. What is not visited is padding.
  template <class Function>
  void for_each_run(const Function& function) const {
    for (int64_t tap = 0; tap < taps(); tap++) {
      const TapRange rows(tap / kernel[2], dilation[1], padding[1], stride[1], input[1], steps[1]);
      const TapRange across(tap % kernel[2], dilation[2], padding[2], stride[2], input[2], steps[2]);
      for (int64_t y = rows.first; y < rows.last; y++) {
        if (across.last == across.first) continue;
        const int64_t row = (rows.start + y * stride[1]) * input[2];
        function(row + across.start + across.first * stride[2], stride[2],
                 (tap * steps[1] + y) * steps[2] + across.first, across.last - across.first);
      }
    }
  }
};

void im2col_cpu(Call& call) {
  const Volumes images(call, 0, 2);
  const Windows windows(call, images.size, 1);
  const Tensor input = contiguous_copy_if_needed(call.tensor(0));
  Dims shape;
  if (images.batched) shape.push(images.batch);
  shape.push(images.channels * windows.taps());
  shape.push(windows.columns());
  const Tensor out = dense_output(call, 0, shape, input.dtype());
  const int64_t size = windows.taps() * windows.columns();
  visit(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_planes(images.planes(), size, [&](int64_t plane) {
      const T* source = input.data_as<const T>() + plane * images.elements();
      T* target = out.data_as<T>() + plane * size;
      if (windows.padding != Triple{{0, 0, 0}}) std::fill_n(target, size, T(0));
      windows.for_each_run([&](int64_t from, int64_t step, int64_t to, int64_t count) {
        if (step == 1) {
          std::copy_n(source + from, count, target + to);
        } else {
          for (int64_t i = 0; i < count; i++) target[to + i] = source[from + i * step];
        }
      });
    });
  });
}

void col2im_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check(input.ndim() == 2 || input.ndim() == 3,
        "fold: input must have shape (channels * window elements, windows) or (batch, ..., ...), not ",
        input.shape());
  const Triple size = triple_argument(call, 1, 2, 0, 1);
  const Windows windows(call, size, 2);
  const bool batched = input.ndim() == 3;
  const int64_t rows = input.size(batched ? 1 : 0), columns = input.size(batched ? 2 : 1);
  check(rows % windows.taps() == 0 && columns == windows.columns(), "fold: input of shape ", input.shape(),
        " does not fit: it must have a multiple of ", windows.taps(), " rows and ", windows.columns(), " columns");
  const int64_t channels = rows / windows.taps(), batch = batched ? input.size(0) : 1;
  Dims shape;
  if (batched) shape.push(batch);
  shape.push(channels);
  shape.push(size[1]);
  shape.push(size[2]);
  compute_floating(call, shape, [&](const Tensor& matrix, const Tensor& out, auto zero) {
    using T = decltype(zero);
    const int64_t elements = windows.taps() * windows.columns(), pixels = size.product();
    for_planes(batch * channels, elements, [&](int64_t plane) {
      const T* source = matrix.data_as<const T>() + plane * elements;
      T* target = out.data_as<T>() + plane * pixels;
      std::fill_n(target, pixels, T(0));
      windows.for_each_run([&](int64_t to, int64_t step, int64_t from, int64_t count) {
        if (step == 1) {
          for (int64_t i = 0; i < count; i++) target[to + i] += source[from + i];
        } else {
          for (int64_t i = 0; i < count; i++) target[to + i * step] += source[from + i];
        }
      });
    });
  });
}

const Register register_im2col{
    "im2col(Tensor input, int[] kernel_size, int[] dilation=[1, 1], int[] padding=[0, 0], int[] stride=[1, "
    "1]) -> Tensor",
    "The elements under every window of (batch, channels, height, width) as the columns of a matrix "
    "(batch, channels * window elements, windows).",
    {Trait::no_method}, im2col_cpu};
const Register register_col2im{
    "col2im(Tensor input, int[] output_size, int[] kernel_size, int[] dilation=[1, 1], int[] padding=[0, "
    "0], int[] stride=[1, 1]) -> Tensor",
    "Images (batch, channels, height, width) in which the columns of a matrix of windows are added where "
    "im2col takes them from.",
    {Trait::no_method}, col2im_cpu};

}  // namespace
}  // namespace relume
