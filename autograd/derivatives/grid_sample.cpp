// Derivatives of grid_sample. Slopes of any order and their adjoints are one family: S_k samples
// with the k-th derivatives of the weights, A_k is its adjoint.
//   S_k with respect to the input:  A_k of the gradient
//   S_k with respect to the grid:   the sum over channels of the gradient times S_(k+1)
//   A_k with respect to its input:  S_k of the gradient; to the grid: as above, of the gradient
#include "autograd/derivative.h"

namespace relume {
namespace {

const OpFunction slope{"grid_sample_slope"}, adjoint{"grid_sample_adjoint"},
    grid_gradient{"grid_sample_grid_gradient"};

struct Rule {  // mode, padding_mode, align_corners
  Value mode, padding, align;
  Rule(Backward& b, int at) : mode(b.value(at)), padding(b.value(at + 1)), align(b.value(at + 2)) {}
};
using Orders = std::vector<int64_t>;

Tensor sampled(const Tensor& input, const Tensor& grid, const Rule& rule, const Orders& orders) {
  return slope(input, grid, rule.mode, rule.padding, rule.align, orders);
}
Tensor spread(const Tensor& grad, const Tensor& grid, IntSpan shape, const Rule& rule, const Orders& orders) {
  return adjoint(grad, grid, shape, rule.mode, rule.padding, rule.align, orders);
}
Orders raised(Orders orders, int64_t dim) {
  orders[dim]++;
  return orders;
}

Tensor stacked_last(const std::vector<Tensor>& parts) {
  std::vector<TensorBody*> bodies;
  for (const Tensor& part : parts) bodies.push_back(part.body());
  return ops::stack(Value(bodies.data(), static_cast<int>(bodies.size())), -1);
}

// Along each dimension, the sum over channels of grad times the next slope of `input`.
Tensor grid_part(const Tensor& grad, const Tensor& input, const Tensor& grid, const Rule& rule, const Orders& orders) {
  std::vector<Tensor> parts;
  for (std::size_t dim = 0; dim < orders.size(); dim++) {
    parts.push_back(ops::sum(grad * sampled(input, grid, rule, raised(orders, dim)), IntSpan({1})));
  }
  return stacked_last(parts);
}

Orders no_orders(int64_t ndim) { return Orders(ndim - 2, 0); }

const Derive derive_grid_sample{"grid_sample", {
    {0, saves(1), [](Backward& b) {
       return spread(b.grad(), b.in(1), b.shape(0), Rule(b, 2), no_orders(b.shape(0).count));
     }},
    {1, saves(0, 1), [](Backward& b) {
       const Rule rule(b, 2);
       return grid_gradient(b.grad(), b.in(0), b.in(1), rule.mode, rule.padding, rule.align);
     }}}};

const Derive derive_slope{"grid_sample_slope", {
    {0, saves(1), [](Backward& b) {
       return spread(b.grad(), b.in(1), b.shape(0), Rule(b, 2), b.integers(5).vector());
     }},
    {1, saves(0, 1), [](Backward& b) {
       return grid_part(b.grad(), b.in(0), b.in(1), Rule(b, 2), b.integers(5).vector());
     }}}};

const Derive derive_adjoint{"grid_sample_adjoint", {
    {0, saves(1), [](Backward& b) {
       return sampled(b.grad(), b.in(1), Rule(b, 3), b.integers(6).vector());
     }},
    {1, saves(0, 1), [](Backward& b) {
       return grid_part(b.in(0), b.grad(), b.in(1), Rule(b, 3), b.integers(6).vector());
     }}}};

// grid_sample_grid_gradient(grad_output, input, grid, ...): the gradient that comes in is a grid.
const Derive derive_grid_gradient{"grid_sample_grid_gradient", saves(0, 1, 2), [](Backward& b) {
  const Tensor grad = b.in(0), input = b.in(1), grid = b.in(2);
  const Rule rule(b, 3);
  const Orders none = no_orders(input.ndim());
  Tensor to_grad, to_input, to_grid;
  const auto add = [](Tensor& sum, const Tensor& part) { sum = sum.defined() ? sum + part : part; };
  for (std::size_t dim = 0; dim < none.size(); dim++) {
    const Tensor along = ops::unsqueeze(ops::select(b.grad(), -1, static_cast<int64_t>(dim)), 1);
    const Orders first = raised(none, dim);
    if (b.needs(0)) add(to_grad, along * sampled(input, grid, rule, first));
    if (b.needs(1)) add(to_input, spread(along * grad, grid, b.shape(1), rule, first));
    if (b.needs(2)) add(to_grid, grid_part(along * grad, input, grid, rule, first));
  }
  if (b.needs(0)) b.set(0, to_grad);
  if (b.needs(1)) b.set(1, to_input);
  if (b.needs(2)) b.set(2, to_grid);
}};

}  // namespace
}  // namespace relume
