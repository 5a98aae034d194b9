// Complex numbers and their parts: conj, real, imag, view_as_real, complex, polar, angle.
#include "tensor/copy.h"
#include "tensor/elementwise.h"
#include "tensor/kernels/views.h"
#include "tensor/ops.h"

namespace relume {
namespace {

const OpFunction real_part{"real"}, imaginary_part{"imag"}, complex_op{"complex"}, atan2_op{"atan2"},
    isnan_op{"isnan"};

void conj_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  if (!is_complex(input.dtype())) return call.set_output(0, input);
  apply(call, {Function::conj, input.dtype(), input.dtype(), call.arguments, 1});
}

void check_complex(const Call& call) {
  const Tensor input = call.tensor(0);
  check<TypeError>(is_complex(input.dtype()), call.op.name(), "() needs a complex tensor, got ",
                   name(input.dtype()));
}

// The parts of complex numbers one after the other: twice the strides, and a last dimension of 2.
Tensor parts_of(const Tensor& input) {
  Dims shape(input.shape()), strides;
  shape.push(2);
  for (int i = 0; i < input.ndim(); ++i) strides.push(2 * input.stride(i));
  strides.push(1);
  return make_view(input->storage, 2 * input->offset, shape, strides, real_type(input.dtype()));
}

void view_as_real_cpu(Call& call) {
  check_complex(call);
  call.set_output(0, parts_of(call.tensor(0)));
}

void view_as_complex_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const int last = input.ndim() - 1;
  check<TypeError>(input.dtype() == DType::float32 || input.dtype() == DType::float64,
                   "view_as_complex() needs a float32 or float64 tensor, got ", name(input.dtype()));
  check(last >= 0 && input.size(last) == 2, "view_as_complex(): the last dimension must hold the real and the "
        "imaginary part, so its size must be 2; the shape is ", input.shape());
  Dims shape(input.shape()), strides;
  shape.erase(last);
  bool fits = input.stride(last) == 1 && input->offset % 2 == 0;
  for (int i = 0; i < last; ++i) {
    fits &= input.stride(i) % 2 == 0 || input.size(i) <= 1;
    strides.push(input.stride(i) / 2);
  }
  check(fits, "view_as_complex(): a tensor with strides ", input.strides(), " and offset ", input->offset,
        " cannot be seen as pairs of numbers; call contiguous() first, or use complex()");
  call.set_output(0, make_view(input->storage, input->offset / 2, shape, strides, complex_type(input.dtype())));
}

void real_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  if (!is_complex(input.dtype())) return call.set_output(0, input);
  call.set_output(0, select_view(parts_of(input), input.ndim(), 0));
}

void imag_cpu(Call& call) {
  check_complex(call);
  const Tensor input = call.tensor(0);
  call.set_output(0, select_view(parts_of(input), input.ndim(), 1));
}

void complex_cpu(Call& call) {
  const Tensor real = call.tensor(0), imaginary = call.tensor(1);
  const DType part = common_type(call.arguments, 2);
  check<TypeError>(!is_complex(part), "complex() needs real tensors, got ", name(real.dtype()), " and ",
                   name(imaginary.dtype()));
  const std::vector<int64_t> shape = broadcast_shapes(real.shape(), imaginary.shape());
  const Tensor result = empty(shape, complex_type(part), call.device);
  const Tensor parts = parts_of(result);
  copy(select_view(parts, result.ndim(), 0), expand_view(real, shape));
  copy(select_view(parts, result.ndim(), 1), expand_view(imaginary, shape));
  call.set_output(0, result);
}

void polar_cpu(Call& call) {
  const Tensor size = call.tensor(0), angle = call.tensor(1);
  call.set_output(0, complex_op(size * ops::cos(angle), size * ops::sin(angle)));
}

void angle_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  if (is_complex(input.dtype())) return call.set_output(0, atan2_op(imaginary_part(input), real_part(input)));
  const double pi = 3.14159265358979323846;
  const Tensor values = is_floating(input.dtype()) ? input : ops::to_dtype(input, default_float());
  call.set_output(0, ops::where(isnan_op(values), values, ops::mul(ops::lt(values, 0), pi)));
}

const Register register_conj{
    "conj(Tensor input) -> Tensor", "The number with the other sign of its imaginary part; real tensors as they are.",
    {Trait::elementwise, Trait::not_holomorphic}, conj_cpu};
const Register register_view_as_real{
    "view_as_real(Tensor input) -> Tensor",
    "A complex tensor seen as real numbers: a last dimension of 2 holds the real and the imaginary part.",
    {Trait::view, Trait::no_out}, view_as_real_cpu};
const Register register_view_as_complex{
    "view_as_complex(Tensor input) -> Tensor",
    "A real tensor whose last dimension holds real and imaginary parts (size 2), seen as complex numbers.",
    {Trait::view, Trait::no_out}, view_as_complex_cpu};
const Register register_real{
    "real(Tensor input) -> Tensor", "The real part, a view; a real tensor as it is.",
    {Trait::view, Trait::no_out, Trait::no_method}, real_cpu};
const Register register_imag{
    "imag(Tensor input) -> Tensor", "The imaginary part of a complex tensor, a view.",
    {Trait::view, Trait::no_out, Trait::no_method}, imag_cpu};
const Register register_complex{
    "complex(Tensor real, Tensor imag) -> Tensor", "Complex numbers of a real and an imaginary part each.",
    {Trait::elementwise, Trait::not_holomorphic, Trait::no_in_place, Trait::no_method}, complex_cpu};
const Register register_polar{
    "polar(Tensor abs, Tensor angle) -> Tensor", "Complex numbers of a size and an angle (in radians) each.",
    {Trait::composite, Trait::no_method}, polar_cpu};
const Register register_angle{
    "angle(Tensor input) -> Tensor",
    "The angle of a complex number in radians, -pi to pi; of a real one 0, or pi when it is negative.",
    {Trait::composite}, angle_cpu};

}  // namespace
}  // namespace relume
