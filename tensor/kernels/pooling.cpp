// The work of pooling: the rows under a window are joined to one row first, element by element,
// then the elements of that row. Both steps run over contiguous memory.
#include "tensor/kernels/pooling.h"

#include <limits>
#include <type_traits>

#include "tensor/copy.h"
#include "tensor/kernels/best_isa.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/pooling_loops.h"

namespace relume {

RELUME_PER_ISA(PoolingLoops, pooling_loops)

namespace {

// Chosen by the type of an (unused) example.
const MaxPoolingLoopsOf<float>& max_loops(float) { return best_pooling_loops().max32; }
const MaxPoolingLoopsOf<double>& max_loops(double) { return best_pooling_loops().max64; }
const MaxPoolingLoopsOf<int64_t>& max_loops(int64_t) { return best_pooling_loops().max_integer; }
const MeanPoolingLoopsOf<float>& mean_loops(float) { return best_pooling_loops().mean32; }
const MeanPoolingLoopsOf<double>& mean_loops(double) { return best_pooling_loops().mean64; }

template <class T>
constexpr T lowest() {
  return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
}

RowWindows row_windows(const PoolingAxis& axis) {
  return {axis.output(), axis.kernel, axis.stride, axis.dilation};
}

// Calls f(flat index of a row's first element) for the rows under window (z, y).
template <class Function>
void for_rows_under(const PoolingWindows& windows, int64_t z, int64_t y, const Function& function) {
  const PoolingAxis &depth = windows.axis[0], &height = windows.axis[1];
  for (int64_t d = depth.first[z]; d < depth.last[z]; d += depth.dilation) {
    for (int64_t h = height.first[y]; h < height.last[y]; h += height.dilation) {
      function((d * height.input + h) * windows.axis[2].input);
    }
  }
}

// Sets what lies around the input in a row with its padding.
template <class T>
void fill_padding(const PoolingAxis& width, T* row, T value) {
  std::fill_n(row, width.padding, value);
  const int64_t end = width.padding + width.input;
  std::fill(row + end, row + std::max(end, width.padded_length()), value);
}

// ---- the largest ----

// One row with its padding, which is never chosen: the best so far and where it was.
template <class T>
class BestRow {
 public:
  using Position = typename PositionOf<T>::type;
  static_assert(sizeof(Position) == sizeof(T), "rows and places share scratch memory");
  static constexpr Position kNowhere = std::numeric_limits<Position>::max();

  static int64_t scratch_size(const PoolingAxis& width) {
    return 2 * width.padded_length() + width.output();
  }

  BestRow(const PoolingAxis& width, T* scratch, bool with_places)
      : width_(width),
        best_(scratch),
        places_(reinterpret_cast<Position*>(scratch + width.padded_length())),
        chosen_(places_ + width.padded_length()) {
    fill_padding(width, best_, lowest<T>());
    if (with_places) fill_padding(width, places_, kNowhere);
  }

  void clear() {  // for a window that lies in the padding
    std::fill_n(best_ + width_.padding, width_.input, lowest<T>());
    std::fill_n(places_ + width_.padding, width_.input, kNowhere);
  }
  void begin(const T* row) { std::copy_n(row, width_.input, best_ + width_.padding); }
  void begin_places(Position place) {
    for (int64_t i = 0; i < width_.input; i++) places_[width_.padding + i] = place + static_cast<Position>(i);
  }
  T* best() { return best_ + width_.padding; }
  Position* places() { return places_ + width_.padding; }

  void choose(T* values, int64_t* indices) {
    if (width_.slides()) {
      max_loops(T{}).largest(best_, places_, row_windows(width_), values, chosen_);
    } else {
      choose_from_ranges(values);
    }
    for (int64_t i = 0; i < width_.output(); i++) indices[i] = chosen_[i] == kNowhere ? 0 : chosen_[i];
  }
  void choose_values(T* values) { choose_values_of(best_, values); }
  // The same of a row of the input itself, where that is the only one and has no padding.
  bool needs_no_copy(int64_t rows) const {
    return rows == 1 && width_.slides() && width_.padding == 0 && width_.padded_length() == width_.input;
  }
  void choose_values_of(const T* row, T* values) {
    if (width_.slides()) {
      max_loops(T{}).largest_value(row, row_windows(width_), values);
    } else {
      choose_from_ranges(values);
    }
  }

 private:
  void choose_from_ranges(T* values) {
    for (int64_t i = 0; i < width_.output(); i++) {
      int64_t at = width_.first[i];
      for (int64_t j = at + 1; j < width_.last[i]; j++) {
        if (best_[j] > best_[at] || (best_[j] == best_[at] && places_[j] < places_[at]) ||
            (best_[j] != best_[j] && best_[at] == best_[at])) {
          at = j;
        }
      }
      values[i] = best_[at];
      chosen_[i] = places_[at];
    }
  }

