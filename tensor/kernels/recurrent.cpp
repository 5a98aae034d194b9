#include "tensor/kernels/recurrent.h"

#include <cstring>

#include "tensor/blas.h"
#include "tensor/copy.h"
#include "tensor/kernels/best_isa.h"
#include "tensor/public_names.h"

namespace relume {

RELUME_PER_ISA(RecurrentLoops, recurrent_loops)

template <>
const RecurrentLoopsOf<float>& recurrent_loops<float>() {
  return best_recurrent_loops().float32;
}
template <>
const RecurrentLoopsOf<double>& recurrent_loops<double>() {
  return best_recurrent_loops().float64;
}

Steps::Steps(const char* op, IntSpan batch_sizes, bool reverse) : sizes(batch_sizes.vector()), reverse(reverse) {
  check(!sizes.empty(), op, ": the sequence must have at least one step");
  batch = sizes[0];
  for (std::size_t t = 0; t < sizes.size(); t++) {
    check(sizes[t] >= 0 && (t == 0 || sizes[t] <= sizes[t - 1]), op,
          ": batch_sizes must not be negative and must not grow, as ", batch_sizes, " do");
    offsets.push_back(total);
    total += sizes[t];
  }
}

int64_t Steps::last_row(int64_t sample) const {
  if (reverse) return sample;
  int64_t t = count() - 1;
  while (sizes[t] <= sample) t--;
  return offsets[t] + sample;
}

template <class T>
PackedMatrix<T>::PackedMatrix(const T* matrix, int64_t depth, int64_t columns, int64_t depth_stride,
                              int64_t column_stride)
    : depth_(depth), columns_(columns), packed_(recurrent_loops<T>().packed_size(depth, columns)) {
  recurrent_loops<T>().pack(matrix, depth, columns, depth_stride, column_stride, packed_.data());
}

template <class T>
void PackedMatrix<T>::add_product(const T* a, int64_t rows, T* result, T* scratch) const {
  recurrent_loops<T>().add_product(a, rows, depth_, packed_.data(), columns_, result, scratch);
}

namespace {

template <class T>
void repeat_row(const T* row, int64_t rows, int64_t columns, T* result) {
  for (int64_t i = 0; i < rows; i++) std::copy_n(row, columns, result + i * columns);
}

}  // namespace

template <class T>
void PackedMatrix<T>::long_product(const T* a, int64_t rows, const T* start, T* result) const {
  constexpr int64_t kBlock = 60;  // rows that stay near while all columns are computed
  const int64_t blocks = (rows + kBlock - 1) / kBlock;
  const Buffer<T> scratch(rows * depth_);
  parallel_for(0, blocks, std::max<int64_t>(1, kWorkPerThread / std::max<int64_t>(1, kBlock * depth_ * columns_)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t block = begin; block < end; block++) {
                   const int64_t row = block * kBlock, count = std::min(kBlock, rows - row);
                   T* block_result = result + row * columns_;
                   repeat_row(start, count, columns_, block_result);
                   add_product(a + row * depth_, count, block_result, scratch.data() + row * depth_);
                 }
               });
}

namespace {

// Of this many multiplications per row on, OpenBLAS's blocking beats products without packing.
constexpr int64_t kLargeMatrix = 512 * 1024;
// Up to this many elements, a sum of outer products pays without packing its operands.
constexpr int64_t kSmallMatrix = 128 * 128;

// result = a' b, where a and b have equally many rows.
template <class T>
void transposed_product(const T* a, int64_t a_columns, const T* b, int64_t b_columns, int64_t rows, T* result) {
  if (a_columns * b_columns > kSmallMatrix) {
    return gemm<T>(1, Matrix<const T>(a, rows, a_columns).transposed(), Matrix<const T>(b, rows, b_columns), 0,
                   Matrix<T>(result, a_columns, b_columns));
  }
  std::fill_n(result, a_columns * b_columns, T(0));
  const int64_t grain = std::max<int64_t>(32, kWorkPerThread / std::max<int64_t>(1, rows * b_columns));
  parallel_for(0, a_columns, grain, [&](int64_t first, int64_t last) {
    recurrent_loops<T>().add_transposed_product(a, a_columns, b, b_columns, rows, first, last, result);
  });
}

}  // namespace

template <class T>
void RecurrentLayer<T>::fill_rows(const T* bias, T* result) const {
  bias ? repeat_row(bias, steps.total, gates, result) : (void)std::fill_n(result, steps.total * gates, T(0));
}

template <class T>
void RecurrentLayer<T>::input_gates(const T* input, const T* weight, const T* bias1, const T* bias2,
                                    T* result) const {
  std::vector<T> bias(gates);
  for (int64_t j = 0; j < gates; j++) bias[j] = (bias1 ? bias1[j] : T(0)) + (bias2 ? bias2[j] : T(0));
  if (gates * inputs >= kLargeMatrix) {
    repeat_row(bias.data(), steps.total, gates, result);
    return gemm<T>(1, Matrix<const T>(input, steps.total, inputs), Matrix<const T>(weight, gates, inputs).transposed(),
                   1, Matrix<T>(result, steps.total, gates));
  }
  PackedMatrix<T>(weight, inputs, gates, 1, inputs).long_product(input, steps.total, bias.data(), result);
}

