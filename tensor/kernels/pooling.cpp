// Max and average pooling over the last two dimensions.

#include <limits>
#include <type_traits>

#include "tensor/copy.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/window.h"
#include "tensor/parallel.h"

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

struct Pooling {
  Images images;
  Window window;
  Pair output;

  // `dilation` is the position of that argument, or -1.
  Pooling(const Call& call, const Images& images, int kernel, int dilation, int ceil_mode)
      : images(images) {
    const int stride = kernel + 1, padding = kernel + 2;
    window.kernel = pair_argument(call, kernel, 1);
    window.stride = call.has(stride) && call.integers(stride).count > 0 ? pair_argument(call, stride, 1)
                                                                        : window.kernel;
    window.padding = pair_argument(call, padding, 0);
    window.dilation = dilation >= 0 ? pair_argument(call, dilation, 1) : Pair{1, 1};
    check(2 * window.padding.height <= window.kernel.height &&
              2 * window.padding.width <= window.kernel.width,
          call.op.name(), ": padding must be at most half of the kernel, but they are ", window.padding,
          " and ", window.kernel);
    const bool ceil = call.boolean(ceil_mode);
    const Pair extent = window.extent();
    output = {
        window_count(images.size.height, extent.height, window.stride.height, window.padding.height,
                     ceil),
        window_count(images.size.width, extent.width, window.stride.width, window.padding.width, ceil)};
    check(output.height >= 1 && output.width >= 1, call.op.name(), ": the kernel covers ", extent,
          " elements, more than the input of size ", images.size, " with its padding ", window.padding);
  }

  int64_t planes() const { return images.batch * images.channels; }
  int64_t input_pixels() const { return images.size.height * images.size.width; }
  int64_t output_pixels() const { return output.height * output.width; }
  Dims output_shape() const { return images.shape(images.channels, output); }
};

// The part of a window that lies inside the input: [first, last), in steps of the dilation.
struct Inside {
  int64_t first, last;

  Inside(int64_t index, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
         int64_t input) {
    first = index * stride - padding;
    last = std::min(first + (kernel - 1) * dilation + 1, input);
    if (first < 0) first += (-first + dilation - 1) / dilation * dilation;
  }
};

template <class Function>
void for_planes(int64_t planes, int64_t work_per_plane, const Function& function) {
  const int64_t grain = std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(1, work_per_plane));
  parallel_for(0, planes, grain, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; plane++) function(plane);
  });
}

template <class T>
bool exceeds(T value, T best) {
  return value > best || (value != value && best == best);  // NaN wins
}

template <class T>
T lowest() {
  if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
  if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::lowest();
  return T(-std::numeric_limits<float>::infinity());  // 16-bit floats
}

template <class T>
void max_pool_plane(const Pooling& pool, const T* input, T* values, int64_t* indices) {
  const Window& window = pool.window;
  const Pair size = pool.images.size;
  for (int64_t y = 0; y < pool.output.height; y++) {
    const Inside rows(y, window.kernel.height, window.stride.height, window.padding.height,
                      window.dilation.height, size.height);
    for (int64_t x = 0; x < pool.output.width; x++) {
      const Inside columns(x, window.kernel.width, window.stride.width, window.padding.width,
                           window.dilation.width, size.width);
      // With a dilation all elements of a window may lie in the padding.
      const bool empty = rows.first >= rows.last || columns.first >= columns.last;
      int64_t index = empty ? 0 : rows.first * size.width + columns.first;
      T best = empty ? lowest<T>() : input[index];
      for (int64_t row = rows.first; row < rows.last; row += window.dilation.height) {
        for (int64_t column = columns.first; column < columns.last; column += window.dilation.width) {
          const int64_t place = row * size.width + column;
          if (exceeds(input[place], best)) {
            best = input[place];
            index = place;
          }
        }
      }
      *values++ = best;
      *indices++ = index;
    }
  }
}

void max_pool2d_cpu(Call& call) {
  const Pooling pool(call, Images(call, 0), 1, 4, 5);
  check(pool.input_pixels() > 0, "max_pool2d: the input of size ", pool.images.size, " has no elements");
  const Tensor input = contiguous_copy_if_needed(call.tensor(0));
  const Tensor values = dense_output(call, 0, pool.output_shape(), input.dtype());
  const Tensor indices = dense_output(call, 1, pool.output_shape(), DType::int64);
  visit(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_planes(pool.planes(),
               pool.output_pixels() * pool.window.kernel.height * pool.window.kernel.width,
               [&](int64_t plane) {
                 max_pool_plane(pool, input.data_as<const T>() + plane * pool.input_pixels(),
                                values.data_as<T>() + plane * pool.output_pixels(),
                                indices.data_as<int64_t>() + plane * pool.output_pixels());
               });
  });
}

// The two ops below move elements between planes of two sizes by their flat indices.
struct PlaneMove {
  int64_t planes, inner;  // `inner`: elements per plane of the indices
  Tensor indices;

