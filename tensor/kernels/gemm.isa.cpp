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

// ---- small matrices, whose packing would cost as much as their product ----

// A tile of the result: kRows rows of `a`, in any layout, times kVectors vectors of columns of `b`.
template <class T>
struct SmallTile {
  T alpha, beta;
  int64_t depth;
  const T* a;
  int64_t a_row, a_column;  // strides
  const T* b;
  int64_t b_row;
  T* result;
  int64_t result_row;
  int64_t columns;  // of the result; fewer than the vectors hold at its edge

  template <int kRows, int kVectors>
  static void multiply(const SmallTile& tile) {
    using V = typename Vector<T>::type;
    constexpr int kWidth = Vector<T>::width;
    V sum[kRows][kVectors] = {};
    const T *a = tile.a, *b = tile.b;
    for (int64_t k = 0; k < tile.depth; k++, a += tile.a_column, b += tile.b_row) {
      V columns[kVectors];
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; j++) columns[j] = *reinterpret_cast<const V*>(b + j * kWidth);
#pragma GCC unroll 6
      for (int i = 0; i < kRows; i++) {
        const V factor = a[i * tile.a_row] - V{};
#pragma GCC unroll 2
        for (int j = 0; j < kVectors; j++) sum[i][j] += factor * columns[j];
      }
    }
#pragma GCC unroll 6
    for (int i = 0; i < kRows; i++) {
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; j++) tile.write(sum[i][j], i, j * kWidth);
    }
  }

 private:
  void write(typename Vector<T>::type sum, int row, int64_t column) const {
    using V = typename Vector<T>::type;
    T* const target = result + row * result_row + column;
    const V scaled = alpha * sum;
    if (column + Vector<T>::width <= columns) {
      V& place = *reinterpret_cast<V*>(target);
      place = beta == 0 ? scaled : scaled + beta * place;
      return;
    }
    for (int64_t i = 0; column + i < columns; i++) target[i] = beta == 0 ? scaled[i] : scaled[i] + beta * target[i];
  }
};

constexpr int kSmallRows = 6;
template <class T>
using MultiplyTile = void (*)(const SmallTile<T>&);
template <class T>
constexpr MultiplyTile<T> kMultiplyTile[2][kSmallRows] = {
    {SmallTile<T>::template multiply<1, 1>, SmallTile<T>::template multiply<2, 1>,
     SmallTile<T>::template multiply<3, 1>, SmallTile<T>::template multiply<4, 1>,
     SmallTile<T>::template multiply<5, 1>, SmallTile<T>::template multiply<6, 1>},
    {SmallTile<T>::template multiply<1, 2>, SmallTile<T>::template multiply<2, 2>,
     SmallTile<T>::template multiply<3, 2>, SmallTile<T>::template multiply<4, 2>,
     SmallTile<T>::template multiply<5, 2>, SmallTile<T>::template multiply<6, 2>},
};

template <class T>
void small_gemm(T alpha, const Matrix<const T>& a, const Matrix<const T>& b, T beta, const Matrix<T>& result) {
  constexpr int64_t kWidth = Vector<T>::width;
  const int64_t rows = result.rows, columns = result.columns, depth = a.columns;
  SmallTile<T> tile{alpha, beta, depth, a.data, a.row_stride, a.column_stride, b.data, b.row_stride,
                    result.data, result.row_stride, columns};
  // Where rows of `b` are no whole vectors: a copy with zeros behind them.
  T copy[kSmallGemm * (kSmallGemm + kWidth)];
  if (b.column_stride != 1 || columns % kWidth != 0) {
    const int64_t width = round_up(columns, kWidth);
    for (int64_t k = 0; k < depth; k++) {
      T* const row = copy + k * width;
      for (int64_t j = columns; j < width; j++) row[j] = 0;
      for (int64_t j = 0; j < columns; j++) row[j] = b.at(k, j);
    }
    tile.b = copy;
    tile.b_row = width;
  }
  const int64_t tiles = (rows + kSmallRows - 1) / kSmallRows;  // of about equal height
  const T* const first_column = tile.b;
  for (int64_t i = 0; i < tiles; i++) {
    const int64_t row = i * rows / tiles, count = (i + 1) * rows / tiles - row;
    tile.a = a.data + row * a.row_stride;
    for (int64_t column = 0; column < columns; column += 2 * kWidth) {
      tile.b = first_column + column;
      tile.columns = columns - column;
      tile.result = result.data + row * result.row_stride + column;
      kMultiplyTile<T>[tile.columns > kWidth][count - 1](tile);
    }
  }
}

}  // namespace

extern const GemmKernels gemm_kernels;
const GemmKernels gemm_kernels{gemm<float>, gemm<double>, small_gemm<float>, small_gemm<double>};

}  // namespace RELUME_ISA
}  // namespace relume
