// Derivatives of the parts of floating-point numbers, and of the choices that pass over NaN.
#include "autograd/derivative.h"

namespace relume {
namespace {

constexpr double kLn2 = 0.69314718055994530942;

const OpFunction ldexp{"ldexp"}, isfinite{"isfinite"}, logical_or{"logical_or"};

const Derive derive_ldexp{"ldexp", {
    {0, saves(1), [](Backward& b) { return ldexp(b.grad(), b.operand(1)); }},
    {1, saves_output(), [](Backward& b) { return b.grad() * b.out() * kLn2; }}}};
const Derive derive_frexp{"frexp", {
    {0, saves_output(1), [](Backward& b) { return ldexp(b.grad(), -b.out(1)); }}}};

// The ratio of the signs; 0 at 0, where it jumps.
const Derive derive_copysign{"copysign", {
    {0, saves(0) | saves_output(), [](Backward& b) {
       return b.grad() * (ops::sign(b.in(0)) * ops::sign(b.out()));
     }},
    {1, saves_nothing, [](Backward& b) { return ops::zeros_like(b.grad()); }}}};

// The first argument gets the gradient of equal ones.
Tensor first_is_taken(Backward& b, const OpFunction& compare) {
  return logical_or(compare(b.operand(0), b.operand(1)), ops::ne(b.operand(1), b.operand(1)));
}
const Derive derive_fmax{"fmax", {
    {0, saves(0, 1), [](Backward& b) { return ops::where(first_is_taken(b, ops::ge), b.grad(), 0); }},
    {1, saves(0, 1), [](Backward& b) { return ops::where(first_is_taken(b, ops::ge), 0, b.grad()); }}}};
const Derive derive_fmin{"fmin", {
    {0, saves(0, 1), [](Backward& b) { return ops::where(first_is_taken(b, ops::le), b.grad(), 0); }},
    {1, saves(0, 1), [](Backward& b) { return ops::where(first_is_taken(b, ops::le), 0, b.grad()); }}}};

const Derive derive_nan_to_num{"nan_to_num", {
    {0, saves(0), [](Backward& b) { return ops::where(isfinite(b.in(0)), b.grad(), 0); }}}};

}  // namespace
}  // namespace relume
