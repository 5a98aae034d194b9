// Derivatives of view and copy ops.
#include "autograd/derivative.h"

namespace relume {
namespace {

const OpFunction select_backward{"select_backward"}, slice_backward{"slice_backward"},
    diagonal_backward{"diagonal_backward"}, unfold_backward{"unfold_backward"}, flip{"flip"},
    diagonal{"diagonal"}, unfold{"unfold"}, as_strided_gather{"as_strided_gather"},
    as_strided_scatter{"as_strided_scatter"}, as_strided_backward{"as_strided_backward"};

Tensor same(Backward& b) { return b.grad(); }
Tensor nothing(Backward& b) { return ops::zeros_like(b.grad()); }
Tensor reshaped(Backward& b) { return ops::reshape(b.grad(), b.shape(0)); }

std::vector<int64_t> inverse_permutation(IntSpan dims) {
  std::vector<int64_t> inverse(dims.count);
  for (int i = 0; i < dims.count; ++i) inverse[wrap_dim(dims[i], dims.count)] = i;
  return inverse;
}

// Copies.
const Derive derive_clone{"clone", {{0, saves_nothing, same}}};
const Derive derive_contiguous{"contiguous", {{0, saves_nothing, same}}};
const Derive derive_to_dtype{"to_dtype", {{0, saves_nothing, same}}};
const Derive derive_copy{
    "copy_", {{0, saves_nothing, nothing}, {1, saves_nothing, [](Backward& b) {
                                              return ops::sum_to(b.grad(), b.shape(1));
                                            }}}};
const Derive derive_fill{"fill_", {
    {0, saves_nothing, nothing},
    {1, saves_nothing, [](Backward& b) { return ops::reshape(ops::sum(b.grad()), b.shape(1)); }}}};
const Derive derive_zero{"zero_", {{0, saves_nothing, nothing}}};

// Other shapes for the same elements.
const Derive derive_reshape{"reshape", {{0, saves_nothing, reshaped}}};
const Derive derive_view{"view", {{0, saves_nothing, reshaped}}};
const Derive derive_flatten{"flatten", {{0, saves_nothing, reshaped}}};
const Derive derive_squeeze{"squeeze", {{0, saves_nothing, reshaped}}};
const Derive derive_unsqueeze{"unsqueeze", {{0, saves_nothing, reshaped}}};
const Derive derive_expand{"expand", {{0, saves_nothing, [](Backward& b) {
                                         return ops::sum_to(b.grad(), b.shape(0));
                                       }}}};
const Derive derive_permute{"permute", {{0, saves_nothing, [](Backward& b) {
                                           return ops::permute(b.grad(),
                                                               inverse_permutation(b.integers(1)));
                                         }}}};
const Derive derive_transpose{"transpose", {{0, saves_nothing, [](Backward& b) {
                                               return ops::transpose(b.grad(), b.value(1),
                                                                     b.value(2));
                                             }}}};
const Derive derive_t{"t", {{0, saves_nothing, [](Backward& b) {
                               return b.shape(0).count == 2 ? ops::transpose(b.grad(), 0, 1)
                                                            : b.grad();
                             }}}};
const Derive derive_flip{
    "flip", {{0, saves_nothing, [](Backward& b) { return flip(b.grad(), b.value(1)); }}}};

// Parts of a tensor.
const Derive derive_narrow{"narrow", {{0, saves_nothing, [](Backward& b) {
                                         const int dim = wrap_dim(b.integer(1), b.shape(0).count);
                                         int64_t start = b.integer(2);
                                         if (start < 0) start += b.shape(0)[dim];
                                         return slice_backward(b.grad(), b.shape(0), dim, start,
                                                               start + b.integer(3), 1);
                                       }}}};
const Derive derive_select{"select", {{0, saves_nothing, [](Backward& b) {
                                         return select_backward(b.grad(), b.shape(0), b.value(1),
                                                                b.value(2));
                                       }}}};
const Derive derive_slice{"slice", {{0, saves_nothing, [](Backward& b) {
                                       return slice_backward(b.grad(), b.shape(0), b.value(1),
                                                             b.value(2), b.value(3), b.value(4));
                                     }}}};
const Derive derive_diagonal{"diagonal", {{0, saves_nothing, [](Backward& b) {
                                             return diagonal_backward(b.grad(), b.shape(0),
                                                                      b.value(1), b.value(2),
                                                                      b.value(3));
                                           }}}};
const Derive derive_unfold{"unfold", {{0, saves_nothing, [](Backward& b) {
                                         return unfold_backward(b.grad(), b.shape(0), b.value(1),
                                                                b.value(2), b.value(3));
                                       }}}};
const Derive derive_as_strided{"as_strided", {{0, saves_nothing, [](Backward& b) {
                                                 const int64_t offset = b.offset(0);
                                                 const bool given = !b.value(3).is_none();
                                                 return as_strided_backward(
                                                     b.grad(), b.shape(0), b.value(1), b.value(2),
                                                     given ? b.integer(3) - offset : 0);
                                               }}}};

// And back: each is the transpose of its view op.
const Derive derive_select_backward{
    "select_backward", {{0, saves_nothing, [](Backward& b) {
                           return ops::select(b.grad(), b.value(2), b.value(3));
                         }}}};
const Derive derive_slice_backward{
    "slice_backward", {{0, saves_nothing, [](Backward& b) {
                          return ops::slice(b.grad(), b.value(2), b.value(3), b.value(4),
                                            b.value(5));
                        }}}};
const Derive derive_diagonal_backward{
    "diagonal_backward", {{0, saves_nothing, [](Backward& b) {
                             return diagonal(b.grad(), b.value(2), b.value(3), b.value(4));
                           }}}};
const Derive derive_unfold_backward{
    "unfold_backward", {{0, saves_nothing, [](Backward& b) {
                           return unfold(b.grad(), b.value(2), b.value(3), b.value(4));
                         }}}};
const Derive derive_as_strided_backward{
    "as_strided_backward", {{0, saves_nothing, [](Backward& b) {
                               return as_strided_gather(b.grad(), b.value(2), b.value(3),
                                                        b.value(4));
                             }}}};
const Derive derive_as_strided_gather{
    "as_strided_gather", {{0, saves_nothing, [](Backward& b) {
                             return as_strided_backward(b.grad(), b.shape(0), b.value(1),
                                                        b.value(2), b.value(3));
                           }}}};
const Derive derive_as_strided_scatter{
    "as_strided_scatter",
    {{0, saves_nothing,
      [](Backward& b) {
        const Tensor zeros = full(b.shape(1), 0, b.grad().dtype());
        return as_strided_scatter(b.grad(), zeros, b.value(2), b.value(3), b.value(4));
      }},
     {1, saves_nothing, [](Backward& b) {
        return as_strided_gather(b.grad(), b.value(2), b.value(3), b.value(4));
      }}}};

}  // namespace
}  // namespace relume
