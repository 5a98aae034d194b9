// A blocked matrix product in GCC/Clang vector extensions, compiled once per instruction
// set. Panels of `a` and `b` are packed so that the innermost loop reads memory in order,
// whatever the strides; a tile of the result stays in registers.
#include "tensor/kernels/gemm.h"
#include "tensor/kernels/gemm_tile.h"
#include "tensor/memory.h"

namespace relume {
namespace RELUME_ISA {
namespace {

constexpr int64_t kDepthBlock = 256;   // of the inner dimension, packed at a time
constexpr int64_t kColumnBlock = 512;  // columns of `b` packed at a time
constexpr int64_t kRowBlock = kTileRows * 16;

template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t count)
      : bytes_(static_cast<std::size_t>(count) * sizeof(T)),
        data_(static_cast<T*>(allocate_memory(bytes_))) {}
  ~Scratch() { free_memory(data_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() const { return data_; }

 private:
  std::size_t bytes_;
  T* data_;
};

template <class T>
void add_tile(T alpha, int64_t depth, const T* a, const T* b, int rows, int columns, T* result,
              int64_t row_stride) {
  using V = typename Vector<T>::type;
  Tile<T> tile;
  multiply_tile<T>(depth, a, [b](int64_t k) { return b + k * kTileColumns<T>; }, tile);
  if (rows == kTileRows && columns == kTileColumns<T>) {
    for (int i = 0; i < kTileRows; i++) {
      for (int j = 0; j < kTileVectors; j++) {
        V* target = reinterpret_cast<V*>(result + i * row_stride + j * Vector<T>::width);
        *target += alpha * tile.sum[i][j];
      }
    }
    return;
  }
  const T* values = reinterpret_cast<const T*>(&tile);
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < columns; j++)
      result[i * row_stride + j] += alpha * values[i * kTileColumns<T> + j];
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
      pack(b.data + k * b.row_stride + column * b.column_stride, column_count, depth_count,
           b.column_stride, b.row_stride, tile_columns, b_panel.data());
      for (int64_t row = 0; row < rows; row += kRowBlock) {
        const int64_t row_count = smaller(kRowBlock, rows - row);
        pack(a.data + row * a.row_stride + k * a.column_stride, row_count, depth_count, a.row_stride,
             a.column_stride, kTileRows, a_panel.data());
        for (int64_t j = 0; j < column_count; j += tile_columns) {
          for (int64_t i = 0; i < row_count; i += kTileRows) {
            add_tile(alpha, depth_count, a_panel.data() + i * depth_count,
                     b_panel.data() + j * depth_count,
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
