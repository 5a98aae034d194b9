#include <type_traits>

#include "tensor/kernels/math.h"
#include "tensor/kernels/softmax_loops.h"

namespace relume {
namespace RELUME_ISA {
namespace {

// exp(x) for x <= 0 (or NaN): with a factor that keeps the power of two normal, and taken out in one
// step that rounds subnormal results.
inline float exp_of_negative(float x) {
  constexpr int32_t kNormal = 24;
  const math::ReducedFloat part = math::reduce(x < -104.0f ? -104.0f : x);
  const float power = math::float_power_of_two(static_cast<uint32_t>(static_cast<int32_t>(part.n) + kNormal));
  return (1 + math::expm1_near_zero(part.r)) * power * 0x1p-24f;
}
inline double exp_of_negative(double x) { return math::exp(x); }

// A block of lines comes in three forms, with the same functions: `fold` folds the elements of
// every line into one number, `for_each` visits all elements with their line.

// One line, whose elements lie side by side.
class SingleLine {
 public:
  explicit SingleLine(const LineBlock& block) : length_(block.length) {}

  template <class A>
  struct Numbers {
    A value;
    A& operator[](int64_t) { return value; }
    const A& operator[](int64_t) const { return value; }
  };
  int64_t count() const { return 1; }

  template <class A, class Add, class Element>
  void fold(A start, const Add& add, const Element& element, Numbers<A>& result) const {
    constexpr int64_t kLanes = 32;  // which the compiler keeps in vectors
    A lanes[kLanes];
    for (A& lane : lanes) lane = start;
    int64_t i = 0;
    for (; i + kLanes <= length_; i += kLanes) {
      for (int64_t lane = 0; lane < kLanes; lane++) lanes[lane] = add(lanes[lane], element(i + lane));
    }
    A total = start;
    for (; i < length_; i++) total = add(total, element(i));
    if (length_ >= kLanes) {
      for (A lane : lanes) total = add(total, lane);
    }
    result.value = total;
  }

  template <class Store>
  void for_each(const Store& store) const {
#pragma GCC ivdep
    for (int64_t i = 0; i < length_; i++) store(i, 0);
  }

 private:
  int64_t length_;
};

// Neighbouring lines, worked on row by row.
class SideBySide {
 public:
  explicit SideBySide(const LineBlock& block) : block_(block) {}

  template <class A>
  struct Numbers {
    alignas(64) A values[kMaxLineWidth];
    A& operator[](int64_t line) { return values[line]; }
    const A& operator[](int64_t line) const { return values[line]; }
  };
  int64_t count() const { return block_.width; }

  template <class A, class Add, class Element>
  void fold(A start, const Add& add, const Element& element, Numbers<A>& result) const {
    for (int64_t line = 0; line < block_.width; line++) result[line] = start;
    for_each([&](int64_t place, int64_t line) { result[line] = add(result[line], element(place)); });
  }

  template <class Store>
  void for_each(const Store& store) const {
    for (int64_t i = 0; i < block_.length; i++) {
      const int64_t row = i * block_.stride;
#pragma GCC ivdep
      for (int64_t line = 0; line < block_.width; line++) store(row + line, line);
    }
  }

 private:
  LineBlock block_;
};

// Short lines, one after the other.
class ShortLines {
 public:
  explicit ShortLines(const LineBlock& block) : length_(block.length), count_(block.width) {}

  template <class A>
  using Numbers = SideBySide::Numbers<A>;
  int64_t count() const { return count_; }

  template <class A, class Add, class Element>
  void fold(A start, const Add& add, const Element& element, Numbers<A>& result) const {
    constexpr int64_t kLanes = 8;  // which the compiler keeps in vectors
    for (int64_t line = 0, first = 0; line < count_; line++, first += length_) {
      A total = start;
      int64_t i = 0;
      if (length_ >= kLanes) {
        A lanes[kLanes];
        for (int64_t lane = 0; lane < kLanes; lane++) lanes[lane] = element(first + lane);
        for (i = kLanes; i + kLanes <= length_; i += kLanes) {
          for (int64_t lane = 0; lane < kLanes; lane++) lanes[lane] = add(lanes[lane], element(first + i + lane));
        }
        for (int64_t half = kLanes / 2; half > 0; half /= 2) {
          for (int64_t lane = 0; lane < half; lane++) lanes[lane] = add(lanes[lane], lanes[lane + half]);
        }
        total = add(total, lanes[0]);
      }
      for (; i < length_; i++) total = add(total, element(first + i));
      result[line] = total;
    }
  }

  template <class Store>
  void for_each(const Store& store) const {
    for (int64_t line = 0, first = 0; line < count_; line++, first += length_) {
#pragma GCC ivdep
      for (int64_t i = 0; i < length_; i++) store(first + i, line);
    }
  }

