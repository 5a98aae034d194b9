// A blocked matrix product in GCC/Clang vector extensions, compiled once per instruction
// set. Panels of `a` and `b` are packed so that the innermost loop reads memory in order,
// whatever the strides; a tile of the result stays in registers.
#include "tensor/kernels/gemm.h"
#include "tensor/memory.h"

namespace relume {
namespace RELUME_ISA {
namespace {

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
constexpr int kTileVectors = 2;          // a tile is kTileRows x (2 vectors)
constexpr int64_t kDepthBlock = 256;     // of the inner dimension, packed at a time
constexpr int64_t kColumnBlock = 1024;   // columns of `b` packed at a time
constexpr int64_t kRowBlock = kTileRows * 16;

int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t round_up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

template <class T>
struct Vector {
  static constexpr int width = kVectorBytes / static_cast<int>(sizeof(T));
  typedef T type __attribute__((vector_size(kVectorBytes), aligned(alignof(T))));
};
template <class T>
constexpr int kTileColumns = kTileVectors * Vector<T>::width;

template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t count) : bytes_(static_cast<std::size_t>(count) * sizeof(T)), data_(static_cast<T*>(allocate_memory(bytes_))) {}
  ~Scratch() { free_memory(data_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() const { return data_; }

 private:
  std::size_t bytes_;
  T* data_;
};

// Slices of `width` rows, each stored depth by depth; short slices are filled with zeros.
template <class T>
void pack(const T* source, int64_t rows, int64_t depth, int64_t row_stride, int64_t depth_stride, int width, T* packed) {
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

// One tile: target = a slice times b slice, both packed.
template <class T>
void multiply_tile(int64_t depth, const T* __restrict a, const T* __restrict b,
                   typename Vector<T>::type (&sum)[kTileRows][kTileVectors]) {
  using V = typename Vector<T>::type;
  for (auto& row : sum) {
    for (V& vector : row) vector = V{};
  }
  for (int64_t k = 0; k < depth; k++, a += kTileRows, b += kTileColumns<T>) {
    V columns[kTileVectors];
#pragma GCC unroll 2
    for (int j = 0; j < kTileVectors; j++) columns[j] = *reinterpret_cast<const V*>(b + j * Vector<T>::width);
#pragma GCC unroll 14
    for (int i = 0; i < kTileRows; i++) {
      const V factor = V{} + a[i];
#pragma GCC unroll 2
      for (int j = 0; j < kTileVectors; j++) sum[i][j] += factor * columns[j];
    }
  }
}

template <class T>
void add_tile(T alpha, int64_t depth, const T* a, const T* b, int rows, int columns, T* result, int64_t row_stride) {
  using V = typename Vector<T>::type;
  V sum[kTileRows][kTileVectors];
  multiply_tile(depth, a, b, sum);
  if (rows == kTileRows && columns == kTileColumns<T>) {
    for (int i = 0; i < kTileRows; i++) {
      for (int j = 0; j < kTileVectors; j++) {
        V* target = reinterpret_cast<V*>(result + i * row_stride + j * Vector<T>::width);
        *target += alpha * sum[i][j];
      }
    }
    return;
  }
  const T* values = reinterpret_cast<const T*>(&sum[0][0]);
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < columns; j++) result[i * row_stride + j] += alpha * values[i * kTileColumns<T> + j];
  }
}

template <class T>
void gemm(T alpha, const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& result) {
  constexpr int tile_columns = kTileColumns<T>;
  const int64_t rows = result.rows, columns = result.columns, depth = a.columns;
  Scratch<T> b_panel(kDepthBlock * round_up(smaller(columns, kColumnBlock), tile_columns));
  Scratch<T> a_panel(kDepthBlock * round_up(smaller(rows, kRowBlock), kTileRows));
  for (int64_t column = 0; column < columns; column += kColumnBlock) {
    const int64_t column_count = smaller(kColumnBlock, columns - column);
    for (int64_t k = 0; k < depth; k += kDepthBlock) {
      const int64_t depth_count = smaller(kDepthBlock, depth - k);
      pack(b.data + k * b.row_stride + column * b.column_stride, column_count, depth_count, b.column_stride,
           b.row_stride, tile_columns, b_panel.data());
      for (int64_t row = 0; row < rows; row += kRowBlock) {
        const int64_t row_count = smaller(kRowBlock, rows - row);
        pack(a.data + row * a.row_stride + k * a.column_stride, row_count, depth_count, a.row_stride,
             a.column_stride, kTileRows, a_panel.data());
        for (int64_t j = 0; j < column_count; j += tile_columns) {
          for (int64_t i = 0; i < row_count; i += kTileRows) {
            add_tile(alpha, depth_count, a_panel.data() + i * depth_count, b_panel.data() + j * depth_count,
                     static_cast<int>(smaller(kTileRows, row_count - i)),
                     static_cast<int>(smaller(tile_columns, column_count - j)),
                     result.data + (row + i) * result.row_stride + column + j, result.row_stride);
          }
        }
      }
    }
  }
}

}  // namespace

extern const GemmKernels gemm_kernels;
const GemmKernels gemm_kernels{gemm<float>, gemm<double>};

}  // namespace RELUME_ISA
}  // namespace relume
