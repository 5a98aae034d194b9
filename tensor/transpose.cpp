#include "tensor/transpose.h"

#include <algorithm>
#include <cstring>
#include <utility>

#ifdef __has_builtin
#define RELUME_HAS_SHUFFLEVECTOR __has_builtin(__builtin_shufflevector)
#else
#define RELUME_HAS_SHUFFLEVECTOR 0
#endif

namespace relume {
namespace {

constexpr int kVectorBytes = 16;
constexpr int kLineBytes = 64;  // of a cache line

template <class T>
struct VectorType {
  typedef T Type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vector = typename VectorType<T>::Type;
template <class T>
constexpr int kLanes = kVectorBytes / sizeof(T);

// The lanes of a and b in turn, from lane `start` on: a[start], b[start], a[start + 1], ...
template <class T, int start, int... lane>
Vector<T> interleave(Vector<T> a, Vector<T> b, std::integer_sequence<int, lane...>) {
#if RELUME_HAS_SHUFFLEVECTOR
  return __builtin_shufflevector(a, b, (start + lane / 2 + (lane % 2) * kLanes<T>)...);
#else
  return __builtin_shuffle(a, b, Vector<T>{static_cast<T>(start + lane / 2 + (lane % 2) * kLanes<T>)...});
#endif
}

// A square of as many rows as a vector has lanes. Each round interleaves row i with row
// i + half; after log2(lanes) rounds the square is transposed.
template <class T>
inline void transpose_square(T* target, int64_t target_stride, const T* source,
                             int64_t source_stride) {
  constexpr int lanes = kLanes<T>, half = lanes / 2;
  constexpr std::make_integer_sequence<int, lanes> sequence{};
  Vector<T> rows[lanes], next[lanes];
  for (int i = 0; i < lanes; ++i) std::memcpy(&rows[i], source + i * source_stride, kVectorBytes);
  for (int round = 1; round < lanes; round *= 2) {
    for (int i = 0; i < half; ++i) {
      next[2 * i] = interleave<T, 0>(rows[i], rows[i + half], sequence);
      next[2 * i + 1] = interleave<T, half>(rows[i], rows[i + half], sequence);
    }
    for (int i = 0; i < lanes; ++i) rows[i] = next[i];
  }
  for (int i = 0; i < lanes; ++i) std::memcpy(target + i * target_stride, &rows[i], kVectorBytes);
}

template <class T>
void transpose_plainly(T* target, int64_t target_stride, const T* source, int64_t source_stride,
                       int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      target[i * target_stride + j] = source[j * source_stride + i];
    }
  }
}

// A tile that reads and writes whole cache lines (or less, at the edges).
template <class T>
void transpose_tile(T* target, int64_t target_stride, const T* source, int64_t source_stride,
                    int64_t rows, int64_t columns) {
  constexpr int lanes = kLanes<T>;
  const int64_t even_rows = rows / lanes * lanes, even_columns = columns / lanes * lanes;
  for (int64_t i = 0; i < even_rows; i += lanes) {
    for (int64_t j = 0; j < even_columns; j += lanes) {
      transpose_square(target + i * target_stride + j, target_stride, source + j * source_stride + i,
                       source_stride);
    }
  }
  transpose_plainly(target + even_columns, target_stride, source + even_columns * source_stride,
                    source_stride, even_rows, columns - even_columns);
  transpose_plainly(target + even_rows * target_stride, target_stride, source + even_rows,
                    source_stride, rows - even_rows, columns);
}

// Walks down the target, so that the source is read along its rows.
template <class T>
void transpose_all(void* target_start, int64_t target_stride, const void* source_start,
                   int64_t source_stride, int64_t rows, int64_t columns) {
  constexpr int64_t side = kLineBytes / sizeof(T);
  T* target = static_cast<T*>(target_start);
  const T* source = static_cast<const T*>(source_start);
  for (int64_t column = 0; column < columns; column += side) {
    for (int64_t row = 0; row < rows; row += side) {
      transpose_tile(target + row * target_stride + column, target_stride,
                     source + column * source_stride + row, source_stride,
                     std::min(side, rows - row), std::min(side, columns - column));
    }
  }
}

}  // namespace

void transpose_copy(std::size_t element_size, void* target, int64_t target_stride,
                    const void* source, int64_t source_stride, int64_t rows, int64_t columns) {
  const auto transpose = element_size == 1   ? transpose_all<uint8_t>
                         : element_size == 2 ? transpose_all<uint16_t>
                         : element_size == 4 ? transpose_all<uint32_t>
                                             : transpose_all<uint64_t>;
  transpose(target, target_stride, source, source_stride, rows, columns);
}

}  // namespace relume
