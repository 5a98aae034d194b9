// The inner loops of reductions of complex elements, accumulated in complex128.
#include "tensor/convert.h"
#include "tensor/kernels/reduction_table.h"

namespace relume {
namespace {

Complex128 product(Complex128 a, Complex128 b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

struct Sum {
  using Accumulator = Complex128;
  static constexpr double identity = 0;
  static void add(Complex128& sum, Complex128 x) { sum += x; }
  static void merge(Complex128& sum, Complex128 later) { sum += later; }
  static Complex128 result(Complex128 sum, double) { return sum; }
};
struct Mean : Sum {
  static Complex128 result(Complex128 sum, double divisor) { return sum / divisor; }
};
struct Prod : Sum {
  static constexpr double identity = 1;
  static void add(Complex128& total, Complex128 x) { total = product(total, x); }
  static void merge(Complex128& total, Complex128 later) { add(total, later); }
};
struct Any {
  using Accumulator = bool;
  static constexpr bool identity = false;
  static void add(bool& found, Complex128 x) { found |= x != 0.0; }
  static void merge(bool& found, bool later) { found |= later; }
  static bool result(bool found, double) { return found; }
};
struct All : Any {
  static constexpr bool identity = true;
  static void add(bool& all, Complex128 x) { all &= x != 0.0; }
  static void merge(bool& all, bool later) { all &= later; }
};

struct CountNonzero {
  using Accumulator = int64_t;
  static constexpr int64_t identity = 0;
  static void add(int64_t& count, Complex128 x) { count += x != 0.0; }
  static void merge(int64_t& count, int64_t later) { count += later; }
  static int64_t result(int64_t count, double) { return count; }
};

template <class R, class T>
struct Loops {
  using Accumulator = typename R::Accumulator;
  using Result = std::conditional_t<is_complex_type<Accumulator>, T, Accumulator>;
  static Accumulator* cast(char* bytes) { return reinterpret_cast<Accumulator*>(bytes); }
  static const Accumulator* cast(const char* bytes) { return reinterpret_cast<const Accumulator*>(bytes); }

  static void start(char* accumulators, int64_t count) {
    for (int64_t i = 0; i < count; ++i) cast(accumulators)[i] = R::identity;
  }
  static void rows(char* accumulators, const char* data, int64_t stride, int64_t row_stride, int64_t count,
                   int64_t rows, int64_t) {
    for (int64_t r = 0; r < rows; ++r, data += row_stride) {
      Accumulator& total = cast(accumulators)[r];
      for (int64_t i = 0; i < count; ++i) R::add(total, Complex128(*reinterpret_cast<const T*>(data + i * stride)));
    }
  }
  static void columns(char* accumulators, const char* data, int64_t stride, int64_t row_stride, int64_t count,
                      int64_t rows, int64_t) {
    for (int64_t r = 0; r < rows; ++r, data += row_stride) {
      for (int64_t i = 0; i < count; ++i) {
        R::add(cast(accumulators)[i], Complex128(*reinterpret_cast<const T*>(data + i * stride)));
      }
    }
  }
  static void merge(char* accumulators, const char* later, int64_t count) {
    for (int64_t i = 0; i < count; ++i) R::merge(cast(accumulators)[i], cast(later)[i]);
  }
  static void finish(char* results, char*, const char* accumulators, int64_t count, double divisor) {
    for (int64_t i = 0; i < count; ++i) {
      reinterpret_cast<Result*>(results)[i] = convert<Result>(R::result(cast(accumulators)[i], divisor));
    }
  }
};

template <class R>
void add(ReductionTable& table, Reduction name) {
  const auto add_type = [&](auto example) {
    using T = decltype(example);
    using L = Loops<R, T>;
    table.loops[static_cast<int>(name)][static_cast<int>(DTypeOf<T>::value)] = {
        sizeof(typename L::Accumulator), DTypeOf<typename L::Result>::value, L::start, L::rows, L::columns,
        L::merge, L::finish};
  };
  add_type(Complex64{});
  add_type(Complex128{});
}

}  // namespace

void add_complex_reductions(ReductionTable& table) {
  add<Sum>(table, Reduction::sum);
  add<Mean>(table, Reduction::mean);
  add<Prod>(table, Reduction::prod);
  add<Any>(table, Reduction::any);
  add<All>(table, Reduction::all);
  add<CountNonzero>(table, Reduction::count_nonzero);
}

}  // namespace relume
