// Winograd's convolution: how the work is cut. See winograd.h for the method.
#include <algorithm>
#include <vector>

#include "tensor/blas.h"
#include "tensor/buffer.h"
#include "tensor/kernels/best_isa.h"
#include "tensor/kernels/winograd.h"
#include "tensor/kernels/winograd_loops.h"
#include "tensor/parallel.h"

namespace relume {

RELUME_PER_ISA(WinogradLoops, winograd_loops)

namespace {

constexpr int64_t kMostColumns = 32;                        // of a group of tiles
constexpr int64_t kFewestTiles = 48;                       // at a time, of a convolution
constexpr int64_t kFewTileBytes = int64_t{8} << 20;        // of all tiles, when they are few
constexpr int64_t kWeightBytes = int64_t{4} << 20;         // of the transformed weight at a time
constexpr int64_t kGradientBytes = int64_t{24} << 20;      // of transformed numbers at a time
constexpr int64_t kFewestGradientTiles = 64, kMostGradientTiles = 256;

// From element to element of the 6x6: an odd number of cache lines, so that the 36 do not compete
// for the same ones.
int64_t spread(int64_t numbers) {
  constexpr int64_t kLine = 16;
  return (divide_up(numbers, kLine) | 1) * kLine;
}

// The tiles of all images: `rows` rows of `wide` tiles, image below image. A block of rows is
// transformed at a time; its tiles are counted through and filled up to whole groups.
struct Tiles {
  const Convolution& shape;
  int64_t high, wide, rows;
  int64_t block_rows, blocks;

  Tiles(const Convolution& shape, int64_t fewest) : shape(shape) {
    high = divide_up(shape.output.height, kWinogradOutput);
    wide = divide_up(shape.output.width, kWinogradOutput);
    rows = shape.batch * high;
    block_rows = best_block_rows(fewest);
    blocks = divide_up(rows, block_rows);
  }
  int64_t count(int64_t block) const { return rows_of(block) * wide; }
  int64_t rows_of(int64_t block) const { return std::min(block_rows, rows - block * block_rows); }
  int64_t groups(int64_t block) const { return divide_up(count(block), best_winograd_loops().columns); }
  int64_t most_groups() const { return groups(0); }

 private:
  // At least `fewest` tiles, up to twice as many where that fills the groups better.
  int64_t best_block_rows(int64_t fewest) const {
    const int64_t first = std::min(rows, divide_up(fewest, wide));
    const int64_t last = std::min(rows, 2 * first + 2);
    int64_t best = first;
    double best_share = 0;
    for (int64_t candidate = first; candidate <= last; candidate++) {
      const int64_t columns = best_winograd_loops().columns;
      const int64_t tiles = candidate * wide;
      const double share = static_cast<double>(tiles) / (divide_up(tiles, columns) * columns);
      if (share > best_share + 0.01) {
        best = candidate;
        best_share = share;
      }
    }
    return best;
  }
};

// The rows of pixels under one block of one channel, padded with zeros. Behind them lies an
// empty row of tiles, for the tiles that fill up the last group.
class PixelRows {
 public:
  PixelRows(const Tiles& tiles, Pair image, int side, Pair padding)
      : tiles_(tiles), image_(image), side_(side), padding_(padding) {
    constexpr int64_t kReadBehind = 4;
    pitch_ = tiles.wide * kWinogradOutput + kReadBehind;
    full_ = offsets_of(0);
    last_ = offsets_of(tiles.blocks - 1);
  }
  int64_t pitch() const { return pitch_; }
  int64_t size() const { return (tiles_.block_rows + 1) * side_ * pitch_; }

  // Where the tiles of the block begin.
  const std::vector<int64_t>& offsets(int64_t block) const {
    return block == tiles_.blocks - 1 ? last_ : full_;
  }

  // `images` is that channel of the first image; images lie `image_stride` apart.
  void gather(int64_t block, const float* images, int64_t image_stride, float* target) const {
    const int64_t first = block * tiles_.block_rows, count = tiles_.rows_of(block);
    for (int64_t row = first; row < first + count; row++) {
      const float* plane = images + row / tiles_.high * image_stride;
      const int64_t top = row % tiles_.high * kWinogradOutput - padding_.height;
      for (int64_t y = top; y < top + side_; y++, target += pitch_) gather_row(plane, y, target);
    }
    std::fill_n(target, side_ * pitch_, 0.0f);
  }

