// The heart of matrix products and convolutions: a tile of the result that stays in
// registers. In GCC/Clang vector extensions; everything here lives in the namespace of the
// instruction set (see isa.h).
#pragma once
#include <cstdint>

namespace relume {
namespace RELUME_ISA {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
constexpr int kTileRows = 14;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
constexpr int kTileRows = 6;
#else
constexpr int kVectorBytes = 16;
constexpr int kTileRows = 6;
#endif
constexpr int kTileVectors = 2;  // a tile is kTileRows x (2 vectors)

inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

template <class T>
struct Vector {
  static constexpr int width = kVectorBytes / static_cast<int>(sizeof(T));
  typedef T type __attribute__((vector_size(kVectorBytes), aligned(alignof(T))));
};
template <class T>
constexpr int kTileColumns = kTileVectors * Vector<T>::width;

// Slices of `width` rows, each stored depth by depth; short slices are filled with zeros.
template <class T>
inline void pack(const T* source, int64_t rows, int64_t depth, int64_t row_stride, int64_t depth_stride,
                 int width, T* packed) {
  for (int64_t start = 0; start < rows; start += width) {
    const int count = static_cast<int>(smaller(width, rows - start));
    const T* slice = source + start * row_stride;
    if (count == width && row_stride == 1) {
      for (int64_t k = 0; k < depth; k++, packed += width) {
        for (int i = 0; i < width; i++) packed[i] = slice[k * depth_stride + i];
      }
      continue;
    }
    for (int64_t k = 0; k < depth; k++, packed += width) {
      for (int i = 0; i < count; i++) packed[i] = slice[i * row_stride + k * depth_stride];
      for (int i = count; i < width; i++) packed[i] = 0;
    }
  }
}

// The sums of one tile.
template <class T>
struct Tile {
  typename Vector<T>::type sum[kTileRows][kTileVectors];
};

// tile = a slice times b slice. `a` is packed; row k of b, kTileColumns long, begins at row_of_b(k).
template <class T, class RowOfB>
inline __attribute__((always_inline)) void multiply_tile(int64_t depth, const T* a,
                                                         const RowOfB& row_of_b, Tile<T>& tile) {
  using V = typename Vector<T>::type;
  V sum[kTileRows][kTileVectors] = {};
  for (int64_t k = 0; k < depth; k++, a += kTileRows) {
    const T* b = row_of_b(k);
    V columns[kTileVectors];
#pragma GCC unroll 2
    for (int j = 0; j < kTileVectors; j++)
      columns[j] = *reinterpret_cast<const V*>(b + j * Vector<T>::width);
#pragma GCC unroll 14
    for (int i = 0; i < kTileRows; i++) {
      const V factor = a[i] - V{};  // in every lane; adding to zero would lose the sign of -0
#pragma GCC unroll 2
      for (int j = 0; j < kTileVectors; j++) sum[i][j] += factor * columns[j];
    }
  }
#pragma GCC unroll 14
  for (int i = 0; i < kTileRows; i++) {
#pragma GCC unroll 2
    for (int j = 0; j < kTileVectors; j++) tile.sum[i][j] = sum[i][j];
  }
}

}  // namespace RELUME_ISA
}  // namespace relume
