#include "tensor/copy.h"

#include <algorithm>
#include <cstring>

#include "tensor/convert.h"
#include "tensor/kernels/best_isa.h"
#include "tensor/kernels/row_loops.h"
#include "tensor/parallel.h"
#include "tensor/transpose.h"

namespace relume {

RELUME_PER_ISA(RowLoops, row_loops)

namespace {

constexpr int64_t kGrain = 1 << 16;    // elements that one thread copies at least
constexpr int64_t kEnoughToSplit = 8;  // indices of a loop
constexpr int64_t kTile = 32;  // of a transposing copy, elements on a side
constexpr int64_t kShortRow = 8;     // elements
constexpr int64_t kNarrowTile = 512;  // of a copy of many short rows

// The loops of this CPU for elements as large as T, or null.
template <class T>
auto loops_of_size() {
  if constexpr (std::is_same_v<T, uint8_t>) {
    return &best_row_loops().of_1_byte;
  } else if constexpr (std::is_same_v<T, uint16_t>) {
    return &best_row_loops().of_2_bytes;
  } else if constexpr (std::is_same_v<T, uint32_t>) {
    return &best_row_loops().of_4_bytes;
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return &best_row_loops().of_8_bytes;
  } else {
    return static_cast<const RowLoopsOfSize<T>*>(nullptr);
  }
}

template <class T>
void fill_row(T value, int64_t count, T* target) {
  if (const auto* loops = loops_of_size<T>()) return loops->fill(value, count, target);
  std::fill_n(target, count, value);
}

template <class T>
void reverse_row(const T* last, int64_t count, T* target) {
  if (const auto* loops = loops_of_size<T>()) return loops->reverse(last, count, target);
  for (int64_t i = 0; i < count; ++i) target[i] = last[-i];
}

// Copies `count` elements; strides in elements.
using RowCopy = void (*)(char* target, const char* source, int64_t count, int64_t target_stride,
                         int64_t source_stride);

template <class To, class From>
void copy_row(char* target_bytes, const char* source_bytes, int64_t count, int64_t target_stride,
              int64_t source_stride) {
  To* target = reinterpret_cast<To*>(target_bytes);
  const From* source = reinterpret_cast<const From*>(source_bytes);
  if (target_stride == 1 && source_stride == 1) {
    if constexpr (std::is_same_v<To, From>) {
      std::memcpy(target, source, count * sizeof(To));
    } else {
      for (int64_t i = 0; i < count; ++i) target[i] = convert<To>(source[i]);
    }
  } else if (source_stride == 0) {
    const To value = convert<To>(*source);
    if (target_stride == 1) {
      fill_row(value, count, target);
    } else {
      for (int64_t i = 0; i < count; ++i) target[i * target_stride] = value;
    }
  } else if (target_stride == 1 && source_stride == -1) {
    if constexpr (std::is_same_v<To, From>) return reverse_row(source, count, target);
    for (int64_t i = 0; i < count; ++i) target[i] = convert<To>(source[-i]);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      target[i * target_stride] = convert<To>(source[i * source_stride]);
    }
  }
}

// The same with a loop for this CPU where elements lie side by side.
template <class To, class From, RowConversion<To, From> RowLoops::* conversion>
void convert_row(char* target, const char* source, int64_t count, int64_t target_stride,
                 int64_t source_stride) {
  if (target_stride != 1 || source_stride != 1) {
    return copy_row<To, From>(target, source, count, target_stride, source_stride);
  }
  (best_row_loops().*conversion)(reinterpret_cast<const From*>(source), count,
                                       reinterpret_cast<To*>(target));
}

struct FastRow {
  DType to, from;
  RowCopy copy;
};
constexpr FastRow kFastRows[] = {
    {DType::float16, DType::float32, convert_row<Half, float, &RowLoops::float_to_half>},
    {DType::float32, DType::float16, convert_row<float, Half, &RowLoops::half_to_float>},
    {DType::bfloat16, DType::float32, convert_row<BFloat16, float, &RowLoops::float_to_bfloat16>},
    {DType::float32, DType::bfloat16, convert_row<float, BFloat16, &RowLoops::bfloat16_to_float>},
};

RowCopy same_size_row(std::size_t size) {
  switch (size) {
    case 1: return copy_row<uint8_t, uint8_t>;
    case 2: return copy_row<uint16_t, uint16_t>;
    case 4: return copy_row<uint32_t, uint32_t>;
    case 8: return copy_row<uint64_t, uint64_t>;
    default: return copy_row<Complex128, Complex128>;
  }
}

template <class To>
RowCopy converting_row(DType from) {
  return visit_any(from, [](auto example) -> RowCopy { return copy_row<To, decltype(example)>; });
}

RowCopy find_row_copy(DType to, DType from) {
  if (to == from) return same_size_row(item_size(to));
  for (const FastRow& row : kFastRows) {
    if (row.to == to && row.from == from) return row.copy;
  }
  return visit_any(to, [&](auto example) { return converting_row<decltype(example)>(from); });
}

// The nest of loops of a copy: target strides descend and are positive (or 0), and
// neighbours that either side walks in one go are merged.
struct Nest {
  char* target;
  const char* source;
  int64_t target_size, source_size;  // bytes of an element
  int ndim = 0;
  int64_t shape[kMaxDims];
  int64_t target_strides[kMaxDims];
  int64_t source_strides[kMaxDims];

