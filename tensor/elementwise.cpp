#include "tensor/elementwise.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "tensor/convert.h"
#include "tensor/copy.h"
#include "tensor/dims.h"
#include "tensor/inner_loop.h"
#include "tensor/parallel.h"

namespace relume {
namespace {

constexpr int kMaxTensors = kMaxOperands + 1;  // and the output, which comes first

// Functions that cost tens of instructions per element pay for a thread earlier.
int64_t grain_of(Function function) {
  const bool costly = (function >= Function::exp && function <= Function::bessel_y1) ||
                      (function >= Function::elu && function <= Function::softplus) ||
                      (function >= Function::floor_divide && function <= Function::atan2) ||
                      (function >= Function::elu_backward && function <= Function::softplus_backward) ||
                      function == Function::betainc;
  return costly ? kParallelGrain / 8 : kParallelGrain;
}

// A number in memory, in the type that a loop computes in.
struct Number {
  alignas(16) char bytes[16];
};
void write_number(Number& target, const Value& value, DType dtype) {
  visit_any(dtype, [&](auto example) {
    const auto number = number_as<decltype(example)>(value);
    std::memcpy(target.bytes, &number, sizeof number);
  });
}

// Parameters of a function: numbers of the compute type, float for the 16-bit types.
struct Parameters {
  alignas(16) char bytes[kMaxParameters * 16];

  Parameters(const Elementwise& work) {
    if (work.parameter_count == 0) return;
    DType dtype = work.compute;
    if (item_size(dtype) == 2 && is_floating(dtype)) dtype = DType::float32;
    for (int i = 0; i < work.parameter_count; ++i) {
      Number number;
      write_number(number, work.parameters[i], dtype);
      std::memcpy(bytes + i * item_size(dtype), number.bytes, item_size(dtype));
    }
  }
};

bool same_shape(const TensorBody* a, const TensorBody* b) {
  if (a->ndim != b->ndim) return false;
  for (int i = 0; i < a->ndim; ++i) {
    if (a->shape[i] != b->shape[i]) return false;
  }
  return true;
}

char* address(const TensorBody* body) {
  return body->storage ? static_cast<char*>(body->storage->data) +
                             body->offset * static_cast<int64_t>(item_size(body->dtype))
                       : nullptr;
}

DType operand_type(const Elementwise& work, int operand) {
  return operand == 0 && work.first_is_condition ? DType::boolean : work.compute;
}

// Where the loop reads and writes when it runs straight through memory.
struct Flat {
  char* data[kMaxTensors];
  int64_t strides[kMaxTensors];
  Number numbers[kMaxOperands];
};

// The tensor whose shape all tensor operands have, when every one is contiguous and of the
// right type; otherwise nullptr. Sets `flat` up for the operands.
const TensorBody* find_flat(const Elementwise& work, Flat& flat) {
  const TensorBody* first = nullptr;
  for (int i = 0; i < work.operand_count; ++i) {
    const Value& operand = work.operands[i];
    const DType dtype = operand_type(work, i);
    if (operand.is_tensor()) {
      const TensorBody* body = operand.tensor;
      if (!body->contiguous || body->dtype != dtype) return nullptr;
      if (!first) {
        first = body;
      } else if (!same_shape(first, body)) {
        return nullptr;
      }
      flat.data[i + 1] = address(body);
      flat.strides[i + 1] = static_cast<int64_t>(item_size(dtype));
    } else {
      write_number(flat.numbers[i], operand, dtype);
      flat.data[i + 1] = flat.numbers[i].bytes;
      flat.strides[i + 1] = 0;
    }
  }
  return first;
}

void run_flat(const InnerLoop& loop, Flat& flat, int tensors, int64_t count, int64_t grain,
              const void* parameters) {
  if (count <= grain) {
    loop(flat.data, flat.strides, count, parameters);
    return;
  }
  parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    char* data[kMaxTensors];
    for (int i = 0; i < tensors; ++i) data[i] = flat.data[i] + begin * flat.strides[i];
    loop(data, flat.strides, end - begin, parameters);
  });
}

// Is the operand walked across its rows, so that each element costs a cache line, while
// copying it tile by tile would not?
bool walked_across(const TensorBody* body) {
  constexpr int64_t kWorthwhile = 4096;  // elements
  if (body->numel < kWorthwhile) return false;
  const int last = body->ndim - 1;
  if (body->shape[last] < 8 || std::abs(body->strides[last]) < 16) return false;
  for (int i = 0; i < last; ++i) {
    if (body->strides[i] == 1 && body->shape[i] >= 8) return true;
  }
  return false;
}

