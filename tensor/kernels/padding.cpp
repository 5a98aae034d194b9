// Padding: elements added around a tensor.
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "tensor/copy.h"
#include "tensor/dims.h"
#include "tensor/kernels/window.h"
#include "tensor/parallel.h"

namespace relume {
namespace {

enum class PadMode { constant, reflect, replicate, circular };

PadMode mode_argument(const Call& call, int argument) {
  const std::string_view text = call.text(argument);
  if (text == "constant") return PadMode::constant;
  if (text == "reflect") return PadMode::reflect;
  if (text == "circular") return PadMode::circular;
  check(text == "replicate", call.op.name(),
        ": mode must be 'constant', 'reflect', 'replicate' or 'circular', not '", text, "'");
  return PadMode::replicate;
}

// For every position along one dimension of the output, the position in the input that it
// shows; -1 where it shows the constant.
struct DimensionMap {
  int64_t input, before, output;
  int64_t begin, end;  // the part of the input that negative padding leaves
  std::vector<int64_t> source;

  DimensionMap(int64_t input, int64_t before, int64_t after, PadMode mode)
      : input(input), before(before), output(input + before + after), begin(std::max<int64_t>(0, -before)),
        end(input + std::min<int64_t>(0, after)), source(output) {
    for (int64_t i = 0; i < output; i++) source[i] = find(i - before, mode);
  }

  // The stretch of the output that shows the input unchanged.
  int64_t first_unchanged() const { return std::min(output, std::max<int64_t>(0, before)); }
  int64_t last_unchanged() const { return std::max(first_unchanged(), std::min(output, before + input)); }

 private:
  int64_t find(int64_t position, PadMode mode) const {
    if (position >= 0 && position < input) return position;
    if (mode == PadMode::constant) return -1;
    if (mode == PadMode::replicate) return position < 0 ? 0 : input - 1;
    if (mode == PadMode::circular) return position < 0 ? position + end : begin + position - end;
    return position < 0 ? -position : 2 * (input - 1) - position;
  }
};

// The whole op: a map per dimension. `pad` lists (before, after) of the last dimension first.
struct Padding {
  std::vector<DimensionMap> maps;
  Dims output_shape;

  Padding(const Call& call, IntSpan shape, IntSpan pad, PadMode mode) {
    check(pad.count % 2 == 0 && pad.count / 2 <= shape.count, call.op.name(),
          ": pad must hold (before, after) for at most ", shape.count,
          " dimensions, the last one first, not ", pad);
    for (int dim = 0; dim < shape.count; dim++) {
      const int place = 2 * (shape.count - 1 - dim);
      const int64_t before = place < pad.count ? pad[place] : 0,
                    after = place < pad.count ? pad[place + 1] : 0;
      check(std::min(before, after) >= -kLargestSetting && std::max(before, after) <= kLargestSetting, call.op.name(),
            ": no padding may be larger than ", kLargestSetting, ", but it is ", pad);
      check(shape[dim] + before + after >= 0, call.op.name(), ": padding ", pad,
            " takes more away from dimension ", dim, " than its size ", shape[dim]);
      check(mode != PadMode::reflect ||
                (before < std::max<int64_t>(shape[dim], 1) && after < std::max<int64_t>(shape[dim], 1)),
            call.op.name(),
            ": reflection padding must be smaller than the size of its dimension, but dimension ", dim,
            " of size ", shape[dim], " is padded by (", before, ", ", after, ")");
      check(mode != PadMode::circular || std::max(before, after) <= shape[dim] + std::min<int64_t>({0, before, after}),
            call.op.name(),
            ": circular padding must be at most the size of its dimension, but dimension ", dim,
            " of size ", shape[dim], " is padded by (", before, ", ", after, ")");
      check(mode == PadMode::constant || shape[dim] > 0 || shape[dim] + before + after == 0,
            call.op.name(), ": dimension ", dim, " is empty, there is nothing to repeat");
      output_shape.push(shape[dim] + before + after);
    }
  }

  // Separate, so that the output finds memory before maps as long as its sides are made.
  void make_maps(IntSpan shape, IntSpan pad, PadMode mode) {
    for (int dim = 0; dim < shape.count; dim++) {
      const int place = 2 * (shape.count - 1 - dim);
      maps.emplace_back(shape[dim], place < pad.count ? pad[place] : 0,
                        place < pad.count ? pad[place + 1] : 0, mode);
    }
  }

  int dims() const { return static_cast<int>(maps.size()); }
  int64_t input_row() const { return dims() == 0 ? 1 : maps.back().input; }
  int64_t output_row() const { return dims() == 0 ? 1 : maps.back().output; }

  // Leading dimensions that nothing is added to: work on them can be split over threads.
  int64_t independent() const {
    int64_t count = 1;
    for (int dim = 0; dim + 1 < dims() && maps[dim].input == maps[dim].output; dim++)
      count *= maps[dim].output;
    return count;
  }

  // Where the input row of an output row begins, in elements; -1 when it shows the constant.
  int64_t row_source(int64_t row) const {
    int64_t offset = 0, stride = input_row();
    for (int dim = dims() - 2; dim >= 0; dim--) {
      const int64_t source = maps[dim].source[row % maps[dim].output];
      if (source < 0) return -1;
      row /= maps[dim].output;
      offset += source * stride;
      stride *= maps[dim].input;
    }
    return offset;
  }

