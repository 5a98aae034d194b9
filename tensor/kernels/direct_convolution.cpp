// Direct convolution: see direct_convolution.h for the layout it works on.
#include "tensor/kernels/direct_convolution.h"

#include <cstring>
#include <vector>

#include "tensor/buffer.h"
#include "tensor/kernels/best_isa.h"
#include "tensor/kernels/convolution_planes.h"
#include "tensor/parallel.h"

namespace relume {

RELUME_PER_ISA(DirectLoops, direct_loops)

namespace {

template <class T>
const DirectLoopsOf<T>& loops();
template <>
const DirectLoopsOf<float>& loops<float>() {
  return best_direct_loops().float32;
}
template <>
const DirectLoopsOf<double>& loops<double>() {
  return best_direct_loops().float64;
}

constexpr int64_t kBandPixels = 320;           // of an output band: its sums stay in the cache
constexpr int64_t kChunkChannels = 96;         // of the output at a time: so does their weight
constexpr int64_t kCopiedElements = 16 << 20;  // of the padded input at a time

// How the output channels of a group are cut, and their weight packed.
struct Chunks {
  int64_t tile_rows, tiles, count, tiles_per_chunk;

  Chunks(int64_t channels, int64_t tile_rows)
      : tile_rows(tile_rows), tiles(divide_up(channels, tile_rows)) {
    count = divide_up(tiles * tile_rows, kChunkChannels);
    tiles_per_chunk = divide_up(tiles, count);
    count = divide_up(tiles, tiles_per_chunk);
  }
  int64_t packed_channels() const { return tiles * tile_rows; }
  int64_t chunk_channels() const { return tiles_per_chunk * tile_rows; }
};

// Tiles of `tile_rows` output channels, tap by tap.
template <class T>
void pack_weight(const Convolution& shape, const Chunks& chunks, const ConvolutionWeight<T>& weight,
                 T* packed) {
  const int64_t elements = shape.window_elements(), taps = shape.taps();
  const int64_t grain = std::max<int64_t>(1, kParallelGrain / (elements * chunks.tile_rows));
  parallel_for(0, shape.groups * chunks.tiles, grain, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; tile++) {
      const int64_t group = tile / chunks.tiles, first = tile % chunks.tiles * chunks.tile_rows;
      T* target = packed + tile * chunks.tile_rows * elements;
      const int64_t channels = std::min(chunks.tile_rows, shape.group_outputs() - first);
      for (int64_t input = 0; input < shape.group_inputs(); input++) {
        const T* source = weight.kernel(group, first, input);
        for (int64_t tap = 0; tap < taps; tap++) {
          const int64_t place = weight.turned ? taps - 1 - tap : tap;
          for (int64_t i = 0; i < channels; i++) target[i] = source[i * weight.output_stride + place];
          std::fill(target + channels, target + chunks.tile_rows, T(0));
          target += chunks.tile_rows;
        }
      }
    }
  });
}

// Everything that is the same for all images.
template <class T>
struct Plan {
  const Convolution& shape;
  const T* bias;
  Phases phases;
  Chunks chunks;
  int64_t band_rows, bands;
  std::vector<int64_t> offsets;  // of every tap of every channel of a group
  Buffer<T> weight;

  Plan(const Convolution& shape, const ConvolutionWeight<T>& weights, const T* bias)
      : shape(shape),
        bias(bias),
        phases(shape),
        chunks(shape.group_outputs(), loops<T>().tile_rows),
        weight(shape.groups * chunks.packed_channels() * shape.window_elements()) {
    bands = divide_up(shape.output.height, std::max<int64_t>(1, kBandPixels / phases.pitch));
    band_rows = divide_up(shape.output.height, bands);
    bands = divide_up(shape.output.height, band_rows);
    for (int64_t channel = 0; channel < shape.group_inputs(); channel++) {
      for (int64_t offset : phases.offsets) offsets.push_back(channel * phases.channel() + offset);
    }
    pack_weight(shape, chunks, weights, weight.data());
  }

  int64_t tasks_per_image() const { return shape.groups * bands * chunks.count; }
  int64_t scratch() const {
    return chunks.chunk_channels() * (band_rows * phases.pitch + loops<T>().tile_columns);
  }