[[noreturn]] void refuse_shapes(const Call& call, IntSpan a, IntSpan b) {
  throw ValueError(message(call.op.name(), "(): shapes ", to_string(a), " and ", to_string(b),
                           " do not broadcast: aligned at the last dimension, sizes must be equal "
                           "or 1"));
}

Dims broadcast_operands(const Call& call, const Elementwise& work) {
  Dims shape;
  for (int i = 0; i < work.operand_count; ++i) {
    if (!work.operands[i].is_tensor()) continue;
    const TensorBody* body = work.operands[i].tensor;
    const IntSpan own(body->shape, body->ndim);
    const int extra = own.count - shape.count;
    if (extra > 0) {
      std::copy_backward(shape.values, shape.values + shape.count, shape.values + own.count);
      std::fill_n(shape.values, extra, 1);
      shape.count = own.count;
    }
    for (int k = 1; k <= own.count; ++k) {
      int64_t& size = shape.values[shape.count - k];
      const int64_t other = own[own.count - k];
      if (size == other || other == 1) continue;
      if (size != 1) refuse_shapes(call, shape, own);
      size = other;
    }
  }
  return shape;
}

// The nest of loops over operands of any layout. Strides are in bytes.
struct Nest {
  int tensors;
  int ndim = 0;
  char* data[kMaxTensors];
  int64_t shape[kMaxDims];
  int64_t strides[kMaxDims][kMaxTensors];

  explicit Nest(int tensors) : tensors(tensors) {}

  void add_dim(int64_t size, const int64_t* steps) {
    if (size == 1) return;
    shape[ndim] = size;
    std::copy_n(steps, tensors, strides[ndim]);
    // Outer loops take the larger steps in the output.
    for (int i = ndim++; i > 0 && step(i - 1) < step(i); --i) swap(i - 1, i);
  }

  // Joins neighbouring loops that every tensor walks in equal steps.
  void merge() {
    int last = 0;
    for (int i = 1; i < ndim; ++i) {
      bool joins = true;
      for (int t = 0; t < tensors; ++t) joins &= strides[last][t] == strides[i][t] * shape[i];
      if (joins) {
        shape[last] *= shape[i];
      } else {
        shape[++last] = shape[i];
      }
      std::copy_n(strides[i], tensors, strides[last]);
    }
    if (ndim > 0) ndim = last + 1;
    if (ndim == 0) {  // one element
      ndim = 1;
      shape[0] = 1;
      std::fill_n(strides[0], tensors, 0);
    }
  }

  // Runs the elements [begin, end), counted with the last loop innermost.
  void run(const InnerLoop& loop, int64_t begin, int64_t end, const void* parameters) const {
    int64_t index[kMaxDims];
    char* at[kMaxTensors];
    std::copy_n(data, tensors, at);
    int64_t rest = begin;
    for (int i = ndim - 1; i >= 0; --i) {
      index[i] = rest == 0 ? 0 : rest % shape[i];
      rest = rest == 0 ? 0 : rest / shape[i];
      for (int t = 0; t < tensors; ++t) at[t] += index[i] * strides[i][t];
    }
    const int inner = ndim - 1;
    while (begin < end) {
      const bool whole_rows = inner > 0 && index[inner] == 0 && end - begin >= shape[inner];
      if (whole_rows) {
        const int64_t rows = std::min(shape[inner - 1] - index[inner - 1], (end - begin) / shape[inner]);
        for (int64_t row = 0; row < rows; ++row) {
          loop(at, strides[inner], shape[inner], parameters);
          for (int t = 0; t < tensors; ++t) at[t] += strides[inner - 1][t];
        }
        begin += rows * shape[inner];
        index[inner - 1] += rows;
      } else {
        const int64_t count = std::min(shape[inner] - index[inner], end - begin);
        loop(at, strides[inner], count, parameters);
        begin += count;
        if (begin < end) to_next(inner, index, at);
      }
      for (int i = inner - 1; i > 0 && index[i] == shape[i]; --i) to_next(i, index, at);
    }
  }

 private:
  // From somewhere in loop i to the start of it, one step further in the loop around it.
  void to_next(int i, int64_t* index, char** at) const {
    for (int t = 0; t < tensors; ++t) at[t] += strides[i - 1][t] - index[i] * strides[i][t];
    index[i] = 0;
    ++index[i - 1];
  }
  int64_t step(int i) const { return std::abs(strides[i][0]); }
  void swap(int i, int j) {
    std::swap(shape[i], shape[j]);
    std::swap_ranges(strides[i], strides[i] + tensors, strides[j]);
  }
};

