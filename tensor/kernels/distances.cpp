// Distances and similarities between vectors, and products with two inputs.
#include <cmath>

#include "tensor/ops.h"

namespace relume {
namespace {

const OpFunction norm{"norm"}, cdist{"cdist"}, index_select{"index_select"}, linear{"linear"}, triu{"triu"},
    nonzero{"nonzero"};

Tensor sum_along(const Tensor& tensor, int64_t dim, bool keepdim = false) {
  return ops::sum(tensor, IntSpan({dim}), keepdim);
}

void cosine_similarity_cpu(Call& call) {
  const std::vector<int64_t> shape = broadcast_shapes(call.tensor(0).shape(), call.tensor(1).shape());
  const Tensor x1 = ops::expand(call.tensor(0), shape), x2 = ops::expand(call.tensor(1), shape);
  const int64_t dim = call.integer(2);
  const double epsilon = call.real(3);
  const auto unit = [&](const Tensor& x) { return x / ops::clamp(norm(x, 2, IntSpan({dim}), true), epsilon); };
  call.set_output(0, sum_along(unit(x1) * unit(x2), dim));
}

void pairwise_distance_cpu(Call& call) {
  const Tensor difference = call.tensor(0) - call.tensor(1) + call.real(3);
  check(difference.ndim() > 0, "pairwise_distance(): the inputs need at least one dimension");
  call.set_output(0, norm(difference, call.real(2), IntSpan({-1}), call.boolean(4)));
}

// From this many rows on, squares of distances come from one matrix product.
constexpr int64_t kManyRows = 25;

Tensor squares_by_product(const Tensor& x1, const Tensor& x2) {
  const Tensor squares1 = sum_along(ops::square(x1), -1, true);
  const Tensor squares2 = ops::transpose(sum_along(ops::square(x2), -1, true), -2, -1);
  const Tensor products = ops::matmul(x1 * -2.0, ops::transpose(x2, -2, -1));
  return ops::clamp(products + squares1 + squares2, 0.0);
}

void cdist_cpu(Call& call) {
  const Tensor x1 = call.tensor(0), x2 = call.tensor(1);
  const double p = call.real(2);
  check(x1.ndim() >= 2 && x2.ndim() >= 2, "cdist(): both inputs must have shape (..., rows, width), not ", x1.shape(),
        " and ", x2.shape());
  check<TypeError>(is_floating(x1.dtype()) && is_floating(x2.dtype()),
                   "cdist(): both inputs must have a floating-point type");
  const int64_t width = x1.size(x1.ndim() - 1), rows1 = x1.size(x1.ndim() - 2), rows2 = x2.size(x2.ndim() - 2);
  check(x2.size(x2.ndim() - 1) == width, "cdist(): the vectors must have one width, not ", width, " and ",
        x2.size(x2.ndim() - 1));
  check(p >= 0, "cdist(): p must not be negative, but is ", p);
  if (p == 2 && (rows1 > kManyRows || rows2 > kManyRows)) {
    return call.set_output(0, ops::sqrt(squares_by_product(x1, x2)));
  }
  const Tensor difference = ops::unsqueeze(x1, -2) - ops::unsqueeze(x2, -3);
  call.set_output(0, norm(difference, p, IntSpan({-1})));
}

void pdist_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check(input.ndim() == 2, "pdist(): the input must have shape (rows, width), not ", input.shape());
  const int64_t rows = input.size(0);
  const Tensor above = triu(full({rows, rows}, 1, DType::float32), 1);
  const Tensor places = ops::reshape(nonzero(ops::reshape(above, IntSpan({-1}))), IntSpan({-1}));
  call.set_output(0, index_select(ops::reshape(cdist(input, input, call.real(1)), IntSpan({rows * rows})), 0, places));
}

// sum_ij x1[i] weight[k][i][j] x2[j] + bias[k]
void bilinear_cpu(Call& call) {
  const Tensor x1 = call.tensor(0), x2 = call.tensor(1), weight = call.tensor(2);
  check(weight.ndim() == 3, "bilinear(): weight must have shape (out, in1, in2), not ", weight.shape());
  const int64_t outputs = weight.size(0), inputs1 = weight.size(1), inputs2 = weight.size(2);
  const auto fits = [](const Tensor& x, int64_t width) { return x.ndim() >= 1 && x.size(x.ndim() - 1) == width; };
  check(fits(x1, inputs1) && fits(x2, inputs2) && x1.ndim() == x2.ndim() &&
            IntSpan(x1->shape, x1.ndim() - 1) == IntSpan(x2->shape, x2.ndim() - 1),
        "bilinear(): with a weight of shape ", weight.shape(), " the inputs must have shapes (*, ", inputs1,
        ") and (*, ", inputs2, "), not ", x1.shape(), " and ", x2.shape());
  std::vector<int64_t> shape(x1->shape, x1->shape + x1.ndim());
  shape.back() = outputs;
  int64_t rows = 1;
  for (int i = 0; i + 1 < x1.ndim(); i++) rows *= x1.size(i);
  // First x2: (rows, in2) times (in2, out * in1), then x1 in every row.
  const Tensor by_second = linear(ops::reshape(x2, IntSpan({rows, inputs2})),
                                  ops::reshape(weight, IntSpan({outputs * inputs1, inputs2})));
  const Tensor products = ops::matmul(ops::reshape(by_second, IntSpan({rows, outputs, inputs1})),
                                      ops::reshape(x1, IntSpan({rows, inputs1, 1})));
  Tensor result = ops::reshape(products, shape);
  if (call.has(3)) {
    const Tensor bias = call.tensor(3);
    check(bias.ndim() == 1 && bias.size(0) == outputs, "bilinear(): bias must have shape (", outputs, "), not ",
          bias.shape());
    result = result + bias;
  }
  call.set_output(0, result);
}

const Register register_cosine_similarity{
    "cosine_similarity(Tensor input, Tensor other, int dim=1, float eps=1e-8) -> Tensor",
    "The cosine of the angle between vectors along a dimension; norms below eps count as eps.",
    {Trait::composite, Trait::no_method}, cosine_similarity_cpu};
const Register register_pairwise_distance{
    "pairwise_distance(Tensor input, Tensor other, float p=2.0, float eps=1e-6, bool keepdim=False) -> Tensor",
    "The p-norm of input - other + eps along the last dimension.", {Trait::composite, Trait::no_method},
    pairwise_distance_cpu};
const Register register_cdist{
    "cdist(Tensor input, Tensor other, float p=2.0) -> Tensor",
    "The p-norm distances between all rows of two (batches of) matrices.", {Trait::no_method}, cdist_cpu};
const Register register_pdist{
    "pdist(Tensor input, float p=2) -> Tensor",
    "The p-norm distances of all pairs of rows: those above the diagonal, line by line.",
    {Trait::composite, Trait::no_method}, pdist_cpu};
const Register register_bilinear{
    "bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
    "input1 times weight[k] times input2 for every output k, plus bias.", {Trait::composite, Trait::no_method},
    bilinear_cpu};

}  // namespace
}  // namespace relume
