// Derivatives of the ops that tell a complex number's parts apart.
#include "autograd/derivative.h"

namespace relume {
namespace {

const OpFunction conj{"conj"}, real_part{"real"}, imaginary_part{"imag"}, view_as_real{"view_as_real"},
    view_as_complex{"view_as_complex"};

const Complex128 kImaginaryUnit(0, 1);

const Derive derive_conj{"conj", {{0, saves_nothing, [](Backward& b) { return conj(b.grad()); }}}};
const Derive derive_real{"real", {{0, saves_nothing, [](Backward& b) { return b.grad(); }}}};
const Derive derive_imag{"imag", {
    {0, saves_nothing, [](Backward& b) { return ops::mul(b.grad(), kImaginaryUnit); }}}};
const Derive derive_view_as_real{"view_as_real", {
    {0, saves_nothing, [](Backward& b) { return view_as_complex(ops::contiguous(b.grad())); }}}};
const Derive derive_view_as_complex{"view_as_complex", {
    {0, saves_nothing, [](Backward& b) { return view_as_real(b.grad()); }}}};
const Derive derive_complex{"complex", {
    {0, saves_nothing, [](Backward& b) { return real_part(b.grad()); }},
    {1, saves_nothing, [](Backward& b) { return imaginary_part(b.grad()); }}}};

// abs and sign of real numbers have the same formulas: the part of the gradient along the
// number changes its size, what is left its angle.
const Derive derive_abs{"abs", {
    {0, saves(0), [](Backward& b) { return b.grad() * ops::sign(b.in(0)); }}}};
const Derive derive_sign{"sign", {
    {0, saves(0) | saves_output(), [](Backward& b) {
       const Tensor input = b.in(0);
       if (!is_complex(input.dtype())) return ops::zeros_like(b.grad());
       const Tensor sign = b.out(), size = ops::abs(input);
       const Tensor across = b.grad() - sign * real_part(conj(b.grad()) * sign);
       return ops::where(ops::eq(size, 0), 0, across / size);
     }}}};

}  // namespace
}  // namespace relume
