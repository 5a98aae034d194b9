// Derivatives of padding and resampling, which are linear.
#include <string_view>

#include "autograd/derivative.h"

namespace relume {
namespace {

// What was added as a constant is cut off again: padding by as much less.
Tensor pad_gradient(Backward& b) {
  if (std::string_view(b.value(2).text) != "constant") {
    return ops::pad_backward(b.grad(), b.shape(0), b.value(1), b.value(2));
  }
  std::vector<int64_t> sides = b.integers(1).vector();
  for (int64_t& side : sides) side = -side;
  return ops::pad(b.grad(), sides);
}
const Derive derive_pad{"pad", {{0, saves_nothing, pad_gradient}}};
const Derive derive_pad_backward{"pad_backward", {
    {0, saves_nothing, [](Backward& b) { return ops::pad(b.grad(), b.value(2), b.value(3)); }}}};

// Arguments 1 to 8 of resample are 2 to 9 of its gradient.
const OpFunction resample{"resample"}, resample_backward{"resample_backward"};
const Derive derive_resample{"resample", {
    {0, saves_nothing, [](Backward& b) {
       return resample_backward(b.grad(), b.shape(0), b.value(1), b.value(2), b.value(3), b.value(4), b.value(5),
                                b.value(6), b.value(7), b.value(8));
     }}}};
const Derive derive_resample_backward{"resample_backward", {
    {0, saves_nothing, [](Backward& b) {
       return resample(b.grad(), b.value(2), b.value(3), b.value(4), b.value(5), b.value(6), b.value(7), b.value(8),
                       b.value(9));
     }}}};

// The sum over every block of pixels that show one pixel of the input.
const Derive derive_upsample_nearest2d{"upsample_nearest2d", {
    {0, saves_nothing, [](Backward& b) {
       const int64_t scale = b.integer(1);
       std::vector<int64_t> blocks = b.shape(0).vector();
       blocks.insert(blocks.end(), scale);
       blocks.insert(blocks.end() - 2, scale);
       return ops::sum(ops::reshape(b.grad(), blocks), IntSpan({-3, -1}));
     }}}};

}  // namespace
}  // namespace relume
