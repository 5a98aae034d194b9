// Scaled dot-product attention (Vaswani et al., 2017), a block of queries at a time: the
// weights of all queries for all keys are never in memory together.
#include <cmath>
#include <limits>

#include "tensor/blas.h"
#include "tensor/buffer.h"
#include "tensor/copy.h"
#include "tensor/kernels/attention_composed.h"
#include "tensor/kernels/best_isa.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/softmax_loops.h"
#include "tensor/kernels/views.h"
#include "tensor/kernels/window.h"
#include "tensor/parallel.h"

namespace relume {

RELUME_PER_ISA(SoftmaxLoops, softmax_loops)

namespace {

template <class T>
const SoftmaxLoopsOf<T>& loops();
template <>
const SoftmaxLoopsOf<float>& loops<float>() {
  return best_softmax_loops().float32;
}
template <>
const SoftmaxLoopsOf<double>& loops<double>() {
  return best_softmax_loops().float64;
}

constexpr int64_t kBlock = 64;  // queries

// A batch of queries (batch, queries, width), keys (batch, keys, width) and values (batch, keys,
// outputs), and what is added to the scores (batch, queries, keys) in any layout.
template <class T>
struct Attention {
  Tensor query, key, value, mask;
  bool causal;
  T scale;
  int64_t batch, queries, keys, width, outputs;

  Attention(const Call& call, int first)
      : query(dense(call, first)), key(dense(call, first + 1)), value(dense(call, first + 2)),
        causal(call.boolean(first + 4)), scale(static_cast<T>(call.real(first + 5))), batch(query.size(0)),
        queries(query.size(1)), keys(key.size(1)), width(query.size(2)), outputs(value.size(2)) {
    check(key.shape() == IntSpan({batch, keys, width}) && value.shape() == IntSpan({batch, keys, outputs}),
          call.op.name(), ": query, key and value do not fit each other: ", query.shape(), ", ", key.shape(), ", ",
          value.shape());
    if (call.has(first + 3)) mask = expand_view(as_type(call.tensor(first + 3), DTypeOf<T>::value), {batch, queries, keys});
  }

  int64_t blocks() const { return (queries + kBlock - 1) / kBlock; }

  struct Block {
    int64_t sample, first, count;
    int64_t seen;  // keys that any of these queries may look at
  };
  Block block(int64_t number) const {
    const int64_t first = number % blocks() * kBlock, count = std::min(kBlock, queries - first);
    return {number / blocks(), first, count, causal ? std::min(keys, first + count) : keys};
  }

  const T* start(const Tensor& tensor, int64_t sample, int64_t row) const {
    return tensor.data_as<const T>() + (sample * tensor.size(1) + row) * tensor.size(2);
  }
  Matrix<const T> queries_of(const Block& b) const { return {start(query, b.sample, b.first), b.count, width}; }
  Matrix<const T> keys_of(const Block& b) const { return {start(key, b.sample, 0), b.seen, width}; }
  Matrix<const T> values_of(const Block& b) const { return {start(value, b.sample, 0), b.seen, outputs}; }

  // The weights of a block: rows of `seen` numbers that sum to 1, or to 0 where no key is seen.
  void weights(const Block& b, T* result) const {
    gemm<T>(scale, queries_of(b), keys_of(b).transposed(), 0, Matrix<T>(result, b.count, b.seen));
    for (int64_t i = 0; i < b.count; i++) {
      T* row = result + i * b.seen;
      if (causal) {
        for (int64_t j = b.first + i + 1; j < b.seen; j++) row[j] = -kInfinity;
      }
      if (mask.defined() && !add_mask(b, i, row)) continue;
      const T* const operands[] = {row};
      loops<T>().softmax(LineBlock{b.seen, 1, 1}, operands, row);
    }
  }

 private:
  static constexpr T kInfinity = std::numeric_limits<T>::infinity();

  static Tensor dense(const Call& call, int argument) {
    const Tensor tensor = call.tensor(argument);
    check(tensor.ndim() == 3, call.op.name(), ": ", call.op.schema.arguments[argument].name,
          " must have three dimensions, not shape ", tensor.shape());
    return contiguous_copy_if_needed(as_type(tensor, DTypeOf<T>::value));
  }

  // False, and zeros, when that hides all keys.
  bool add_mask(const Block& b, int64_t i, T* row) const {
    const int64_t step = mask.stride(2);
    const T* added = mask.data_as<const T>() + b.sample * mask.stride(0) + (b.first + i) * mask.stride(1);
    bool sees = false;
    for (int64_t j = 0; j < b.seen; j++) {
      row[j] += added[j * step];
      sees |= row[j] != -kInfinity;
    }
    if (!sees) std::fill_n(row, b.seen, T(0));
    return sees;
  }
};

// Runs f(number, memory) for the numbers below `count` over the threads, each thread with memory
// of its own for `scratch` numbers.
template <class T, class Function>
void with_scratch(int64_t count, int64_t scratch, const Function& f) {
  const int64_t parts = std::max<int64_t>(1, std::min<int64_t>(num_threads(), count));
  const Buffer<T> memory(parts * scratch);
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; part++) {
      for (int64_t i = part; i < count; i += parts) f(i, memory.data() + part * scratch);
    }
  });
}

