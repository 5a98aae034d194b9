// The inner loops of reductions. Floating sums are accumulated in double: exact enough
// for any length, and the same whatever the number of threads.
#include "tensor/kernels/loops.h"
#include "tensor/kernels/reduction_lanes.h"
#include "tensor/kernels/reduction_table.h"

namespace relume {
namespace RELUME_ISA {
namespace {

template <class T>
constexpr bool is_wide_float = std::is_same_v<T, float> || std::is_same_v<T, double>;
template <class T>
using SumAccumulator = std::conditional_t<std::is_integral_v<Compute<T>>, int64_t, double>;

// ---- what is folded, element by element ----

template <class T>
struct Sum {
  using Accumulator = SumAccumulator<T>;
  using Result = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
  static Accumulator identity() { return 0; }
  static Accumulator term(Compute<T> x) { return static_cast<Accumulator>(x); }
  static void add(Accumulator& sum, Compute<T> x, int64_t) { merge(sum, term(x)); }
  static void merge(Accumulator& sum, Accumulator other) {
    if constexpr (std::is_integral_v<Accumulator>) {
      sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(other));
    } else {
      sum += other;
    }
  }
  static Result result(Accumulator sum, double) { return static_cast<Result>(sum); }
};

// NaN counts as 0.
template <class T>
struct NanSum : Sum<T> {
  using Accumulator = typename Sum<T>::Accumulator;
  static void add(Accumulator& sum, Compute<T> x, int64_t) {
    Sum<T>::merge(sum, x != x ? Accumulator(0) : Sum<T>::term(x));
  }
};

template <class T>
struct CountNonzero {
  using Accumulator = int64_t;
  using Result = int64_t;
  static int64_t identity() { return 0; }
  static void add(int64_t& count, Compute<T> x, int64_t) { count += x != Compute<T>(0); }
  static void merge(int64_t& count, int64_t other) { count += other; }
  static int64_t result(int64_t count, double) { return count; }
};

template <class T>
struct Mean : Sum<T> {
  using Result = std::conditional_t<std::is_integral_v<T>, float, T>;
  static Result result(typename Sum<T>::Accumulator sum, double divisor) {
    return static_cast<Result>(static_cast<double>(sum) / divisor);
  }
};

template <class T>
struct SumOfSquares : Sum<T> {
  using Accumulator = double;
  static double identity() { return 0; }
  static double term(Compute<T> x) { return static_cast<double>(x) * static_cast<double>(x); }
  static void add(double& sum, Compute<T> x, int64_t) { sum += term(x); }
  static void merge(double& sum, double other) { sum += other; }
  static T result(double sum, double) { return static_cast<T>(sum); }
  using Result = T;
};
template <class T>
struct RootOfSquares : SumOfSquares<T> {
  static T result(double sum, double) { return static_cast<T>(__builtin_sqrt(sum)); }
};

template <class T>
struct Prod {
  using Accumulator = SumAccumulator<T>;
  using Result = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
  static Accumulator identity() { return 1; }
  static void add(Accumulator& product, Compute<T> x, int64_t) {
    merge(product, static_cast<Accumulator>(x));
  }
  static void merge(Accumulator& product, Accumulator other) {
    if constexpr (std::is_integral_v<Accumulator>) {
      product = static_cast<int64_t>(static_cast<uint64_t>(product) * static_cast<uint64_t>(other));
    } else {
      product *= other;
    }
  }
  static Result result(Accumulator product, double) { return static_cast<Result>(product); }
};

template <class T, class Direction>
struct Extreme {
  using Accumulator = Compute<T>;
  using Result = T;
  static Accumulator identity() { return furthest_back<Accumulator, Direction>(); }
  static void add(Accumulator& best, Accumulator x, int64_t) {
    best = Direction::beyond(x, best) ? x : best;
  }
  static void merge(Accumulator& best, Accumulator other) { add(best, other, 0); }
  static Result result(Accumulator best, double) { return static_cast<Result>(best); }
};
template <class T>
using Max = Extreme<T, Upward>;
template <class T>
using Min = Extreme<T, Downward>;

template <class T>
struct Place {
  T value;
  int64_t index;  // -1: nothing seen
};
template <class T, class Direction>
struct PlaceOfExtreme {
  using Accumulator = Place<Compute<T>>;
  using Result = int64_t;
  static Accumulator identity() { return {furthest_back<Compute<T>, Direction>(), -1}; }
  static void add(Accumulator& best, Compute<T> x, int64_t index) { merge(best, {x, index}); }
  static void merge(Accumulator& best, Accumulator other) {
    if (other.index < 0) return;
    const bool best_is_nan = best.value != best.value;
    if (best.index < 0 || (!best_is_nan && Direction::beyond(other.value, best.value))) best = other;
  }
  static Result result(Accumulator best, double) { return best.index; }
};
template <class T>
using ArgMax = PlaceOfExtreme<T, Upward>;
template <class T>
using ArgMin = PlaceOfExtreme<T, Downward>;

template <class T>
struct Any {
  using Accumulator = bool;
  using Result = bool;
  static bool identity() { return false; }
  static void add(bool& any, Compute<T> x, int64_t) { any |= x != Compute<T>(0); }
  static void merge(bool& any, bool other) { any |= other; }
  static bool result(bool any, double) { return any; }
};
template <class T>
struct All {
  using Accumulator = bool;
  using Result = bool;
  static bool identity() { return true; }
  static void add(bool& all, Compute<T> x, int64_t) { all &= x != Compute<T>(0); }
  static void merge(bool& all, bool other) { all &= other; }
  static bool result(bool all, double) { return all; }
};

// ---- contiguous rows of the common types, on vectors ----

// Folds as many elements as full vectors hold; returns how many.
template <class R>
struct VectorPart {
  template <class T>
  static int64_t add(typename R::Accumulator&, const T*, int64_t) {
    return 0;
  }
};
template <class T>
struct VectorPart<Sum<T>> {
  static int64_t add(typename Sum<T>::Accumulator& sum, const T* data, int64_t count) {
    if constexpr (is_wide_float<T> || std::is_same_v<T, int64_t>) return add_lanes(sum, data, count);
    return 0;
  }
};
template <class T>
struct VectorPart<Mean<T>> : VectorPart<Sum<T>> {};
template <class T>
struct VectorPart<SumOfSquares<T>> {
  static int64_t add(double& sum, const T* data, int64_t count) {
    if constexpr (is_wide_float<T>) {
      return fold_wide_lanes(
          sum, 0, data, count, [](Vector<double>& lanes, Vector<double> x) { lanes += x * x; }, plus);
    }
    return 0;
  }
};
template <class T>
struct VectorPart<NanSum<T>> {
  static int64_t add(typename NanSum<T>::Accumulator& sum, const T* data, int64_t count) {
    if constexpr (is_wide_float<T>) {
      return fold_wide_lanes(
          sum, 0, data, count,
          [](Vector<double>& lanes, Vector<double> x) { lanes += x == x ? x : Vector<double>{}; },
          plus);
    }
    return 0;
  }
};
template <class T>
struct VectorPart<RootOfSquares<T>> : VectorPart<SumOfSquares<T>> {};
template <class T>
struct VectorPart<Prod<T>> {
  static int64_t add(typename Prod<T>::Accumulator& product, const T* data, int64_t count) {
    if constexpr (is_wide_float<T>) return multiply_lanes(product, data, count);
    return 0;
  }
};
template <class T, class Direction>
struct VectorPart<Extreme<T, Direction>> {
  static int64_t add(Compute<T>& best, const T* data, int64_t count) {
    if constexpr (is_wide_float<T>) return extreme_of_lanes<T, Direction>(best, data, count);
    return 0;
  }
};

// Bits of a chunk at a time, with an end to it when the answer is known.
template <class T, class Sees>
int64_t any_of_chunks(bool& found, const T* data, int64_t count, Sees sees) {
  constexpr int64_t kChunk = 1024;
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint8_t>>;
  if constexpr (sizeof(T) == 2) return 0;
  int64_t done = 0;
  for (; done + kChunk <= count && !found; done += kChunk) {
    Bits bits = 0;
    for (int64_t i = 0; i < kChunk; ++i) bits |= static_cast<Bits>(sees(data[done + i]));
    found = bits != 0;
  }
  return found ? count : done;
}
template <class T>
struct VectorPart<Any<T>> {
  static int64_t add(bool& any, const T* data, int64_t count) {
    return any_of_chunks(any, data, count, [](T x) { return x != T(0); });
  }
};
template <class T>
struct VectorPart<All<T>> {
  static int64_t add(bool& all, const T* data, int64_t count) {
    bool any_zero = !all;
    const int64_t done = any_of_chunks(any_zero, data, count, [](T x) { return x == T(0); });
    all = !any_zero;
    return done;
  }
};

// 16-bit floats become floats, a few at a time. Which reduction those have then:
template <class R>
struct OfFloat;
template <template <class> class R, class T>
struct OfFloat<R<T>> {
  using type = R<float>;
};
template <class T, class Direction>
struct OfFloat<Extreme<T, Direction>> {
  using type = Extreme<float, Direction>;
};
template <class T>
constexpr bool is_short_float = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class R, class T>
int64_t add_as_floats(typename R::Accumulator& total, const T* data, int64_t count) {
  constexpr int64_t kChunk = 256, kWorthwhile = 16;
  if (count < kWorthwhile) return 0;
  float chunk[kChunk];
  for (int64_t done = 0; done < count; done += kChunk) {
    const int64_t here = count - done < kChunk ? count - done : kChunk;
    for (int64_t i = 0; i < here; ++i) chunk[i] = data[done + i];
    int64_t i = VectorPart<typename OfFloat<R>::type>::add(total, chunk, here);
    for (; i < here; ++i) R::add(total, chunk[i], 0);
  }
  return count;
}

// Folds the terms of eight elements of one column before they go to the accumulator, which saves
// traffic: sums in their own type, exact enough for so few terms; products of doubles.
template <class R>
struct EightRows {
  static constexpr bool possible = false;
};
template <class T>
struct EightRows<Sum<T>> {
  static constexpr bool possible = is_wide_float<T>;
  static T term(T x) { return x; }
  static T fold(T a, T b) { return a + b; }
};
template <class T>
struct EightRows<Mean<T>> : EightRows<Sum<T>> {};
template <class T>
struct EightRows<NanSum<T>> : EightRows<Sum<T>> {
  static T term(T x) { return x != x ? T(0) : x; }
};
template <class T>
struct EightRows<SumOfSquares<T>> {
  static constexpr bool possible = is_wide_float<T>;
  static double term(T x) { return SumOfSquares<T>::term(x); }
  static double fold(double a, double b) { return a + b; }
};
template <class T>
struct EightRows<RootOfSquares<T>> : EightRows<SumOfSquares<T>> {};
template <class T>
struct EightRows<Prod<T>> {
  static constexpr bool possible = is_wide_float<T>;
  static T term(T x) { return x; }
  static T fold(T a, T b) { return a * b; }
};
template <class R, class T = typename R::Result>
int64_t add_eight_rows(R, typename R::Accumulator* totals, const char* data, int64_t row_stride,
                       int64_t count, int64_t rows) {
  using Eight = EightRows<R>;
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8) {
    const T* row[8];
    for (int k = 0; k < 8; ++k) row[k] = reinterpret_cast<const T*>(data + (r + k) * row_stride);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      const auto two = [&](int k) { return Eight::fold(Eight::term(row[k][i]), Eight::term(row[k + 1][i])); };
      R::merge(totals[i], Eight::fold(Eight::fold(two(0), two(2)), Eight::fold(two(4), two(6))));
    }
  }
  return r;
}