  // One chunk of channels of one band of one image.
  void run(int64_t task, const T* planes, T* output, T* sums) const {
    const int64_t chunk = task % chunks.count, band = task / chunks.count % bands,
                  group = task / chunks.count / bands;
    const int64_t row = band * band_rows, tile = chunk * chunks.tiles_per_chunk;
    const int64_t first = tile * chunks.tile_rows;
    const int64_t channel = group * shape.group_outputs() + first;
    DirectBand<T> work;
    work.planes = planes + group * shape.group_inputs() * phases.channel() + row * phases.pitch;
    work.offsets = offsets.data();
    work.taps = shape.window_elements();
    work.pitch = phases.pitch;
    work.rows = std::min(band_rows, shape.output.height - row);
    work.width = shape.output.width;
    work.weight = weight.data() + (group * chunks.packed_channels() + first) * work.taps;
    work.bias = bias ? bias + channel : nullptr;
    work.channels = std::min(chunks.chunk_channels(), shape.group_outputs() - first);
    work.sums = sums;
    work.output = output + channel * shape.output_pixels() + row * shape.output.width;
    work.output_plane = shape.output_pixels();
    loops<T>().convolve_band(work);
  }
};

template <class T>
void convolve_images(const Plan<T>& plan, int64_t count, const T* input, T* planes, Buffer<T>& scratch,
                     T* output) {
  const Convolution& shape = plan.shape;
  const int64_t channel = plan.phases.channel();
  parallel_for(0, count * shape.in_channels, std::max<int64_t>(1, kParallelGrain / channel),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; i++)
                   spread(shape, plan.phases, input + i * shape.input_pixels(), planes + i * channel);
               });
  const int64_t tasks = count * plan.tasks_per_image(),
                workers = std::min<int64_t>(num_threads(), tasks);
  parallel_for(0, workers, 1, [&](int64_t begin, int64_t end) {
    for (int64_t worker = begin; worker < end; worker++) {
      T* sums = scratch.data() + worker * plan.scratch();
      for (int64_t task = tasks * worker / workers; task < tasks * (worker + 1) / workers; task++) {
        const int64_t image = task / plan.tasks_per_image();
        plan.run(task % plan.tasks_per_image(), planes + image * shape.in_channels * channel,
                 output + image * shape.out_channels * shape.output_pixels(), sums);
      }
    }
  });
}

}  // namespace

bool suits_direct_convolution(const Convolution& shape) {
  // Not where one image is one matrix product, or where tiles would be mostly empty or mostly in vain,
  // or where so few pixels share the weight that packing it does not pay.
  constexpr int64_t kFewPixels = 64;
  constexpr int64_t kManyInputs = 32, kManyOutputs = 64;
  const Pair stride = shape.window.stride;
  // With a stride the input is copied anyway: many channels repay the copy of whole windows.
  const bool strided = stride.height > 1 || stride.width > 1;
  if (strided && shape.group_inputs() >= kManyInputs && shape.group_outputs() >= kManyOutputs) return false;
  const int64_t in_vain = (shape.window.extent().width - 1) / stride.width;  // pixels of a row
  return shape.taps() > 1 && shape.output_pixels() > kFewPixels && shape.group_outputs() >= 4 &&
         stride.height <= 4 && stride.width <= 4 && in_vain <= shape.output.width;
}

template <class T>
void convolve_directly(const Convolution& shape, const T* input, const ConvolutionWeight<T>& weight,
                       const T* bias, T* output) {
  const Plan<T> plan(shape, weight, bias);
  const int64_t image = shape.in_channels * plan.phases.channel();
  const int64_t at_once =
      std::max<int64_t>(1, std::min(shape.batch, kCopiedElements / std::max<int64_t>(1, image)));
  // Behind the last plane a tile may read on.
  Buffer<T> planes(at_once * image + loops<T>().tile_columns + plan.phases.pitch);
  Buffer<T> scratch(num_threads() * plan.scratch());
  for (int64_t first = 0; first < shape.batch; first += at_once) {
    convolve_images(plan, std::min(at_once, shape.batch - first),
                    input + first * shape.in_channels * shape.input_pixels(), planes.data(), scratch,
                    output + first * shape.out_channels * shape.output_pixels());
  }
}

template void convolve_directly(const Convolution&, const float*, const ConvolutionWeight<float>&,
                                const float*, float*);
template void convolve_directly(const Convolution&, const double*, const ConvolutionWeight<double>&,
                                const double*, double*);

}  // namespace relume
