#include <utility>

#include "tensor/kernels/gemm_tile.h"
#include "tensor/kernels/math.h"
#include "tensor/kernels/recurrent_loops.h"

namespace relume {
namespace RELUME_ISA {
namespace {

// ---- products with a packed matrix ----

template <class T>
int64_t packed_size(int64_t depth, int64_t columns) {
  return depth * round_up(columns, kTileColumns<T>);
}

template <class T>
void pack_matrix(const T* matrix, int64_t depth, int64_t columns, int64_t depth_stride, int64_t column_stride,
                 T* packed) {
  pack(matrix, columns, depth, column_stride, depth_stride, kTileColumns<T>, packed);
}

// What one tile of a product is made of: element k of row i of `a` is a[i * row + k * depth], and
// row k of `b`, of which the tile takes kTileColumns elements, begins at b + k * b_stride.
template <class T>
struct TileOperands {
  const T *a, *b;
  int64_t depth, a_stride, b_stride;
};

// How the elements of `a` lie: rows packed side by side for each k, rows of a matrix, or columns of one.
enum class Layout { packed, rows, columns };

// result += kRows rows of a times a slice of columns of b.
template <class T, Layout layout, int kRows>
void add_tile(const TileOperands<T>& operands, int64_t columns, T* result, int64_t stride) {
  using V = typename Vector<T>::type;
  constexpr int kWidth = Vector<T>::width;
  const T *a = operands.a, *b = operands.b;
  const int64_t row_step = layout == Layout::rows ? operands.a_stride : 1;
  const int64_t depth_step = layout == Layout::packed ? kRows : layout == Layout::rows ? 1 : operands.a_stride;
  // Long sequences of results are not near: they come while the sums are computed.
#pragma GCC unroll 14
  for (int i = 0; i < kRows; i++) __builtin_prefetch(result + i * stride, 1);
  V sum[kRows][kTileVectors] = {};
  for (int64_t k = 0; k < operands.depth; k++, a += depth_step, b += operands.b_stride) {
    V parts[kTileVectors];
#pragma GCC unroll 2
    for (int j = 0; j < kTileVectors; j++) parts[j] = *reinterpret_cast<const V*>(b + j * kWidth);
#pragma GCC unroll 14
    for (int i = 0; i < kRows; i++) {
      const V factor = a[i * row_step] - V{};
#pragma GCC unroll 2
      for (int j = 0; j < kTileVectors; j++) sum[i][j] += factor * parts[j];
    }
  }
  if (columns >= kTileColumns<T>) {
#pragma GCC unroll 14
    for (int i = 0; i < kRows; i++) {
#pragma GCC unroll 2
      for (int j = 0; j < kTileVectors; j++) *reinterpret_cast<V*>(result + i * stride + j * kWidth) += sum[i][j];
    }
    return;
  }
  // A copy: what has an address would not stay in registers above.
  V copy[kTileVectors];
#pragma GCC unroll 14
  for (int i = 0; i < kRows; i++) {
#pragma GCC unroll 2
    for (int j = 0; j < kTileVectors; j++) copy[j] = sum[i][j];
    const T* values = reinterpret_cast<const T*>(copy);
    for (int64_t j = 0; j < columns; j++) result[i * stride + j] += values[j];
  }
}

template <class T>
using AddTile = void (*)(const TileOperands<T>& operands, int64_t columns, T* result, int64_t stride);

// By the number of rows, less 1.
template <class T, Layout layout>
struct TileTable {
  AddTile<T> functions[kTileRows];
};
template <class T, Layout layout, int... rows>
constexpr TileTable<T, layout> make_table(std::integer_sequence<int, rows...>) {
  return {{add_tile<T, layout, rows + 1>...}};
}
template <class T, Layout layout>
constexpr TileTable<T, layout> kAddTile = make_table<T, layout>(std::make_integer_sequence<int, kTileRows>{});

// Tiles of about equal height, so that none is nearly empty: f(first row, rows).
template <class Function>
void for_each_tile(int64_t rows, const Function& f) {
  const int64_t tiles = (rows + kTileRows - 1) / kTileRows;
  for (int64_t tile = 0; tile < tiles; tile++) {
    const int64_t first = tile * rows / tiles;
    f(first, (tile + 1) * rows / tiles - first);
  }
}

// High tiles would need too many registers for the addresses of their rows.
constexpr bool kPackRows = kTileRows > 8;

template <class T>
void add_product(const T* a, int64_t rows, int64_t depth, const T* packed, int64_t columns, T* result, T* scratch) {
  constexpr Layout layout = kPackRows ? Layout::packed : Layout::rows;
  if (kPackRows) {
    for_each_tile(rows, [&](int64_t first, int64_t count) {
      pack(a + first * depth, count, depth, depth, 1, static_cast<int>(count), scratch + first * depth);
    });
    a = scratch;
  }
  for (int64_t column = 0; column < columns; column += kTileColumns<T>) {
    for_each_tile(rows, [&](int64_t first, int64_t count) {
      const TileOperands<T> operands{a + first * depth, packed + column * depth, depth, depth, kTileColumns<T>};
      kAddTile<T, layout>.functions[count - 1](operands, columns - column, result + first * columns + column, columns);
    });
  }
}

// Rows that are read again and again while they are near.
constexpr int64_t kRowBlock = 128;

template <class T>
void add_transposed_product(const T* a, int64_t a_columns, const T* b, int64_t b_columns, int64_t rows, int64_t first,
                            int64_t last, T* result) {
  const int64_t whole = b_columns / kTileColumns<T> * kTileColumns<T>, rest = b_columns - whole;
  // A tile reads whole vectors of `b`: the last columns are read from a copy.
  T edge[kRowBlock * kTileColumns<T>] = {};
  for (int64_t row = 0; row < rows; row += kRowBlock) {
    const int64_t depth = smaller(kRowBlock, rows - row);
    const T* block = b + row * b_columns;
    if (rest > 0) pack(block + whole, rest, depth, 1, b_columns, kTileColumns<T>, edge);
    for (int64_t column = 0; column < b_columns; column += kTileColumns<T>) {
      const bool at_edge = column == whole;
      for_each_tile(last - first, [&](int64_t tile, int64_t count) {
        const TileOperands<T> operands{a + row * a_columns + first + tile, at_edge ? edge : block + column, depth,
                                       a_columns, at_edge ? kTileColumns<T> : b_columns};
        kAddTile<T, Layout::columns>.functions[count - 1](operands, b_columns - column,
                                                          result + (first + tile) * b_columns + column, b_columns);
      });
    }
  }
}

template <class T>
void column_sums(const T* matrix, int64_t rows, int64_t columns, T* result) {
  for (int64_t j = 0; j < columns; j++) result[j] = 0;
  for (int64_t i = 0; i < rows; i++, matrix += columns) {
#pragma GCC ivdep
    for (int64_t j = 0; j < columns; j++) result[j] += matrix[j];
  }
}

// ---- cells ----

template <class T>
void lstm_cell(int64_t rows, int64_t hidden, T* gates, const T* cell_before, T* cell, T* tanh_cell, T* output) {
  for (int64_t row = 0; row < rows; row++) {
    T *input = gates + row * 4 * hidden, *forget = input + hidden, *fresh = forget + hidden, *out = fresh + hidden;
    const int64_t at = row * hidden;
#pragma GCC ivdep
    for (int64_t i = 0; i < 2 * hidden; i++) input[i] = math::sigmoid(input[i]);  // and forget
#pragma GCC ivdep
    for (int64_t i = 0; i < hidden; i++) {
      const T value = math::tanh(fresh[i]);
      const T state = forget[i] * cell_before[at + i] + input[i] * value;
      fresh[i] = value;
      cell[at + i] = state;
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < hidden; i++) {
      const T squashed = math::tanh(cell[at + i]), open = math::sigmoid(out[i]);
      tanh_cell[at + i] = squashed;
      out[i] = open;
      output[at + i] = open * squashed;
    }
  }
}

template <class T>
void lstm_cell_backward(int64_t rows, int64_t hidden, const T* gates, const T* cell_before, const T* tanh_cell,
                        const T* grad_output, const T* grad_hidden, T* grad_cell, T* grad_gates) {
  for (int64_t row = 0; row < rows; row++) {
    const T *input = gates + row * 4 * hidden, *forget = input + hidden, *fresh = forget + hidden,
            *out = fresh + hidden;
    T *grad_input = grad_gates + row * 4 * hidden, *grad_forget = grad_input + hidden,
      *grad_fresh = grad_forget + hidden, *grad_out = grad_fresh + hidden;
    const int64_t at = row * hidden;
    const auto step = [=](int64_t i, T grad) {
      const T squashed = tanh_cell[at + i], open = out[i], in = input[i], kept = forget[i], value = fresh[i];
      const T state = grad_cell[at + i] + grad * open * (T(1) - squashed * squashed);
      grad_out[i] = grad * squashed * open * (T(1) - open);
      grad_input[i] = state * value * in * (T(1) - in);
      grad_forget[i] = state * cell_before[at + i] * kept * (T(1) - kept);
      grad_fresh[i] = state * in * (T(1) - value * value);
      grad_cell[at + i] = state * kept;
    };
    if (grad_output) {
#pragma GCC ivdep
      for (int64_t i = 0; i < hidden; i++) step(i, grad_hidden[at + i] + grad_output[at + i]);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < hidden; i++) step(i, grad_hidden[at + i]);
    }
  }
}

template <class T>
void gru_cell(int64_t rows, int64_t hidden, T* gates, const T* from_hidden, const T* hidden_before, T* output) {
  for (int64_t row = 0; row < rows; row++) {
    T *reset = gates + row * 3 * hidden, *update = reset + hidden, *fresh = update + hidden;
    const T *recurrent = from_hidden + row * 3 * hidden, *recurrent_fresh = recurrent + 2 * hidden;
    const int64_t at = row * hidden;
#pragma GCC ivdep
    for (int64_t i = 0; i < 2 * hidden; i++) reset[i] = math::sigmoid(reset[i] + recurrent[i]);  // and update
#pragma GCC ivdep
    for (int64_t i = 0; i < hidden; i++) {
      const T value = math::tanh(fresh[i] + reset[i] * recurrent_fresh[i]);
      fresh[i] = value;
      output[at + i] = value + update[i] * (hidden_before[at + i] - value);
    }
  }
}

template <class T>
void gru_cell_backward(int64_t rows, int64_t hidden, const T* gates, const T* from_hidden, const T* hidden_before,
                       const T* grad_output, T* grad_hidden, T* grad_gates, T* grad_from_hidden) {
  for (int64_t row = 0; row < rows; row++) {
    const T *reset = gates + row * 3 * hidden, *update = reset + hidden, *fresh = update + hidden;
    const T* recurrent_fresh = from_hidden + (row * 3 + 2) * hidden;
    T *grad_reset = grad_gates + row * 3 * hidden, *grad_update = grad_reset + hidden,
      *grad_fresh = grad_update + hidden;
    T* grad_recurrent = grad_from_hidden + row * 3 * hidden;
    const int64_t at = row * hidden;
    const auto step = [=](int64_t i, T grad) {
      const T value = fresh[i], kept = update[i], gate = reset[i];
      const T by_value = grad * (T(1) - kept) * (T(1) - value * value);
      const T by_reset = by_value * recurrent_fresh[i] * gate * (T(1) - gate);
      const T by_update = grad * (hidden_before[at + i] - value) * kept * (T(1) - kept);
      grad_reset[i] = by_reset;
      grad_update[i] = by_update;
      grad_fresh[i] = by_value;
      grad_recurrent[i] = by_reset;
      grad_recurrent[hidden + i] = by_update;
      grad_recurrent[2 * hidden + i] = by_value * gate;
      grad_hidden[at + i] = grad * kept;
    };
    if (grad_output) {
#pragma GCC ivdep
      for (int64_t i = 0; i < hidden; i++) step(i, grad_hidden[at + i] + grad_output[at + i]);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < hidden; i++) step(i, grad_hidden[at + i]);
    }
  }
}

template <class T>
void rnn_cell(int64_t count, bool relu, T* output) {
  if (relu) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++) output[i] = output[i] <= T(0) ? T(0) : output[i];
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++) output[i] = math::tanh(output[i]);
  }
}

