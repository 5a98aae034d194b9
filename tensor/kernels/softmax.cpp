// Softmax along one dimension, its logarithm and their gradients.
#include <algorithm>

#include "tensor/copy.h"
#include "tensor/kernels/best_isa.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/softmax_loops.h"
#include "tensor/kernels/window.h"
#include "tensor/parallel.h"

namespace relume {

RELUME_PER_ISA(SoftmaxLoops, softmax_loops)

namespace {

// A contiguous tensor as outer x length x inner, where `length` is the dimension of the op.
struct Lines {
  int64_t outer = 1, length = 1, inner = 1;

  Lines(IntSpan shape, int64_t dim) {
    const int place = wrap_dim(dim, shape.count);
    if (shape.count == 0) return;
    for (int i = 0; i < place; i++) outer *= shape[i];
    length = shape[place];
    for (int i = place + 1; i < shape.count; i++) inner *= shape[i];
  }

  // Calls f(offset of the first element, block) for blocks of neighbouring lines, which are
  // worked on together so that memory is read in order.
  template <class Function>
  void for_each_block(const Function& function) const {
    if (length == 0) return;
    if (inner == 1 && length <= kMaxShortLine) return for_each_group(function);
    const int64_t blocks = (inner + kMaxLineWidth - 1) / kMaxLineWidth;
    const int64_t work = std::min(inner, kMaxLineWidth) * length * 4;
    parallel_for(0, outer * blocks, std::max<int64_t>(1, kParallelGrain / work),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; i++) {
                     const int64_t first = i % blocks * kMaxLineWidth;
                     function(i / blocks * length * inner + first,
                              LineBlock{length, inner, std::min(kMaxLineWidth, inner - first)});
                   }
                 });
  }

 private:
  // The same for short lines, which follow one another.
  template <class Function>
  void for_each_group(const Function& function) const {
    constexpr int64_t kNear = 1024;  // elements that stay in the nearest cache
    const int64_t group = std::clamp<int64_t>(kNear / length, 1, kMaxLineWidth);
    const int64_t groups = (outer + group - 1) / group;
    parallel_for(0, groups, std::max<int64_t>(1, kParallelGrain / (group * length * 4)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; i++) {
                     const int64_t first = i * group;
                     function(first * length, LineBlock{length, 1, std::min(group, outer - first)});
                   }
                 });
  }
};

template <class T>
void run_loop(const Lines& lines, LineLoop<T> loop, const Tensor* operands, int count,
              const Tensor& target) {
  lines.for_each_block([&](int64_t offset, const LineBlock& block) {
    const T* pointers[2] = {};
    for (int k = 0; k < count; k++) pointers[k] = operands[k].data_as<const T>() + offset;
    loop(block, pointers, target.data_as<T>() + offset);
  });
}

// Runs the loop of an op whose first `count` arguments are operands and whose next is the dimension.
template <class ChooseLoop>
void along_lines(Call& call, int count, const ChooseLoop& choose) {
  check_floating(call, 0);
  const DType dtype = call.tensor(0).dtype(), wide = computing_type(dtype);
  const IntSpan shape = {call.body(0)->shape, call.body(0)->ndim};
  const Lines lines(shape, call.integer(count));
  Tensor operands[2];
  for (int i = 0; i < count; i++) {
    const Tensor operand = call.tensor(i);
    check(operand.shape() == shape, call.op.name(), ": both operands must have one shape, not ", shape,
          " and ", operand.shape());
    operands[i] = contiguous_copy_if_needed(as_type(operand, wide));
  }
  const Tensor out = dense_output(call, 0, shape, dtype);
  if (out.numel() == 0) return;
  const Tensor target = dtype == wide ? out : empty(shape, wide);
  if (wide == DType::float64) {
    run_loop<double>(lines, choose(best_softmax_loops().float64), operands, count, target);
  } else {
    run_loop<float>(lines, choose(best_softmax_loops().float32), operands, count, target);
  }
  if (dtype != wide) copy(out, target);
}

void softmax_cpu(Call& call) {
  along_lines(call, 1, [](const auto& loops) { return loops.softmax; });
}
void log_softmax_cpu(Call& call) {
  along_lines(call, 1, [](const auto& loops) { return loops.log_softmax; });
}
void softmax_backward_cpu(Call& call) {
  along_lines(call, 2, [](const auto& loops) { return loops.softmax_backward; });
}
void log_softmax_backward_cpu(Call& call) {
  along_lines(call, 2, [](const auto& loops) { return loops.log_softmax_backward; });
}

const Register register_softmax{"softmax(Tensor input, int dim) -> Tensor",
                                "Exponentials along dim, scaled so that they sum to 1.",
                                {},
                                softmax_cpu};
const Register register_log_softmax{"log_softmax(Tensor input, int dim) -> Tensor",
                                    "Logarithm of softmax along dim.",
                                    {},
                                    log_softmax_cpu};
const Register register_softmax_backward{
    "softmax_backward(Tensor grad_output, Tensor output, int dim) -> Tensor",
    "Gradient of softmax.",
    {Trait::internal},
    softmax_backward_cpu};
const Register register_log_softmax_backward{
    "log_softmax_backward(Tensor grad_output, Tensor output, int dim) -> Tensor",
    "Gradient of log_softmax.",
    {Trait::internal},
    log_softmax_backward_cpu};

}  // namespace
}  // namespace relume
