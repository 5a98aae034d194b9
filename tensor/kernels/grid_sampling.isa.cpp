#include "tensor/kernels/grid_sampling_loops.h"

namespace relume {
namespace RELUME_ISA {
namespace {

inline float floor_of(float x) { return __builtin_floorf(x); }
inline double floor_of(double x) { return __builtin_floor(x); }
inline float nearest_of(float x) { return __builtin_nearbyintf(x); }  // halves to even numbers
inline double nearest_of(double x) { return __builtin_nearbyint(x); }
inline float absolute(float x) { return __builtin_fabsf(x); }
inline double absolute(double x) { return __builtin_fabs(x); }

// A position in elements, and its derivative with respect to the coordinate.
template <class T>
struct Position {
  T value, slope;
};

// What is the same for all points.
template <class T>
struct Line {
  T last;            // position of the last element
  T edge;            // reflection is at -edge and last + edge
  T scale, shift;    // position = coordinate * scale + shift
  T span, inverse_span;

  Line(int64_t size, bool align_corners)
      : last(static_cast<T>(size - 1)),
        edge(align_corners ? T(0) : T(0.5)),
        scale(static_cast<T>(align_corners ? size - 1 : size) / 2),
        shift(scale - edge),
        span(last + 2 * edge),
        inverse_span(span > 0 ? 1 / span : T(0)) {}
};

// Reflected at the edges until it lies between them.
template <class T>
inline Position<T> reflected(const Line<T>& line, Position<T> at) {
  const T signed_distance = at.value + line.edge;
  const bool is_negative = signed_distance < 0;
  const T distance = is_negative ? -signed_distance : signed_distance;
  const T slope = is_negative ? -at.slope : at.slope;
  const T turns = floor_of(distance * line.inverse_span), rest = distance - turns * line.span;
  const bool is_odd = turns - 2 * floor_of(turns / 2) != 0;
  const bool is_point = !(line.span > 0);
  const T value = is_point ? T(0) : is_odd ? line.last + line.edge - rest : rest - line.edge;
  return {value, is_point ? T(0) : is_odd ? -slope : slope};
}

template <class T>
inline Position<T> clipped(const Line<T>& line, Position<T> at) {
  const bool below = !(at.value > 0), above = at.value >= line.last;  // NaN is below
  return {below ? T(0) : above ? line.last : at.value, below || above ? T(0) : at.slope};
}

// Where an element at a whole position is taken from; -1: nowhere.
template <Outside outside, class T>
inline int32_t place_of(const Line<T>& line, T whole) {
  if (outside == Outside::reflection) whole = reflected(line, {whole, T(0)}).value;
  if (outside != Outside::zeros) whole = clipped(line, {whole, T(0)}).value;
  const bool inside = (whole >= 0) & (whole <= line.last);
  return inside ? static_cast<int32_t>(inside ? whole : T(0)) : -1;
}

// Keys' cubic convolution with a = -0.75: derivatives of the weight of an element, of the distance
// from it to the point.
template <class T>
inline T cubic_weight(T distance, int64_t order) {
  constexpr T a = T(-0.75);
  const T x = absolute(distance), sign = distance < 0 ? T(-1) : T(1);
  const bool is_near = x <= 1;
  T weight = 0;
  if (order == 0)
    weight = is_near ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  if (order == 1) weight = sign * (is_near ? (3 * (a + 2) * x - 2 * (a + 3)) * x : (3 * a * x - 10 * a) * x + 8 * a);
  if (order == 2) weight = is_near ? 6 * (a + 2) * x - 2 * (a + 3) : 6 * a * x - 10 * a;
  if (order == 3) weight = sign * (is_near ? 6 * (a + 2) : 6 * a);
  return weight;
}

template <class T>
inline T power(T base, int64_t exponent) {
  T result = 1;
  for (int64_t i = 0; i < exponent; i++) result *= base;
  return result;
}

template <Sampling mode, Outside outside, class T>
void taps_along(const T* coordinates, int64_t step, int64_t count, const Line<T>& line, int64_t order,
                const Taps<T>& result) {
  int32_t* places = result.places;
  T* weights = result.weights;
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) {
    Position<T> at{coordinates[i * step] * line.scale + line.shift, line.scale};
    if (mode != Sampling::bicubic) {  // a cubic brings its elements inside, not itself
      if (outside == Outside::reflection) at = reflected(line, at);
      if (outside != Outside::zeros) at = clipped(line, at);
    }
    if (mode == Sampling::nearest) {
      places[i] = place_of<outside>(line, nearest_of(at.value));
      weights[i] = order == 0 ? T(1) : T(0);
      continue;
    }
    const T first = floor_of(at.value), part = at.value - first;
    if (mode == Sampling::bilinear) {
      places[i] = place_of<outside>(line, first);
      places[count + i] = place_of<outside>(line, first + 1);
      weights[i] = order == 0 ? 1 - part : order == 1 ? -at.slope : T(0);
      weights[count + i] = order == 0 ? part : order == 1 ? at.slope : T(0);
    } else {
      for (int64_t tap = 0; tap < 4; tap++) {
        const T distance = static_cast<T>(tap - 1);
        places[tap * count + i] = place_of<outside>(line, first + distance);
        weights[tap * count + i] = cubic_weight(part - distance, order) * power(line.scale, order);
      }
    }
  }
}

template <class T>
using AlongLine = void (*)(const T*, int64_t, int64_t, const Line<T>&, int64_t, const Taps<T>&);

template <Sampling mode, class T>
AlongLine<T> choose(Outside outside) {
  if (outside == Outside::zeros) return taps_along<mode, Outside::zeros, T>;
  if (outside == Outside::border) return taps_along<mode, Outside::border, T>;
  return taps_along<mode, Outside::reflection, T>;
}

template <class T>
void along(const T* coordinates, int64_t step, int64_t count, int64_t size, const SamplingRule& rule,
           int64_t order, const Taps<T>& result) {
  const AlongLine<T> loop = rule.mode == Sampling::bilinear  ? choose<Sampling::bilinear, T>(rule.outside)
                            : rule.mode == Sampling::nearest ? choose<Sampling::nearest, T>(rule.outside)
                                                             : choose<Sampling::bicubic, T>(rule.outside);
  loop(coordinates, step, count, Line<T>(size, rule.align_corners), order, result);
}

template <class T>
void combine(const Taps<T>& outer, const Taps<T>& inner, int64_t size, int64_t count, const Taps<T>& result) {
  const int32_t length = static_cast<int32_t>(size);
  for (int64_t a = 0; a < outer.taps; a++) {
    for (int64_t b = 0; b < inner.taps; b++) {
      const int32_t *outer_places = outer.places + a * count, *inner_places = inner.places + b * count;
      const T *outer_weights = outer.weights + a * count, *inner_weights = inner.weights + b * count;
      int32_t* places = result.places + (a * inner.taps + b) * count;
      T* weights = result.weights + (a * inner.taps + b) * count;
#pragma GCC ivdep
      for (int64_t i = 0; i < count; i++) {
        const bool is_outside = (outer_places[i] < 0) | (inner_places[i] < 0);
        places[i] = is_outside ? -1 : outer_places[i] * length + inner_places[i];
        weights[i] = outer_weights[i] * inner_weights[i];
      }
    }
  }
}

template <class T>
void bring_inside(const Taps<T>& taps, int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < taps.taps * count; i++) {
    taps.weights[i] = taps.places[i] < 0 ? T(0) : taps.weights[i];
    taps.places[i] = taps.places[i] < 0 ? 0 : taps.places[i];
  }
}

template <class T>
constexpr GridSamplingLoopsOf<T> kLoops{along<T>, combine<T>, bring_inside<T>};

}  // namespace

extern const GridSamplingLoops grid_sampling_loops;
const GridSamplingLoops grid_sampling_loops{kLoops<float>, kLoops<double>};

}  // namespace RELUME_ISA
}  // namespace relume
