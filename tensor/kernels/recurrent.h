// What the recurrent layers share. A sequence is a matrix with the rows of all time steps one
// after the other; step t has as many rows as samples last that long (`batch_sizes`, which do
// not grow), always the first ones.
#pragma once
#include <algorithm>
#include <vector>

#include "tensor/buffer.h"
#include "tensor/dispatch.h"
#include "tensor/kernels/recurrent_loops.h"
#include "tensor/kernels/window.h"
#include "tensor/parallel.h"

namespace relume {

template <class T>
const RecurrentLoopsOf<T>& recurrent_loops();

// A thread is worth waking for about this many multiplications.
constexpr int64_t kWorkPerThread = 1 << 18;

// Rows of one step that all continue a step before, or all begin from the initial state.
struct StepRows {
  int64_t sample, count;  // samples [sample, sample + count)
  int64_t row;            // of the first of them in the sequence
  int64_t before;         // its row in the step before; -1: it begins here
};

struct Steps {
  std::vector<int64_t> sizes, offsets;  // by time
  int64_t batch = 0, total = 0;
  bool reverse = false;

  // Throws ValueError unless the sizes are positive and do not grow.
  Steps(const char* op, IntSpan batch_sizes, bool reverse);

  int64_t count() const { return static_cast<int64_t>(sizes.size()); }
  int64_t time(int64_t step) const { return reverse ? count() - 1 - step : step; }
  int64_t last_row(int64_t sample) const;  // where the last step of a sample is

  // Calls f(StepRows) for the samples in [first, last) that a step has.
  template <class Function>
  void for_each(int64_t step, int64_t first, int64_t last, const Function& f) const {
    const int64_t now = time(step);
    last = last < sizes[now] ? last : sizes[now];
    int64_t continued = 0;
    if (step > 0) continued = sizes[now] < sizes[time(step - 1)] ? sizes[now] : sizes[time(step - 1)];
    const int64_t middle = continued < first ? first : continued < last ? continued : last;
    if (first < middle)
      f(StepRows{first, middle - first, offsets[now] + first, offsets[time(step - 1)] + first});
    if (middle < last) f(StepRows{middle, last - middle, offsets[now] + middle, -1});
  }
};

// A matrix that many others are multiplied with.
template <class T>
class PackedMatrix {
 public:
  PackedMatrix(const T* matrix, int64_t depth, int64_t columns, int64_t depth_stride, int64_t column_stride);
  // result += a (rows x depth) times the matrix; scratch holds rows x depth.
  void add_product(const T* a, int64_t rows, T* result, T* scratch) const;
  // result = every row `start`, plus a times the matrix; for many rows, over the threads.
  void long_product(const T* a, int64_t rows, const T* start, T* result) const;

 private:
  int64_t depth_, columns_;
  Buffer<T> packed_;
};

// One layer in one direction: sizes, and work that does not depend on the kind of cell.
template <class T>
struct RecurrentLayer {
  const Steps& steps;
  int64_t inputs, hidden, gates;  // widths of a row

  // Every row a bias, which may be null.
  void fill_rows(const T* bias, T* result) const;
  // Input's part of the gates for all steps at once: input weight' + biases.
  void input_gates(const T* input, const T* weight, const T* bias1, const T* bias2, T* result) const;
  // Every sample's state after its last step.
  void final_state(const T* states, T* result) const;

  // Gradients from those of the gates, for all steps at once.
  void input_gradient(const T* grad_gates, const T* weight, T* result) const;
  void weight_gradient(const T* grad_gates, const T* input, T* result) const;
  void recurrent_weight_gradient(const T* grad_gates, const T* states, const T* initial, T* result) const;
  void bias_gradient(const T* grad_gates, T* result) const;

  // Splits the samples over the threads: f(first sample, last sample).
  template <class Function>
  void over_samples(const Function& f) const {
    const int64_t work = steps.count() * hidden * gates;  // of one sample
    const int64_t grain = std::max<int64_t>(8, kWorkPerThread / std::max<int64_t>(1, work));
    parallel_for(0, steps.batch, grain, f);
  }
};

// An argument of shape (rows, columns) and type T, made contiguous.
template <class T>
Tensor matrix_argument(const Call& call, int argument, int64_t rows, int64_t columns);
// Of a bias, or of a gradient that came in; undefined when there is none.
template <class T>
Tensor bias_argument(const Call& call, int argument, int64_t count);
template <class T>
Tensor gradient_argument(const Call& call, int argument, int64_t rows, int64_t columns) {
  return call.has(argument) ? matrix_argument<T>(call, argument, rows, columns) : Tensor();
}

// Where arguments that follow one another begin: the weights (input-hidden, hidden-hidden, and forward
// both biases), and batch_sizes with `reverse` behind them.
struct LayerPlaces {
  int input, hidden, weights, batch_sizes;
};

// The arguments that every kind of layer takes, forward and backward, in the shapes they must have.
template <class T>
struct LayerArguments {
  Steps steps;
  int64_t inputs, hidden, gates;  // widths of a row

  // Throws unless they fit together; `gates_per_unit` says how many rows of weights a hidden unit has.
  LayerArguments(const Call& call, const char* op, LayerPlaces at, int64_t gates_per_unit);

  RecurrentLayer<T> layer() const { return {steps, inputs, hidden, gates}; }
  const T* input() const { return input_.template data_as<const T>(); }
  const T* initial() const { return initial_.template data_as<const T>(); }  // the hidden state
  const T* weight_ih() const { return weight_ih_.template data_as<const T>(); }
  const T* weight_hh() const { return weight_hh_.template data_as<const T>(); }
  // An argument with a row for each step of each sample, or for each sample.
  Tensor of_steps(const Call& call, int argument, int64_t columns) const {
    return matrix_argument<T>(call, argument, steps.total, columns);
  }
  Tensor of_samples(const Call& call, int argument) const {
    return matrix_argument<T>(call, argument, steps.batch, hidden);
  }
  // Forward only; undefined when there are none.
  Tensor bias_ih(const Call& call) const { return bias_argument<T>(call, weights_ + 2, gates); }
  Tensor bias_hh(const Call& call) const { return bias_argument<T>(call, weights_ + 3, gates); }

 private:
  Tensor input_, initial_, weight_ih_, weight_hh_;
  int weights_;
};

// The memory of an output.
template <class T>
T* matrix_output(Call& call, int i, int64_t rows, int64_t columns) {
  return dense_output(call, i, {rows, columns}, DTypeOf<T>::value).template data_as<T>();
}

template <class T>
T* vector_output(Call& call, int i, int64_t count) {
  return dense_output(call, i, {count}, DTypeOf<T>::value).template data_as<T>();
}

template <class T>
const T* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data_as<const T>() : nullptr;
}
template <class T>
void copy_or_zero(const Tensor& source, int64_t count, T* target) {
  source.defined() ? std::copy_n(source.data_as<const T>(), count, target) : std::fill_n(target, count, T(0));
}

}  // namespace relume