  // Calls f(output row, input row offset or -1); rows of different threads share no input row.
  template <class Function>
  void for_each_row(const Function& function) const {
    const int64_t rows = output_row() == 0 ? 0 : product(output_shape) / output_row();
    const int64_t groups = rows == 0 ? 0 : independent();
    const int64_t group_rows = groups == 0 ? 0 : rows / groups;
    const int64_t grain =
        std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(1, group_rows * output_row()));
    parallel_for(0, groups, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin * group_rows; row < end * group_rows; row++)
        function(row, row_source(row));
    });
  }
};

template <class T>
void pad_rows(const Padding& padding, const T* input, T value, T* output) {
  if (padding.dims() == 0) {
    *output = *input;
    return;
  }
  const DimensionMap& columns = padding.maps.back();
  const int64_t first = columns.first_unchanged(), last = columns.last_unchanged();
  const auto edge = [&](const T* source, T* target, int64_t from, int64_t to) {
    for (int64_t i = from; i < to; i++)
      target[i] = columns.source[i] < 0 ? value : source[columns.source[i]];
  };
  padding.for_each_row([&](int64_t row, int64_t offset) {
    T* target = output + row * columns.output;
    if (offset < 0) {
      std::fill_n(target, columns.output, value);
      return;
    }
    const T* source = input + offset;
    edge(source, target, 0, first);
    if (last > first) {
      std::memcpy(static_cast<void*>(target + first), source + first - columns.before,
                  (last - first) * sizeof(T));
    }
    edge(source, target, last, columns.output);
  });
}

template <class T>
T element(const Value& number) {
  if constexpr (std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>) {
    return static_cast<T>(number.as_complex());
  } else {
    return number.type == Value::Type::real ? static_cast<T>(number.as_double()) : static_cast<T>(number.as_int());
  }
}

void pad_cpu(Call& call) {
  const Tensor input = contiguous_copy_if_needed(call.tensor(0));
  const PadMode mode = mode_argument(call, 2);
  Padding padding(call, input.shape(), call.integers(1), mode);
  const Tensor out = dense_output(call, 0, padding.output_shape, input.dtype());
  if (out.numel() == 0) return;
  padding.make_maps(input.shape(), call.integers(1), mode);
  const Value& number = call.value(3);
  visit_any(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    pad_rows(padding, input.data_as<const T>(), element<T>(number), out.data_as<T>());
  });
}

template <class T>
void add_back_rows(const Padding& padding, const T* grad_output, T* grad_input) {
  if (padding.dims() == 0) {
    *grad_input = *grad_output;
    return;
  }
  const DimensionMap& columns = padding.maps.back();
  const int64_t first = columns.first_unchanged(), last = columns.last_unchanged();
  const auto edge = [&](const T* source, T* target, int64_t from, int64_t to) {
    for (int64_t i = from; i < to; i++) {
      const int64_t place = columns.source[i];
      if (place >= 0) target[place] = static_cast<T>(target[place] + source[i]);
    }
  };
  padding.for_each_row([&](int64_t row, int64_t offset) {
    if (offset < 0) return;
    const T* source = grad_output + row * columns.output;
    T* target = grad_input + offset;
    edge(source, target, 0, first);
    const T* middle = source + columns.before;
    for (int64_t i = first - columns.before; i < last - columns.before; i++) {
      target[i] = static_cast<T>(target[i] + middle[i]);
    }
    edge(source, target, last, columns.output);
  });
}

void pad_backward_cpu(Call& call) {
  const IntSpan shape = shape_argument(call, 1);
  const PadMode mode = mode_argument(call, 3);
  Padding padding(call, shape, call.integers(2), mode);
  const Tensor grad_output = contiguous_copy_if_needed(call.tensor(0));
  check(grad_output.shape() == IntSpan(padding.output_shape), "pad_backward: grad_output has shape ",
        grad_output.shape(), ", but the padded input has ", IntSpan(padding.output_shape));
  const Tensor out = dense_output(call, 0, shape, grad_output.dtype());
  if (out.numel() == 0) return;
  std::memset(out.data(), 0, out.numel() * item_size(out.dtype()));
  if (grad_output.numel() == 0) return;
  padding.make_maps(shape, call.integers(2), mode);
  visit_any(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    add_back_rows(padding, grad_output.data_as<const T>(), out.data_as<T>());
  });
}

const Register register_pad{
    "pad(Tensor input, int[] pad, str mode='constant', Scalar value=0) -> Tensor",
    "Elements added around (or, where pad is negative, taken from) the last dimensions: pad lists "
    "(before, after), last "
    "dimension first; mode is 'constant' (filled with value), 'reflect' or 'replicate'.",
    {Trait::takes_complex, Trait::no_method},
    pad_cpu};
const Register register_pad_backward{
    "pad_backward(Tensor grad_output, int[] input_shape, int[] pad, str mode) -> Tensor",
    "Gradient of pad: every element added to the one that it shows.",
    {Trait::takes_complex, Trait::internal},
    pad_backward_cpu};

}  // namespace
}  // namespace relume
