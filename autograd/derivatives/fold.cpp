// Derivatives of im2col and col2im: each is the adjoint of the other.
#include "autograd/derivative.h"

namespace relume {
namespace {

const OpFunction im2col{"im2col"}, col2im{"col2im"};

const Derive derive_im2col{"im2col", {
    {0, saves_nothing, [](Backward& b) {
       const IntSpan shape = b.shape(0);
       return col2im(b.grad(), IntSpan(shape.values + shape.count - 2, 2), b.value(1), b.value(2), b.value(3),
                     b.value(4));
     }}}};
const Derive derive_col2im{"col2im", {
    {0, saves_nothing, [](Backward& b) {
       return im2col(b.grad(), b.value(2), b.value(3), b.value(4), b.value(5));
     }}}};

}  // namespace
}  // namespace relume