  explicit PlaneMove(const Call& call) : indices(contiguous_copy_if_needed(call.tensor(1))) {
    const IntSpan shape = indices.shape();
    check<TypeError>(indices.dtype() == DType::int64, call.op.name(),
                     ": indices must have type int64, not ", name(indices.dtype()));
    check(shape.count >= 2, call.op.name(), ": indices must have at least 2 dimensions, not shape ",
          shape);
    inner = shape[shape.count - 2] * shape[shape.count - 1];
    planes = inner == 0 ? 0 : indices.numel() / inner;
  }
  void check_indices(const Call& call, int64_t limit) const {
    const int64_t* index = indices.data_as<const int64_t>();
    for (int64_t i = 0; i < indices.numel(); i++) {
      check<IndexError>(index[i] >= 0 && index[i] < limit, call.op.name(), ": index ", index[i],
                        " is outside of a plane of ", limit, " elements");
    }
  }
};

int64_t plane_size(IntSpan shape) { return shape[shape.count - 2] * shape[shape.count - 1]; }

void check_same_planes(const Call& call, IntSpan a, IntSpan b) {
  bool same = a.count == b.count;
  for (int i = 0; same && i + 2 < a.count; i++) same = a[i] == b[i];
  check(same, call.op.name(), ": shapes ", a, " and ", b, " must agree but for the last two dimensions");
}

// out[plane][index[i]] += input[plane][i]
void max_pool2d_scatter_cpu(Call& call) {
  const PlaneMove move(call);
  const Tensor input = contiguous_copy_if_needed(call.tensor(0));
  const IntSpan shape = shape_argument(call, 2);
  check(input.shape() == move.indices.shape(),
        "max_pool2d_scatter: input and indices must have one shape, not ", input.shape(), " and ",
        move.indices.shape());
  check_same_planes(call, shape, move.indices.shape());
  const int64_t outer = plane_size(shape);
  move.check_indices(call, outer);
  const Tensor out = dense_output(call, 0, shape, input.dtype());
  visit(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_planes(move.planes, move.inner + outer, [&](int64_t plane) {
      const T* source = input.data_as<const T>() + plane * move.inner;
      const int64_t* index = move.indices.data_as<const int64_t>() + plane * move.inner;
      T* target = out.data_as<T>() + plane * outer;
      std::fill_n(target, outer, T(0));
      for (int64_t i = 0; i < move.inner; i++)
        target[index[i]] = static_cast<T>(target[index[i]] + source[i]);
    });
  });
}

// out[plane][i] = input[plane][index[i]]
void max_pool2d_gather_cpu(Call& call) {
  const PlaneMove move(call);
  const Tensor input = contiguous_copy_if_needed(call.tensor(0));
  check_same_planes(call, input.shape(), move.indices.shape());
  const int64_t outer = plane_size(input.shape());
  move.check_indices(call, outer);
  const Tensor out = dense_output(call, 0, move.indices.shape(), input.dtype());
  visit(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_planes(move.planes, move.inner, [&](int64_t plane) {
      const T* source = input.data_as<const T>() + plane * outer;
      const int64_t* index = move.indices.data_as<const int64_t>() + plane * move.inner;
      T* target = out.data_as<T>() + plane * move.inner;
      for (int64_t i = 0; i < move.inner; i++) target[i] = source[index[i]];
    });
  });
}

// Over how many elements a window's sum is divided: those inside the input, or with padding
// counted all that lie in the padded input (not what hangs over its end in ceil mode).
struct AverageWindow {
  Inside rows, columns;
  int64_t count;

  AverageWindow(const Pooling& pool, int64_t y, int64_t x, bool count_padding)
      : rows(y, pool.window.kernel.height, pool.window.stride.height, pool.window.padding.height, 1,
             pool.images.size.height),
        columns(x, pool.window.kernel.width, pool.window.stride.width, pool.window.padding.width, 1,
                pool.images.size.width) {
    count = std::max<int64_t>(0, rows.last - rows.first) *
            std::max<int64_t>(0, columns.last - columns.first);
    if (count_padding) {
      count = padded_length(y, pool.window.kernel.height, pool.window.stride.height,
                            pool.window.padding.height, pool.images.size.height) *
              padded_length(x, pool.window.kernel.width, pool.window.stride.width,
                            pool.window.padding.width, pool.images.size.width);
    }
  }

 private:
  static int64_t padded_length(int64_t index, int64_t kernel, int64_t stride, int64_t padding,
                               int64_t input) {
    const int64_t start = index * stride - padding;
    return std::min(start + kernel, input + padding) - start;
  }
};

// Calls f(output position, window) for every window of a plane.
template <class Function>
void for_each_window(const Pooling& pool, bool count_padding, const Function& function) {
  for (int64_t y = 0; y < pool.output.height; y++) {
    for (int64_t x = 0; x < pool.output.width; x++) {
      function(y * pool.output.width + x, AverageWindow(pool, y, x, count_padding));
    }
  }
}

