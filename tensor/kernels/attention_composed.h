// Attention in terms of other ops: what the fused kernel computes, for gradients of gradients
// and for what it does not do.
#pragma once
#include "tensor/ops.h"

namespace relume {

// softmax(scale * query key' + mask) value, with dropout of the weights. `mask` is added (undefined: no
// mask); `causal` hides the keys after a query's place. A query that sees no key gives zeros.
Tensor composed_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                          bool causal, double scale, double dropout);

}  // namespace relume
