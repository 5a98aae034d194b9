// Derivatives of Fourier transforms, which are Fourier transforms.
#include "autograd/derivative.h"

namespace relume {
namespace {

const OpFunction fft_complex{"fft_complex"}, fft_real{"fft_real"}, fft_real_inverse{"fft_real_inverse"};

const Derive derive_fft_complex{"fft_complex", {
    {0, saves_nothing, [](Backward& b) {
       return fft_complex(b.grad(), b.value(1), b.value(2), b.value(3));
     }}}};

// How often each number of the half spectrum of n real numbers stands in the whole one: once
// at the ends (the last only of an even n), otherwise twice; to the power of `exponent`.
Tensor multiplicity(int64_t n, int dim, int ndim, DType dtype, int exponent) {
  const int64_t kept = n / 2 + 1;
  const Tensor counts = full({kept}, exponent > 0 ? 2.0 : 0.5, real_type(dtype));
  visit(counts.dtype(), [&](auto zero) {
    using T = decltype(zero);
    counts.data_as<T>()[0] = T(1);
    if (n % 2 == 0) counts.data_as<T>()[kept - 1] = T(1);
  });
  std::vector<int64_t> shape(ndim, 1);
  shape[dim] = kept;
  return ops::reshape(counts, shape);
}

const Derive derive_fft_real{"fft_real", {
    {0, saves_nothing, [](Backward& b) {
       const IntSpan shape = b.shape(0);
       const int dim = wrap_dim(b.integer(1), shape.count);
       const Tensor grad = b.grad();
       return fft_real_inverse(grad * multiplicity(shape[dim], dim, shape.count, grad.dtype(), -1), dim, shape[dim],
                               b.value(2));
     }}}};
const Derive derive_fft_real_inverse{"fft_real_inverse", {
    {0, saves_nothing, [](Backward& b) {
       const int ndim = b.shape(0).count, dim = wrap_dim(b.integer(1), ndim);
       const Tensor grad = fft_real(b.grad(), dim, b.value(3));
       return grad * multiplicity(b.integer(2), dim, ndim, grad.dtype(), 1);
     }}}};

}  // namespace
}  // namespace relume
