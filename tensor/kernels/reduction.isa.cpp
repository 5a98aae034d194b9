// The inner loops of reductions. Floating sums are accumulated in double: exact enough
// for any length, and the same whatever the number of threads.
#include "tensor/kernels/loops.h"
#include "tensor/kernels/reduction_table.h"

namespace relume {
namespace RELUME_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  typedef float type __attribute__((vector_size(kVectorBytes)));
};
template <>
struct VectorOf<double> {
  typedef double type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
constexpr int kLanes = kVectorBytes / sizeof(T);
template <class T>
Vector<T> load(const T* data) {
  Vector<T> vector;
  std::memcpy(&vector, data, sizeof vector);
  return vector;
}

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

// Is x beyond `best` in the wanted direction? NaN is beyond everything else.
struct Upward {
  template <class T>
  static bool beyond(T x, T best) {
    return (x > best) | (x != x);
  }
};
struct Downward {
  template <class T>
  static bool beyond(T x, T best) {
    return (x < best) | (x != x);
  }
};

template <class T, class Direction>
T furthest_back() {
  constexpr bool up = std::is_same_v<Direction, Upward>;
  if constexpr (std::is_floating_point_v<T>) {
    return up ? -static_cast<T>(__builtin_inf()) : static_cast<T>(__builtin_inf());
  } else if constexpr (std::is_same_v<T, bool>) {
    return !up;
  } else {
    constexpr bool is_signed = static_cast<T>(-1) < T(0);
    constexpr uint64_t sign_bit = uint64_t{1} << (sizeof(T) * 8 - 1);
    const T lowest = is_signed ? static_cast<T>(sign_bit) : T(0);
    return up ? lowest : static_cast<T>(~lowest);
  }
}

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

constexpr int kVectors = 4;  // at once, to hide the latency of additions

// As many doubles as one vector holds, from numbers of either type.
inline Vector<double> load_wide(const double* data) { return load(data); }
inline Vector<double> load_wide(const float* data) {
  typedef float Narrow __attribute__((vector_size(kVectorBytes / 2)));
  Narrow narrow;
  std::memcpy(&narrow, data, sizeof narrow);
  return __builtin_convertvector(narrow, Vector<double>);
}

template <class V, class Combine>
auto fold_lanes(V lanes, Combine combine) {
  for (int half = sizeof(V) / sizeof(lanes[0]) / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] = combine(lanes[i], lanes[i + half]);
  }
  return lanes[0];
}
constexpr auto plus = [](auto a, auto b) { return a + b; };
constexpr auto times = [](auto a, auto b) { return a * b; };

// Float lanes take 16 terms each before they are added up in double.
template <class T>
int64_t add_lanes(double& sum, const T* data, int64_t count) {
  constexpr int64_t step = kVectors * kLanes<T>;
  constexpr int64_t block = std::is_same_v<T, float> ? 16 * step : int64_t{1} << 40;
  Vector<double> wide{};
  int64_t done = 0;
  while (count - done >= step) {
    const int64_t end = done + (count - done < block ? (count - done) / step * step : block);
    Vector<T> lanes[kVectors] = {};
    for (; done < end; done += step) {
      for (int v = 0; v < kVectors; ++v) lanes[v] += load(data + done + v * kLanes<T>);
    }
    for (int v = 0; v < kVectors; ++v) {
      T parts[kLanes<T>];
      std::memcpy(parts, &lanes[v], sizeof parts);
      for (int i = 0; i < kLanes<T>; i += kLanes<double>) wide += load_wide(parts + i);
    }
  }
  for (; done + kLanes<double> <= count; done += kLanes<double>) wide += load_wide(data + done);
  sum += fold_lanes(wide, plus);
  return done;
}

inline int64_t add_lanes(int64_t& sum, const int64_t* data, int64_t count) {
  typedef uint64_t Lanes __attribute__((vector_size(kVectorBytes)));
  constexpr int64_t width = kVectorBytes / sizeof(uint64_t), step = kVectors * width;
  Lanes lanes[kVectors] = {};
  int64_t done = 0;
  for (; done + step <= count; done += step) {
    for (int v = 0; v < kVectors; ++v) {
      Lanes x;
      std::memcpy(&x, data + done + v * width, sizeof x);
      lanes[v] += x;
    }
  }
  for (int v = 1; v < kVectors; ++v) lanes[0] += lanes[v];
  sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + fold_lanes(lanes[0], plus));
  return done;
}

// Folds in double lanes: `fold(lanes, terms)`; lanes are merged by `combine(a, b)`.
template <class T, class Fold, class Combine>
int64_t fold_wide_lanes(double& total, double start, const T* data, int64_t count, Fold fold,
                        Combine combine) {
  constexpr int64_t width = kLanes<double>, step = kVectors * width;
  if (count < width) return 0;
  Vector<double> lanes[kVectors];
  for (int v = 0; v < kVectors; ++v) lanes[v] = Vector<double>{} + start;
  int64_t done = 0;
  for (; done + step <= count; done += step) {
    for (int v = 0; v < kVectors; ++v) fold(lanes[v], load_wide(data + done + v * width));
  }
  for (; done + width <= count; done += width) fold(lanes[0], load_wide(data + done));
  for (int v = 1; v < kVectors; ++v) lanes[0] = combine(lanes[0], lanes[v]);
  total = combine(total, fold_lanes(lanes[0], combine));
  return done;
}

// Lanes of extremes, and where there was a NaN, which comparisons pass over.
template <class T, class Direction>
struct ExtremeLanes {
  using Mask = decltype(Vector<T>{} != Vector<T>{});
  Vector<T> best = Vector<T>{} + furthest_back<T, Direction>();
  Mask is_nan{};