void apply_to_any_layout(Call& call, const Elementwise& work, const InnerLoop& loop, const void* parameters) {
  const Dims shape = broadcast_operands(call, work);
  const Tensor out = call.output(0, shape, work.result);
  if (out.numel() == 0) return;

  Nest nest(work.operand_count + 1);
  Number numbers[kMaxOperands];
  Tensor converted[kMaxOperands];
  const TensorBody* bodies[kMaxTensors] = {out.body()};
  nest.data[0] = address(out.body());
  for (int i = 0; i < work.operand_count; ++i) {
    const Value& operand = work.operands[i];
    const DType dtype = operand_type(work, i);
    bodies[i + 1] = nullptr;
    if (!operand.is_tensor()) {
      write_number(numbers[i], operand, dtype);
      nest.data[i + 1] = numbers[i].bytes;
      continue;
    }
    const TensorBody* body = operand.tensor;
    if (body->dtype != dtype || (out.is_contiguous() && walked_across(body))) {
      const Tensor source = Tensor::borrow(operand.tensor);
      converted[i] = empty(source.shape(), dtype);
      copy(converted[i], source);
      body = converted[i].body();
    }
    bodies[i + 1] = body;
    nest.data[i + 1] = address(body);
  }
  for (int dim = 0; dim < shape.count; ++dim) {
    int64_t steps[kMaxTensors] = {};
    for (int t = 0; t < nest.tensors; ++t) {
      const TensorBody* body = bodies[t];
      const int own = body ? dim - (shape.count - body->ndim) : -1;
      if (own < 0 || body->shape[own] == 1) continue;
      steps[t] = body->strides[own] * static_cast<int64_t>(item_size(body->dtype));
    }
    nest.add_dim(shape[dim], steps);
  }
  nest.merge();
  parallel_for(0, out.numel(), grain_of(work.function),
               [&](int64_t begin, int64_t end) { nest.run(loop, begin, end, parameters); });
}

[[noreturn]] void refuse_type(const Call& call, DType dtype) {
  std::string hint;
  if (dtype == DType::boolean) hint = "; convert it to an integer or floating type first";
  if (is_floating(dtype)) hint = "; it is for integers and bool";
  if (is_complex(dtype)) hint = "; take real(), imag() or abs() of them first";
  throw TypeError(message(call.op.name(), "() does not take tensors of type ", name(dtype), hint));
}

}  // namespace

int64_t saturated(int64_t number, DType dtype) {
  return visit(dtype, [&](auto example) {
    using T = decltype(example);
    if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(int64_t)) {
      return std::clamp<int64_t>(number, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    } else {
      return number;
    }
  });
}

DType common_type(const Value* operands, int count) {
  bool any_tensor = false, any_number = false;
  DType tensors = DType::boolean;
  Kind numbers = Kind::boolean;
  for (int i = 0; i < count; ++i) {
    const Value& operand = operands[i];
    if (operand.is_tensor()) {
      tensors = any_tensor ? promote(tensors, operand.tensor->dtype) : operand.tensor->dtype;
      any_tensor = true;
    } else if (operand.is_number()) {
      any_number = true;
      const Kind kind = operand.is_complex()                   ? Kind::complex
                        : operand.type == Value::Type::real    ? Kind::floating
                        : operand.type == Value::Type::integer ? Kind::integer
                                                               : Kind::boolean;
      numbers = std::max(numbers, kind);
    }
  }
  if (!any_number || (any_tensor && numbers <= info(tensors).kind)) return tensors;
  if (numbers == Kind::complex) return any_tensor ? complex_type(tensors) : default_complex();
  return numbers == Kind::floating  ? default_float()
         : numbers == Kind::integer ? DType::int64
                                    : DType::boolean;
}

void apply(Call& call, const Elementwise& work) {
  const InnerLoop loop(work);
  if (__builtin_expect(!loop.exists(), 0)) refuse_type(call, work.compute);
  const Parameters parameters(work);

  Flat flat;
  if (const TensorBody* like = find_flat(work, flat)) {
    const Tensor out = call.output(0, IntSpan(like->shape, like->ndim), work.result);
    if (__builtin_expect(out.is_contiguous(), 1)) {
      flat.data[0] = address(out.body());
      flat.strides[0] = static_cast<int64_t>(item_size(work.result));
      run_flat(loop, flat, work.operand_count + 1, out.numel(), grain_of(work.function),
               parameters.bytes);
      return;
    }
  }
  apply_to_any_layout(call, work, loop, parameters.bytes);
}

}  // namespace relume