 private:
  const Tiles& tiles_;
  Pair image_;
  int64_t side_;
  Pair padding_;
  int64_t pitch_;
  std::vector<int64_t> full_, last_;

  std::vector<int64_t> offsets_of(int64_t block) const {
    const int64_t count = tiles_.count(block), empty = tiles_.rows_of(block) * side_ * pitch_;
    std::vector<int64_t> result(tiles_.groups(block) * best_winograd_loops().columns, empty);
    for (int64_t i = 0; i < count; i++)
      result[i] = i / tiles_.wide * side_ * pitch_ + i % tiles_.wide * kWinogradOutput;
    return result;
  }

  void gather_row(const float* plane, int64_t y, float* target) const {
    if (y < 0 || y >= image_.height) {
      std::fill_n(target, pitch_, 0.0f);
      return;
    }
    const int64_t left = std::min(padding_.width, pitch_);
    const int64_t count = std::min(image_.width, pitch_ - left);
    std::fill_n(target, left, 0.0f);
    std::copy_n(plane + y * image_.width, count, target + left);
    std::fill(target + left + count, target + pitch_, 0.0f);
  }
};

// Calls f(worker, first, last) on parts of [0, count), one per thread.
template <class Function>
void split_over_workers(int64_t count, const Function& function) {
  const int64_t workers = std::min<int64_t>(num_threads(), count);
  parallel_for(0, workers, 1, [&](int64_t begin, int64_t end) {
    for (int64_t worker = begin; worker < end; worker++)
      function(worker, count * worker / workers, count * (worker + 1) / workers);
  });
}

using TransformTiles = void (*)(const float*, const int64_t*, int64_t, float*, int64_t);

// Where the transformed tiles of a block go: element by element, `element_stride` apart.
struct Transformed {
  float* data;
  int64_t channel_stride, group_stride, element_stride;
};

// `pixels` is memory for the rows of every thread.
void transform_block(const PixelRows& rows, TransformTiles transform, int64_t block, const float* images,
                     int64_t channels, Pair image, float* pixels, const Transformed& target) {
  const std::vector<int64_t>& offsets = rows.offsets(block);
  const int64_t columns = best_winograd_loops().columns;
  const int64_t groups = static_cast<int64_t>(offsets.size()) / columns;
  const int64_t plane = image.height * image.width;
  split_over_workers(channels, [&](int64_t worker, int64_t begin, int64_t end) {
    float* own = pixels + worker * rows.size();
    for (int64_t channel = begin; channel < end; channel++) {
      rows.gather(block, images + channel * plane, channels * plane, own);
      for (int64_t group = 0; group < groups; group++) {
        transform(own, offsets.data() + group * columns, rows.pitch(),
                  target.data + channel * target.channel_stride + group * target.group_stride,
                  target.element_stride);
      }
    }
  });
}

// Output channels that are computed at a time.
struct Outputs {
  int64_t first, count;
};

// The transformed weight of some outputs: panel by panel, element by element, channel by channel.
class WinogradWeight {
 public:
  WinogradWeight(const Convolution& shape, const ConvolutionWeight<float>& weight, Outputs outputs)
      : inputs_(shape.in_channels),
        panels_(divide_up(outputs.count, best_winograd_loops().rows)),
        element_stride_(spread(inputs_ * best_winograd_loops().rows)),
        memory_(panels_ * kWinogradElements * element_stride_) {
    const int64_t rows = best_winograd_loops().rows;
    const int64_t grain = std::max<int64_t>(1, kParallelGrain / (200 * inputs_));
    parallel_for(0, panels_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t panel = begin; panel < end; panel++) {
        const int count = static_cast<int>(std::min(rows, outputs.count - panel * rows));
        const float* kernels = weight.data + (outputs.first + panel * rows) * weight.output_stride;
        for (int64_t channel = 0; channel < inputs_; channel++) {
          best_winograd_loops().transform_weight(kernels + channel * weight.input_stride,
                                                 weight.output_stride, count, weight.turned,
                                                 memory_.data() + offset(0, panel) + channel * rows,
                                                 element_stride_);
        }
      }
    });
  }
  int64_t panels() const { return panels_; }
  const float* panel(int64_t element, int64_t panel) const {
    return memory_.data() + offset(element, panel);
  }

