// Contiguous rows of floats and doubles, folded on vectors (reduction.isa.cpp).
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace relume {
namespace RELUME_ISA {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
constexpr int kLanes = kVectorBytes / sizeof(T);
constexpr int kVectors = 4;  // at once, to hide the latency of additions

template <class T>
Vector<T> load(const T* data) {
  Vector<T> vector;
  std::memcpy(&vector, data, sizeof vector);
  return vector;
}

// As many doubles as one vector holds, from numbers of either type.
inline Vector<double> load_wide(const double* data) { return load(data); }
inline Vector<double> load_wide(const float* data) {
  double wide[kLanes<double>];
  for (int i = 0; i < kLanes<double>; ++i) wide[i] = static_cast<double>(data[i]);
  return load(wide);
}

template <int by, class V, int... i>
V rotated(V lanes, std::integer_sequence<int, i...>) {
  using Lane = std::remove_reference_t<decltype(lanes[0])>;
  using Index = std::conditional_t<sizeof(Lane) == 4, int32_t, int64_t>;
  return __builtin_shuffle(lanes, Vector<Index>{(i + by) % int{sizeof...(i)}...});
}

// The lanes of a vector combined to one number, by `combine(vector, vector)`, in halves.
template <class V, class Combine, int half = sizeof(V) / sizeof(V{}[0]) / 2>
auto fold_lanes(V lanes, Combine combine) {
  if constexpr (half == 0) {
    return lanes[0];
  } else {
    const V other = rotated<half>(lanes, std::make_integer_sequence<int, sizeof(V) / sizeof(V{}[0])>{});
    return fold_lanes<V, Combine, half / 2>(combine(lanes, other), combine);
  }
}
constexpr auto plus = [](auto a, auto b) { return a + b; };
constexpr auto times = [](auto a, auto b) { return a * b; };
constexpr auto both = [](auto a, auto b) { return a & b; };
constexpr auto either = [](auto a, auto b) { return a | b; };

// Folds the lanes of both halves of a vector into those of a vector of doubles.
template <class T, class Combine>
Vector<double> fold_into(Vector<double> wide, Vector<T> lanes, Combine combine) {
  T parts[kLanes<T>];
  std::memcpy(parts, &lanes, sizeof parts);
  for (int i = 0; i < kLanes<T>; i += kLanes<double>) wide = combine(wide, load_wide(parts + i));
  return wide;
}

// ---- sums ----

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
    wide = fold_into<T>(wide, (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]), plus);
  }
  for (; done + kLanes<double> <= count; done += kLanes<double>) wide += load_wide(data + done);
  sum += fold_lanes(wide, plus);
  return done;
}