  const PoolingAxis& width_;
  T* best_;
  Position *places_, *chosen_;
};

// `indices` may be null.
template <class T>
void pool_largest_of_plane(const PoolingWindows& windows, const T* plane, T* scratch, T* values,
                           int64_t* indices) {
  using Position = typename BestRow<T>::Position;
  const MaxPoolingLoopsOf<T>& loops = max_loops(T{});
  BestRow<T> row(windows.axis[2], scratch, indices != nullptr);
  const Triple output = windows.output();
  const int64_t length = windows.axis[2].input;
  for (int64_t z = 0; z < output[0]; z++) {
    for (int64_t y = 0; y < output[1]; y++) {
      if (!indices && row.needs_no_copy(windows.axis[0].kernel * windows.axis[1].kernel)) {
        for_rows_under(windows, z, y, [&](int64_t offset) { row.choose_values_of(plane + offset, values); });
        values += output[2];
        continue;
      }
      bool is_first = true;
      for_rows_under(windows, z, y, [&](int64_t offset) {
        const Position place = static_cast<Position>(offset);
        if (is_first) {
          row.begin(plane + offset);
          if (indices) row.begin_places(place);
        } else if (indices) {
          loops.keep_larger(plane + offset, length, place, row.best(), row.places());
        } else {
          loops.keep_larger_value(plane + offset, length, row.best());
        }
        is_first = false;
      });
      if (is_first) row.clear();
      if (indices) {
        row.choose(values, indices);
        indices += output[2];
      } else {
        row.choose_values(values);
      }
      values += output[2];
    }
  }
}

template <class T>
void pool_largest_of_planes(const WindowsOfPlanes& windows, int64_t planes, const T* input, T* values,
                            int64_t* indices) {
  const PoolingWindows& some = windows.of(0);
  const int64_t in = some.input_elements(), out = some.output().product();
  for_planes_with_scratch<T>(planes, some.work(), BestRow<T>::scratch_size(some.axis[2]),
                             [&](int64_t plane, T* scratch) {
                               pool_largest_of_plane(windows.of(plane), input + plane * in, scratch,
                                                     values + plane * out,
                                                     indices ? indices + plane * out : nullptr);
                             });
}

// Where elements can be compared without loss and positions fit.
DType comparing_type(DType dtype, int64_t plane_elements) {
  if (!is_floating(dtype)) return DType::int64;
  return plane_elements > std::numeric_limits<int32_t>::max() ? DType::float64 : computing_type(dtype);
}

// ---- the mean ----

// What a mean divides by: the number of elements counted along the width, as floats, and along
// the other dimensions.
template <class T>
std::vector<T> counts_along_width(const PoolingWindows& windows) {
  return {windows.axis[2].count.begin(), windows.axis[2].count.end()};
}
template <class T>
T other_counts(const PoolingWindows& windows, int64_t z, int64_t y) {
  return static_cast<T>(windows.axis[0].count[z] * windows.axis[1].count[y]);
}

template <class T>
void sum_ranges(const PoolingAxis& width, const T* row, T* sums) {
  for (int64_t i = 0; i < width.output(); i++) {
    T sum = 0;
    for (int64_t j = width.first[i]; j < width.last[i]; j++) sum += row[j];
    sums[i] = sum;
  }
}

// Is there one window, of the whole plane? (Adaptive pooling to size 1 ends many networks.)
bool is_whole(const PoolingWindows& windows) {
  return windows.output().product() == 1 && !windows.axis[2].slides();
}

template <class T>
void pool_whole_planes(int64_t planes, int64_t elements, const T* input, T* output) {
  const auto total = mean_loops(T{}).total;
  const T count = static_cast<T>(elements);
  for_planes(planes, elements,
             [=](int64_t plane) { output[plane] = total(input + plane * elements, elements) / count; });
}

template <class T>
void pool_mean_of_plane(const PoolingWindows& windows, const T* counts, const T* plane, T* row, T* output) {
  const MeanPoolingLoopsOf<T>& loops = mean_loops(T{});
  const PoolingAxis& width = windows.axis[2];
  const Triple size = windows.output();
  fill_padding(width, row, T(0));
  T* sums = row + width.padding;
  for (int64_t z = 0; z < size[0]; z++) {
    for (int64_t y = 0; y < size[1]; y++, output += size[2]) {
      bool is_first = true;
      for_rows_under(windows, z, y, [&](int64_t offset) {
        if (is_first) {
          std::copy_n(plane + offset, width.input, sums);
        } else {
          loops.add(plane + offset, width.input, sums);
        }
        is_first = false;
      });
      if (is_first) std::fill_n(sums, width.input, T(0));
      if (width.slides()) {
        loops.sum(row, row_windows(width), output);
      } else {
        sum_ranges(width, row, output);
      }
      const T others = other_counts<T>(windows, z, y);
      for (int64_t i = 0; i < size[2]; i++) output[i] /= others * counts[i];
    }
  }
}

// `scratch` holds a row with its padding and the shares of one row of the output.
template <class T>
void spread_mean_of_plane(const PoolingWindows& windows, const T* counts, const T* grad_output,
                          T* scratch, T* plane) {
  const MeanPoolingLoopsOf<T>& loops = mean_loops(T{});
  const PoolingAxis& width = windows.axis[2];
  const Triple size = windows.output();
  T *row = scratch, *shares = scratch + width.padded_length();
  if (is_whole(windows)) {
    std::fill_n(plane, windows.input_elements(), *grad_output / static_cast<T>(windows.input_elements()));
    return;
  }
  std::fill_n(plane, windows.input_elements(), T(0));
  for (int64_t z = 0; z < size[0]; z++) {
    for (int64_t y = 0; y < size[1]; y++, grad_output += size[2]) {
      const T others = other_counts<T>(windows, z, y);
      for (int64_t i = 0; i < size[2]; i++) shares[i] = grad_output[i] / (others * counts[i]);
      std::fill_n(row, width.padded_length(), T(0));
      if (width.slides()) {
        loops.spread(shares, row_windows(width), row);
      } else {
        for (int64_t i = 0; i < size[2]; i++) {
          for (int64_t j = width.first[i]; j < width.last[i]; j++) row[j] += shares[i];
        }
      }
      for_rows_under(windows, z, y, [&](int64_t offset) {
        loops.add(row + width.padding, width.input, plane + offset);
      });
    }
  }
}

}  // namespace

void pool_largest(Call& call, const Volumes& volumes, const WindowsOfPlanes& windows, bool with_indices) {
  check(volumes.elements() > 0, call.op.name(), ": the input of size ",
        own_part(volumes.size, volumes.dims), " has no elements");
  const DType dtype = call.tensor(0).dtype(), wide = comparing_type(dtype, volumes.elements());
  check<TypeError>(!is_complex(dtype), call.op.name(), ": complex numbers have no order");
  const Dims shape = volumes.shape(windows.of(0).output());
  const Tensor input = contiguous_copy_if_needed(as_type(call.tensor(0), wide));
  const Tensor output = dense_output(call, 0, shape, dtype);
  const Tensor values = dtype == wide ? output : empty(shape, wide);
  const Tensor indices = with_indices ? dense_output(call, 1, shape, DType::int64) : Tensor();
  if (values.numel() == 0) return;
  if (!windows.differ) windows.windows->make_tables();
  const auto pool = [&](auto zero) {
    using T = decltype(zero);
    pool_largest_of_planes(windows, volumes.planes(), input.data_as<const T>(), values.data_as<T>(),
                           with_indices ? indices.data_as<int64_t>() : nullptr);
  };
  if (wide == DType::float32) pool(float{});
  if (wide == DType::float64) pool(double{});
  if (wide == DType::int64) pool(int64_t{});
  if (dtype != wide) copy(output, values);
}

void pool_mean(Call& call, const Volumes& volumes, PoolingWindows windows) {
  const Triple output = windows.output();
  compute_floating(call, volumes.shape(output), [&](const Tensor& input, const Tensor& out, auto zero) {
    using T = decltype(zero);
    if (out.numel() == 0) return;
    if (is_whole(windows)) {
      return pool_whole_planes(volumes.planes(), volumes.elements(), input.data_as<const T>(), out.data_as<T>());
    }
    windows.make_tables();
    const std::vector<T> counts = counts_along_width<T>(windows);
    for_planes_with_scratch<T>(
        volumes.planes(), windows.work(), windows.axis[2].padded_length(), [&](int64_t plane, T* row) {
          pool_mean_of_plane(windows, counts.data(),
                             input.data_as<const T>() + plane * volumes.elements(), row,
                             out.data_as<T>() + plane * output.product());
        });
  });
}

void spread_mean(Call& call, const Volumes& volumes, PoolingWindows windows) {
  const Triple output = windows.output();
  const Dims expected = volumes.shape(output);
  check(call.tensor(0).shape() == IntSpan(expected), call.op.name(), ": grad_output has shape ",
        call.tensor(0).shape(), ", but the pooling's output has ", IntSpan(expected));
  compute_floating(call, volumes.shape(volumes.size), [&](const Tensor& grad, const Tensor& out, auto zero) {
    using T = decltype(zero);
    if (out.numel() == 0) return;
    windows.make_tables();
    const std::vector<T> counts = counts_along_width<T>(windows);
    for_planes_with_scratch<T>(volumes.planes(), windows.work(),
                               windows.axis[2].padded_length() + output[2],
                               [&](int64_t plane, T* scratch) {
                                 spread_mean_of_plane(
                                     windows, counts.data(),
                                     grad.data_as<const T>() + plane * output.product(), scratch,
                                     out.data_as<T>() + plane * volumes.elements());
                               });
  });
}

}  // namespace relume