  Nest(const Tensor& to, const Tensor& from)
      : target(to.data_as<char>()),
        source(from.data_as<char>()),
        target_size(item_size(to.dtype())),
        source_size(item_size(from.dtype())) {
    for (int i = 0; i < to.ndim(); ++i) {
      if (to.size(i) != 1) add(to.size(i), to.stride(i), from.stride(i));
    }
    merge();
  }
  // One element, repeated for all of `to`.
  Nest(const Tensor& to, const char* element)
      : target(to.data_as<char>()), source(element), target_size(item_size(to.dtype())), source_size(target_size) {
    for (int i = 0; i < to.ndim(); ++i) {
      if (to.size(i) != 1) add(to.size(i), to.stride(i), 0);
    }
    merge();
  }

  // Of two or more loops, puts the one that the source walks in the smallest steps second to last.
  // Returns whether that differs from the last one, so that the copy transposes.
  bool pair_up_transposed() {
    int smallest = ndim - 1;
    if (source_strides[smallest] == 0) return false;  // rows of one value are quick as they are
    for (int i = 0; i < ndim - 1; ++i) {
      if (source_step(i) < source_step(smallest)) smallest = i;
    }
    if (smallest == ndim - 1) return false;
    for (int i = smallest; i < ndim - 2; ++i) swap(i, i + 1);
    return true;
  }

