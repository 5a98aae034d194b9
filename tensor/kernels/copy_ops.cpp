// The registered ops that copy, fill and cast whole tensors.
#include "tensor/copy.h"
#include "tensor/dispatch.h"
#include "tensor/kernels/views.h"

namespace relume {
namespace {

void copy_cpu(Call& call) {
  const Tensor target = call.tensor(0), source = call.tensor(1);
  check_writable(target, call.op.name());
  copy(target, source.shape() == target.shape() ? source : expand_view(source, target.shape()));
  call.set_output(0, target);
}

void fill_cpu(Call& call) {
  const Tensor target = call.tensor(0);
  if (call.value(1).is_tensor()) {
    const Tensor value = call.tensor(1), number = empty({}, target.dtype());  // apart from the target
    check(value.numel() == 1, "fill_(): value must be a number or a tensor of one element, not of shape ", value.shape());
    copy(number, view_of(value, 0, {}, {}));
    copy(target, expand_view(number, target.shape()));
  } else {
    fill(target, call.value(1));
  }
  call.set_output(0, target);
}

void zero_cpu(Call& call) {
  fill(call.tensor(0), 0);
  call.set_output(0, call.tensor(0));
}

void clone_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  copy(call.output(0, input.shape(), input.dtype()), input);
}

void contiguous_cpu(Call& call) { call.set_output(0, contiguous_copy_if_needed(call.tensor(0))); }

void to_dtype_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const DType dtype = call.dtype(1, input.dtype());
  if (dtype == input.dtype()) return call.set_output(0, input);
  copy(call.output(0, input.shape(), dtype), input);
}

void detach_cpu(Call& call) {
  Tensor result = alias(call.tensor(0));
  result->is_view = true;
  call.set_output(0, result);
}

const Register register_copy{
    "copy_(Tensor input, Tensor source) -> Tensor",
    "Overwrites the tensor with the elements of `source`, which broadcast and are converted.",
    {Trait::takes_complex, Trait::in_place, Trait::no_out, Trait::method_only}, copy_cpu};
const Register register_fill{"fill_(Tensor input, Tensor|Scalar value) -> Tensor",
                             "Sets every element to a number, or to that of a tensor of one element.",
                             {Trait::takes_complex, Trait::in_place, Trait::no_out, Trait::method_only}, fill_cpu};
const Register register_zero{"zero_(Tensor input) -> Tensor", "Sets every element to 0.",
                             {Trait::takes_complex, Trait::in_place, Trait::no_out, Trait::method_only}, zero_cpu};
const Register register_clone{"clone(Tensor input) -> Tensor", "A row-major copy.", {Trait::takes_complex}, clone_cpu};
const Register register_contiguous{
    "contiguous(Tensor input) -> Tensor",
    "The tensor itself when it is row-major without gaps, otherwise a copy that is.",
    {Trait::takes_complex, Trait::no_out, Trait::method_only}, contiguous_cpu};
const Register register_to_dtype{
    "to_dtype(Tensor input, dtype dtype) -> Tensor",
    "The elements converted to a type; the tensor itself when it has that type. Floating numbers "
    "become integers by truncation.",
    {Trait::takes_complex, Trait::no_out, Trait::method_only}, to_dtype_cpu};
const Register register_detach{
    "detach(Tensor input) -> Tensor",
    "The same memory off the tape: no gradient flows through it.",
    {Trait::view, Trait::no_out, Trait::not_differentiable, Trait::method_only}, detach_cpu};

}  // namespace
}  // namespace relume
