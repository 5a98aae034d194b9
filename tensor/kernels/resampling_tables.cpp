// Where the elements of a resampled dimension come from.
//
// Cubic convolution: R. Keys, "Cubic convolution interpolation for digital image processing",
// 1981, with a = -0.75 (and -0.5 for anti-aliasing, as image libraries have it).
#include <cmath>

#include "tensor/kernels/resampling.h"

namespace relume {
namespace {

double cubic(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}
double triangle(double distance) { return std::max(0.0, 1 - std::abs(distance)); }

int32_t clamped(int64_t place, int64_t input) {
  return static_cast<int32_t>(std::min(std::max<int64_t>(place, 0), input - 1));
}

// Input elements per output element.
double step_of(int64_t input, int64_t output, double scale, bool align_corners) {
  if (align_corners) return output > 1 ? static_cast<double>(input - 1) / static_cast<double>(output - 1) : 0;
  return scale > 0 ? 1 / scale : static_cast<double>(input) / static_cast<double>(output);
}

// Positions of nearest neighbours are computed in float, so that they round as elsewhere.
int64_t nearest_place(int64_t i, int64_t input, int64_t output, double scale, bool exact) {
  const float step = scale > 0 ? static_cast<float>(1 / scale)
                               : static_cast<float>(input) / static_cast<float>(output);
  const float position = static_cast<float>(i) + (exact ? 0.5f : 0.0f);
  return static_cast<int64_t>(std::floor(position * step));
}

// Weights of a kernel as wide as the steps, that sum to 1.
void add_antialiased(ResamplingAxis& axis, const ResamplingRule& rule, double step) {
  const double stretch = std::max(step, 1.0), reach = (rule.mode == Resampling::cubic ? 2 : 1) * stretch;
  for (int64_t i = 0; i < axis.output; i++) {
    const double center = step * (static_cast<double>(i) + 0.5);
    const int64_t first = std::max<int64_t>(static_cast<int64_t>(center - reach + 0.5), 0);
    const int64_t last = std::min(static_cast<int64_t>(center + reach + 0.5), axis.input);
    double total = 0;
    for (int64_t tap = 0; tap < axis.taps; tap++) {
      const int64_t place = first + tap;
      const double distance = (static_cast<double>(place) - center + 0.5) / stretch;
      const double inside = rule.mode == Resampling::cubic ? cubic(distance, -0.5) : triangle(distance);
      const double weight = place >= last ? 0 : inside;
      axis.places[tap * axis.output + i] = clamped(place, axis.input);
      axis.weights[tap * axis.output + i] = weight;
      total += weight;
    }
    for (int64_t tap = 0; tap < axis.taps && total != 0; tap++) axis.weights[tap * axis.output + i] /= total;
  }
}

void add_linear(ResamplingAxis& axis, const ResamplingRule& rule, double step) {
  for (int64_t i = 0; i < axis.output; i++) {
    double position = rule.align_corners ? step * static_cast<double>(i)
                                         : std::max(step * (static_cast<double>(i) + 0.5) - 0.5, 0.0);
    if (rule.float_positions) position = static_cast<float>(step) * static_cast<float>(i);
    position = std::min(position, static_cast<double>(axis.input - 1));
    const int64_t left = static_cast<int64_t>(position);
    const double part = position - static_cast<double>(left);
    axis.places[i] = clamped(left, axis.input);
    axis.places[axis.output + i] = clamped(left + 1, axis.input);
    axis.weights[i] = 1 - part;
    axis.weights[axis.output + i] = part;
  }
}

void add_cubic(ResamplingAxis& axis, const ResamplingRule& rule, double step) {
  for (int64_t i = 0; i < axis.output; i++) {
    const double position = rule.align_corners ? step * static_cast<double>(i)
                                               : step * (static_cast<double>(i) + 0.5) - 0.5;
    const double left = std::floor(position);
    for (int64_t tap = 0; tap < 4; tap++) {
      const double place = left - 1 + static_cast<double>(tap);
      axis.places[tap * axis.output + i] = clamped(static_cast<int64_t>(place), axis.input);
      axis.weights[tap * axis.output + i] = cubic(position - place, -0.75);
    }
  }
}

int64_t tap_count(const ResamplingRule& rule, double step) {
  if (rule.mode == Resampling::nearest || rule.mode == Resampling::nearest_exact) return 1;
  const int64_t reach = rule.mode == Resampling::cubic ? 2 : 1;
  if (!rule.antialias) return 2 * reach;
  return 2 * static_cast<int64_t>(std::ceil(static_cast<double>(reach) * std::max(step, 1.0))) + 1;
}

}  // namespace

bool ResamplingAxis::is_identity() const {
  if (input != output) return false;
  for (int64_t i = 0; i < output; i++) {
    if (place(0, i) != i || weight(0, i) != 1) return false;
    for (int64_t tap = 1; tap < taps; tap++) {
      if (weight(tap, i) != 0) return false;
    }
  }
  return true;
}

ResamplingAxis ResamplingAxis::transposed() const {
  std::vector<int32_t> filled(input, 0);
  for (std::size_t i = 0; i < places.size(); i++) {
    if (weights[i] != 0) filled[places[i]]++;
  }
  ResamplingAxis result{output, input, 1, {}, {}};
  for (int32_t count : filled) result.taps = std::max<int64_t>(result.taps, count);
  result.places.assign(result.taps * input, 0);
  result.weights.assign(result.taps * input, 0);
  filled.assign(input, 0);
  for (int64_t i = 0; i < output; i++) {
    for (int64_t tap = 0; tap < taps; tap++) {
      if (weight(tap, i) == 0) continue;
      const int64_t at = filled[place(tap, i)]++ * input + place(tap, i);
      result.places[at] = static_cast<int32_t>(i);
      result.weights[at] = weight(tap, i);
    }
  }
  return result;
}

ResamplingAxis resampling_axis(int64_t input, int64_t output, double scale, const ResamplingRule& rule) {
  const double step = step_of(input, output, scale, rule.align_corners);
  ResamplingAxis axis{input, output, tap_count(rule, step), {}, {}};
  axis.places.resize(axis.taps * output);
  axis.weights.assign(axis.taps * output, 1);
  if (axis.taps == 1) {
    const bool exact = rule.mode == Resampling::nearest_exact;
    for (int64_t i = 0; i < output; i++)
      axis.places[i] = clamped(nearest_place(i, input, output, scale, exact), input);
  } else if (rule.antialias) {
    add_antialiased(axis, rule, step);
  } else if (rule.mode == Resampling::linear) {
    add_linear(axis, rule, step);
  } else {
    add_cubic(axis, rule, step);
  }
  return axis;
}

}  // namespace relume
