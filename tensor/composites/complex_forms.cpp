// Complex numbers for ops whose kernels compute real ones, in terms of other ops.
#include "tensor/complex_forms.h"

#include <cmath>

#include "tensor/composites/composites.h"
#include "tensor/thread_state.h"

namespace relume {
namespace {

const OpFunction real_part{"real"}, imaginary_part{"imag"}, make_complex{"complex"}, norm{"norm"}, var{"var"},
    amax{"amax"}, isfinite{"isfinite"}, log1p{"log1p"}, logaddexp{"logaddexp"}, unbind{"unbind"};

constexpr double kPi = 3.14159265358979323846;

// ---- reductions ----

void norm_form(Call& call) {
  call.set_output(0, norm(ops::abs(call.tensor(0)), call.value(1), call.value(2), call.value(3)));
}

// The squared distances from the mean of both parts together.
Tensor variance(const Call& call) {
  const Tensor input = call.tensor(0);
  const auto of_part = [&](const Tensor& part) {
    return var(part, call.value(1), call.value(2), call.value(3), call.value(4));
  };
  return of_part(real_part(input)) + of_part(imaginary_part(input));
}
void var_form(Call& call) { call.set_output(0, variance(call)); }
// Where nothing varies the slope of the root is infinite; the gradient is 0 there, as of real numbers.
void std_form(Call& call) {
  const Tensor spread = variance(call);
  const Tensor none = ops::eq(spread, 0);
  call.set_output(0, ops::where(none, 0, ops::sqrt(ops::where(none, 1, spread))));
}

// The largest real part: what is taken out of sums of exponentials so that they do not overflow.
// It cancels in the result, so nothing of it is for the tape.
Tensor largest_real(const Tensor& input, IntSpan dims) {
  const GradMode off(false);
  if (input.numel() == 0) return scalar(0, real_type(input.dtype()));
  const Tensor largest = amax(real_part(input), dims, true);
  return ops::where(isfinite(largest), largest, 0);
}

void logsumexp_form(Call& call) {
  const Tensor input = call.tensor(0);
  const Tensor base = largest_real(input, call.integers(1));
  const Tensor total = ops::sum(ops::exp(input - base), call.value(1), true);
  const Tensor result = ops::log(total) + base;
  call.set_output(0, call.boolean(2) ? result : ops::squeeze(result, call.value(1)));
}

// ---- elementwise ----

// A number as a tensor, too.
Tensor complex_operand(const Call& call, int argument, DType dtype) {
  const Value& given = call.value(argument);
  if (given.is_tensor()) return ops::to_dtype(given, dtype);
  return ops::mul(scalar(1, dtype), given);
}

DType complex_type_of(const Call& call) {
  DType dtype = DType::complex64;
  for (int i = 0; i < 2; ++i) {
    if (call.value(i).is_tensor()) dtype = promote(dtype, call.body(i)->dtype);
  }
  return dtype;
}

// The one with the larger real part, plus what the other adds: log(1 + exp(smaller - larger)). Two
// infinite ones have no difference.
void logaddexp_form(Call& call) {
  const DType dtype = complex_type_of(call);
  const Tensor a = complex_operand(call, 0, dtype), b = complex_operand(call, 1, dtype);
  const Tensor first_is_larger = ops::ge(real_part(a), real_part(b));
  const Tensor larger = ops::where(first_is_larger, a, b), smaller = ops::where(first_is_larger, b, a);
  const Tensor difference = ops::where(isfinite(real_part(larger)), smaller - larger, 0);
  call.set_output(0, larger + log1p(ops::exp(difference)));
}

// Each element joins the sum of those before it.
void logcumsumexp_form(Call& call) {
  const Tensor input = call.tensor(0);
  const int dim = wrap_dim(call.integer(1), input.ndim());
  if (input.ndim() == 0 || input.size(dim) == 0) return call.set_output(0, ops::clone(input));
  std::vector<Tensor> totals = {ops::select(input, dim, 0)};
  for (int64_t i = 1; i < input.size(dim); ++i) {
    totals.push_back(logaddexp(totals.back(), ops::select(input, dim, i)));
  }
  call.set_output(0, stacked(std::move(totals), dim));
}

void sinc_form(Call& call) {
  const Tensor input = call.tensor(0);
  const Tensor zero = ops::eq(input, 0);
  const Tensor angle = ops::where(zero, 1, input) * kPi;
  call.set_output(0, ops::where(zero, 1, ops::sin(angle) / angle));
}

void silu_form(Call& call) {
  const Tensor input = call.tensor(0);
  call.set_output(0, input * ops::sigmoid(input));
}

void silu_backward_form(Call& call) {
  const Tensor gradient = call.tensor(0), input = call.tensor(1), share = ops::sigmoid(input);
  call.set_output(0, gradient * share * (1 + input * (1 - share)));
}

void ldexp_form(Call& call) {
  const DType dtype = complex_type_of(call);
  call.set_output(0, complex_operand(call, 0, dtype) * ops::pow(2, complex_operand(call, 1, dtype)));
}

// ---- images ----

// Of an op that only moves and adds elements: of the real and of the imaginary parts.
template <int settings>
void linear_form(Call& call) {
  const Tensor input = call.tensor(0);
  const auto of_part = [&](const Tensor& part) {
    Value values[settings + 1] = {Value(part)};
    for (int i = 1; i <= settings; ++i) values[i] = call.value(i);
    return invoke(call.op, values, settings + 1)[0];
  };
  call.set_output(0, make_complex(of_part(real_part(input)), of_part(imaginary_part(input))));
}

// Convolutions (input, weight, bias, settings...): (a + ib) * (c + id) by three real ones, as Gauss
// multiplied complex numbers.
template <int settings>
void convolution_form(Call& call) {
  const DType dtype = complex_type_of(call);
  const Tensor input = ops::to_dtype(call.tensor(0), dtype), weight = ops::to_dtype(call.tensor(1), dtype);
  const Tensor a = real_part(input), b = imaginary_part(input);
  const Tensor c = real_part(weight), d = imaginary_part(weight);
  const auto convolve = [&](const Tensor& image, const Tensor& filter) {
    Value values[settings + 3] = {Value(image), Value(filter)};
    for (int i = 3; i < settings + 3; ++i) values[i] = call.value(i);
    return invoke(call.op, values, settings + 3)[0];
  };
  const Tensor first = convolve(a, c), second = convolve(b, d), both = convolve(a + b, c + d);
  const Tensor result = make_complex(first - second, both - first - second);
  if (!call.has(2)) return call.set_output(0, result);
  std::vector<int64_t> bias_shape(weight.ndim() - 1, 1);
  bias_shape[0] = call.tensor(2).numel();
  call.set_output(0, result + ops::reshape(call.tensor(2), bias_shape));
}

const ComplexForm complex_forms[] = {
    {"norm", norm_form},
    {"var", var_form},
    {"std", std_form},
    {"logsumexp", logsumexp_form},
    {"logaddexp", logaddexp_form},
    {"logcumsumexp", logcumsumexp_form},
    {"sinc", sinc_form},
    {"silu", silu_form},
    {"silu_backward", silu_backward_form},
    {"ldexp", ldexp_form},
    {"im2col", linear_form<4>},
    {"col2im", linear_form<5>},
    {"unstack_frames", linear_form<5>},
    {"conv1d", convolution_form<4>},
    {"conv2d", convolution_form<4>},
    {"conv3d", convolution_form<4>},
    {"conv_transpose2d", convolution_form<5>},
};

}  // namespace
}  // namespace relume