 private:
  int64_t inputs_, panels_, element_stride_;
  Buffer<float> memory_;

  int64_t offset(int64_t element, int64_t panel) const {
    return (panel * kWinogradElements + element) * element_stride_;
  }
};

void multiply_block(const Convolution& shape, const WinogradWeight& weight, Outputs outputs,
                    int64_t groups, const float* inputs, float* products) {
  const WinogradLoops& loops = best_winograd_loops();
  const int64_t depth = shape.in_channels, row_stride = groups * loops.columns;
  const int64_t grain = std::max<int64_t>(
      1, kParallelGrain * 8 / std::max<int64_t>(1, outputs.count * depth * row_stride));
  parallel_for(0, kWinogradElements, grain, [&](int64_t begin, int64_t end) {
    for (int64_t element = begin; element < end; element++) {
      for (int64_t panel = 0; panel < weight.panels(); panel++) {
        const int64_t first = panel * loops.rows;
        const int count = static_cast<int>(std::min<int64_t>(loops.rows, outputs.count - first));
        float* target = products + element * spread(outputs.count * row_stride) + first * row_stride;
        loops.multiply(weight.panel(element, panel), inputs + element * spread(depth * row_stride),
                       groups, depth, count, target, row_stride);
      }
    }
  });
}

// Puts 4x4 tiles side by side, cut off at the image's edges.
void place_tile(const Convolution& shape, int64_t row, int64_t column, const float* tile, float* plane) {
  const int64_t height = std::min<int64_t>(kWinogradOutput, shape.output.height - row);
  const int64_t width = std::min<int64_t>(kWinogradOutput, shape.output.width - column);
  float* target = plane + row * shape.output.width + column;
  for (int64_t y = 0; y < height; y++, target += shape.output.width, tile += kWinogradOutput) {
    if (width == kWinogradOutput) {
      __builtin_memcpy(target, tile, kWinogradOutput * sizeof(float));
    } else {
      std::copy_n(tile, width, target);
    }
  }
}

void write_block(const Tiles& tiles, int64_t block, Outputs outputs, const float* products,
                 const float* bias, float* output) {
  const WinogradLoops& loops = best_winograd_loops();
  const Convolution& shape = tiles.shape;
  const int64_t groups = tiles.groups(block), count = tiles.count(block), plane = shape.output_pixels();
  const int64_t row_stride = groups * loops.columns;
  const int64_t grain = std::max<int64_t>(1, kParallelGrain / (64 * row_stride));
  parallel_for(0, outputs.count, grain, [&](int64_t begin, int64_t end) {
    float results[kMostColumns * kWinogradOutput * kWinogradOutput];
    for (int64_t i = begin; i < end; i++) {
      const int64_t channel = outputs.first + i;
      int64_t row = block * tiles.block_rows, column = 0;
      for (int64_t group = 0; group < groups; group++) {
        loops.transform_output(products + i * row_stride + group * loops.columns,
                               spread(outputs.count * row_stride), bias ? bias[channel] : 0.0f,
                               results);
        const int64_t used = std::min<int64_t>(loops.columns, count - group * loops.columns);
        for (int64_t tile = 0; tile < used; tile++) {
          float* target = output + (row / tiles.high * shape.out_channels + channel) * plane;
          place_tile(shape, row % tiles.high * kWinogradOutput, column * kWinogradOutput,
                     results + tile * kWinogradOutput * kWinogradOutput, target);
          if (++column == tiles.wide) {
            column = 0;
            row++;
          }
        }
      }
    }
  });
}

