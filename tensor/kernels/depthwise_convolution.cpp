// Convolution with few channels per group, as in MobileNet: every output is a weighted sum of
// shifted planes (convolution_planes.h), and so is the gradient of the input, phase by phase.
#include <algorithm>
#include <numeric>
#include <vector>

#include "tensor/buffer.h"
#include "tensor/kernels/best_isa.h"
#include "tensor/kernels/convolution_planes.h"
#include "tensor/kernels/depthwise_loops.h"
#include "tensor/parallel.h"

namespace relume {

RELUME_PER_ISA(DepthwiseLoops, depthwise_loops)

namespace {

constexpr int64_t kMostStride = 4;

template <class T>
const DepthwiseLoopsOf<T>& loops();
template <>
const DepthwiseLoopsOf<float>& loops<float>() {
  return best_depthwise_loops().float32;
}
template <>
const DepthwiseLoopsOf<double>& loops<double>() {
  return best_depthwise_loops().float64;
}

// Calls f(item, memory) for every item in [0, count); each thread has memory of its own, which
// begins as zeros.
template <class T, class Function>
void for_each_item(int64_t count, int64_t work, int64_t memory_size, const Function& function) {
  const int64_t useful = std::max<int64_t>(1, count * work / kParallelGrain);
  const int64_t workers = std::min({static_cast<int64_t>(num_threads()), count, useful});
  const Buffer<T> memory(workers * memory_size);
  std::fill_n(memory.data(), workers * memory_size, T(0));
  parallel_for(0, workers, 1, [&](int64_t begin, int64_t end) {
    for (int64_t worker = begin; worker < end; worker++) {
      T* own = memory.data() + worker * memory_size;
      for (int64_t i = count * worker / workers; i < count * (worker + 1) / workers; i++)
        function(i, own);
    }
  });
}

// The taps of all input channels of a group, in the order of the weight.
std::vector<int64_t> group_offsets(const Convolution& shape, const Phases& phases) {
  std::vector<int64_t> offsets;
  for (int64_t channel = 0; channel < shape.group_inputs(); channel++) {
    for (int64_t offset : phases.offsets) offsets.push_back(channel * phases.channel() + offset);
  }
  return offsets;
}

// Into memory of for_each_item, where nothing else is written.
template <class T>
void spread_group(const Convolution& shape, const Phases& phases, const T* input, int64_t item, T* planes) {
  for (int64_t i = 0; i < shape.group_inputs(); i++) {
    const int64_t channel = item * shape.group_inputs() + i;
    spread<true>(shape, phases, input + channel * shape.input_pixels(), planes + i * phases.channel());
  }
}

template <class T>
int64_t planes_size(const Convolution& shape, const Phases& phases) {
  return shape.group_inputs() * phases.channel() + phases.pitch + 2 * loops<T>().width;
}

// One phase of the gradient of the input: which outputs' gradients reach it, through which taps.
struct PhaseTaps {
  std::vector<int64_t> offsets;  // in the padded gradient
  std::vector<int64_t> taps;     // of the kernel
};

// The gradient of the output, padded in front so that every tap may look back.
struct PaddedGradient {
  Pair front;
  int64_t rows, pitch;

  PaddedGradient(const Convolution& shape, const Phases& phases)
      : front{phases.rows - shape.output.height, phases.pitch - shape.output.width},
        rows(phases.rows + front.height),
        pitch(phases.pitch + front.width) {}
  int64_t size() const { return rows * pitch; }

  std::vector<PhaseTaps> phase_taps(const Convolution& shape, const Phases& phases) const {
    std::vector<PhaseTaps> result(phases.total());
    for (int64_t tap = 0; tap < shape.taps(); tap++) {
      const int64_t phase = phases.offsets[tap] / phases.plane, place = phases.offsets[tap] % phases.plane;
      const int64_t row = place / phases.pitch, column = place % phases.pitch;
      result[phase].offsets.push_back((front.height - row) * pitch + front.width - column);
      result[phase].taps.push_back(tap);
    }
    return result;
  }
  template <class T>
  void fill(const Convolution& shape, const T* grad, T* target) const {
    target += front.height * pitch + front.width;
    for (int64_t row = 0; row < shape.output.height; row++)
      std::copy_n(grad + row * shape.output.width, shape.output.width, target + row * pitch);
  }
};

// Where the rows of one phase lie in the image, in one direction.
struct PhaseRange {
  int64_t first, count;  // rows of the plane that are pixels of the image
  int64_t start;         // the pixel of the first

