// Products of matrices and vectors.
#include "tensor/kernels/matmul.h"

#include "tensor/copy.h"
#include "tensor/kernels/layer_types.h"
#include "tensor/kernels/views.h"
#include "tensor/dispatch.h"
#include "tensor/ops.h"

namespace relume {
namespace {

void check_dims(const Call& call, int argument, int ndim) {
  const Tensor tensor = call.tensor(argument);
  check(tensor.ndim() == ndim, call.op.name(), ": ", call.op.schema.arguments[argument].name,
        " must have ", ndim, ndim == 1 ? " dimension" : " dimensions", ", but its shape is ",
        tensor.shape());
}

void check_inner(const Call& call, int64_t left, int64_t right) {
  if (left == right) return;
  std::string shapes;
  for (int i = 0; i < call.op.schema.positional; i++) {
    if (!call.value(i).is_tensor()) continue;
    shapes += (shapes.empty() ? "" : " and ") + call.op.schema.arguments[i].name + " of shape " +
              to_string(call.tensor(i).shape());
  }
  throw ValueError(message(call.op.name(), ": cannot multiply ", shapes, ": ", left, " columns meet ",
                           right, " rows"));
}

DType common_type(const Call& call, int first, int second) {
  return promote(call.tensor(first).dtype(), call.tensor(second).dtype());
}

MatrixStack left_operand(const Tensor& tensor) {
  return tensor.ndim() == 1 ? row_of(tensor) : matrices_of(tensor);
}
MatrixStack right_operand(const Tensor& tensor) {
  return tensor.ndim() == 1 ? column_of(tensor) : matrices_of(tensor);
}

void matmul_cpu(Call& call) {
  const DType dtype = common_type(call, 0, 1);
  const Tensor input = as_type(call.tensor(0), dtype), other = as_type(call.tensor(1), dtype);
  check(input.ndim() >= 1 && other.ndim() >= 1, call.op.name(),
        ": both operands need at least one dimension; use mul for numbers. The shapes are ",
        input.shape(), " and ", other.shape());
  const bool row_vector = input.ndim() == 1, column_vector = other.ndim() == 1;
  const MatrixStack a = left_operand(input), b = right_operand(other);
  check_inner(call, a.columns, b.rows);
  Dims shape;
  if (a.batch.count > 0 || b.batch.count > 0) shape = Dims(IntSpan(broadcast_shapes(a.batch, b.batch)));
  const int batch = shape.count;
  if (!row_vector) shape.push(a.rows);
  if (!column_vector) shape.push(b.columns);
  const Tensor out = call.output(0, shape, dtype);

  // The result seen as matrices: a vector operand took a dimension away.
  MatrixStack result;
  result.data = out.data();
  result.batch = IntSpan(out->shape, batch);
  result.batch_strides = IntSpan(out->strides, batch);
  result.rows = a.rows;
  result.columns = b.columns;
  result.row_stride = row_vector ? b.columns : out.stride(batch);
  result.column_stride = column_vector ? 1 : out.stride(out.ndim() - 1);
  multiply(dtype, a, b, result);
}

void mm_cpu(Call& call) {
  check_dims(call, 0, 2);
  check_dims(call, 1, 2);
  matmul_cpu(call);
}

void bmm_cpu(Call& call) {
  check_dims(call, 0, 3);
  check_dims(call, 1, 3);
  const int64_t left = call.tensor(0).size(0), right = call.tensor(1).size(0);
  check(left == right, "bmm: both operands must hold equally many matrices, not ", left, " and ", right);
  matmul_cpu(call);
}

void mv_cpu(Call& call) {
  check_dims(call, 0, 2);
  check_dims(call, 1, 1);
  matmul_cpu(call);
}

void dot_cpu(Call& call) {
  check_dims(call, 0, 1);
  check_dims(call, 1, 1);
  matmul_cpu(call);
}

void outer_cpu(Call& call) {
  check_dims(call, 0, 1);
  check_dims(call, 1, 1);
  const DType dtype = common_type(call, 0, 1);
  const Tensor input = as_type(call.tensor(0), dtype), other = as_type(call.tensor(1), dtype);
  const Tensor out = call.output(0, {input.size(0), other.size(0)}, dtype);
  multiply(dtype, column_of(input), row_of(other), matrices_of(out));
}

// Where the sum goes: into the input itself when it is also the output (Torch7's
// gradWeight:addmm(scale, a, b)), which saves a copy.
Tensor sum_output(Call& call, IntSpan shape, DType dtype) {
  if (!call.has_out) return call.output(0, shape, dtype);
  const Tensor given = call.outputs[0];
  const bool in_place = same_layout(given, call.tensor(0)) && given.is_contiguous() &&
                        given.dtype() == dtype && given.shape() == shape &&
                        !may_overlap(given, call.tensor(1)) && !may_overlap(given, call.tensor(2));
  return in_place ? given : call.output(0, shape, dtype);
}

// With factors that BLAS does not take beside real numbers: the product is made first.
void add_product_with_complex_factors(Call& call, const MatrixStack& a, const MatrixStack& b, IntSpan shape,
                                      DType dtype) {
  check<TypeError>(is_complex(dtype), call.op.name(), "(): beta and alpha must be real numbers for tensors of type ",
                   name(dtype));
  const Tensor product = empty(shape, dtype);
  MatrixStack result = shape.count == 1 ? column_of(product) : matrices_of(product);
  multiply(dtype, a, b, result);
  const Tensor scaled = ops::mul(product, call.value(4));
  const bool reads_input = call.value(3).as_complex() != 0.0;
  call.set_output(0, reads_input ? scaled + ops::mul(call.tensor(0), call.value(3)) : scaled);
}

// out = beta * input + alpha * a b, where input broadcasts to the product's shape.
void add_product(Call& call, const MatrixStack& a, const MatrixStack& b, IntSpan shape, DType dtype) {
  check_inner(call, a.columns, b.rows);
  if (call.value(3).is_complex() || call.value(4).is_complex()) {
    return add_product_with_complex_factors(call, a, b, shape, dtype);
  }
  const Tensor input = call.tensor(0);
  const double beta = call.real(3), alpha = call.real(4);
  const Tensor expanded = expand_view(input, shape);
  const Tensor out = sum_output(call, shape, dtype);
  if (beta != 0 && !same_layout(out, expanded)) copy(out, expanded);
  MatrixStack result = shape.count == 1 ? column_of(out) : matrices_of(out);
  multiply(dtype, a, b, result, alpha, beta);
}

DType type_of_sum(const Call& call) { return promote(call.tensor(0).dtype(), common_type(call, 1, 2)); }

void addmm_cpu(Call& call) {
  check_dims(call, 1, 2);
  check_dims(call, 2, 2);
  const DType dtype = type_of_sum(call);
  const Tensor mat1 = as_type(call.tensor(1), dtype), mat2 = as_type(call.tensor(2), dtype);
  add_product(call, matrices_of(mat1), matrices_of(mat2), {mat1.size(0), mat2.size(1)}, dtype);
}

void addmv_cpu(Call& call) {
  check_dims(call, 1, 2);
  check_dims(call, 2, 1);
  const DType dtype = type_of_sum(call);
  const Tensor mat = as_type(call.tensor(1), dtype), vec = as_type(call.tensor(2), dtype);
  add_product(call, matrices_of(mat), column_of(vec), {mat.size(0)}, dtype);
}

void addr_cpu(Call& call) {
  check_dims(call, 1, 1);
  check_dims(call, 2, 1);
  const DType dtype = type_of_sum(call);
  const Tensor vec1 = as_type(call.tensor(1), dtype), vec2 = as_type(call.tensor(2), dtype);
  add_product(call, column_of(vec1), row_of(vec2), {vec1.size(0), vec2.size(0)}, dtype);
}

void baddbmm_cpu(Call& call) {
  check_dims(call, 1, 3);
  check_dims(call, 2, 3);
  const DType dtype = type_of_sum(call);
  const Tensor batch1 = as_type(call.tensor(1), dtype), batch2 = as_type(call.tensor(2), dtype);
  check(batch1.size(0) == batch2.size(0), "baddbmm: both operands must hold equally many matrices, not ",
        batch1.size(0), " and ", batch2.size(0));
  add_product(call, matrices_of(batch1), matrices_of(batch2),
              {batch1.size(0), batch1.size(1), batch2.size(2)}, dtype);
}

void linear_cpu(Call& call) {
  check_dims(call, 1, 2);
  const bool has_bias = call.has(2);
  const Tensor input = call.tensor(0), weight = call.tensor(1);
  const DType dtype = input.dtype();
  check_layer_type(call, 1);
  check_layer_type(call, 2);
  const int64_t outputs = weight.size(0), inputs = weight.size(1);
  check(input.ndim() >= 1 && input.size(input.ndim() - 1) == inputs, "linear: the weight of shape ",
        weight.shape(), " needs an input whose last dimension is ", inputs, ", but the input has shape ",
        input.shape());
  Dims shape(input.shape());
  shape[shape.count - 1] = outputs;
  const Tensor out = call.output(0, shape, dtype);
  if (has_bias) {
    const Tensor bias = call.tensor(2);
    check(bias.ndim() == 1 && bias.size(0) == outputs, "linear: the bias must have shape (", outputs,
          "), not ", bias.shape());
    copy(out, expand_view(bias, shape));
  }
  multiply(dtype, left_operand(input), matrices_of(weight).transposed(), left_operand(out), 1,
           has_bias ? 1 : 0);
}

const Register register_matmul{
    "matmul(Tensor input, Tensor other) -> Tensor",
    "Matrix product: vectors (1-D), matrices, or stacks of matrices whose leading dimensions broadcast.",
    {Trait::takes_complex},
    matmul_cpu};
const Register register_mm{
    "mm(Tensor input, Tensor mat2) -> Tensor", "Product of two matrices.", {Trait::takes_complex}, mm_cpu};
const Register register_bmm{"bmm(Tensor input, Tensor mat2) -> Tensor",
                            "Products of two stacks of equally many matrices.",
                            {Trait::takes_complex},
                            bmm_cpu};
const Register register_mv{
    "mv(Tensor input, Tensor vec) -> Tensor", "Product of a matrix and a vector.", {Trait::takes_complex}, mv_cpu};
const Register register_dot{"dot(Tensor input, Tensor other) -> Tensor",
                            "Sum of the products of two vectors' elements.",
                            {Trait::takes_complex},
                            dot_cpu};
const Register register_outer{"outer(Tensor input, Tensor vec2) -> Tensor",
                              "All products of an element of one vector and an element of another.",
                              {Trait::takes_complex},
                              outer_cpu};
const Register register_addmm{
    "addmm(Tensor input, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    "beta * input + alpha * (mat1 times mat2); with beta 0, input is not read.",
    {Trait::takes_complex},
    addmm_cpu};
const Register register_addmv{
    "addmv(Tensor input, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    "beta * input + alpha * (mat times vec); with beta 0, input is not read.",
    {Trait::takes_complex},
    addmv_cpu};
const Register register_addr{
    "addr(Tensor input, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    "beta * input + alpha * (outer product of vec1 and vec2); with beta 0, input is not read.",
    {Trait::takes_complex},
    addr_cpu};
const Register register_baddbmm{
    "baddbmm(Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    "beta * input + alpha * (batch1 times batch2, matrix by matrix); with beta 0, input is not read.",
    {Trait::takes_complex},
    baddbmm_cpu};
const Register register_linear{
    "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    "input times the transpose of weight (outputs, inputs), plus bias, over the last dimension.",
    {Trait::takes_complex},
    linear_cpu};

}  // namespace
}  // namespace relume
