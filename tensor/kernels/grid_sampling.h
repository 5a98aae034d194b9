// Sampling of planes and volumes at points of a grid: along each dimension, a point takes a few
// elements with weights that are piecewise polynomials of its coordinate. Derivatives of any
// order take the same elements with derivatives of the weights.
#pragma once
#include "tensor/kernels/volume.h"

namespace relume {

enum class Sampling { bilinear, nearest, bicubic };
enum class Outside { zeros, border, reflection };

struct SamplingRule {
  Sampling mode;
  Outside outside;
  bool align_corners;

  int taps() const { return mode == Sampling::nearest ? 1 : mode == Sampling::bilinear ? 2 : 4; }
};

constexpr int kMostTaps = 4;

// What a point takes along one dimension. `places` of -1 lie outside of an input of zeros.
struct AxisTaps {
  int64_t places[kMostTaps];
  double weights[kMostTaps];

  // For a coordinate between -1 and 1 over `size` elements; `order` is that of the derivative
  // with respect to the coordinate.
  AxisTaps(double coordinate, int64_t size, const SamplingRule& rule, int64_t order);
};

}  // namespace relume
