// Work over the last one, two or three dimensions of a tensor, seen as three: a sequence is a
// volume of depth and height 1, an image one of depth 1. Pooling, resampling, folding and
// sampling are written once, for volumes.
#pragma once
#include "tensor/buffer.h"
#include "tensor/kernels/window.h"
#include "tensor/parallel.h"

namespace relume {

// Sizes, steps, ... along depth, height and width.
struct Triple {
  int64_t values[3] = {1, 1, 1};

  int64_t& operator[](int axis) { return values[axis]; }
  int64_t operator[](int axis) const { return values[axis]; }
  bool operator==(const Triple& other) const {
    return values[0] == other[0] && values[1] == other[1] && values[2] == other[2];
  }
  bool operator!=(const Triple& other) const { return !(*this == other); }
  int64_t product() const { return values[0] * values[1] * values[2]; }
};

// An int[] argument for the last `dims` dimensions: one number for all or one for each, none
// below `smallest`. The dimensions that a sequence or an image lacks get `otherwise`.
Triple triple_argument(const Call& call, int argument, int dims, int64_t smallest, int64_t otherwise);
// The part of a triple that stands for dimensions which are there, for messages.
IntSpan own_part(const Triple& triple, int dims);

// A batch of volumes from a (channels, ...) or (batch, channels, ...) tensor.
struct Volumes {
  int dims = 3;  // 1: (..., width), 2: (..., height, width), 3: (..., depth, height, width)
  int64_t batch = 1, channels = 1;
  Triple size;
  bool batched = false;

  Volumes(const Call& call, int argument, int dims);                           // of a tensor argument
  static Volumes of_shape_argument(const Call& call, int argument, int dims);  // of an int[] one
  // The shape of such a tensor with other channels and another size.
  Dims shape(int64_t channels, const Triple& size) const;
  Dims shape(const Triple& size) const { return shape(channels, size); }
  int64_t planes() const { return batch * channels; }
  int64_t elements() const { return size.product(); }  // of one plane

 private:
  Volumes(const Call& call, int argument, int dims, IntSpan shape);
};

// Runs `compute(source, target, T{})` on row-major tensors of float or double (for smaller
// floating types on converted copies): argument 0 and output 0, which gets this shape.
template <class Compute>
void compute_floating(Call& call, IntSpan shape, const Compute& compute);

// Calls f(plane, scratch) for every plane, on several threads; each thread has `scratch_size`
// elements of its own, taken beforehand since a parallel loop may not throw.
template <class T, class Function>
void for_planes_with_scratch(int64_t planes, int64_t work_per_plane, int64_t scratch_size,
                             const Function& function) {
  if (planes == 0) return;
  const int64_t enough = planes * std::max<int64_t>(1, work_per_plane) / kParallelGrain;
  const int64_t workers = std::max<int64_t>(1, std::min({enough, planes, int64_t{num_threads()}}));
  const Buffer<T> scratch(workers * scratch_size);
  parallel_for(0, workers, 1, [&](int64_t begin, int64_t end) {
    for (int64_t worker = begin; worker < end; worker++) {
      const int64_t last = planes * (worker + 1) / workers;
      for (int64_t plane = planes * worker / workers; plane < last; plane++) {
        function(plane, scratch.data() + worker * scratch_size);
      }
    }
  });
}

// The same without scratch memory.
template <class Function>
void for_planes(int64_t planes, int64_t work_per_plane, const Function& function) {
  const int64_t grain = std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(1, work_per_plane));
  parallel_for(0, planes, grain, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; plane++) function(plane);
  });
}

namespace detail {
struct FloatingWork {  // what compute_floating works on
  Tensor source, target, output;

  FloatingWork(Call& call, IntSpan shape);
  void finish() const;
};
}  // namespace detail

template <class Compute>
void compute_floating(Call& call, IntSpan shape, const Compute& compute) {
  const detail::FloatingWork work(call, shape);
  if (work.target.dtype() == DType::float64) {
    compute(work.source, work.target, double{});
  } else {
    compute(work.source, work.target, float{});
  }
  work.finish();
}

}  // namespace relume