template <class T>
void RecurrentLayer<T>::final_state(const T* states, T* result) const {
  for (int64_t sample = 0; sample < steps.batch; sample++) {
    std::copy_n(states + steps.last_row(sample) * hidden, hidden, result + sample * hidden);
  }
}

template <class T>
void RecurrentLayer<T>::input_gradient(const T* grad_gates, const T* weight, T* result) const {
  if (gates * inputs >= kLargeMatrix) {
    return gemm<T>(1, Matrix<const T>(grad_gates, steps.total, gates), Matrix<const T>(weight, gates, inputs), 0,
                   Matrix<T>(result, steps.total, inputs));
  }
  const std::vector<T> zeros(inputs);
  PackedMatrix<T>(weight, gates, inputs, inputs, 1).long_product(grad_gates, steps.total, zeros.data(), result);
}

template <class T>
void RecurrentLayer<T>::weight_gradient(const T* grad_gates, const T* input, T* result) const {
  transposed_product(grad_gates, gates, input, inputs, steps.total, result);
}

template <class T>
void RecurrentLayer<T>::recurrent_weight_gradient(const T* grad_gates, const T* states, const T* initial,
                                                  T* result) const {
  // Each row's state before it, gathered so that one product does.
  const Buffer<T> before(steps.total * hidden);
  for (int64_t step = 0; step < steps.count(); step++) {
    steps.for_each(step, 0, steps.batch, [&](const StepRows& rows) {
      const T* source = rows.before < 0 ? initial + rows.sample * hidden : states + rows.before * hidden;
      std::copy_n(source, rows.count * hidden, before.data() + rows.row * hidden);
    });
  }
  transposed_product(grad_gates, gates, before.data(), hidden, steps.total, result);
}

template <class T>
void RecurrentLayer<T>::bias_gradient(const T* grad_gates, T* result) const {
  recurrent_loops<T>().column_sums(grad_gates, steps.total, gates, result);
}

namespace {

// The columns of a matrix whose size the other arguments must fit.
int64_t columns_of(const Call& call, int argument) {
  const Tensor tensor = call.tensor(argument);
  check(tensor.ndim() == 2, public_name(call.op), ": ", call.op.schema.arguments[argument].name,
        " must have two dimensions, not shape ", tensor.shape());
  return tensor.size(1);
}

}  // namespace

template <class T>
LayerArguments<T>::LayerArguments(const Call& call, const char* op, LayerPlaces at, int64_t gates_per_unit)
    : steps(op, call.integers(at.batch_sizes), call.boolean(at.batch_sizes + 1)),
      inputs(columns_of(call, at.input)),
      hidden(columns_of(call, at.hidden)),
      gates(gates_per_unit * hidden),
      input_(matrix_argument<T>(call, at.input, steps.total, inputs)),
      initial_(matrix_argument<T>(call, at.hidden, steps.batch, hidden)),
      weight_ih_(matrix_argument<T>(call, at.weights, gates, inputs)),
      weight_hh_(matrix_argument<T>(call, at.weights + 1, gates, hidden)),
      weights_(at.weights) {}

template <class T>
Tensor matrix_argument(const Call& call, int argument, int64_t rows, int64_t columns) {
  const Tensor tensor = call.tensor(argument);
  const std::string& name_of = call.op.schema.arguments[argument].name;
  check<TypeError>(tensor.dtype() == DTypeOf<T>::value, public_name(call.op), ": ", name_of, " must have type ",
                   name(DTypeOf<T>::value), " as the input has, not ", name(tensor.dtype()));
  check(tensor.shape() == IntSpan({rows, columns}), public_name(call.op), ": ", name_of, " must have shape (", rows, ", ",
        columns, "), not ", tensor.shape());
  return contiguous_copy_if_needed(tensor);
}

template <class T>
Tensor bias_argument(const Call& call, int argument, int64_t count) {
  if (!call.has(argument)) return {};
  const Tensor tensor = call.tensor(argument);
  check(tensor.dtype() == DTypeOf<T>::value && tensor.shape() == IntSpan({count}), public_name(call.op), ": ",
        call.op.schema.arguments[argument].name, " must have shape (", count, ") and the input's type, not ",
        tensor.shape());
  return contiguous_copy_if_needed(tensor);
}

template struct LayerArguments<float>;
template struct LayerArguments<double>;
template class PackedMatrix<float>;
template class PackedMatrix<double>;
template struct RecurrentLayer<float>;
template struct RecurrentLayer<double>;
template Tensor matrix_argument<float>(const Call&, int, int64_t, int64_t);
template Tensor matrix_argument<double>(const Call&, int, int64_t, int64_t);
template Tensor bias_argument<float>(const Call&, int, int64_t);
template Tensor bias_argument<double>(const Call&, int, int64_t);

}  // namespace relume
