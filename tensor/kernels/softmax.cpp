// Softmax along one dimension, its logarithm and their gradients.
#include <cmath>
#include <limits>

#include "tensor/copy.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/window.h"
#include "tensor/parallel.h"

namespace relume {
namespace {

// A contiguous tensor as outer x length x inner, where `length` is the dimension of the op.
struct Lines {
  int64_t outer = 1, length = 1, inner = 1;

  Lines(const Call& call, IntSpan shape, int64_t dim) {
    const int place = wrap_dim(dim, shape.count);
    if (shape.count == 0) return;
    for (int i = 0; i < place; i++) outer *= shape[i];
    length = shape[place];
    for (int i = place + 1; i < shape.count; i++) inner *= shape[i];
  }

  // Calls f(offset of the first element, number of neighbouring lines): lines that lie side by
  // side are worked on together, so that memory is read in order.
  template <class Function>
  void for_each_block(const Function& function) const {
    if (length == 0) return;
    constexpr int64_t kBlock = 64;
    const int64_t blocks = (inner + kBlock - 1) / kBlock;
    const int64_t width = std::min(inner, kBlock);
    const int64_t grain = std::max<int64_t>(1, kParallelGrain / 4 / std::max<int64_t>(1, width * length));
    parallel_for(0, outer * blocks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        const int64_t first = i % blocks * kBlock;
        function(i / blocks * length * inner + first, std::min(kBlock, inner - first));
      }
    });
  }
};

// Runs `work(lines, sources..., target, T{})` with everything contiguous and of one computing type.
template <class Work>
void along_lines(Call& call, int operands, int dim, const Work& work) {
  check_floating(call, 0);
  const DType dtype = call.tensor(0).dtype(), wide = computing_type(dtype);
  const IntSpan shape = call.tensor(0).shape();
  const Lines lines(call, shape, call.integer(dim));
  Tensor sources[2];
  for (int i = 0; i < operands; i++) {
    const Tensor operand = call.tensor(i);
    check(operand.shape() == shape, call.op.name(), ": both operands must have one shape, not ", shape, " and ", operand.shape());
    sources[i] = contiguous_copy_if_needed(as_type(operand, wide));
  }
  const Tensor out = dense_output(call, 0, shape, dtype);
  const Tensor target = dtype == wide ? out : empty(shape, wide);
  if (out.numel() > 0) {
    wide == DType::float64 ? work(lines, sources, target, double{}) : work(lines, sources, target, float{});
  }
  if (dtype != wide) copy(out, target);
}

template <class T>
void softmax_line(const T* input, T* output, int64_t length) {
  T largest = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < length; i++) largest = std::max(largest, input[i]);
  double sum = 0;
  for (int64_t i = 0; i < length; i++) {
    output[i] = std::exp(input[i] - largest);
    sum += output[i];
  }
  const T factor = static_cast<T>(1 / sum);
  for (int64_t i = 0; i < length; i++) output[i] *= factor;
}

template <class T>
void log_softmax_line(const T* input, T* output, int64_t length) {
  T largest = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < length; i++) largest = std::max(largest, input[i]);
  double sum = 0;
  for (int64_t i = 0; i < length; i++) sum += std::exp(input[i] - largest);
  const T logarithm = static_cast<T>(std::log(sum));
  for (int64_t i = 0; i < length; i++) output[i] = input[i] - largest - logarithm;
}

// Calls f(line of each operand..., line of the target): lines that are not contiguous are
// moved through buffers.
template <class T, int kOperands, class Function>
void line_by_line(const Lines& lines, const Tensor* sources, const Tensor& target, const Function& function) {
  const int64_t length = lines.length, inner = lines.inner;
  lines.for_each_block([&](int64_t offset, int64_t width) {
    const T* inputs[kOperands];
    if (inner == 1) {
      for (int k = 0; k < kOperands; k++) inputs[k] = sources[k].data_as<const T>() + offset;
      function(inputs, target.data_as<T>() + offset, length);
      return;
    }
    std::vector<T> buffer((kOperands + 1) * width * length);
    for (int k = 0; k < kOperands; k++) {
      const T* source = sources[k].data_as<const T>() + offset;
      T* gathered = buffer.data() + k * width * length;
      for (int64_t i = 0; i < length; i++) {
        for (int64_t j = 0; j < width; j++) gathered[j * length + i] = source[i * inner + j];
      }
    }
    T* results = buffer.data() + kOperands * width * length;
    for (int64_t j = 0; j < width; j++) {
      for (int k = 0; k < kOperands; k++) inputs[k] = buffer.data() + (k * width + j) * length;
      function(inputs, results + j * length, length);
    }
    T* output = target.data_as<T>() + offset;
    for (int64_t i = 0; i < length; i++) {
      for (int64_t j = 0; j < width; j++) output[i * inner + j] = results[j * length + i];
    }
  });
}

void softmax_cpu(Call& call) {
  along_lines(call, 1, 1, [](const Lines& lines, const Tensor* sources, const Tensor& target, auto zero) {
    using T = decltype(zero);
    line_by_line<T, 1>(lines, sources, target,
                       [](const T* const* input, T* output, int64_t length) { softmax_line(input[0], output, length); });
  });
}

void log_softmax_cpu(Call& call) {
  along_lines(call, 1, 1, [](const Lines& lines, const Tensor* sources, const Tensor& target, auto zero) {
    using T = decltype(zero);
    line_by_line<T, 1>(lines, sources, target, [](const T* const* input, T* output, int64_t length) {
      log_softmax_line(input[0], output, length);
    });
  });
}

void softmax_backward_cpu(Call& call) {
  along_lines(call, 2, 2, [](const Lines& lines, const Tensor* sources, const Tensor& target, auto zero) {
    using T = decltype(zero);
    line_by_line<T, 2>(lines, sources, target, [](const T* const* operands, T* result, int64_t length) {
      const T *grad = operands[0], *output = operands[1];
      double sum = 0;
      for (int64_t i = 0; i < length; i++) sum += static_cast<double>(grad[i]) * output[i];
      for (int64_t i = 0; i < length; i++) result[i] = output[i] * (grad[i] - static_cast<T>(sum));
    });
  });
}

void log_softmax_backward_cpu(Call& call) {
  along_lines(call, 2, 2, [](const Lines& lines, const Tensor* sources, const Tensor& target, auto zero) {
    using T = decltype(zero);
    line_by_line<T, 2>(lines, sources, target, [](const T* const* operands, T* result, int64_t length) {
      const T *grad = operands[0], *output = operands[1];
      double sum = 0;
      for (int64_t i = 0; i < length; i++) sum += grad[i];
      for (int64_t i = 0; i < length; i++) result[i] = grad[i] - std::exp(output[i]) * static_cast<T>(sum);
    });
  });
}

const Register register_softmax{"softmax(Tensor input, int dim) -> Tensor",
                                "Exponentials along dim, scaled so that they sum to 1.", {}, softmax_cpu};
const Register register_log_softmax{"log_softmax(Tensor input, int dim) -> Tensor", "Logarithm of softmax along dim.",
                                    {}, log_softmax_cpu};
const Register register_softmax_backward{"softmax_backward(Tensor grad_output, Tensor output, int dim) -> Tensor",
                                         "Gradient of softmax.", {Trait::internal}, softmax_backward_cpu};
const Register register_log_softmax_backward{
    "log_softmax_backward(Tensor grad_output, Tensor output, int dim) -> Tensor", "Gradient of log_softmax.",
    {Trait::internal}, log_softmax_backward_cpu};

}  // namespace
}  // namespace relume