// attention(query, key, value, mask, causal, scale)
template <class T>
Tensor attention(const Call& call) {
  const Attention<T> a(call, 0);
  const Tensor result = full({a.batch, a.queries, a.outputs}, 0, DTypeOf<T>::value);
  if (a.keys == 0) return result;
  with_scratch<T>(a.batch * a.blocks(), kBlock * a.keys, [&](int64_t number, T* weights) {
    const auto block = a.block(number);
    a.weights(block, weights);
    T* target = result.data_as<T>() + (block.sample * a.queries + block.first) * a.outputs;
    gemm<T>(1, Matrix<const T>(weights, block.count, block.seen), a.values_of(block), 0,
            Matrix<T>(target, block.count, a.outputs));
  });
  return result;
}

void attention_cpu(Call& call) {
  check_floating(call, 0);
  const DType dtype = call.tensor(0).dtype();
  call.set_output(0, as_type(dtype == DType::float64 ? attention<double>(call) : attention<float>(call), dtype));
}

// attention_backward(grad, query, key, value, mask, causal, scale): the weights are computed again.
template <class T>
void attention_backward(Call& call) {
  const Attention<T> a(call, 1);
  constexpr DType dtype = DTypeOf<T>::value;
  const Tensor grad = contiguous_copy_if_needed(as_type(call.tensor(0), dtype));
  check(grad.shape() == IntSpan({a.batch, a.queries, a.outputs}), call.op.name(), ": a gradient of shape ",
        grad.shape(), " does not fit");
  const Tensor grad_query = full(a.query.shape(), 0, dtype), grad_key = full(a.key.shape(), 0, dtype),
               grad_value = full(a.value.shape(), 0, dtype);
  const int64_t size = kBlock * a.keys;
  // By sample: all its blocks add to the same keys and values.
  with_scratch<T>(a.keys == 0 ? 0 : a.batch, 2 * size, [&](int64_t sample, T* memory) {
    for (int64_t number = sample * a.blocks(); number < (sample + 1) * a.blocks(); number++) {
      const auto b = a.block(number);
      T *weights = memory, *slopes = memory + size;
      a.weights(b, weights);
      const Matrix<const T> outer(a.start(grad, sample, b.first), b.count, a.outputs);
      const Matrix<T> grad_scores(slopes, b.count, b.seen);
      const Matrix<T> keys(grad_key.data_as<T>() + sample * a.keys * a.width, b.seen, a.width);
      const Matrix<T> values(grad_value.data_as<T>() + sample * a.keys * a.outputs, b.seen, a.outputs);
      gemm<T>(1, Matrix<const T>(weights, b.count, b.seen).transposed(), outer, 1, values);
      gemm<T>(1, outer, a.values_of(b).transposed(), 0, grad_scores);
      for (int64_t i = 0; i < b.count; i++) {
        const T* const operands[] = {slopes + i * b.seen, weights + i * b.seen};
        loops<T>().softmax_backward(LineBlock{b.seen, 1, 1}, operands, slopes + i * b.seen);
      }
      T* query = grad_query.data_as<T>() + (sample * a.queries + b.first) * a.width;
      gemm<T>(a.scale, grad_scores, a.keys_of(b), 0, Matrix<T>(query, b.count, a.width));
      gemm<T>(a.scale, Matrix<const T>(slopes, b.count, b.seen).transposed(), a.queries_of(b), 1, keys);
    }
  });
  call.set_output(0, as_type(grad_query, call.tensor(1).dtype()));
  call.set_output(1, as_type(grad_key, call.tensor(2).dtype()));
  call.set_output(2, as_type(grad_value, call.tensor(3).dtype()));
}

void attention_backward_cpu(Call& call) {
  check_floating(call, 1);
  call.tensor(1).dtype() == DType::float64 ? attention_backward<double>(call) : attention_backward<float>(call);
}

const OpFunction attention_op{"attention"};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Numbers to add to the scores: a bool mask says which keys are seen.
Tensor additive(const Tensor& mask, DType dtype) {
  if (mask.dtype() != DType::boolean) return ops::to_dtype(mask, dtype);
  return ops::where(mask, full({}, 0, dtype), full({}, -kInfinity, dtype));
}

Tensor as_stack(const Tensor& tensor, const std::vector<int64_t>& batch) {
  std::vector<int64_t> shape = batch;
  const int ndim = tensor.ndim();
  for (int i = ndim - 2; i < ndim; i++) shape.push_back(tensor.size(i));
  const Tensor expanded = tensor.shape() == IntSpan(shape) ? tensor : ops::expand(tensor, shape);
  return ops::reshape(expanded, IntSpan({product(batch), tensor.size(ndim - 2), tensor.size(ndim - 1)}));
}