  void take(Vector<T> x) {
    best = std::is_same_v<Direction, Upward> ? (x > best ? x : best) : (x < best ? x : best);
    is_nan |= x != x;
  }
  void take(const ExtremeLanes& other) {
    take(other.best);
    is_nan |= other.is_nan;
  }
  Vector<T> result() const { return is_nan ? Vector<T>{} + static_cast<T>(__builtin_nan("")) : best; }
};

template <class T, class Direction>
int64_t extreme_of_lanes(T& best, const T* data, int64_t count) {
  constexpr int64_t width = kLanes<T>, step = kVectors * width;
  if (count < width) return 0;
  ExtremeLanes<T, Direction> lanes;
  int64_t done = 0;
  if (count >= 2 * step) {
    ExtremeLanes<T, Direction> more[kVectors];
    for (; done + step <= count; done += step) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) more[v].take(load(data + done + v * width));
    }
    for (int v = 0; v < kVectors; ++v) lanes.take(more[v]);
  }
  for (; done + width <= count; done += width) lanes.take(load(data + done));
  lanes.take(load(data + count - width));  // some of them once more
  const T furthest = fold_lanes(lanes.result(), [](T a, T b) {
    Extreme<T, Direction>::add(a, b, 0);
    return a;
  });
  Extreme<T, Direction>::add(best, furthest, 0);
  return count;
}

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
    if constexpr (is_wide_float<T>) {
      return fold_wide_lanes(
          product, 1, data, count, [](Vector<double>& lanes, Vector<double> x) { lanes *= x; }, times);
    }
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

// Folds eight elements of one column before they go to the accumulator, which saves traffic: sums
// in their own type, exact enough for so few terms; products in double, against overflow.
template <class R>
struct EightRows {
  static constexpr bool possible = false;
};
template <class T>
struct EightRows<Sum<T>> {
  static constexpr bool possible = is_wide_float<T>;
  static T fold(T a, T b) { return a + b; }
};
template <class T>
struct EightRows<Mean<T>> : EightRows<Sum<T>> {};
template <class T>
struct EightRows<Prod<T>> {
  static constexpr bool possible = is_wide_float<T>;
  static double fold(double a, double b) { return a * b; }
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
      const auto a = Eight::fold(Eight::fold(row[0][i], row[1][i]), Eight::fold(row[2][i], row[3][i]));
      const auto b = Eight::fold(Eight::fold(row[4][i], row[5][i]), Eight::fold(row[6][i], row[7][i]));
      R::merge(totals[i], Eight::fold(a, b));
    }
  }
  return r;
}

// The same for extremes, spelled in vectors: compilers do not see them in the loop above.
template <class T, class Direction>
int64_t extremes_of_eight_rows(T* best, const char* data, int64_t row_stride, int64_t count,
                               int64_t rows) {
  if (count < kLanes<T>) return 0;
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8, data += 8 * row_stride) {
    int64_t i = 0;
    for (; i + kLanes<T> <= count; i += kLanes<T>) {
      ExtremeLanes<T, Direction> lanes;
      lanes.take(load(best + i));
      for (int k = 0; k < 8; ++k) lanes.take(load(reinterpret_cast<const T*>(data + k * row_stride) + i));
      const Vector<T> furthest = lanes.result();
      std::memcpy(best + i, &furthest, sizeof furthest);
    }
    for (; i < count; ++i) {
      for (int k = 0; k < 8; ++k) {
        Extreme<T, Direction>::add(best[i], reinterpret_cast<const T*>(data + k * row_stride)[i], 0);
      }
    }
  }
  return r;
}
template <class T, class Direction>
struct EightRows<Extreme<T, Direction>> {
  static constexpr bool possible = is_wide_float<T>;
};
template <class T, class Direction>
int64_t add_eight_rows(Extreme<T, Direction>, T* best, const char* data, int64_t row_stride,
                       int64_t count, int64_t rows) {
  return extremes_of_eight_rows<T, Direction>(best, data, row_stride, count, rows);
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

  static void row(char* accumulator, const char* data, int64_t stride, int64_t count,
                  int64_t first) {
    Accumulator total = *cast(accumulator);
    int64_t i = 0;
    if (stride == sizeof(T)) {
      const T* values = reinterpret_cast<const T*>(data);
      i = VectorPart<R>::add(total, values, count);
      for (; i < count; ++i) R::add(total, static_cast<Compute<T>>(values[i]), first + i);
    }
    for (; i < count; ++i) {
      R::add(total, static_cast<Compute<T>>(element<T>(data, stride, i)), first + i);
    }
    *cast(accumulator) = total;
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
    return {sizeof(Accumulator), DTypeOf<typename R::Result>::value, start, row, columns, merge,
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

}  // namespace

void add_reductions(ReductionTable& table) {
  add<Sum>(table, Reduction::sum, AllTypes{});
  add<NanSum>(table, Reduction::nan_sum, FloatingTypes{});
  add<CountNonzero>(table, Reduction::count_nonzero, AllTypes{});
  add<Mean>(table, Reduction::mean, AllTypes{});
  add<SumOfSquares>(table, Reduction::sum_of_squares, FloatingTypes{});
  add<RootOfSquares>(table, Reduction::root_of_squares, FloatingTypes{});
  add<Max>(table, Reduction::max, AllTypes{});
  add<Min>(table, Reduction::min, AllTypes{});
  add<Prod>(table, Reduction::prod, AllTypes{});
  add<ArgMax>(table, Reduction::arg_max, BaselineTypes{});
  add<ArgMin>(table, Reduction::arg_min, BaselineTypes{});
  add<Any>(table, Reduction::any, BaselineTypes{});
  add<All>(table, Reduction::all, BaselineTypes{});
}

}  // namespace RELUME_ISA
}  // namespace relume