template <class T>
void average_plane(const Pooling& pool, bool count_padding, const T* input, T* output) {
  for_each_window(pool, count_padding, [&](int64_t place, const AverageWindow& window) {
    T sum = 0;
    for (int64_t row = window.rows.first; row < window.rows.last; row++) {
      const T* line = input + row * pool.images.size.width;
      for (int64_t column = window.columns.first; column < window.columns.last; column++)
        sum += line[column];
    }
    output[place] = window.count > 0 ? sum / window.count : T(0);
  });
}

template <class T>
void spread_plane(const Pooling& pool, bool count_padding, const T* grad_output, T* grad_input) {
  std::fill_n(grad_input, pool.input_pixels(), T(0));
  for_each_window(pool, count_padding, [&](int64_t place, const AverageWindow& window) {
    if (window.count == 0) return;
    const T share = grad_output[place] / window.count;
    for (int64_t row = window.rows.first; row < window.rows.last; row++) {
      T* line = grad_input + row * pool.images.size.width;
      for (int64_t column = window.columns.first; column < window.columns.last; column++)
        line[column] += share;
    }
  });
}

// Runs `work(source, target)` on tensors of the computing type.
template <class Work>
void convert_around(Call& call, IntSpan shape, const Work& work) {
  check_floating(call, 0);
  const DType dtype = call.tensor(0).dtype(), wide = computing_type(dtype);
  const Tensor source = contiguous_copy_if_needed(as_type(call.tensor(0), wide));
  const Tensor out = dense_output(call, 0, shape, dtype);
  const Tensor target = dtype == wide ? out : empty(shape, wide);
  wide == DType::float64 ? work(source, target, double{}) : work(source, target, float{});
  if (dtype != wide) copy(out, target);
}

void avg_pool2d_cpu(Call& call) {
  const Pooling pool(call, Images(call, 0), 1, -1, 4);
  const bool count_padding = call.boolean(5);
  convert_around(call, pool.output_shape(), [&](const Tensor& input, const Tensor& out, auto zero) {
    using T = decltype(zero);
    for_planes(
        pool.planes(), pool.output_pixels() * pool.window.kernel.height * pool.window.kernel.width,
        [&](int64_t plane) {
          average_plane(pool, count_padding, input.data_as<const T>() + plane * pool.input_pixels(),
                        out.data_as<T>() + plane * pool.output_pixels());
        });
  });
}

void avg_pool2d_backward_cpu(Call& call) {
  const IntSpan shape = call.integers(1);
  const Pooling pool(call, Images::of_shape_argument(call, 1), 2, -1, 5);
  const bool count_padding = call.boolean(6);
  check(call.tensor(0).shape() == IntSpan(pool.output_shape()),
        "avg_pool2d_backward: grad_output has shape ", call.tensor(0).shape(),
        ", but the pooling's output has ", IntSpan(pool.output_shape()));
  convert_around(call, shape, [&](const Tensor& grad_output, const Tensor& out, auto zero) {
    using T = decltype(zero);
    for_planes(pool.planes(),
               pool.output_pixels() * pool.window.kernel.height * pool.window.kernel.width,
               [&](int64_t plane) {
                 spread_plane(pool, count_padding,
                              grad_output.data_as<const T>() + plane * pool.output_pixels(),
                              out.data_as<T>() + plane * pool.input_pixels());
               });
  });
}

const Register register_max_pool2d{
    "max_pool2d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=[0, 0], int[] "
    "dilation=[1, 1], "
    "bool ceil_mode=False) -> (Tensor, Tensor)",
    "Largest element of every window, and its flat index in its plane. stride is kernel_size when not "
    "given.",
    {Trait::no_method},
    max_pool2d_cpu};
const Register register_max_pool2d_scatter{
    "max_pool2d_scatter(Tensor input, Tensor indices, int[] shape) -> Tensor",
    "Planes of zeros with every element of input added at its flat index.",
    {Trait::internal},
    max_pool2d_scatter_cpu};
const Register register_max_pool2d_gather{"max_pool2d_gather(Tensor input, Tensor indices) -> Tensor",
                                          "The elements of every plane at flat indices.",
                                          {Trait::internal},
                                          max_pool2d_gather_cpu};
const Register register_avg_pool2d{
    "avg_pool2d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=[0, 0], bool "
    "ceil_mode=False, "
    "bool count_include_pad=True) -> Tensor",
    "Average of every window. stride is kernel_size when not given.",
    {Trait::no_method},
    avg_pool2d_cpu};
const Register register_avg_pool2d_backward{
    "avg_pool2d_backward(Tensor grad_output, int[] input_shape, int[] kernel_size, int[]? stride, int[] "
    "padding, "
    "bool ceil_mode, bool count_include_pad) -> Tensor",
    "Gradient of avg_pool2d: every element spread over its window.",
    {Trait::internal},
    avg_pool2d_backward_cpu};

}  // namespace
}  // namespace relume
