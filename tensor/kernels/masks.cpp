// Ops on the elements that a mask selects: masked_fill, masked_select, masked_scatter.
#include <algorithm>

#include "tensor/copy.h"
#include "tensor/dispatch.h"
#include "tensor/kernels/dense.h"
#include "tensor/kernels/along_dim.h"
#include "tensor/kernels/views.h"
#include "tensor/parallel.h"

namespace relume {
void fill_masked(const Tensor& target, const Tensor& mask, const Tensor& value) {
  visit_size(target.dtype(), [&](auto example) {
    using T = decltype(example);
    const T filler = *value.data_as<T>();
    const uint8_t* selected = mask.data_as<uint8_t>();
    T* to = target.data_as<T>();
    parallel_for(0, target.numel(), kParallelGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = selected[i] ? filler : to[i];
    });
  });
}

namespace {

void check_mask(const Call& call, const Tensor& mask) {
  check<TypeError>(mask.dtype() == DType::boolean || mask.dtype() == DType::uint8, call.op.name(),
                   ": a mask must be of bool (or uint8), not ", name(mask.dtype()));
}

// Positions where a mask, row-major and broadcast, is not 0. Without branches: what a mask selects is
// hard to guess.
std::vector<int64_t> masked_positions(const Tensor& mask) {
  const Tensor dense = contiguous_copy_if_needed(mask);
  const uint8_t* selected = dense.data_as<uint8_t>();
  const int64_t size = dense.numel();
  std::vector<int64_t> positions(size - std::count(selected, selected + size, uint8_t{0}) + 1);
  int64_t* to = positions.data();
  for (int64_t i = 0; i < size; ++i) {
    *to = i;
    to += selected[i] != 0;
  }
  positions.pop_back();  // the place for the last write
  return positions;
}

void masked_fill_cpu(Call& call) {
  const Tensor input = call.tensor(0), mask = call.tensor(1);
  check_mask(call, mask);
  const std::vector<int64_t> shape = broadcast_shapes(input.shape(), mask.shape());
  Tensor value = call.tensor(2);
  if (value.defined()) {
    check(value.numel() == 1, "masked_fill: value must be a number or a tensor of one element, ",
          "not of shape ", value.shape());
  } else {
    value = empty({}, input.dtype());
    fill(value, call.value(2));
  }
  const Tensor converted = empty({}, input.dtype());
  copy(converted, view_of(value, 0, {}, {}));
  const Tensor wide_mask = contiguous_copy_if_needed(expand_view(mask, shape));
  const DenseOutput output(call.output(0, shape, input.dtype()));
  copy(*output, expand_view(input, shape));
  fill_masked(*output, wide_mask, converted);
  output.write_back();
}

void masked_select_cpu(Call& call) {
  check_mask(call, call.tensor(1));
  const std::vector<int64_t> shape =
      broadcast_shapes(call.tensor(0).shape(), call.tensor(1).shape());
  const Tensor input = contiguous_copy_if_needed(expand_view(call.tensor(0), shape));
  const std::vector<int64_t> positions = masked_positions(expand_view(call.tensor(1), shape));
  const int64_t count = static_cast<int64_t>(positions.size());
  const DenseOutput output(call.output(0, {count}, input.dtype()));
  copy_blocks(output->data_as<char>(), input.data_as<char>(), positions.data(), count,
              item_size(input.dtype()));
  output.write_back();
}

void masked_select_backward_cpu(Call& call) {
  const Tensor grad = contiguous_copy_if_needed(call.tensor(0));
  const IntSpan shape = call.integers(1);
  const DenseOutput output(call.output(0, shape, grad.dtype()));
  fill(*output, 0);
  visit_size(grad.dtype(), [&](auto example) {
    using T = decltype(example);
    const T* from = grad.data_as<T>();
    T* to = output->data_as<T>();
    for (int64_t position : masked_positions(expand_view(call.tensor(2), shape))) {
      to[position] = *from++;
    }
  });
  output.write_back();
}

void masked_scatter_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check_mask(call, call.tensor(1));
  const std::vector<int64_t> shape =
      call.in_place ? input.shape().vector() : broadcast_shapes(input.shape(), call.tensor(1).shape());
  const Tensor mask = contiguous_copy_if_needed(apart(call, expand_view(call.tensor(1), shape)));
  const Tensor source = as_dtype(apart(call, call.tensor(2)), input.dtype());
  const uint8_t* selected = mask.data_as<uint8_t>();
  const int64_t wanted = mask.numel() - std::count(selected, selected + mask.numel(), uint8_t{0});
  check(wanted <= source.numel(), call.op.name(), ": the mask selects ", wanted, " elements, but source has only ",
        source.numel());
  const WrittenTensor output(call, shape);
  if (wanted == 0) return output.finish();
  visit_size(input.dtype(), [&](auto example) {
    using T = decltype(example);
    const T* from = source.data_as<T>();
    T* to = output->data_as<T>();
    int64_t next = 0;
    for (int64_t i = 0; i < output->numel(); ++i) {  // without branches
      const T value = from[std::min(next, wanted - 1)];
      to[i] = selected[i] ? value : to[i];
      next += selected[i] != 0;
    }
  });
  output.finish();
}

const Register register_masked_fill{
    "masked_fill(Tensor input, Tensor mask, Tensor|Scalar value) -> Tensor",
    "The tensor with `value` where the mask is true.", {Trait::elementwise}, masked_fill_cpu};
const Register register_masked_select{
    "masked_select(Tensor input, Tensor mask) -> Tensor",
    "The elements where the mask is true, as a vector in row-major order.", {Trait::takes_complex},
    masked_select_cpu};
const Register register_masked_select_backward{
    "masked_select_backward(Tensor grad, int[] shape, Tensor mask) -> Tensor",
    "Zeros of a shape with gradients where the mask is true.", {Trait::takes_complex, Trait::internal},
    masked_select_backward_cpu};
const RegisterWriting register_masked_scatter{
    "masked_scatter(Tensor input, Tensor mask, Tensor source) -> Tensor",
    "A copy, as large as input and mask together, with the first elements of `source` written, in order, where the "
    "mask is true.", masked_scatter_cpu};

}  // namespace
}  // namespace relume