 private:
  int64_t source_step(int i) const {
    // A repeated element costs nothing, but gives no neighbours to use either.
    return source_strides[i] == 0 ? INT64_MAX : std::abs(source_strides[i]);
  }
  void swap(int i, int j) {
    std::swap(shape[i], shape[j]);
    std::swap(target_strides[i], target_strides[j]);
    std::swap(source_strides[i], source_strides[j]);
  }
  void add(int64_t size, int64_t target_stride, int64_t source_stride) {
    if (target_stride < 0) {  // walk it from the other end
      target += (size - 1) * target_stride * target_size;
      source += (size - 1) * source_stride * source_size;
      target_stride = -target_stride;
      source_stride = -source_stride;
    }
    shape[ndim] = size;
    target_strides[ndim] = target_stride;
    source_strides[ndim] = source_stride;
    for (int i = ndim++; i > 0 && target_strides[i - 1] < target_strides[i]; --i) swap(i - 1, i);
  }
  void merge() {
    int last = 0;
    for (int i = 1; i < ndim; ++i) {
      const bool joins = target_strides[last] == target_strides[i] * shape[i] &&
                         source_strides[last] == source_strides[i] * shape[i];
      if (joins) {
        shape[last] *= shape[i];
      } else {
        shape[++last] = shape[i];
      }
      target_strides[last] = target_strides[i];
      source_strides[last] = source_strides[i];
    }
    ndim = ndim == 0 ? 0 : last + 1;
  }
};

// Calls `function(target, source)` for every index of the first `outer` loops.
template <class Function>
void for_each_outer(const Nest& nest, int outer, Function&& function) {
  int64_t index[kMaxDims] = {};
  char* target = nest.target;
  const char* source = nest.source;
  while (true) {
    function(target, source);
    int dim = outer - 1;
    for (; dim >= 0; --dim) {
      target += nest.target_strides[dim] * nest.target_size;
      source += nest.source_strides[dim] * nest.source_size;
      if (++index[dim] < nest.shape[dim]) break;
      target -= nest.shape[dim] * nest.target_strides[dim] * nest.target_size;
      source -= nest.shape[dim] * nest.source_strides[dim] * nest.source_size;
      index[dim] = 0;
    }
    if (dim < 0) return;
  }
}

// How elements get from one type to the other.
struct Conversion {
  RowCopy copy_row;
  bool same_type;
};

// The two innermost loops. Rows are copied along `inner`, `tile` elements at a time, for
// every index of the other loop.
struct Plane {
  int inner, other;
  int64_t tile;
};

Plane choose_plane(const Nest& nest, bool transposes) {
  const int last = nest.ndim - 1;
  // Rows of few elements cost more to start than to copy.
  if (nest.shape[last] < kShortRow && nest.shape[last - 1] > nest.shape[last]) {
    return {last - 1, last, kNarrowTile};
  }
  // Tile by tile, every cache line that is read is used up while it is there.
  if (transposes) return {last, last - 1, kTile};
  return {last, last - 1, nest.shape[last]};
}

void copy_planes(Nest& nest, Conversion conversion) {
  const bool transposes = nest.pair_up_transposed();
  const int last = nest.ndim - 1;
  if (transposes && conversion.same_type && nest.target_size <= 8 && nest.target_strides[last] == 1 &&
      nest.source_strides[last - 1] == 1 && nest.shape[last] >= kShortRow &&
      nest.shape[last - 1] >= kShortRow) {
    for_each_outer(nest, nest.ndim - 2, [&](char* target, const char* source) {
      transpose_copy(nest.target_size, target, nest.target_strides[last - 1], source,
                     nest.source_strides[last], nest.shape[last - 1], nest.shape[last]);
    });
    return;
  }
  const Plane plane = choose_plane(nest, transposes);
  const int64_t columns = nest.shape[plane.inner], rows = nest.shape[plane.other];
  const int64_t target_step = nest.target_strides[plane.other] * nest.target_size;
  const int64_t source_step = nest.source_strides[plane.other] * nest.source_size;
  const int64_t target_stride = nest.target_strides[plane.inner];
  const int64_t source_stride = nest.source_strides[plane.inner];
  for_each_outer(nest, nest.ndim - 2, [&](char* target, const char* source) {
    for (int64_t column = 0; column < columns; column += plane.tile) {
      const int64_t width = std::min(plane.tile, columns - column);
      char* to = target + column * target_stride * nest.target_size;
      const char* from = source + column * source_stride * nest.source_size;
      for (int64_t row = 0; row < rows; ++row) {
        conversion.copy_row(to + row * target_step, from + row * source_step, width, target_stride,
                            source_stride);
      }
    }
  });
}

void copy_serially(Nest& nest, Conversion conversion) {
  if (nest.ndim >= 2) return copy_planes(nest, conversion);
  const bool single = nest.ndim == 0;
  conversion.copy_row(nest.target, nest.source, single ? 1 : nest.shape[0],
                      single ? 1 : nest.target_strides[0], single ? 1 : nest.source_strides[0]);
}

// Splits the outermost loop that is long enough over the threads.
void copy_nest(Nest& nest, Conversion conversion) {
  const int64_t numel = product({nest.shape, nest.ndim});
  if (numel <= kGrain) return copy_serially(nest, conversion);
  int split = 0;
  while (nest.shape[split] < kEnoughToSplit && split + 1 < nest.ndim) ++split;
  const int64_t each = numel / nest.shape[split];
  parallel_for(0, nest.shape[split], (kGrain + each - 1) / each, [&](int64_t begin, int64_t end) {
    Nest part = nest;
    part.target += begin * nest.target_strides[split] * nest.target_size;
    part.source += begin * nest.source_strides[split] * nest.source_size;
    part.shape[split] = end - begin;
    copy_serially(part, conversion);
  });
}

void copy_apart(const Tensor& target, const Tensor& source) {
  const Conversion conversion{find_row_copy(target.dtype(), source.dtype()),
                              target.dtype() == source.dtype()};
  if (target.numel() <= kGrain && target.is_contiguous() && source.is_contiguous()) {
    conversion.copy_row(target.data_as<char>(), source.data_as<char>(), target.numel(), 1, 1);
    return;
  }
  Nest nest(target, source);
  copy_nest(nest, conversion);
}

// Between devices whole blocks are copied; another layout or type is made on the device
// that the elements are on, by the `contiguous` and `to_dtype` kernels of that device.
void copy_across_devices(const Tensor& target, const Tensor& source) {
  const bool plain = target.is_contiguous() && source.is_contiguous() &&
                     target.dtype() == source.dtype();
  const bool from_host = source.device().type == DeviceType::cpu;
  const bool to_host = target.device().type == DeviceType::cpu;
  check<NotImplementedError>(plain && from_host != to_host, "cannot copy from ",
                             source.device(), " to ", target.device(),
                             " directly: copy contiguous tensors of one type, by way of the CPU");
  const std::size_t bytes = target.numel() * item_size(target.dtype());
  const Device device = from_host ? target.device() : source.device();
  const DeviceInterface& interface = device_interface(device.type);
  const auto transfer = from_host ? interface.copy_from_host : interface.copy_to_host;
  transfer(device.index, target.data(), source.data(), bytes);
}

}  // namespace

