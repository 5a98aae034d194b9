// Resampling of sequences, planes and volumes: along each dimension, every element of the output
// is a weighted sum of a few of the input. The modes differ only in these tables.
#pragma once
#include <vector>

#include "tensor/kernels/volume.h"

namespace relume {

// Along one dimension: output i is the sum over t of weight(t, i) * input[place(t, i)].
struct ResamplingAxis {
  int64_t input, output, taps;
  std::vector<int32_t> places;  // taps rows of `output` numbers
  std::vector<double> weights;

  int32_t place(int64_t tap, int64_t i) const { return places[tap * output + i]; }
  double weight(int64_t tap, int64_t i) const { return weights[tap * output + i]; }
  bool is_identity() const;
  ResamplingAxis transposed() const;  // from outputs to inputs
};

enum class Resampling { nearest, nearest_exact, linear, cubic };

struct ResamplingRule {
  Resampling mode;
  bool align_corners;  // the first and last elements of both grids lie on each other
  bool antialias;      // the kernel is as wide as the steps between outputs
  bool float_positions = false;  // of linear interpolation, whatever the type of the elements
};

// `scale` is the factor that a user gave, 0 for that of the sizes.
ResamplingAxis resampling_axis(int64_t input, int64_t output, double scale, const ResamplingRule& rule);

}  // namespace relume