  // Without regard to lines, in full vectors.
  template <class Store>
  void for_each_element(const Store& store) const {
#pragma GCC ivdep
    for (int64_t i = 0; i < count_ * length_; i++) store(i);
  }

 private:
  int64_t length_, count_;
};

// Functions below take copies ([=]) of the numbers: stores to the result could change the originals
// for all that the compiler knows. `larger` and `plus` are objects so that they are inlined.
constexpr auto larger = [](auto a, auto b) { return b > a ? b : a; };
constexpr auto plus = [](double a, double b) { return a + b; };

// result = exp(input - largest of its line), and the sums of those.
template <class Lines, class T>
void exponentials(const Lines& lines, const T* input, T* result,
                  typename Lines::template Numbers<T>& largest,
                  typename Lines::template Numbers<double>& sum) {
  lines.fold(static_cast<T>(-__builtin_inf()), larger, [=](int64_t i) { return input[i]; }, largest);
  if constexpr (std::is_same_v<Lines, ShortLines>) {
    lines.for_each([=](int64_t i, int64_t line) { result[i] = input[i] - largest[line]; });
    lines.for_each_element([=](int64_t i) { result[i] = exp_of_negative(result[i]); });
  } else {
    lines.for_each([=](int64_t i, int64_t line) { result[i] = exp_of_negative(input[i] - largest[line]); });
  }
  lines.fold(0.0, plus, [=](int64_t i) { return static_cast<double>(result[i]); }, sum);
}

struct Softmax {
  template <class Lines, class T>
  static void run(const Lines& lines, const T* const* operands, T* result) {
    typename Lines::template Numbers<T> largest, factor;
    typename Lines::template Numbers<double> sum;
    exponentials(lines, operands[0], result, largest, sum);
    for (int64_t line = 0; line < lines.count(); line++) factor[line] = static_cast<T>(1 / sum[line]);
    lines.for_each([=](int64_t i, int64_t line) { result[i] *= factor[line]; });
  }
};

struct LogSoftmax {
  template <class Lines, class T>
  static void run(const Lines& lines, const T* const* operands, T* result) {
    const T* input = operands[0];
    typename Lines::template Numbers<T> largest, logarithm;
    typename Lines::template Numbers<double> sum;
    exponentials(lines, input, result, largest, sum);
    for (int64_t line = 0; line < lines.count(); line++)
      logarithm[line] = static_cast<T>(math::log(sum[line]));
    lines.for_each(
        [=](int64_t i, int64_t line) { result[i] = input[i] - largest[line] - logarithm[line]; });
  }
};

struct SoftmaxBackward {
  template <class Lines, class T>
  static void run(const Lines& lines, const T* const* operands, T* result) {
    const T *grad = operands[0], *output = operands[1];
    typename Lines::template Numbers<double> sum;
    typename Lines::template Numbers<T> mean;
    lines.fold(
        0.0, plus,
        [=](int64_t i) { return static_cast<double>(grad[i]) * static_cast<double>(output[i]); }, sum);
    for (int64_t line = 0; line < lines.count(); line++) mean[line] = static_cast<T>(sum[line]);
    lines.for_each([=](int64_t i, int64_t line) { result[i] = output[i] * (grad[i] - mean[line]); });
  }
};

struct LogSoftmaxBackward {
  template <class Lines, class T>
  static void run(const Lines& lines, const T* const* operands, T* result) {
    const T *grad = operands[0], *output = operands[1];
    typename Lines::template Numbers<double> sum;
    typename Lines::template Numbers<T> total;
    lines.fold(0.0, plus, [=](int64_t i) { return static_cast<double>(grad[i]); }, sum);
    for (int64_t line = 0; line < lines.count(); line++) total[line] = static_cast<T>(sum[line]);
    if constexpr (std::is_same_v<Lines, ShortLines>) {
      lines.for_each_element([=](int64_t i) { result[i] = math::exp(output[i]); });
      lines.for_each([=](int64_t i, int64_t line) { result[i] = grad[i] - result[i] * total[line]; });
    } else {
      lines.for_each(
          [=](int64_t i, int64_t line) { result[i] = grad[i] - math::exp(output[i]) * total[line]; });
    }
  }
};

template <class Op, class T>
void run(const LineBlock& block, const T* const* operands, T* result) {
  if (block.stride == 1 && block.length <= kMaxShortLine) {
    Op::run(ShortLines(block), operands, result);
  } else if (block.stride == 1) {
    Op::run(SingleLine(block), operands, result);
  } else {
    Op::run(SideBySide(block), operands, result);
  }
}

template <class T>
constexpr SoftmaxLoopsOf<T> kLoops{run<Softmax, T>, run<LogSoftmax, T>, run<SoftmaxBackward, T>,
                                   run<LogSoftmaxBackward, T>};

}  // namespace

extern const SoftmaxLoops softmax_loops;
const SoftmaxLoops softmax_loops{kLoops<float>, kLoops<double>};

}  // namespace RELUME_ISA
}  // namespace relume