void copy(const Tensor& target, const Tensor& source) {
  check(target.shape() == source.shape(), "cannot copy a tensor of shape ",
        source.shape(), " into one of shape ", target.shape());
  if (target.numel() == 0) return;
  const bool on_host = target.device().type == DeviceType::cpu &&
                       source.device().type == DeviceType::cpu;
  if (!on_host) return copy_across_devices(target, source);
  if (!may_overlap(target, source)) return copy_apart(target, source);
  if (target.dtype() == source.dtype() && same_layout(target, source)) return;
  const Tensor apart = empty(source.shape(), source.dtype());
  copy_apart(apart, source);
  copy_apart(target, apart);
}

void fill(const Tensor& target, const Value& value) {
  if (target.numel() == 0) return;
  // One element of the target's type, repeated by strides of 0.
  alignas(16) char element[16];
  visit_any(target.dtype(), [&](auto example) {
    const auto converted = number_as<decltype(example)>(value);
    std::memcpy(element, &converted, sizeof converted);
  });
  const Conversion conversion{same_size_row(item_size(target.dtype())), true};
  if (target.numel() <= kGrain && target.is_contiguous()) {
    conversion.copy_row(target.data_as<char>(), element, target.numel(), 1, 0);
    return;
  }
  Nest nest(target, element);
  copy_nest(nest, conversion);
}

void check_writable(const Tensor& target, const std::string& op) {
  if (target.numel() == 0) return;
  for (int i = 0; i < target.ndim(); ++i) {
    check(target.stride(i) != 0 || target.size(i) <= 1, op,
          "(): cannot write into an expanded tensor: several elements share one place in memory; "
          "clone it first");
  }
}

Tensor contiguous_copy_if_needed(const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;
  Tensor result = empty(tensor.shape(), tensor.dtype(), tensor.device());
  copy(result, tensor);
  return result;
}

}  // namespace relume
