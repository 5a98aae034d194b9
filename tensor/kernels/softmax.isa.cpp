#include "tensor/kernels/math.h"
#include "tensor/kernels/softmax_loops.h"

namespace relume {
namespace RELUME_ISA {
namespace {

// A single line is folded as if it were this many lines side by side, so that the compiler
// keeps them in vectors.
constexpr int64_t kLanes = 16;

inline bool is_single(const LineBlock& block) { return block.width == 1 && block.stride == 1; }
// How many accumulators are in use.
inline int64_t accumulator_count(const LineBlock& block) { return is_single(block) ? kLanes : block.width; }

// Calls row(place, count) for rows of neighbouring elements that cover the block, where
// element place + i belongs to accumulator i.
template <class Row>
inline void for_each_row(const LineBlock& block, const Row& row) {
  if (!is_single(block)) {
    for (int64_t i = 0; i < block.length; i++) row(i * block.stride, block.width);
    return;
  }
  int64_t i = 0;
  for (; i + kLanes <= block.length; i += kLanes) row(i, kLanes);
  if (i < block.length) row(i, block.length - i);
}

// One number per line, while it is being folded and afterwards.
template <class A>
struct Accumulators {
  alignas(64) A values[kMaxLineWidth] = {};
  A& operator[](int64_t i) { return values[i]; }
  const A& operator[](int64_t i) const { return values[i]; }
};

template <class A, class Add, class Element>
inline A fold_line(int64_t length, A start, const Add& add, const Element& element) {
  A lanes[kLanes];
  for (A& lane : lanes) lane = start;
  int64_t i = 0;
  for (; i + kLanes <= length; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; lane++) lanes[lane] = add(lanes[lane], element(i + lane));
  }
  A total = start;
  for (; i < length; i++) total = add(total, element(i));
  for (A lane : lanes) total = add(total, lane);
  return total;
}

// Folds the elements of every line: add(accumulator, element). All lanes of a single line hold
// its result.
template <class A, class Add, class Element>
inline void fold(const LineBlock& block, A start, const Add& add, const Element& element, Accumulators<A>& result) {
  if (is_single(block)) {
    const A total = fold_line(block.length, start, add, element);
    for (int64_t i = 0; i < kLanes; i++) result[i] = total;
    return;
  }
  for (int64_t i = 0; i < block.width; i++) result[i] = start;
  for_each_row(block, [&](int64_t place, int64_t count) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++) result[i] = add(result[i], element(place + i));
  });
}

template <class Store>
inline void for_each_element(const LineBlock& block, const Store& store) {
  for_each_row(block, [&](int64_t place, int64_t count) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++) store(place + i, i);
  });
}

// Objects rather than functions: they are inlined into the loops.
constexpr auto larger = [](auto a, auto b) { return b > a ? b : a; };
constexpr auto plus = [](double a, double b) { return a + b; };

// result = exp(input - largest of its line); the sums of those, and the largest.
template <class T>
inline void exponentials(const LineBlock& block, const T* input, T* result, Accumulators<T>& largest,
                         Accumulators<double>& sum) {
  fold(block, static_cast<T>(-__builtin_inf()), larger, [=](int64_t i) { return input[i]; }, largest);
  for_each_element(block, [&](int64_t place, int64_t line) { result[place] = math::exp(input[place] - largest[line]); });
  fold(block, 0.0, plus, [=](int64_t i) { return static_cast<double>(result[i]); }, sum);
}

template <class T>
void softmax(const LineBlock& block, const T* const* operands, T* result) {
  Accumulators<T> largest, factor;
  Accumulators<double> sum;
  exponentials(block, operands[0], result, largest, sum);
  for (int64_t i = 0; i < accumulator_count(block); i++) factor[i] = static_cast<T>(1 / sum[i]);
  for_each_element(block, [&](int64_t place, int64_t line) { result[place] *= factor[line]; });
}

template <class T>
void log_softmax(const LineBlock& block, const T* const* operands, T* result) {
  const T* input = operands[0];
  Accumulators<T> largest, logarithm;
  Accumulators<double> sum;
  exponentials(block, input, result, largest, sum);
  for (int64_t i = 0; i < accumulator_count(block); i++) logarithm[i] = static_cast<T>(math::log(sum[i]));
  for_each_element(block, [&](int64_t place, int64_t line) { result[place] = input[place] - largest[line] - logarithm[line]; });
}

template <class T>
void softmax_backward(const LineBlock& block, const T* const* operands, T* result) {
  const T *grad = operands[0], *output = operands[1];
  Accumulators<double> sum;
  Accumulators<T> mean;
  fold(block, 0.0, plus, [=](int64_t i) { return static_cast<double>(grad[i]) * static_cast<double>(output[i]); }, sum);
  for (int64_t i = 0; i < accumulator_count(block); i++) mean[i] = static_cast<T>(sum[i]);
  for_each_element(block, [&](int64_t place, int64_t line) { result[place] = output[place] * (grad[place] - mean[line]); });
}

template <class T>
void log_softmax_backward(const LineBlock& block, const T* const* operands, T* result) {
  const T *grad = operands[0], *output = operands[1];
  Accumulators<double> sum;
  Accumulators<T> total;
  fold(block, 0.0, plus, [=](int64_t i) { return static_cast<double>(grad[i]); }, sum);
  for (int64_t i = 0; i < accumulator_count(block); i++) total[i] = static_cast<T>(sum[i]);
  for_each_element(block, [&](int64_t place, int64_t line) { result[place] = grad[place] - math::exp(output[place]) * total[line]; });
}

template <class T>
constexpr SoftmaxLoopsOf<T> kLoops{softmax<T>, log_softmax<T>, softmax_backward<T>, log_softmax_backward<T>};

}  // namespace

extern const SoftmaxLoops softmax_loops;
const SoftmaxLoops softmax_loops{kLoops<float>, kLoops<double>};

}  // namespace RELUME_ISA
}  // namespace relume
