// Products of tensors: tensordot, inner, vdot, ger, kron, cross, addbmm, chain_matmul.
#include <algorithm>

#include "tensor/composites/composites.h"
#include "tensor/public_names.h"

namespace relume {
namespace {

const OpFunction outer{"outer"}, roll{"roll"};

// The sizes of the dimensions that are (not) in a set.
std::vector<int64_t> sizes_of(const Tensor& tensor, uint32_t dims) {
  std::vector<int64_t> sizes;
  for (int i = 0; i < tensor.ndim(); ++i) {
    if (dims & (1u << i)) sizes.push_back(tensor.size(i));
  }
  return sizes;
}

std::vector<int64_t> dims_outside(const Tensor& tensor, uint32_t set) {
  std::vector<int64_t> dims;
  for (int i = 0; i < tensor.ndim(); ++i) {
    if (!(set & (1u << i))) dims.push_back(i);
  }
  return dims;
}

std::vector<int64_t> wrapped(IntSpan dims, int ndim) {
  std::vector<int64_t> result;
  for (int64_t dim : dims) result.push_back(wrap_dim(dim, ndim));
  return result;
}

std::vector<int64_t> concatenated(std::vector<int64_t> first, const std::vector<int64_t>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Tensor contract(const Call& call, const Tensor& a, const Tensor& b, IntSpan a_dims, IntSpan b_dims) {
  check(a_dims.count == b_dims.count, public_name(call.op), "(): dims ", a_dims, " and ", b_dims, " need the same length");
  const uint32_t a_set = dimension_set(call, a_dims, a.ndim()), b_set = dimension_set(call, b_dims, b.ndim());
  const std::vector<int64_t> from_a = wrapped(a_dims, a.ndim()), from_b = wrapped(b_dims, b.ndim());
  int64_t inner = 1;
  for (std::size_t i = 0; i < from_a.size(); ++i) {
    const int64_t size = a.size(from_a[i]), other = b.size(from_b[i]);
    check(size == other, public_name(call.op), "(): dimension ", from_a[i], " of shape ", a.shape(), " and dimension ",
          from_b[i], " of shape ", b.shape(), " cannot be contracted: sizes ", size, " and ", other);
    inner *= size;
  }
  const std::vector<int64_t> a_free = sizes_of(a, ~a_set), b_free = sizes_of(b, ~b_set);
  const Tensor left = ops::reshape(ops::permute(a, concatenated(dims_outside(a, a_set), from_a)),
                                   IntSpan{product(a_free), inner});
  const Tensor right = ops::reshape(ops::permute(b, concatenated(from_b, dims_outside(b, b_set))),
                                    IntSpan{inner, product(b_free)});
  return ops::reshape(ops::matmul(left, right), concatenated(a_free, b_free));
}

// A dimension of size 1 meets one of another size as if it were repeated.
void tensordot_cpu(Call& call) {
  Tensor a = call.tensor(0), b = call.tensor(1);
  const IntSpan a_dims = call.integers(2), b_dims = call.integers(3);
  for (int i = 0; i < std::min(a_dims.count, b_dims.count); ++i) {
    const int a_dim = wrap_dim(a_dims[i], a.ndim()), b_dim = wrap_dim(b_dims[i], b.ndim());
    if (a.size(a_dim) == b.size(b_dim)) continue;
    if (a.size(a_dim) == 1) b = ops::sum(b, IntSpan{b_dim}, true);
    else if (b.size(b_dim) == 1) a = ops::sum(a, IntSpan{a_dim}, true);
  }
  call.set_output(0, contract(call, a, b, a_dims, b_dims));
}

void inner_cpu(Call& call) {
  const Tensor input = call.tensor(0), other = call.tensor(1);
  if (input.ndim() == 0 || other.ndim() == 0) return call.set_output(0, ops::mul(input, other));
  call.set_output(0, contract(call, input, other, {-1}, {-1}));
}

void ger_cpu(Call& call) { call.set_output(0, outer(call.tensor(0), call.tensor(1))); }

void kron_cpu(Call& call) {
  const Tensor a = call.tensor(0), b = call.tensor(1);
  const int ndim = std::max(a.ndim(), b.ndim());
  check(2 * ndim <= kMaxDims, "kron(): tensors of at most ", kMaxDims / 2, " dimensions are supported, not ", ndim);
  // Every dimension as a pair: (size, 1) of a against (1, size) of b.
  std::vector<int64_t> a_pairs(2 * ndim, 1), b_pairs(2 * ndim, 1), shape(ndim, 1);
  for (int i = 0; i < a.ndim(); ++i) a_pairs[2 * (ndim - a.ndim() + i)] = a.size(i);
  for (int i = 0; i < b.ndim(); ++i) b_pairs[2 * (ndim - b.ndim() + i) + 1] = b.size(i);
  for (int i = 0; i < ndim; ++i) shape[i] = a_pairs[2 * i] * b_pairs[2 * i + 1];
  call.set_output(0, ops::reshape(ops::mul(ops::reshape(a, a_pairs), ops::reshape(b, b_pairs)), shape));
}

void cross_cpu(Call& call) {
  const std::vector<int64_t> shape = broadcast_shapes(call.tensor(0).shape(),
                                                      call.tensor(1).shape());
  const Tensor a = ops::expand(call.tensor(0), shape), b = ops::expand(call.tensor(1), shape);
  const int dim = wrap_dim(call.integer(2), a.ndim());
  check(a.ndim() > 0 && a.size(dim) == 3, "cross(): dimension ", dim, " of shape ", a.shape(),
        " must have size 3; name another one with dim=");
  // (a x b)[i] = a[i+1] b[i+2] - a[i+2] b[i+1], indices modulo 3.
  auto next = [&](const Tensor& t, int64_t by) { return roll(t, IntSpan{-by}, IntSpan{dim}); };
  call.set_output(0, next(a, 1) * next(b, 2) - next(a, 2) * next(b, 1));
}

void addbmm_cpu(Call& call) {
  const Tensor input = call.tensor(0), batch1 = call.tensor(1), batch2 = call.tensor(2);
  check(batch1.ndim() == 3 && batch2.ndim() == 3, "addbmm(): batch1 and batch2 must have 3 dimensions, not shapes ",
        batch1.shape(), " and ", batch2.shape());
  const Tensor sum = contract(call, batch1, batch2, {0, 2}, {0, 1});
  const Tensor scaled = ops::mul(sum, call.value(4));
  // With beta = 0 the input is not read: it may hold anything.
  call.set_output(0, call.value(3).as_complex() == 0.0 ? ops::expand(scaled, broadcast_shapes(input.shape(), sum.shape()))
                                       : ops::add(ops::mul(input, call.value(3)), scaled));
}

const auto kComposite = {Trait::composite};

const Register register_tensordot{
    "contract_dims(Tensor input, Tensor other, int[] dims, int[] other_dims) -> Tensor",
    "Sums products over pairs of dimensions; the result has the other dimensions of both.",
    {Trait::composite, Trait::internal}, tensordot_cpu};
const Register register_inner{"inner(Tensor input, Tensor other) -> Tensor",
                              "Sums products over the last dimension of both; numbers scale.", kComposite, inner_cpu};
const Register register_ger{"ger(Tensor input, Tensor vec2) -> Tensor", "Another name of outer.", kComposite, ger_cpu};
const Register register_kron{"kron(Tensor input, Tensor other) -> Tensor",
                             "The Kronecker product: a block of `other` for every element of `input`.", kComposite,
                             kron_cpu};
const Register register_cross{"cross(Tensor input, Tensor other, int dim=-1) -> Tensor",
                              "The cross product of vectors along a dimension of size 3.", kComposite, cross_cpu};
const Register register_addbmm{
    "addbmm(Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    "beta * input + alpha * the sum of the products of matrix pairs.", kComposite, addbmm_cpu};

}  // namespace
}  // namespace relume
