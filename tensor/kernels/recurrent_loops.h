// The inner loops of recurrent layers, per instruction set (recurrent.isa.cpp). All matrices
// are row-major without gaps; a row is one sample's.
#pragma once
#include <cstdint>

namespace relume {

template <class T>
struct RecurrentLoopsOf {
  // Products with one matrix again and again: it is packed once, into packed_size elements.
  int64_t (*packed_size)(int64_t depth, int64_t columns);
  void (*pack)(const T* matrix, int64_t depth, int64_t columns, int64_t depth_stride, int64_t column_stride,
               T* packed);
  // result += a (rows x depth) times packed (depth x columns); `scratch` holds rows x depth.
  void (*add_product)(const T* a, int64_t rows, int64_t depth, const T* packed, int64_t columns, T* result,
                      T* scratch);

  // result += a' b, of which rows [first, last) are computed; a and b have the same number of rows.
  void (*add_transposed_product)(const T* a, int64_t a_columns, const T* b, int64_t b_columns, int64_t rows,
                                 int64_t first, int64_t last, T* result);
  // result[j] = sum of matrix[i][j]
  void (*column_sums)(const T* matrix, int64_t rows, int64_t columns, T* result);

  // gates: rows of (input, forget, cell, output), not yet squashed; squashed in place.
  void (*lstm_cell)(int64_t rows, int64_t hidden, T* gates, const T* cell_before, T* cell, T* tanh_cell, T* output);
  // grad_output is added to grad_hidden where it is not null; grad_cell is that of the cell after the
  // step and becomes that of the cell before it.
  void (*lstm_cell_backward)(int64_t rows, int64_t hidden, const T* gates, const T* cell_before, const T* tanh_cell,
                             const T* grad_output, const T* grad_hidden, T* grad_cell, T* grad_gates);

  // gates: rows of (reset, update, new) from the input; from_hidden: the same from the hidden state.
  // The first is squashed in place, and of the second the last third is kept for the gradient.
  void (*gru_cell)(int64_t rows, int64_t hidden, T* gates, const T* from_hidden, const T* hidden_before, T* output);
  // grad_hidden becomes the part of the gradient of the state before that does not pass a matrix.
  void (*gru_cell_backward)(int64_t rows, int64_t hidden, const T* gates, const T* from_hidden,
                            const T* hidden_before, const T* grad_output, T* grad_hidden, T* grad_gates,
                            T* grad_from_hidden);

  // output: not yet squashed; squashed in place by tanh or relu.
  void (*rnn_cell)(int64_t count, bool relu, T* output);
  void (*rnn_cell_backward)(int64_t count, bool relu, const T* output, const T* grad_output, const T* grad_hidden,
                            T* grad_sum);
};
struct RecurrentLoops {
  RecurrentLoopsOf<float> float32;
  RecurrentLoopsOf<double> float64;
};

}  // namespace relume
