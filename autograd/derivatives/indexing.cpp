// Derivatives of the ops that index, and of sort and topk.
#include "autograd/derivative.h"

namespace relume {
namespace {

const OpFunction index_select{"index_select"}, index_select_backward{"index_select_backward"},
    gather{"gather"}, gather_backward{"gather_backward"}, take{"take"},
    take_backward{"take_backward"}, index{"index"}, index_put{"index_put"},
    index_backward{"index_backward"}, masked_fill{"masked_fill"}, masked_select{"masked_select"},
    masked_select_backward{"masked_select_backward"};

// A saved list of index tensors, to hand on to another op.
class IndexList {
 public:
  IndexList(Backward& b, int argument) {
    for (int i = 0; i < b.list_size(argument); ++i) {
      tensors_.push_back(b.is_given(argument, i) ? b.in(argument, i) : Tensor());
      bodies_.push_back(tensors_.back().body());
    }
  }
  Value value() const { return Value(bodies_.data(), static_cast<int>(bodies_.size())); }

 private:
  std::vector<Tensor> tensors_;
  std::vector<TensorBody*> bodies_;
};

const Derive derive_index_select{"index_select", {{0, saves(2), [](Backward& b) {
                                                     return index_select_backward(
                                                         b.grad(), b.shape(0), b.value(1), b.in(2));
                                                   }}}};
const Derive derive_index_select_backward{
    "index_select_backward", {{0, saves(3), [](Backward& b) {
                                 const Tensor result = index_select(b.grad(), b.value(2), b.in(3));
                                 return ops::reshape(result, b.shape(0));
                               }}}};
const Derive derive_gather{
    "gather", {{0, saves(2), [](Backward& b) {
                  return gather_backward(b.grad(), b.shape(0), b.value(1), b.in(2));
                }}}};
const Derive derive_gather_backward{
    "gather_backward",
    {{0, saves(3), [](Backward& b) { return gather(b.grad(), b.value(2), b.in(3)); }}}};
const Derive derive_take{
    "take",
    {{0, saves(1), [](Backward& b) { return take_backward(b.grad(), b.shape(0), b.in(1)); }}}};
const Derive derive_take_backward{
    "take_backward", {{0, saves(2), [](Backward& b) { return take(b.grad(), b.in(2)); }}}};

const Derive derive_index{"index", {{0, saves(1), [](Backward& b) {
                                       const IndexList indices(b, 1);
                                       return index_backward(b.grad(), b.shape(0), indices.value());
                                     }}}};
const Derive derive_index_backward{"index_backward", {{0, saves(2), [](Backward& b) {
                                                         const IndexList indices(b, 2);
                                                         return index(b.grad(), indices.value());
                                                       }}}};

Tensor index_put_input(Backward& b) {
  if (b.boolean(3)) return b.grad();
  const IndexList indices(b, 1);
  return index_put(b.grad(), indices.value(), full({}, 0, b.grad().dtype()), false);
}
Tensor index_put_values(Backward& b) {
  const IndexList indices(b, 1);
  const Tensor grad = index(b.grad(), indices.value());
  // Leading dimensions of size 1 of the values were ignored.
  std::vector<int64_t> shape = b.shape(2).vector();
  while (static_cast<int>(shape.size()) > grad.ndim()) shape.erase(shape.begin());
  return ops::reshape(ops::sum_to(grad, shape), b.shape(2));
}
const Derive derive_index_put{"index_put",
                              {{0, saves(1), index_put_input}, {2, saves(1), index_put_values}}};
const Derive derive_index_put_in_place{
    "index_put_", {{0, saves(1), index_put_input}, {2, saves(1), index_put_values}}};

const Derive derive_masked_fill{
    "masked_fill",
    {{0, saves(1), [](Backward& b) { return masked_fill(b.grad(), b.in(1), 0); }},
     {2, saves(1), [](Backward& b) {
        const Tensor kept = masked_fill(b.grad(), ops::logical_not(b.in(1)), 0);
        return ops::reshape(ops::sum(kept), b.shape(2));
      }}}};
const Derive derive_masked_select{
    "masked_select", {{0, saves(1), [](Backward& b) {
                         const Tensor mask = b.in(1);
                         const std::vector<int64_t> shape = broadcast_shapes(b.shape(0), mask.shape());
                         const Tensor wide = masked_select_backward(b.grad(), shape, mask);
                         return ops::sum_to(wide, b.shape(0));
                       }}}};
const Derive derive_masked_select_backward{
    "masked_select_backward", {{0, saves(2), [](Backward& b) {
                                  return masked_select(b.grad(), b.in(2));
                                }}}};

// The sorted values are gathered from the input.
const Derive derive_sort{
    "sort", {{0, saves_output(1), [](Backward& b) {
                return gather_backward(b.grad(0), b.shape(0), b.value(1), b.out(1));
              }}}};
const Derive derive_topk{
    "topk", {{0, saves_output(1), [](Backward& b) {
                return gather_backward(b.grad(0), b.shape(0), b.value(2), b.out(1));
              }}}};

}  // namespace
}  // namespace relume