  PhaseRange(int64_t phase, int64_t padding, int64_t stride, int64_t image, int64_t plane_rows) {
    const TapRange range(phase, 1, padding, stride, image, plane_rows);
    first = range.first;
    count = range.last - range.first;
    start = range.start + first * stride;
  }
};

// Adds up what reaches one phase of one input channel, a row at a time.
template <class T>
void gradient_of_phase(const Convolution& shape, const PaddedGradient& padded, PhaseRange rows,
                       PhaseRange columns, Taps taps, const T* weight, const T* grads, T* row_memory,
                       T* image) {
  const Pair stride = shape.window.stride;
  const T* source = grads + rows.first * padded.pitch + columns.first;
  T* target = image + rows.start * shape.input.width + columns.start;
  if (stride.width == 1) {
    return loops<T>().filter(source, padded.pitch, taps, weight, T(0), rows.count, columns.count, target,
                             stride.height * shape.input.width);
  }
  for (int64_t row = 0; row < rows.count; row++, source += padded.pitch) {
    loops<T>().filter(source, padded.pitch, taps, weight, T(0), 1, columns.count, row_memory, 0);
    T* line = target + row * stride.height * shape.input.width;
    for (int64_t i = 0; i < columns.count; i++) line[i * stride.width] = row_memory[i];
  }
}

}  // namespace

bool suits_depthwise(const Convolution& shape) {
  const Pair stride = shape.window.stride;
  return shape.groups > 1 && shape.group_inputs() * shape.group_outputs() <= 4 &&
         stride.height <= kMostStride && stride.width <= kMostStride;
}

bool suits_depthwise_weight_gradient(const Convolution& shape) {
  // Products with a matrix of so few rows are slow, where each is a sum over many pixels.
  constexpr int64_t kFewElements = 36, kManyPixels = 1024;
  const Pair stride = shape.window.stride;
  return suits_depthwise(shape) ||
         (shape.groups == 1 && shape.taps() > 1 && shape.window_elements() <= kFewElements &&
          shape.output_pixels() >= kManyPixels && stride.height <= kMostStride && stride.width <= kMostStride);
}

template <class T>
void convolve_depthwise(const Convolution& shape, const T* input, const T* weight, const T* bias,
                        T* output) {
  const Phases phases(shape);
  const std::vector<int64_t> offsets = group_offsets(shape, phases);
  const Taps taps{offsets.data(), static_cast<int64_t>(offsets.size())};
  const int64_t outputs = shape.group_outputs();
  for_each_item<T>(
      shape.batch * shape.groups, shape.output_pixels() * taps.count, planes_size<T>(shape, phases),
      [&](int64_t item, T* planes) {
        spread_group(shape, phases, input, item, planes);
        for (int64_t i = 0; i < outputs; i++) {
          const int64_t channel = item % shape.groups * outputs + i;
          loops<T>().filter(planes, phases.pitch, taps, weight + channel * taps.count,
                            bias ? bias[channel] : T(0), shape.output.height, shape.output.width,
                            output + (item * outputs + i) * shape.output_pixels(), shape.output.width);
        }
      });
}

template <class T>
void input_gradient_depthwise(const Convolution& shape, const T* grad_output, const T* weight,
                              T* grad_input) {
  const Phases phases(shape);
  const PaddedGradient padded(shape, phases);
  const std::vector<PhaseTaps> phase_taps = padded.phase_taps(shape, phases);
  const int64_t inputs = shape.group_inputs(), outputs = shape.group_outputs(), taps = shape.taps();
  const int64_t row_memory = phases.pitch + loops<T>().width, behind = loops<T>().width;
  const int64_t most_taps = outputs * taps;
  // The offsets of one phase through all outputs.
  std::vector<std::vector<int64_t>> offsets(phases.total());
  for (int64_t phase = 0; phase < phases.total(); phase++) {
    for (int64_t out = 0; out < outputs; out++) {
      for (int64_t offset : phase_taps[phase].offsets) offsets[phase].push_back(out * padded.size() + offset);
    }
  }
  for_each_item<T>(
      shape.batch * shape.groups, shape.input_pixels() * taps * inputs,
      outputs * padded.size() + behind + row_memory + most_taps, [&](int64_t item, T* memory) {
        T* own_row = memory + outputs * padded.size() + behind;
        T* factors = own_row + row_memory;
        for (int64_t out = 0; out < outputs; out++)
          padded.fill(shape, grad_output + (item * outputs + out) * shape.output_pixels(),
                      memory + out * padded.size());
        for (int64_t in = 0; in < inputs; in++) {
          T* image = grad_input + (item * inputs + in) * shape.input_pixels();
          std::fill_n(image, shape.input_pixels(), T(0));
          for (int64_t phase = 0; phase < phases.total(); phase++) {
            if (!phases.used[phase]) continue;
            int64_t count = 0;
            for (int64_t out = 0; out < outputs; out++) {
              const T* kernel = weight + ((item % shape.groups * outputs + out) * inputs + in) * taps;
              for (int64_t tap : phase_taps[phase].taps) factors[count++] = kernel[tap];
            }
            const Window& window = shape.window;
            gradient_of_phase(shape, padded,
                              PhaseRange(phase / phases.count.width, window.padding.height,
                                         window.stride.height, shape.input.height, phases.rows),
                              PhaseRange(phase % phases.count.width, window.padding.width,
                                         window.stride.width, shape.input.width, phases.pitch),
                              {offsets[phase].data(), count}, factors, memory, own_row, image);
          }
        }
      });
}

template <class T>
void weight_gradient_depthwise(const Convolution& shape, const T* grad_output, const T* input,
                               T* grad_weight) {
  constexpr int64_t kGroupsAtOnce = 32;  // which lie side by side in an image
  const Phases phases(shape);
  const std::vector<int64_t> offsets = group_offsets(shape, phases);
  const Taps taps{offsets.data(), static_cast<int64_t>(offsets.size())};
  const int64_t outputs = shape.group_outputs(), width = loops<T>().width;
  const int64_t parts = std::clamp<int64_t>(num_threads() / shape.groups, 1, outputs);  // of a group
  const int64_t at_once = std::clamp<int64_t>(shape.groups / num_threads(), 1, kGroupsAtOnce);
  const int64_t blocks = divide_up(shape.groups, at_once);
  std::vector<T> all_sums(shape.out_channels * taps.count * width);
  for_each_item<T>(
      blocks * parts, at_once * shape.batch * shape.output_pixels() * taps.count * outputs / parts,
      planes_size<T>(shape, phases), [&](int64_t work, T* planes) {
        const int64_t block = work / parts, part = work % parts;
        const int64_t first_group = block * at_once, last_group = std::min(shape.groups, first_group + at_once);
        const int64_t begin = outputs * part / parts, end = outputs * (part + 1) / parts;  // of a group's outputs
        for (int64_t image = 0; image < shape.batch; image++) {
          for (int64_t group = first_group; group < last_group; group++) {
            spread_group(shape, phases, input, image * shape.groups + group, planes);
            for (int64_t i = group * outputs + begin; i < group * outputs + end; i++) {
              loops<T>().correlate(planes, phases.pitch, taps,
                                   grad_output + (image * shape.out_channels + i) * shape.output_pixels(),
                                   shape.output.height, shape.output.width,
                                   all_sums.data() + i * taps.count * width);
            }
          }
        }
        for (int64_t group = first_group; group < last_group; group++) {
          for (int64_t i = (group * outputs + begin) * taps.count; i < (group * outputs + end) * taps.count; i++) {
            const T* lanes = all_sums.data() + i * width;
            grad_weight[i] = std::accumulate(lanes, lanes + width, T(0));
          }
        }
      });
}

template void convolve_depthwise(const Convolution&, const float*, const float*, const float*, float*);
template void convolve_depthwise(const Convolution&, const double*, const double*, const double*,
                                 double*);
template void input_gradient_depthwise(const Convolution&, const float*, const float*, float*);
template void input_gradient_depthwise(const Convolution&, const double*, const double*, double*);
template void weight_gradient_depthwise(const Convolution&, const float*, const float*, float*);
template void weight_gradient_depthwise(const Convolution&, const double*, const double*, double*);

}  // namespace relume
