// Derivatives of pooling, padding, upsampling, dropout and embedding: all linear once it is known
// which elements are taken.
#include "autograd/derivative.h"

namespace relume {
namespace {

const Derive derive_max_pool2d{"max_pool2d", {
    {0, saves_output(1), [](Backward& b) { return ops::max_pool2d_scatter(b.grad(), b.out(1), b.shape(0)); }}}};
const Derive derive_max_pool2d_scatter{"max_pool2d_scatter", {
    {0, saves(1), [](Backward& b) { return ops::max_pool2d_gather(b.grad(), b.in(1)); }}}};
const Derive derive_max_pool2d_gather{"max_pool2d_gather", {
    {0, saves(1), [](Backward& b) { return ops::max_pool2d_scatter(b.grad(), b.in(1), b.shape(0)); }}}};

// Arguments 1 to 5 of avg_pool2d are 2 to 6 of its gradient.
const Derive derive_avg_pool2d{"avg_pool2d", {
    {0, saves_nothing, [](Backward& b) {
       return ops::avg_pool2d_backward(b.grad(), b.shape(0), b.value(1), b.value(2), b.value(3), b.value(4), b.value(5));
     }}}};
const Derive derive_avg_pool2d_backward{"avg_pool2d_backward", {
    {0, saves_nothing, [](Backward& b) {
       return ops::avg_pool2d(b.grad(), b.value(2), b.value(3), b.value(4), b.value(5), b.value(6));
     }}}};

const Derive derive_pad{"pad", {
    {0, saves_nothing, [](Backward& b) { return ops::pad_backward(b.grad(), b.shape(0), b.value(1), b.value(2)); }}}};
const Derive derive_pad_backward{"pad_backward", {
    {0, saves_nothing, [](Backward& b) { return ops::pad(b.grad(), b.value(2), b.value(3)); }}}};

// The sum over every block of pixels that show one pixel of the input.
const Derive derive_upsample_nearest2d{"upsample_nearest2d", {
    {0, saves_nothing, [](Backward& b) {
       const int64_t scale = b.integer(1);
       std::vector<int64_t> blocks = b.shape(0).vector();
       blocks.insert(blocks.end(), scale);
       blocks.insert(blocks.end() - 2, scale);
       return ops::sum(ops::reshape(b.grad(), blocks), IntSpan({-3, -1}));
     }}}};

const Derive derive_dropout{"dropout", {
    {0, saves_output(1), [](Backward& b) { return b.grad() * b.out(1); }}}};

const Derive derive_embedding{"embedding", {
    {0, saves(1), [](Backward& b) { return ops::embedding_backward(b.grad(), b.in(1), b.shape(0)[0]); }}}};
const Derive derive_embedding_backward{"embedding_backward", {
    {0, saves(1), [](Backward& b) { return ops::embedding(b.grad(), b.in(1)); }}}};

}  // namespace
}  // namespace relume
