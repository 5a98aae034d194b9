#include "tensor/kernels/direct_convolution.h"
#include "tensor/kernels/gemm_tile.h"

namespace relume {
namespace RELUME_ISA {
namespace {

constexpr int64_t kTapBlock = 256;  // taps whose input stays in the first-level cache

template <class T>
void store_tile(const Tile<T>& tile, bool add, T* target, int64_t row_stride) {
  using V = typename Vector<T>::type;
  for (int i = 0; i < kTileRows; i++) {
    for (int j = 0; j < kTileVectors; j++) {
      V* place = reinterpret_cast<V*>(target + i * row_stride + j * Vector<T>::width);
      *place = add ? *place + tile.sum[i][j] : tile.sum[i][j];
    }
  }
}

// From the sums, whose rows are `pitch` apart, to the output.
template <class T>
void write_output(const DirectBand<T>& band, int64_t padded_pixels) {
  for (int64_t channel = 0; channel < band.channels; channel++) {
    const T bias = band.bias ? band.bias[channel] : T(0);
    for (int64_t row = 0; row < band.rows; row++) {
      const T* source = band.sums + channel * padded_pixels + row * band.pitch;
      T* target = band.output + channel * band.output_plane + row * band.width;
      for (int64_t i = 0; i < band.width; i++) target[i] = source[i] + bias;
    }
  }
}

template <class T>
void convolve_band(const DirectBand<T>& band) {
  const int64_t pixels = round_up(band.rows * band.pitch, kTileColumns<T>);
  for (int64_t first = 0; first < band.taps; first += kTapBlock) {
    const int64_t depth = smaller(kTapBlock, band.taps - first);
    const int64_t* offsets = band.offsets + first;
    for (int64_t pixel = 0; pixel < pixels; pixel += kTileColumns<T>) {
      const T* planes = band.planes + pixel;
      for (int64_t channel = 0; channel < band.channels; channel += kTileRows) {
        Tile<T> tile;
        multiply_tile<T>(
            depth, band.weight + channel * band.taps + first * kTileRows,
            [=](int64_t k) { return planes + offsets[k]; }, tile);
        store_tile(tile, first > 0, band.sums + channel * pixels + pixel, pixels);
      }
    }
  }
  write_output(band, pixels);
}

}  // namespace

extern const DirectLoops direct_loops;
const DirectLoops direct_loops{{kTileRows, kTileColumns<float>, convolve_band<float>},
                               {kTileRows, kTileColumns<double>, convolve_band<double>}};

}  // namespace RELUME_ISA
}  // namespace relume