// Spelled in vectors, which compilers do not see in the loop above.
template <class T, class Direction>
struct EightRows<Extreme<T, Direction>> {
  static constexpr bool possible = is_wide_float<T>;
};
template <class T, class Direction>
int64_t add_eight_rows(Extreme<T, Direction>, T* best, const char* data, int64_t row_stride,
                       int64_t count, int64_t rows) {
  return extremes_of_eight_rows<T, Direction>(best, data, row_stride, count, rows);
}
inline int64_t add_eight_rows(Prod<float>, double* products, const char* data, int64_t row_stride,
                              int64_t count, int64_t rows) {
  return products_of_eight_rows(products, data, row_stride, count, rows);
}

// ---- the loops ----

template <class R, class T>
struct Loops {
  using Accumulator = typename R::Accumulator;
  static_assert(sizeof(Accumulator) <= kMaxAccumulatorSize);

  static Accumulator* cast(char* bytes) { return reinterpret_cast<Accumulator*>(bytes); }
  static const Accumulator* cast(const char* bytes) {
    return reinterpret_cast<const Accumulator*>(bytes);
  }

  static void start(char* accumulators, int64_t count) {
    for (int64_t i = 0; i < count; ++i) cast(accumulators)[i] = R::identity();
  }

  static void rows(char* accumulators, const char* data, int64_t stride, int64_t row_stride,
                   int64_t count, int64_t rows, int64_t first) {
    for (int64_t r = 0; r < rows; ++r, data += row_stride) {
      cast(accumulators)[r] = folded(cast(accumulators)[r], data, stride, count, first);
    }
  }
  static Accumulator folded(Accumulator total, const char* data, int64_t stride, int64_t count,
                            int64_t first) {
    int64_t i = 0;
    if (stride == sizeof(T)) {
      const T* values = reinterpret_cast<const T*>(data);
      if constexpr (is_short_float<T> && !std::is_class_v<Accumulator>) {
        i = add_as_floats<R>(total, values, count);
      } else {
        i = VectorPart<R>::add(total, values, count);
      }
      for (; i < count; ++i) R::add(total, static_cast<Compute<T>>(values[i]), first + i);
    }
    if constexpr (!std::is_class_v<Accumulator>) i += fold_four(total, data, stride, count - i);
    for (; i < count; ++i) {
      R::add(total, static_cast<Compute<T>>(element<T>(data, stride, i)), first + i);
    }
    return total;
  }

