// Derivatives of embedding and of sums over bags of rows.
#include "autograd/derivative.h"

namespace relume {
namespace {

const OpFunction row_factors{"row_factors"}, bag_sum{"bag_sum"}, bag_dot{"bag_dot"},
    bag_sum_weight_gradient{"bag_sum_weight_gradient"};

// embedding(weight, indices, padding_idx, scale_grad_by_freq)
Tensor embedding_gradient(Backward& b) {
  const int64_t rows = b.shape(0)[0];
  if (b.integer(2) < 0 && !b.boolean(3)) return ops::embedding_backward(b.grad(), b.in(1), rows);
  const Tensor factors = row_factors(b.in(1), rows, b.integer(2), b.boolean(3), b.dtype(0));
  return ops::embedding_backward(b.grad() * ops::unsqueeze(factors, -1), b.in(1), rows);
}
const Derive derive_embedding{"embedding", {{0, saves(1), embedding_gradient}}};
const Derive derive_embedding_backward{"embedding_backward", {
    {0, saves(1), [](Backward& b) { return ops::embedding(b.grad(), b.in(1)); }}}};

// One form in three variables, sum_i factors[i] <grad[bag of i], weight[indices[i]]>: each op
// is its derivative by one of them, and so are their derivatives.
const Derive derive_bag_sum{"bag_sum", {
    {0, saves(1, 2, 3), [](Backward& b) {
       return bag_sum_weight_gradient(b.grad(), b.in(1), b.in(2), b.in(3), b.shape(0)[0]);
     }},
    {3, saves(0, 1, 2), [](Backward& b) { return bag_dot(b.grad(), b.in(0), b.in(1), b.in(2)); }}}};
const Derive derive_bag_sum_weight_gradient{"bag_sum_weight_gradient", {
    {0, saves(1, 2, 3), [](Backward& b) { return bag_sum(b.grad(), b.in(1), b.in(2), b.in(3)); }},
    {3, saves(0, 1, 2), [](Backward& b) { return bag_dot(b.in(0), b.grad(), b.in(1), b.in(2)); }}}};
const Derive derive_bag_dot{"bag_dot", {
    {0, saves(1, 2, 3), [](Backward& b) { return bag_sum(b.in(1), b.in(2), b.in(3), b.grad()); }},
    {1, saves(0, 2, 3), [](Backward& b) {
       return bag_sum_weight_gradient(b.in(0), b.in(2), b.in(3), b.grad(), b.shape(1)[0]);
     }}}};

}  // namespace
}  // namespace relume
