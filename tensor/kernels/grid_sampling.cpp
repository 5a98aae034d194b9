#include "tensor/kernels/grid_sampling.h"

#include <cmath>

namespace relume {
namespace {

// A position in elements, and its derivative with respect to the coordinate.
struct Position {
  double value, slope;
};

// Reflects at `low` and `high` until the position lies between them.
Position reflected(Position at, double low, double high) {
  const double span = high - low;
  if (span <= 0) return {low, 0};
  double distance = at.value - low;
  if (distance < 0) {
    distance = -distance;
    at.slope = -at.slope;
  }
  const double turns = std::floor(distance / span), rest = distance - turns * span;
  if (std::fmod(turns, 2) == 0) return {low + rest, at.slope};
  return {high - rest, -at.slope};
}

Position clipped(Position at, int64_t size) {
  const double end = static_cast<double>(size - 1);
  if (!(at.value > 0)) return {0, 0};  // NaN too
  if (at.value >= end) return {end, 0};
  return at;
}

Position reflected_inside(Position at, int64_t size, bool align_corners) {
  const double edge = align_corners ? 0 : 0.5;
  return reflected(at, -edge, static_cast<double>(size - 1) + edge);
}

Position position_of(double coordinate, int64_t size, bool align_corners) {
  const double length = static_cast<double>(align_corners ? size - 1 : size);
  return {(coordinate + 1) / 2 * length - (align_corners ? 0 : 0.5), length / 2};
}

// Where an element at a whole position is taken from; -1: nowhere.
int64_t place_of(double whole, int64_t size, const SamplingRule& rule) {
  const bool inside = whole >= 0 && whole <= static_cast<double>(size - 1);
  if (inside) return static_cast<int64_t>(whole);
  if (rule.outside == Outside::zeros || !std::isfinite(whole)) return -1;
  Position at{whole, 1};
  if (rule.outside == Outside::reflection) at = reflected_inside(at, size, rule.align_corners);
  return static_cast<int64_t>(clipped(at, size).value);
}

// Keys' cubic convolution with a = -0.75: the derivative of the weight of an element at
// `distance` from the point, with respect to the point.
double cubic_weight(double distance, int64_t order) {
  constexpr double a = -0.75;
  const double x = std::abs(distance), sign = distance < 0 ? -1 : 1;
  const bool near = x <= 1;
  if (x >= 2) return 0;
  switch (order) {
    case 0:
      return near ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    case 1:
      return sign * (near ? (3 * (a + 2) * x - 2 * (a + 3)) * x : (3 * a * x - 10 * a) * x + 8 * a);
    case 2:
      return near ? 6 * (a + 2) * x - 2 * (a + 3) : 6 * a * x - 10 * a;
    case 3:
      return sign * (near ? 6 * (a + 2) : 6 * a);
    default:
      return 0;
  }
}

double linear_weight(double part, bool is_left, int64_t order) {
  if (order == 0) return is_left ? 1 - part : part;
  if (order == 1) return is_left ? -1 : 1;
  return 0;
}

}  // namespace

AxisTaps::AxisTaps(double coordinate, int64_t size, const SamplingRule& rule, int64_t order) {
  Position at = position_of(coordinate, size, rule.align_corners);
  if (rule.mode != Sampling::bicubic) {  // a cubic brings its elements inside, not itself
    if (rule.outside == Outside::reflection) at = reflected_inside(at, size, rule.align_corners);
    if (rule.outside != Outside::zeros) at = clipped(at, size);
  }
  if (rule.mode == Sampling::nearest) {
    places[0] = place_of(std::nearbyint(at.value), size, rule);
    weights[0] = order == 0 ? 1 : 0;
    return;
  }
  const double first = std::floor(at.value), part = at.value - first;
  const double chain = std::pow(at.slope, static_cast<double>(order));
  for (int tap = 0; tap < rule.taps(); tap++) {
    const bool linear = rule.mode == Sampling::bilinear;
    const double step = tap - (linear ? 0 : 1);
    places[tap] = place_of(first + step, size, rule);
    weights[tap] = chain * (linear ? linear_weight(part, tap == 0, order) : cubic_weight(part - step, order));
  }
}

}  // namespace relume