bool is_3x3_with_stride_1(const Convolution& shape) {
  const Window& window = shape.window;
  return window.kernel == Pair{3, 3} && window.stride == Pair{1, 1} && window.dilation == Pair{1, 1} &&
         shape.groups == 1;
}

int64_t tile_count(const Convolution& shape) {
  return shape.batch * divide_up(shape.output.height, kWinogradOutput) *
         divide_up(shape.output.width, kWinogradOutput);
}

}  // namespace

bool suits_winograd(const Convolution& shape) {
  // The transforms of pixels cost as much as products of about 16 channels. That of the weight pays
  // from some tiles on; more when the weight, four times as large then, leaves the cache.
  const bool weight_is_large = shape.in_channels * shape.out_channels > (1 << 15);
  return is_3x3_with_stride_1(shape) && shape.in_channels >= 16 && shape.out_channels >= 16 &&
         tile_count(shape) >= (weight_is_large ? 24 : 12);
}

namespace {

// Few tiles, transformed at once, meet the weight part by part, so that it never leaves the cache.
void convolve_few_tiles(const Tiles& tiles, const float* input, const ConvolutionWeight<float>& weight,
                        const float* bias, float* output) {
  const WinogradLoops& loops = best_winograd_loops();
  const Convolution& shape = tiles.shape;
  const PixelRows rows(tiles, shape.input, kWinogradInput, shape.window.padding);
  const int64_t groups = tiles.groups(0), columns = groups * loops.columns;
  const int64_t panel_bytes = kWinogradElements * shape.in_channels * loops.rows * sizeof(float);
  const int64_t at_once = std::max<int64_t>(1, kWeightBytes / panel_bytes) * loops.rows;
  const Buffer<float> inputs(kWinogradElements * spread(columns * shape.in_channels));
  const Buffer<float> products(kWinogradElements * spread(columns * std::min(at_once, shape.out_channels)));
  const Buffer<float> pixels(num_threads() * rows.size());
  transform_block(rows, loops.transform_input, 0, input, shape.in_channels, shape.input, pixels.data(),
                  {inputs.data(), loops.columns, shape.in_channels * loops.columns,
                   spread(shape.in_channels * columns)});
  for (int64_t first = 0; first < shape.out_channels; first += at_once) {
    const Outputs outputs{first, std::min(at_once, shape.out_channels - first)};
    const WinogradWeight part(shape, weight, outputs);
    multiply_block(shape, part, outputs, groups, inputs.data(), products.data());
    write_block(tiles, 0, outputs, products.data(), bias, output);
  }
}

// Many tiles are worked on block by block, for the whole weight.
void convolve_blocks(const Tiles& tiles, const float* input, const ConvolutionWeight<float>& weight,
                     const float* bias, float* output) {
  const WinogradLoops& loops = best_winograd_loops();
  const Convolution& shape = tiles.shape;
  const PixelRows rows(tiles, shape.input, kWinogradInput, shape.window.padding);
  const Outputs outputs{0, shape.out_channels};
  const WinogradWeight transformed(shape, weight, outputs);
  const int64_t columns = loops.columns;
  const int64_t most = tiles.most_groups() * columns;
  const int64_t input_numbers = kWinogradElements * spread(most * shape.in_channels);
  const int64_t numbers = input_numbers + kWinogradElements * spread(most * shape.out_channels);
  const int64_t workers = std::min<int64_t>(num_threads(), tiles.blocks);
  const Buffer<float> memory(workers * numbers);
  const Buffer<float> pixels(workers * num_threads() * rows.size());
  split_over_workers(tiles.blocks, [&](int64_t worker, int64_t begin, int64_t end) {
    float* inputs = memory.data() + worker * numbers;
    float* products = inputs + input_numbers;
    for (int64_t block = begin; block < end; block++) {
      const int64_t groups = tiles.groups(block);
      transform_block(rows, loops.transform_input, block, input, shape.in_channels, shape.input,
                      pixels.data() + worker * num_threads() * rows.size(),
                      {inputs, columns, shape.in_channels * columns,
                       spread(groups * shape.in_channels * columns)});
      multiply_block(shape, transformed, outputs, groups, inputs, products);
      write_block(tiles, block, outputs, products, bias, output);
    }
  });
}

}  // namespace

