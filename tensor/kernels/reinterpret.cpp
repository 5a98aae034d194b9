// The bytes of a tensor seen as elements of another type.
#include "tensor/dims.h"
#include "tensor/dispatch.h"

namespace relume {
namespace {

// As NumPy's ndarray.view(dtype): with another item size the last dimension, which must be dense,
// holds more or fewer elements.
void view_bytes_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const DType dtype = call.dtype(1, input.dtype());
  const int64_t from = item_size(input.dtype()), to = item_size(dtype);
  Dims shape(input.shape()), strides(input.strides());
  if (from == to) return call.set_output(0, make_view(input->storage, input->offset, shape, strides, dtype));
  const int last = input.ndim() - 1;
  check(last >= 0, "view(): a 0-d ", name(input.dtype()), " tensor cannot be seen as ", name(dtype),
        ", whose elements have another size");
  check(input.stride(last) == 1, "view(): the last dimension must be dense (stride 1, not ", input.stride(last),
        ") to be seen as ", name(dtype), "; call contiguous() first");
  const auto rescaled = [&](int64_t elements, const char* what) {
    check(elements * from % to == 0, "view(): the ", what, " of ", elements, " elements of ", name(input.dtype()),
          " is no whole number of ", name(dtype), " elements");
    return elements * from / to;
  };
  for (int i = 0; i < last; ++i) strides[i] = shape[i] > 1 ? rescaled(strides[i], "stride") : strides[i];
  shape[last] = rescaled(shape[last], "last dimension");
  call.set_output(0, make_view(input->storage, rescaled(input->offset, "offset"), shape, strides, dtype));
}

const Register register_view_bytes{
    "view_bytes(Tensor input, dtype dtype) -> Tensor",
    "The same memory as elements of another type; behind Tensor.view(dtype).",
    {Trait::view, Trait::no_out, Trait::not_differentiable, Trait::internal},
    view_bytes_cpu};

}  // namespace
}  // namespace relume