  // Folds elements that lie apart in four chains, which need not wait for one another.
  static int64_t fold_four(Accumulator& total, const char* data, int64_t stride, int64_t count) {
    constexpr int kChains = 4;
    if (count < 4 * kChains) return 0;
    Accumulator chains[kChains];
    for (Accumulator& chain : chains) chain = R::identity();
    int64_t i = 0;
    for (; i + kChains <= count; i += kChains) {
      for (int k = 0; k < kChains; ++k) R::add(chains[k], static_cast<Compute<T>>(element<T>(data, stride, i + k)), 0);
    }
    for (const Accumulator& chain : chains) R::merge(total, chain);
    return i;
  }

  static void columns(char* accumulators, const char* data, int64_t stride, int64_t row_stride,
                      int64_t count, int64_t rows, int64_t first) {
    Accumulator* totals = cast(accumulators);
    int64_t r = 0;
    if constexpr (EightRows<R>::possible) {
      if (stride == sizeof(T)) r = add_eight_rows(R{}, totals, data, row_stride, count, rows);
    }
    for (data += r * row_stride; r < rows; ++r, data += row_stride) {
      if (stride == sizeof(T)) {
        const T* values = reinterpret_cast<const T*>(data);
#pragma GCC ivdep
        for (int64_t i = 0; i < count; ++i) {
          R::add(totals[i], static_cast<Compute<T>>(values[i]), first + r);
        }
      } else {
        for (int64_t i = 0; i < count; ++i) {
          R::add(totals[i], static_cast<Compute<T>>(element<T>(data, stride, i)), first + r);
        }
      }
    }
  }

