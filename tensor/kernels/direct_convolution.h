// The inner loop of direct convolution, per instruction set (direct_convolution.isa.cpp).
//
// The input is copied once into planes with its padding. With a stride, every channel becomes
// `stride` planes of every stride-th pixel ("phases"), so that the elements that neighbouring
// windows need for one tap always lie side by side. Pixels of the output are then counted along
// rows of the planes: a few of every row (`pitch - width`) are computed in vain.
#pragma once
#include <cstdint>

namespace relume {

template <class T>
struct DirectBand {
  const T* planes;         // of one image and group, at the band's first row
  const int64_t* offsets;  // from there, of every tap of every channel
  int64_t taps;            // of all channels
  int64_t pitch, rows, width;
  const T* weight;       // packed: for every tile of rows, tap by tap
  const T* bias;         // may be null
  int64_t channels;      // of the output
  T* sums;               // scratch: channels (a multiple of tile_rows) x padded pixels
  T* output;             // of the first channel, at the band's first row
  int64_t output_plane;  // from channel to channel

  int64_t padded_pixels(int64_t tile_columns) const {
    return (rows * pitch + tile_columns - 1) / tile_columns * tile_columns;
  }
};

template <class T>
struct DirectLoopsOf {
  int tile_rows, tile_columns;
  void (*convolve_band)(const DirectBand<T>& band);
};
struct DirectLoops {
  DirectLoopsOf<float> float32;
  DirectLoopsOf<double> float64;
};

}  // namespace relume