inline int64_t add_lanes(int64_t& sum, const int64_t* data, int64_t count) {
  constexpr int64_t width = kLanes<uint64_t>, step = kVectors * width;
  Vector<uint64_t> lanes[kVectors] = {};
  int64_t done = 0;
  for (; done + step <= count; done += step) {
    for (int v = 0; v < kVectors; ++v) {
      Vector<uint64_t> x;
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

// ---- products ----

// Products of a few floats each, and whether one was ever too large or too small for a float.
struct FloatProducts {
  Vector<float> product = Vector<float>{} + 1;
  Vector<int32_t> smallest = size();

  // Without the sign; as bits, which are ordered as the numbers are and cost less to compare.
  Vector<int32_t> size() const { return (Vector<int32_t>)product & 0x7fffffff; }
  void take(Vector<float> x) {
    product *= x;
    smallest = size() < smallest ? size() : smallest;
  }
  void take(const FloatProducts& other) {
    take(other.product);
    smallest = other.smallest < smallest ? other.smallest : smallest;
  }
  // What left the range upwards, or was no number, stays so.
  bool fit() const {
    constexpr int32_t kSmallestNormal = 0x00800000, kLargest = 0x7f7fffff;
    return fold_lanes((smallest >= kSmallestNormal) & (size() <= kLargest), both) != 0;
  }
};

inline int64_t multiply_lanes(double& product, const double* data, int64_t count) {
  return fold_wide_lanes(
      product, 1, data, count, [](Vector<double>& lanes, Vector<double> x) { lanes *= x; }, times);
}

// Float lanes take 16 factors each before they are multiplied up in double, so that a product
// that is a float comes out right however large or small it was on the way: where a lane left
// the range of floats, its factors are taken in double.
inline int64_t multiply_lanes(double& product, const float* data, int64_t count) {
  constexpr int64_t step = kVectors * kLanes<float>, block = 16 * step;
  Vector<double> wide = Vector<double>{} + 1;
  int64_t done = 0;
  while (count - done >= step) {
    const int64_t end = done + (count - done < block ? (count - done) / step * step : block);
    FloatProducts lanes[kVectors];
    for (int64_t i = done; i < end; i += step) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) lanes[v].take(load(data + i + v * kLanes<float>));
    }
#pragma GCC unroll 4
    for (int v = 1; v < kVectors; ++v) lanes[0].take(lanes[v]);
    if (lanes[0].fit()) {
      wide = fold_into<float>(wide, lanes[0].product, times);
    } else {
      for (int64_t i = done; i < end; i += kLanes<double>) wide *= load_wide(data + i);
    }
    done = end;
  }
  for (; done + kLanes<double> <= count; done += kLanes<double>) wide *= load_wide(data + done);
  product *= fold_lanes(wide, times);
  return done;
}

// ---- extremes ----

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

// Lanes of extremes, and where there was a NaN, which comparisons pass over.
template <class T, class Direction>
struct ExtremeLanes {
  using Mask = decltype(Vector<T>{} != Vector<T>{});
  Vector<T> best = Vector<T>{} + furthest_back<T, Direction>();
  Mask is_nan{};

  static Vector<T> further(Vector<T> a, Vector<T> b) {
    return std::is_same_v<Direction, Upward> ? (a > b ? a : b) : (a < b ? a : b);
  }
  void take(Vector<T> x) {
    best = further(x, best);
    is_nan |= x != x;
  }
  void take(const ExtremeLanes& other) {
    best = further(other.best, best);
    is_nan |= other.is_nan;
  }
  Vector<T> of_each_lane() const {
    return is_nan ? Vector<T>{} + static_cast<T>(__builtin_nan("")) : best;
  }
  T of_all_lanes() const {
    if (fold_lanes(is_nan, either)) return static_cast<T>(__builtin_nan(""));
    return fold_lanes(best, further);
  }
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
  const T furthest = lanes.of_all_lanes();
  best = Direction::beyond(furthest, best) ? furthest : best;
  return count;
}

// ---- eight rows at a time, each column into its own result ----

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
      const Vector<T> furthest = lanes.of_each_lane();
      std::memcpy(best + i, &furthest, sizeof furthest);
    }
    for (; i < count; ++i) {
      for (int k = 0; k < 8; ++k) {
        const T x = reinterpret_cast<const T*>(data + k * row_stride)[i];
        best[i] = Direction::beyond(x, best[i]) ? x : best[i];
      }
    }
  }
  return r;
}

// As multiply_lanes: in float where that fits, else in double.
inline int64_t products_of_eight_rows(double* totals, const char* data, int64_t row_stride,
                                      int64_t count, int64_t rows) {
  constexpr int64_t width = kLanes<float>;
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8, data += 8 * row_stride) {
    const auto row = [&](int k) { return reinterpret_cast<const float*>(data + k * row_stride); };
    int64_t i = 0;
    for (; i + width <= count; i += width) {
      FloatProducts products;
      for (int k = 0; k < 8; ++k) products.take(load(row(k) + i));
      if (!products.fit()) break;
      float eight[width];
      std::memcpy(eight, &products.product, sizeof eight);
      for (int j = 0; j < width; j += kLanes<double>) {
        const Vector<double> total = load(totals + i + j) * load_wide(eight + j);
        std::memcpy(totals + i + j, &total, sizeof total);
      }
    }
    for (; i + kLanes<double> <= count; i += kLanes<double>) {
      Vector<double> total = load(totals + i);
      for (int k = 0; k < 8; ++k) total *= load_wide(row(k) + i);
      std::memcpy(totals + i, &total, sizeof total);
    }
    for (; i < count; ++i) {
      for (int k = 0; k < 8; ++k) totals[i] *= static_cast<double>(row(k)[i]);
    }
  }
  return r;
}

}  // namespace RELUME_ISA
}  // namespace relume