  static void merge(char* accumulators, const char* later, int64_t count) {
    for (int64_t i = 0; i < count; ++i) R::merge(cast(accumulators)[i], cast(later)[i]);
  }

  static void finish(char* results, char* values, const char* accumulators, int64_t count,
                     double divisor) {
    using Result = typename R::Result;
    for (int64_t i = 0; i < count; ++i) {
      reinterpret_cast<Result*>(results)[i] = R::result(cast(accumulators)[i], divisor);
    }
    if constexpr (std::is_class_v<Accumulator>) {
      if (!values) return;
      for (int64_t i = 0; i < count; ++i) {
        reinterpret_cast<T*>(values)[i] = static_cast<T>(cast(accumulators)[i].value);
      }
    }
  }

  static ReductionLoops all() {
    return {sizeof(Accumulator), DTypeOf<typename R::Result>::value, start, rows, columns, merge,
            finish};
  }
};

template <template <class> class R, class... Ts>
void add(ReductionTable& table, Reduction name, Types<Ts...>) {
  ((table.loops[static_cast<int>(name)][static_cast<int>(DTypeOf<Ts>::value)] =
        Loops<R<Ts>, Ts>::all()),
   ...);
}

// What gains nothing from another instruction set.
using BaselineTypes = std::conditional_t<kIsBaseline, AllTypes, Types<>>;
// What gains by it also for 16-bit floats.
using ReducedFloats = Types<float, double, Half, BFloat16>;
using ReducedTypes = std::conditional_t<kIsBaseline, AllTypes, ReducedFloats>;

}  // namespace

void add_reductions(ReductionTable& table) {
  add<Sum>(table, Reduction::sum, ReducedTypes{});
  add<NanSum>(table, Reduction::nan_sum, ReducedFloats{});
  add<CountNonzero>(table, Reduction::count_nonzero, AllTypes{});
  add<Mean>(table, Reduction::mean, ReducedTypes{});
  add<SumOfSquares>(table, Reduction::sum_of_squares, FloatingTypes{});
  add<RootOfSquares>(table, Reduction::root_of_squares, FloatingTypes{});
  add<Max>(table, Reduction::max, ReducedTypes{});
  add<Min>(table, Reduction::min, ReducedTypes{});
  add<Prod>(table, Reduction::prod, AllTypes{});
  add<ArgMax>(table, Reduction::arg_max, BaselineTypes{});
  add<ArgMin>(table, Reduction::arg_min, BaselineTypes{});
  add<Any>(table, Reduction::any, BaselineTypes{});
  add<All>(table, Reduction::all, BaselineTypes{});
}

}  // namespace RELUME_ISA
}  // namespace relume
