#include "tensor/kernels/volume.h"

#include "tensor/copy.h"
#include "tensor/kernels/matmul.h"

namespace relume {
namespace {

constexpr const char* kForms[] = {"(channels, width)", "(channels, height, width)",
                                  "(channels, depth, height, width)"};
constexpr const char* kBatchedForms[] = {"(batch, channels, width)", "(batch, channels, height, width)",
                                         "(batch, channels, depth, height, width)"};

}  // namespace

Triple triple_argument(const Call& call, int argument, int dims, int64_t smallest, int64_t otherwise) {
  const IntSpan list = call.integers(argument);
  check(list.count == 1 || list.count == dims, call.op.name(), ": ",
        call.op.schema.arguments[argument].name, " must be one number or ", dims,
        dims == 1 ? " (in a list)" : " numbers", ", not ", list);
  Triple triple;
  for (int axis = 0; axis < 3; axis++) {
    const int place = axis - (3 - dims);
    triple[axis] = place < 0 ? otherwise : list[list.count == 1 ? 0 : place];
    if (place >= 0) check_setting(call, argument, triple[axis], smallest);
  }
  return triple;
}

IntSpan own_part(const Triple& triple, int dims) { return {triple.values + 3 - dims, dims}; }

Volumes::Volumes(const Call& call, int argument, int dims)
    : Volumes(call, argument, dims, call.tensor(argument).shape()) {}

Volumes Volumes::of_shape_argument(const Call& call, int argument, int dims) {
  return Volumes(call, argument, dims, shape_argument(call, argument));
}

Volumes::Volumes(const Call& call, int argument, int dims, IntSpan shape) : dims(dims) {
  check(shape.count == dims + 1 || shape.count == dims + 2, call.op.name(), ": ",
        call.op.schema.arguments[argument].name, " must have shape ", kForms[dims - 1], " or ",
        kBatchedForms[dims - 1], ", not ", shape);
  batched = shape.count == dims + 2;
  batch = batched ? shape[0] : 1;
  channels = shape[shape.count - dims - 1];
  for (int i = 0; i < dims; i++) size[3 - dims + i] = shape[shape.count - dims + i];
}

Dims Volumes::shape(int64_t new_channels, const Triple& new_size) const {
  Dims shape;
  if (batched) shape.push(batch);
  shape.push(new_channels);
  for (int64_t length : own_part(new_size, dims)) shape.push(length);
  return shape;
}

namespace detail {

FloatingWork::FloatingWork(Call& call, IntSpan shape) {
  check_floating(call, 0);
  const DType dtype = call.tensor(0).dtype(), wide = computing_type(dtype);
  source = contiguous_copy_if_needed(as_type(call.tensor(0), wide));
  output = dense_output(call, 0, shape, dtype);
  target = dtype == wide ? output : empty(shape, wide);
}

void FloatingWork::finish() const {
  if (target.body() != output.body()) copy(output, target);
}

}  // namespace detail
}  // namespace relume
