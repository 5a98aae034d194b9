#include "tensor/kernels/attention_composed.h"

#include <limits>

namespace relume {

namespace {
const OpFunction softmax{"softmax"}, drop{"dropout"}, tril{"tril"}, amax{"amax"};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
}  // namespace

Tensor composed_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                          bool causal, double scale, double dropout) {
  Tensor scores = ops::matmul(query * scale, ops::transpose(key, -2, -1));
  if (mask.defined()) scores = scores + mask;
  const int64_t queries = scores.size(scores.ndim() - 2), keys = scores.size(scores.ndim() - 1);
  if (causal) {
    const Tensor seen = tril(full({queries, keys}, 1, DType::boolean));
    scores = ops::where(seen, scores, -kInfinity);
  }
  if ((mask.defined() || causal) && scores.numel() > 0) {
    // Where everything is hidden, softmax would be 0 / 0.
    const Tensor blind = ops::eq(amax(scores, IntSpan({-1}), true), -kInfinity);
    scores = ops::where(blind, 0, scores);
    Tensor weights = ops::where(blind, 0, softmax(scores, -1));
    if (dropout > 0) weights = drop(weights, dropout, true);
    return ops::matmul(weights, value);
  }
  Tensor weights = softmax(scores, -1);
  if (dropout > 0) weights = drop(weights, dropout, true);
  return ops::matmul(weights, value);
}

}  // namespace relume