// (..., heads, length, size) with every head as often as said.
Tensor with_repeated_heads(const Tensor& tensor, int64_t times) {
  std::vector<int64_t> shape(tensor->shape, tensor->shape + tensor.ndim());
  const int heads = tensor.ndim() - 3;
  shape.insert(shape.begin() + heads + 1, times);
  const Tensor repeated = ops::expand(ops::unsqueeze(tensor, heads + 1), shape);
  shape.erase(shape.begin() + heads + 1);
  shape[heads] *= times;
  return ops::reshape(repeated, shape);
}

IntSpan leading(const Tensor& tensor) { return {tensor->shape, tensor.ndim() - 2}; }

// scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
void scaled_dot_product_attention_cpu(Call& call) {
  check_floating(call, 0);
  const Tensor query = call.tensor(0);
  Tensor key = call.tensor(1), value = call.tensor(2);
  for (int i = 0; i < 3; i++) {
    check(call.tensor(i).ndim() >= 2 && call.tensor(i).dtype() == query.dtype(), call.op.name(),
          ": query, key and value must have shapes (..., length, size) and one type; ",
          call.op.schema.arguments[i].name, " has shape ", call.tensor(i).shape());
  }
  if (call.boolean(7) && query.ndim() >= 3 && key.ndim() >= 3) {
    const int64_t heads = query.size(query.ndim() - 3), key_heads = key.size(key.ndim() - 3);
    check(key_heads > 0 && heads % key_heads == 0, call.op.name(), ": with enable_gqa the number of heads of queries, ",
          heads, ", must be a multiple of that of keys, ", key_heads);
    key = with_repeated_heads(key, heads / key_heads);
    value = with_repeated_heads(value, heads / key_heads);
  }
  const int64_t width = query.size(query.ndim() - 1), queries = query.size(query.ndim() - 2),
                keys = key.size(key.ndim() - 2);
  check(key.size(key.ndim() - 1) == width && value.size(value.ndim() - 2) == keys, call.op.name(),
        ": keys must be as wide as queries, and there must be as many values as keys; the shapes are ", query.shape(),
        ", ", key.shape(), " and ", value.shape());
  const double dropout = call.real(4);
  check(dropout >= 0 && dropout <= 1, call.op.name(), ": dropout_p must be between 0 and 1, not ", dropout);
  const bool causal = call.boolean(5);
  check(!causal || !call.has(3), call.op.name(), ": give either attn_mask or is_causal");
  const double scale = call.has(6) ? call.real(6) : 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, width)));
  const Tensor mask = call.has(3) ? additive(call.tensor(3), query.dtype()) : Tensor();
  const bool fused = dropout == 0 && !(mask.defined() && wants_gradient(mask.body()));
  if (!fused) return call.set_output(0, composed_attention(query, key, value, mask, causal, scale, dropout));

  std::vector<int64_t> batch = broadcast_shapes(leading(query), leading(key));
  batch = broadcast_shapes(batch, leading(value));
  Tensor stacked_mask;
  if (mask.defined()) {
    check(mask.ndim() >= 2, call.op.name(), ": attn_mask must have shape (..., queries, keys), not ", mask.shape());
    // One mask for all is passed on as it is; the kernel repeats it.
    std::vector<int64_t> shape = product(leading(mask)) == 1 ? leading(mask).vector() : batch;
    const std::vector<int64_t> count{product(shape), queries, keys};
    shape.insert(shape.end(), {queries, keys});
    stacked_mask = ops::reshape(ops::expand(mask, shape), count);
  }
  const Tensor result = attention_op(as_stack(query, batch), as_stack(key, batch), as_stack(value, batch), stacked_mask,
                                     causal, scale);
  batch.insert(batch.end(), {queries, value.size(value.ndim() - 1)});
  call.set_output(0, ops::reshape(result, batch));
}

const Register register_attention{
    "attention(Tensor query, Tensor key, Tensor value, Tensor? mask, bool causal, float scale) -> Tensor",
    "softmax(scale * query key' + mask) value, for a batch.", {Trait::internal}, attention_cpu};
// Called with the tape off only: what is recorded instead is the same in ops.
const Register register_attention_backward{
    "attention_backward(Tensor grad_output, Tensor query, Tensor key, Tensor value, Tensor? mask, bool causal, float "
    "scale) -> (Tensor, Tensor, Tensor)",
    "Gradients of attention with respect to query, key and value.", {Trait::internal, Trait::not_differentiable},
    attention_backward_cpu};
const Register register_scaled_dot_product_attention{
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, "
    "bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
    "softmax(query key' / sqrt(size) + mask) value (Vaswani et al., 2017). A bool attn_mask says which keys are seen, "
    "a floating one is added; a query that sees no key gives zeros. With enable_gqa, groups of query heads share a key "
    "head.",
    {Trait::composite, Trait::no_method}, scaled_dot_product_attention_cpu};

}  // namespace
}  // namespace relume
