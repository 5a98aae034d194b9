// Volumes as frames: what turns convolution over volumes into convolution over images, for
// kernels and derivatives. All functions record on the tape.
#pragma once
#include "tensor/ops.h"

namespace relume {

// (batch, channels, depth, height, width) as images (batch * depth, channels, height, width).
Tensor frames_of(const Tensor& volumes);
// The opposite, of `batch` volumes of `depth` frames.
Tensor volumes_of(const Tensor& frames, int64_t batch, int64_t depth);
// Joins dimensions 1 and 2 of a weight: its depth becomes more channels of an image.
Tensor flat_weight(const Tensor& weight);
// A batch of one, if it is none already.
Tensor batched(const Tensor& volumes);

// One number of a setting for depth and the two for height and width, of an int[] argument.
struct DepthAndPlane {
  int64_t depth;
  int64_t plane[2];

  explicit DepthAndPlane(IntSpan setting)
      : depth(setting[0]), plane{setting[setting.count > 1 ? 1 : 0], setting[setting.count - 1]} {}
  IntSpan in_plane() const { return {plane, 2}; }
};

}  // namespace relume
