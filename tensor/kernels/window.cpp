#include "tensor/kernels/window.h"

namespace relume {

namespace {

const std::string& argument_name(const Call& call, int argument) {
  return call.op.schema.arguments[argument].name;
}

}  // namespace

void check_setting(const Call& call, int argument, int64_t value, int64_t smallest) {
  check(value >= smallest, call.op.name(), ": ", argument_name(call, argument), " must be at least ",
        smallest, ", not ", value);
  check(value <= kLargestSetting, call.op.name(), ": ", argument_name(call, argument),
        " must be at most ", kLargestSetting, ", not ", value);
}

IntSpan shape_argument(const Call& call, int argument) {
  const IntSpan shape = call.integers(argument);
  for (int64_t size : shape) check_setting(call, argument, size, 0);
  check(shape.count <= kMaxDims, call.op.name(), ": ", argument_name(call, argument), " has more than ",
        kMaxDims, " dimensions");
  return shape;
}

Pair pair_argument(const Call& call, int argument, int64_t smallest) {
  const IntSpan list = call.integers(argument);
  check(list.count == 1 || list.count == 2, call.op.name(), ": ", argument_name(call, argument),
        " must be one number or (height, width), not ", list);
  const Pair pair{list[0], list[list.count - 1]};
  check_setting(call, argument, pair.height, smallest);
  check_setting(call, argument, pair.width, smallest);
  return pair;
}

Images::Images(const Call& call, int argument) : Images(call, argument, call.tensor(argument).shape()) {}

Images Images::of_shape_argument(const Call& call, int argument) {
  return Images(call, argument, shape_argument(call, argument));
}

Images::Images(const Call& call, int argument, IntSpan shape) {
  check(shape.count == 3 || shape.count == 4, call.op.name(), ": ", argument_name(call, argument),
        " must have shape (channels, height, width) or (batch, channels, height, width), not ", shape);
  batched = shape.count == 4;
  batch = batched ? shape[0] : 1;
  channels = shape[shape.count - 3];
  size = {shape[shape.count - 2], shape[shape.count - 1]};
}

Dims Images::shape(int64_t new_channels, Pair new_size) const {
  Dims shape;
  if (batched) shape.push(batch);
  shape.push(new_channels);
  shape.push(new_size.height);
  shape.push(new_size.width);
  return shape;
}

Tensor dense_output(Call& call, int i, IntSpan shape, DType dtype) {
  Tensor out = call.output(i, shape, dtype);
  if (out.is_contiguous()) return out;
  out = empty(shape, dtype, out.device());
  call.set_output(i, out);
  return out;
}

void check_floating(const Call& call, int argument) {
  const Tensor tensor = call.tensor(argument);
  check<TypeError>(is_floating(tensor.dtype()), call.op.name(), ": ",
                   call.op.schema.arguments[argument].name, " must have a floating-point type, not ",
                   name(tensor.dtype()));
}

}  // namespace relume
