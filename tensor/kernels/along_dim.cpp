#include "tensor/kernels/along_dim.h"

#include "tensor/copy.h"
#include "tensor/kernels/views.h"

namespace relume {

Tensor as_dtype(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return contiguous_copy_if_needed(tensor);
  Tensor converted = empty(tensor.shape(), dtype);
  copy(converted, tensor);
  return converted;
}

Tensor at_least_1d(const Tensor& tensor) {
  return tensor.ndim() == 0 ? view_of(tensor, 0, IntSpan{1}, IntSpan{1}) : tensor;
}

Tensor vector_index(const Call& call, int argument) {
  const Tensor index = call.tensor(argument);
  check(index.ndim() <= 1, call.op.name(), ": index must have 1 dimension, not shape ", index.shape());
  return integer_index(index);
}

Tensor gather_index(const Call& call, int argument, IntSpan shape, int dim) {
  const Tensor given = call.tensor(argument);
  const Tensor index = shape.count == 1 ? at_least_1d(given) : given;
  bool fits = index.ndim() == shape.count || index.numel() == 0;
  for (int i = 0; fits && index.numel() > 0 && i < shape.count; ++i) fits = i == dim || index.size(i) <= shape[i];
  check(fits, call.op.name(), ": index has shape ", index.shape(), ", it must fit into the tensor's shape ", shape,
        " but for dimension ", dim);
  return integer_index(index);
}

Tensor source_part(const Call& call, const Tensor& source, const Tensor& index, DType dtype) {
  bool fits = source.ndim() == index.ndim() || index.numel() == 0;
  for (int i = 0; fits && index.numel() > 0 && i < index.ndim(); ++i) fits = index.size(i) <= source.size(i);
  check(fits, call.op.name(), ": src has shape ", source.shape(), ", too small for an index of shape ",
        index.shape());
  if (index.numel() == 0) return empty(index.shape(), dtype);
  return as_dtype(view_of(source, 0, index.shape(), source.strides()), dtype);
}

WrittenTensor::WrittenTensor(Call& call) : WrittenTensor(call, call.tensor(0).shape()) {}

WrittenTensor::WrittenTensor(Call& call, IntSpan shape) {
  if (call.in_place) {  // not argument 0: the tape may have put a copy of it there
    output_ = call.outputs[0];
    check_writable(output_, call.op.name());
    dense_ = contiguous_copy_if_needed(output_);
    return;
  }
  const Tensor input = call.tensor(0);
  output_ = call.output(0, shape, input.dtype());
  dense_ = output_.is_contiguous() ? output_ : empty_like(output_);
  copy(dense_, expand_view(input, shape));
}

void WrittenTensor::finish() const {
  if (dense_.body() != output_.body()) copy(output_, dense_);
}

RegisterWriting::RegisterWriting(const char* schema, const char* documentation, Kernel kernel) {
  Register(schema, documentation, {Trait::takes_complex}, kernel);
  std::string in_place(schema);
  in_place.insert(in_place.find('('), "_");
  const std::string changes = std::string(documentation) + " In place: the tensor itself is changed.";
  Register(in_place.c_str(), changes.c_str(), {Trait::takes_complex, Trait::in_place, Trait::no_out, Trait::method_only},
           kernel);
}

Tensor apart(const Call& call, const Tensor& argument) {
  if (!call.in_place || !may_overlap(argument, call.outputs[0])) return argument;
  const Tensor copied = empty(argument.shape(), argument.dtype());
  copy(copied, argument);
  return copied;
}

}  // namespace relume
