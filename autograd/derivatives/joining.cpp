// Derivatives of the ops that join tensors and take them apart.
#include "autograd/derivative.h"

namespace relume {
namespace {

const OpFunction roll{"roll"}, tril{"tril"}, triu{"triu"};

// The gradients of all outputs of an op that returns a list, zeros where there is none.
std::vector<Tensor> all_gradients(Backward& b) {
  std::vector<Tensor> gradients;
  for (int i = 0; i < b.output_count(); ++i) gradients.push_back(b.grad(i));
  return gradients;
}

Tensor join(const OpFunction& op, const std::vector<Tensor>& tensors, int64_t dim) {
  std::vector<TensorBody*> bodies;
  for (const Tensor& tensor : tensors) bodies.push_back(tensor.body());
  return op(Value(bodies.data(), static_cast<int>(bodies.size())), dim);
}

const Derive derive_cat{"cat", saves_nothing, [](Backward& b) {
                          const Tensor grad = b.grad();
                          const int dim = wrap_dim(b.integer(1), grad.ndim());
                          int64_t start = 0;
                          for (int i = 0; i < b.list_size(0); ++i) {
                            const IntSpan shape = b.shape(0, i);
                            const bool is_nothing = shape.count == 1 && shape[0] == 0;
                            const int64_t length = is_nothing ? 0 : shape[dim];
                            if (b.needs(0, i)) {
                              b.set(0, i, is_nothing
                                              ? full(shape, 0, grad.dtype())
                                              : ops::narrow(grad, dim, start, length));
                            }
                            start += length;
                          }
                        }};
const Derive derive_stack{"stack", saves_nothing, [](Backward& b) {
                            const Tensor grad = b.grad();
                            for (int i = 0; i < b.list_size(0); ++i) {
                              if (b.needs(0, i)) b.set(0, i, ops::select(grad, b.value(1), i));
                            }
                          }};

const Derive derive_split{"split", {{0, saves_nothing, [](Backward& b) {
                                       return join(ops::cat, all_gradients(b), b.integer(2));
                                     }}}};
const Derive derive_chunk{"chunk", {{0, saves_nothing, [](Backward& b) {
                                       return join(ops::cat, all_gradients(b), b.integer(2));
                                     }}}};
const Derive derive_unbind{"unbind", {{0, saves_nothing, [](Backward& b) {
                                         const int dim = wrap_dim(b.integer(1), b.shape(0).count);
                                         return join(ops::stack, all_gradients(b), dim);
                                       }}}};

const Derive derive_repeat{
    "repeat", {{0, saves_nothing, [](Backward& b) {
                  // Sees every dimension as (repeats, size) and sums the repeats.
                  const IntSpan repeats = b.integers(1), shape = b.shape(0);
                  const int added = repeats.count - shape.count;
                  std::vector<int64_t> split, repeated;
                  for (int i = 0; i < repeats.count; ++i) {
                    if (repeats[i] != 1 || i < added) {
                      repeated.push_back(static_cast<int64_t>(split.size()));
                      split.push_back(repeats[i]);
                    }
                    if (i >= added) split.push_back(shape[i - added]);
                  }
                  if (repeated.empty()) return b.grad();
                  return ops::sum(ops::reshape(b.grad(), split), repeated);
                }}}};

const Derive derive_roll{"roll", {{0, saves_nothing, [](Backward& b) {
                                     std::vector<int64_t> back = b.integers(1).vector();
                                     for (int64_t& shift : back) shift = -shift;
                                     return roll(b.grad(), back, b.value(2));
                                   }}}};
const Derive derive_tril{
    "tril", {{0, saves_nothing, [](Backward& b) { return tril(b.grad(), b.value(1)); }}}};
const Derive derive_triu{
    "triu", {{0, saves_nothing, [](Backward& b) { return triu(b.grad(), b.value(1)); }}}};

}  // namespace
}  // namespace relume