void convolve_by_winograd(const Convolution& shape, const float* input,
                          const ConvolutionWeight<float>& weight, const float* bias, float* output) {
  const int64_t bytes_per_tile = kWinogradElements * shape.in_channels * sizeof(float);
  const int64_t weight_bytes = bytes_per_tile * shape.out_channels;
  const bool few = tile_count(shape) * bytes_per_tile <= kFewTileBytes && weight_bytes > kWeightBytes;
  const Tiles tiles(shape, few ? tile_count(shape) : kFewestTiles);
  few ? convolve_few_tiles(tiles, input, weight, bias, output)
      : convolve_blocks(tiles, input, weight, bias, output);
}

bool suits_winograd_weight_gradient(const Convolution& shape) {
  return is_3x3_with_stride_1(shape) && shape.in_channels >= 16 && shape.out_channels >= 16 &&
         tile_count(shape) >= 32;
}

void weight_gradient_by_winograd(const Convolution& shape, const float* grad_output, const float* input,
                                 float* grad_weight) {
  const WinogradLoops& loops = best_winograd_loops();
  const int64_t inputs = shape.in_channels, outputs = shape.out_channels;
  const int64_t bytes_per_tile = kWinogradElements * (inputs + outputs) * sizeof(float);
  const Tiles tiles(shape, std::clamp(kGradientBytes / bytes_per_tile, kFewestGradientTiles,
                                      kMostGradientTiles));
  const PixelRows input_rows(tiles, shape.input, kWinogradInput, shape.window.padding);
  const PixelRows grad_rows(tiles, shape.output, kWinogradOutput, {0, 0});
  const int64_t most = tiles.most_groups() * loops.columns;
  const Buffer<float> input_tiles(kWinogradElements * spread(inputs * most));
  const Buffer<float> grad_tiles(kWinogradElements * spread(outputs * most));
  const Buffer<float> pixels(num_threads() * std::max(input_rows.size(), grad_rows.size()));
  // With one block, the products of some outputs are transformed back before the next ones.
  const int64_t output_bytes = kWinogradElements * inputs * sizeof(float);
  const int64_t at_once = tiles.blocks > 1 ? outputs : std::max<int64_t>(16, kWeightBytes / output_bytes);
  const int64_t element_stride = spread(inputs * std::min(at_once, outputs));
  const int64_t behind = loops.columns;  // what the last transform reads in vain
  const Buffer<float> products(kWinogradElements * element_stride + behind);
  std::fill_n(products.data() + kWinogradElements * element_stride, behind, 0.0f);
  for (int64_t block = 0; block < tiles.blocks; block++) {
    const int64_t count = tiles.groups(block) * loops.columns;
    const bool is_last = block == tiles.blocks - 1;
    transform_block(input_rows, loops.transform_input, block, input, inputs, shape.input,
                    pixels.data(), {input_tiles.data(), count, loops.columns, spread(inputs * count)});
    transform_block(grad_rows, loops.transform_gradient, block, grad_output, outputs, shape.output,
                    pixels.data(), {grad_tiles.data(), count, loops.columns, spread(outputs * count)});
    for (int64_t first = 0; first < outputs; first += at_once) {
      const int64_t some = std::min(at_once, outputs - first);
      parallel_for(0, kWinogradElements, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
          const float* grads = grad_tiles.data() + i * spread(outputs * count) + first * count;
          const Matrix<const float> pixels(input_tiles.data() + i * spread(inputs * count), inputs, count);
          gemm<float>(1, Matrix<const float>(grads, some, count), pixels.transposed(), block > 0 ? 1 : 0,
                      Matrix<float>(products.data() + i * element_stride, some, inputs));
        }
      });
      if (!is_last) continue;
      parallel_for(0, some, std::max<int64_t>(1, kParallelGrain / (64 * inputs)),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; i++)
                       loops.transform_weight_gradient(products.data() + i * inputs, element_stride, inputs,
                                                       grad_weight + (first + i) * inputs * 9);
                   });
    }
  }
}

}  // namespace relume
