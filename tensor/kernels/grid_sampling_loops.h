// Which elements the points of a grid take, and their weights, per instruction set
// (grid_sampling.isa.cpp). Along each dimension, the weights are piecewise polynomials of a
// point's coordinate; derivatives of any order take the same elements with derivatives of the
// weights.
#pragma once
#include <cstdint>

namespace relume {

enum class Sampling { bilinear, nearest, bicubic };
enum class Outside { zeros, border, reflection };

struct SamplingRule {
  Sampling mode;
  Outside outside;
  bool align_corners;

  int64_t taps() const { return mode == Sampling::nearest ? 1 : mode == Sampling::bilinear ? 2 : 4; }
};
constexpr int64_t kMostTaps = 4;

// Taps of a run of points: `taps` rows with one number per point. A place of -1 is outside of
// an input that is surrounded by zeros.
template <class T>
struct Taps {
  int64_t taps;
  int32_t* places;
  T* weights;
};

template <class T>
struct GridSamplingLoopsOf {
  // Along one dimension of `size` elements, for coordinates between -1 and 1 that are `step` apart;
  // `order` is that of the derivative with respect to the coordinate.
  void (*along)(const T* coordinates, int64_t step, int64_t count, int64_t size, const SamplingRule& rule,
                int64_t order, const Taps<T>& result);
  // Every tap of `outer` with every one of `inner`, a dimension of `size` elements.
  void (*combine)(const Taps<T>& outer, const Taps<T>& inner, int64_t size, int64_t count,
                  const Taps<T>& result);
  // Places of -1 become the first element with a weight of 0.
  void (*bring_inside)(const Taps<T>& taps, int64_t count);
};
struct GridSamplingLoops {
  GridSamplingLoopsOf<float> float32;
  GridSamplingLoopsOf<double> float64;
};

}  // namespace relume
