// Derivatives of the ops that write at indices (tensor/kernels/scatter_ops.cpp, scatter_reduce.cpp,
// masked_scatter). In-place forms have the rows of their ops.
#include <cstring>

#include "autograd/derivative.h"

namespace relume {
namespace {

const OpFunction index_select{"index_select"}, index_fill{"index_fill"}, gather{"gather"}, scatter{"scatter"},
    scatter_add{"scatter_add"}, scatter_reduce{"scatter_reduce"}, put{"put"}, take{"take"},
    slice_backward{"slice_backward"}, masked_fill{"masked_fill"}, masked_select{"masked_select"};

// A row for an op and one for its in-place form.
struct DeriveWriting {
  DeriveWriting(const char* op, std::initializer_list<Gradient> gradients)
      : plain(op, gradients), in_place(intern(std::string(op) + "_"), gradients) {}
  DeriveWriting(const char* op, Saves saves, void (*joint)(Backward&))
      : plain(op, saves, joint), in_place(intern(std::string(op) + "_"), saves, joint) {}

  Derive plain, in_place;
};

Tensor same(Backward& b) { return b.grad(); }

// The gradient of a source of which an index tensor used only the first part.
Tensor extended(Tensor gradient, IntSpan shape) {
  if (gradient.numel() == 0) return full(shape, 0, gradient.dtype());
  for (int dim = 0; dim < shape.count; ++dim) {
    const int64_t used = gradient.size(dim);
    if (used == shape[dim]) continue;
    std::vector<int64_t> wider = gradient.shape().vector();
    wider[dim] = shape[dim];
    gradient = slice_backward(gradient, wider, dim, 0, used, 1);
  }
  return gradient;
}

Tensor gathered_source(Backward& b) { return extended(gather(b.grad(), b.value(1), b.in(2)), b.shape(3)); }
Tensor selected_rows(Backward& b) {
  return ops::reshape(index_select(b.grad(), b.value(1), b.in(2)), b.shape(3));
}
Tensor without_rows(Backward& b) { return index_fill(b.grad(), b.value(1), b.in(2), 0); }

const DeriveWriting derive_index_add{
    "index_add",
    {{0, saves_nothing, same}, {3, saves(2), [](Backward& b) { return ops::mul(selected_rows(b), b.value(4)); }}}};
const DeriveWriting derive_index_copy{"index_copy", {{0, saves(2), without_rows}, {3, saves(2), selected_rows}}};
const DeriveWriting derive_index_fill{
    "index_fill", {{0, saves(2), without_rows}, {3, saves(2), [](Backward& b) {
                      // What the fill replaced, each place counted once.
                      return ops::reshape(ops::sum(b.grad() - without_rows(b)), b.shape(3));
                    }}}};
const DeriveWriting derive_scatter{
    "scatter", {{0, saves(2), [](Backward& b) { return scatter(b.grad(), b.value(1), b.in(2), 0); }},
                {3, saves(2), gathered_source}}};
const DeriveWriting derive_scatter_add{"scatter_add", {{0, saves_nothing, same}, {3, saves(2), gathered_source}}};

const DeriveWriting derive_put{
    "put", {{0, saves(1),
             [](Backward& b) {
               if (b.boolean(3)) return b.grad();
               return put(b.grad(), b.in(1), full(b.shape(1), 0, b.grad().dtype()), false);
             }},
            {2, saves(1), [](Backward& b) { return ops::reshape(take(b.grad(), b.in(1)), b.shape(2)); }}}};

const DeriveWriting derive_masked_scatter{
    "masked_scatter", {{0, saves(1), [](Backward& b) {
                          return ops::sum_to(masked_fill(b.grad(), b.in(1), 0), b.shape(0));
                        }},
                       {2, saves(1), [](Backward& b) {
                          const Tensor mask = ops::expand(b.in(1), b.grad().shape());
                          const Tensor used = masked_select(b.grad(), mask);
                          const int64_t size = product(b.shape(2));
                          const Tensor all = slice_backward(used, IntSpan{size}, 0, 0, used.numel(), 1);
                          return ops::reshape(all, b.shape(2));
                        }}}};

// ---- scatter_reduce ----

// How often something came to each place, the input itself included or not.
Tensor arrivals(Backward& b, const Tensor& counted_source, const Tensor& counted_input) {
  return scatter_add(counted_input, b.value(1), b.in(2), counted_source);
}

Tensor at_places(Backward& b, const Tensor& tensor) { return gather(tensor, b.value(1), b.in(2)); }

// The input's share, or nothing where it was replaced.
Tensor kept_input(Backward& b, const Tensor& gradient) {
  return b.boolean(5) ? gradient : scatter(gradient, b.value(1), b.in(2), 0);
}

// The part of the source that the index used.
Tensor used_source(Backward& b) {
  Tensor source = b.in(3);
  const IntSpan shape = b.shape(2);
  for (int dim = 0; dim < shape.count; ++dim) {
    if (source.size(dim) != shape[dim]) source = ops::narrow(source, dim, 0, shape[dim]);
  }
  return source;
}

void set_both(Backward& b, const Tensor& input_gradient, const Tensor& source_gradient) {
  if (b.needs(0)) b.set(0, input_gradient);
  if (b.needs(3)) b.set(3, extended(source_gradient, b.shape(3)));
}

void mean_gradients(Backward& b) {
  const Tensor& grad = b.grad();
  const Tensor ones = full(b.shape(2), 1, grad.dtype());
  const Tensor counts = arrivals(b, ones, full(b.shape(0), b.boolean(5) ? 1 : 0, grad.dtype()));
  const Tensor share = grad / ops::clamp(counts, 1);
  set_both(b, b.boolean(5) ? share : kept_input(b, grad), at_places(b, share));
}

// Equal ones share the gradient of an extreme.
void extreme_gradients(Backward& b) {
  const Tensor& grad = b.grad();
  const Tensor out = b.out(), source = used_source(b);
  const Tensor is_source = ops::to_dtype(ops::eq(source, at_places(b, out)), grad.dtype());
  const Tensor equal_input = ops::to_dtype(ops::eq(b.in(0), out), grad.dtype());
  const Tensor is_input = kept_input(b, equal_input);
  const Tensor share = grad / ops::clamp(arrivals(b, is_source, is_input), 1);
  set_both(b, is_input * share, is_source * at_places(b, share));
}

// For each factor the product of the others, which may hold a zero: of one zero, the others' product is
// that of all that are not zero; of two zeros it is nothing.
void product_gradients(Backward& b) {
  const Tensor& grad = b.grad();
  const Tensor input = b.in(0), source = used_source(b);
  auto is_zero = [&](const Tensor& t) { return ops::eq(t, 0); };
  auto nonzero = [&](const Tensor& t) { return ops::where(is_zero(t), 1.0, t); };
  auto zeros = [&](const Tensor& t) { return ops::to_dtype(is_zero(t), grad.dtype()); };
  const Tensor all = scatter_reduce(nonzero(input), b.value(1), b.in(2), nonzero(source), b.value(4), b.value(5));
  const Tensor zero_count = arrivals(b, zeros(source), kept_input(b, zeros(input)));
  auto others = [&](const Tensor& factor, const Tensor& product, const Tensor& count) {
    const Tensor of_zero = ops::where(ops::eq(count, 1), product, 0.0);
    const Tensor of_nonzero = ops::where(ops::eq(count, 0), product / nonzero(factor), 0.0);
    return ops::where(is_zero(factor), of_zero, of_nonzero);
  };
  set_both(b, kept_input(b, grad * others(input, all, zero_count)),
           at_places(b, grad) * others(source, at_places(b, all), at_places(b, zero_count)));
}

const DeriveWriting derive_scatter_reduce{
    "scatter_reduce", saves(0, 2, 3) | saves_output(), [](Backward& b) {
      const char* reduce = b.value(4).text;
      if (std::strcmp(reduce, "sum") == 0) {
        set_both(b, kept_input(b, b.grad()), at_places(b, b.grad()));
      } else if (std::strcmp(reduce, "mean") == 0) {
        mean_gradients(b);
      } else if (std::strcmp(reduce, "prod") == 0) {
        product_gradients(b);
      } else {
        extreme_gradients(b);
      }
    }};

}  // namespace
}  // namespace relume