template <class T>
void rnn_cell_backward(int64_t count, bool relu, const T* output, const T* grad_output, const T* grad_hidden,
                       T* grad_sum) {
  const auto run = [=](const auto& grad) {
    if (relu) {
#pragma GCC ivdep
      for (int64_t i = 0; i < count; i++) grad_sum[i] = output[i] > T(0) ? grad(i) : T(0);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < count; i++) grad_sum[i] = grad(i) * (T(1) - output[i] * output[i]);
    }
  };
  if (grad_output) {
    run([=](int64_t i) { return grad_hidden[i] + grad_output[i]; });
  } else {
    run([=](int64_t i) { return grad_hidden[i]; });
  }
}

template <class T>
constexpr RecurrentLoopsOf<T> kLoops{
    packed_size<T>, pack_matrix<T>,        add_product<T>, add_transposed_product<T>, column_sums<T>,
    lstm_cell<T>,   lstm_cell_backward<T>, gru_cell<T>,    gru_cell_backward<T>,      rnn_cell<T>,
    rnn_cell_backward<T>,
};

}  // namespace

extern const RecurrentLoops recurrent_loops;
const RecurrentLoops recurrent_loops{kLoops<float>, kLoops<double>};

}  // namespace RELUME_ISA
}  // namespace relume
