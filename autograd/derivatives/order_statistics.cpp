// Derivatives of what is picked from a line by its order: the chosen element gets it all.
#include "autograd/derivative.h"

namespace relume {
namespace {

const OpFunction scatter{"scatter"};

template <int dim_argument>
Tensor picked_backward(Backward& b) {
  const int ndim = b.shape(0).count;
  if (ndim == 0) return b.grad();
  const int dim = wrap_dim(b.integer(dim_argument), ndim);
  const bool kept = b.boolean(dim_argument + 1);
  const Tensor grad = kept ? b.grad() : ops::unsqueeze(b.grad(), dim);
  const Tensor index = kept ? b.out(1) : ops::unsqueeze(b.out(1), dim);
  return scatter(full(b.shape(0), 0.0, b.dtype(0)), dim, index, grad);
}
const Derive derive_kthvalue{"kthvalue", {{0, saves_output(1), picked_backward<2>}}};
const Derive derive_median{"median_with_indices", {{0, saves_output(1), picked_backward<1>}}};
const Derive derive_nanmedian{"nanmedian_with_indices", {{0, saves_output(1), picked_backward<1>}}};
const Derive derive_mode{"mode", {{0, saves_output(1), picked_backward<1>}}};

}  // namespace
}  // namespace relume
