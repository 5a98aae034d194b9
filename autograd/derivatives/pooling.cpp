// Derivatives of pooling, dropout and embedding: all linear once it is known which elements are
// taken.
#include "autograd/derivative.h"

namespace relume {
namespace {

// ---- max pooling: what was chosen gets the gradient ----

const OpFunction scatter_to_planes{"scatter_to_planes"}, gather_from_planes{"gather_from_planes"};

template <int dims>
Tensor max_pool_gradient(Backward& b) {
  return scatter_to_planes(b.grad(), b.out(1), b.shape(0), int64_t{dims});
}
// Random numbers and coordinates that are rounded choose elements, they do not change them.
template <int argument>
Tensor no_gradient(Backward& b) {
  return full(b.shape(argument), 0.0, b.dtype(argument));
}
const Derive derive_max_pool1d{"max_pool1d_with_indices", {{0, saves_output(1), max_pool_gradient<1>}}};
const Derive derive_max_pool2d{"max_pool2d_with_indices", {{0, saves_output(1), max_pool_gradient<2>}}};
const Derive derive_max_pool3d{"max_pool3d_with_indices", {{0, saves_output(1), max_pool_gradient<3>}}};
const Derive derive_adaptive_max1{"adaptive_max_pool1d", {{0, saves_output(1), max_pool_gradient<1>}}};
const Derive derive_adaptive_max2{"adaptive_max_pool2d", {{0, saves_output(1), max_pool_gradient<2>}}};
const Derive derive_adaptive_max3{"adaptive_max_pool3d", {{0, saves_output(1), max_pool_gradient<3>}}};

const Derive derive_fractional2{"fractional_max_pool2d", {
    {0, saves_output(1), max_pool_gradient<2>}, {3, saves_nothing, no_gradient<3>}}};
const Derive derive_fractional3{"fractional_max_pool3d", {
    {0, saves_output(1), max_pool_gradient<3>}, {3, saves_nothing, no_gradient<3>}}};

const Derive derive_scatter_to_planes{"scatter_to_planes", {
    {0, saves(1), [](Backward& b) { return gather_from_planes(b.grad(), b.in(1), b.value(3)); }}}};
const Derive derive_gather_from_planes{"gather_from_planes", {
    {0, saves(1), [](Backward& b) { return scatter_to_planes(b.grad(), b.in(1), b.shape(0), b.value(2)); }}}};

// What no region holds has index -1.
const OpFunction index_add{"index_add"};
const Derive derive_roi_pool{"roi_pool", {
    {0, saves_output(1), [](Backward& b) {
       const int64_t all = -1;
       const IntSpan flat(&all, 1);
       const Tensor places = ops::reshape(b.out(1), flat), grad = ops::reshape(b.grad(), flat);
       const Tensor empty = ops::lt(places, 0);
       const Tensor zeros = full(IntSpan({product(b.shape(0))}), 0.0, b.grad().dtype());
       const Tensor sums = index_add(zeros, 0, ops::where(empty, 0, places), ops::where(empty, 0, grad));
       return ops::reshape(sums, b.shape(0));
     }},
    {1, saves_nothing, no_gradient<1>}}};

// ---- average pooling: linear, each op's derivative is the other ----

const OpFunction avg_pool[] = {{"avg_pool1d"}, {"avg_pool2d"}, {"avg_pool3d"}};
const OpFunction avg_pool_backward[] = {
    {"avg_pool1d_backward"}, {"avg_pool2d_backward"}, {"avg_pool3d_backward"}};

// Arguments 1 to 6 of avg_pool are 2 to 7 of its gradient; 1-D pooling has no divisor.
template <int dims>
Tensor avg_pool_gradient(Backward& b) {
  return avg_pool_backward[dims - 1](b.grad(), b.shape(0), b.value(1), b.value(2), b.value(3), b.value(4),
                                     b.value(5), dims == 1 ? Value() : b.value(6));
}
template <int dims>
Tensor avg_pool_second_gradient(Backward& b) {
  if (dims == 1) return avg_pool[0](b.grad(), b.value(2), b.value(3), b.value(4), b.value(5), b.value(6));
  return avg_pool[dims - 1](b.grad(), b.value(2), b.value(3), b.value(4), b.value(5), b.value(6), b.value(7));
}
const Derive derive_avg_pool1d{"avg_pool1d", {{0, saves_nothing, avg_pool_gradient<1>}}};
const Derive derive_avg_pool2d{"avg_pool2d", {{0, saves_nothing, avg_pool_gradient<2>}}};
const Derive derive_avg_pool3d{"avg_pool3d", {{0, saves_nothing, avg_pool_gradient<3>}}};
const Derive derive_avg_back1d{"avg_pool1d_backward", {{0, saves_nothing, avg_pool_second_gradient<1>}}};
const Derive derive_avg_back2d{"avg_pool2d_backward", {{0, saves_nothing, avg_pool_second_gradient<2>}}};
const Derive derive_avg_back3d{"avg_pool3d_backward", {{0, saves_nothing, avg_pool_second_gradient<3>}}};

const OpFunction adaptive_avg_pool[] = {
    {"adaptive_avg_pool1d"}, {"adaptive_avg_pool2d"}, {"adaptive_avg_pool3d"}};
const OpFunction adaptive_avg_pool_backward[] = {
    {"adaptive_avg_pool1d_backward"}, {"adaptive_avg_pool2d_backward"}, {"adaptive_avg_pool3d_backward"}};

template <int dims>
Tensor adaptive_gradient(Backward& b) {
  return adaptive_avg_pool_backward[dims - 1](b.grad(), b.shape(0));
}
template <int dims>
Tensor adaptive_second_gradient(Backward& b) {
  const IntSpan shape = b.shape(0);  // of the pooled gradient
  return adaptive_avg_pool[dims - 1](b.grad(), IntSpan(shape.values + shape.count - dims, dims));
}
const Derive derive_adaptive1{"adaptive_avg_pool1d", {{0, saves_nothing, adaptive_gradient<1>}}};
const Derive derive_adaptive2{"adaptive_avg_pool2d", {{0, saves_nothing, adaptive_gradient<2>}}};
const Derive derive_adaptive3{"adaptive_avg_pool3d", {{0, saves_nothing, adaptive_gradient<3>}}};
const Derive derive_adaptive_back1{"adaptive_avg_pool1d_backward", {{0, saves_nothing, adaptive_second_gradient<1>}}};
const Derive derive_adaptive_back2{"adaptive_avg_pool2d_backward", {{0, saves_nothing, adaptive_second_gradient<2>}}};
const Derive derive_adaptive_back3{"adaptive_avg_pool3d_backward", {{0, saves_nothing, adaptive_second_gradient<3>}}};

const Derive derive_dropout{"dropout", {
    {0, saves_output(1), [](Backward& b) { return b.grad() * b.out(1); }}}};

}  // namespace
}  // namespace relume
