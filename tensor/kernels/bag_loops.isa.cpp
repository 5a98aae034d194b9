#include "tensor/kernels/bag_loops.h"

#include "tensor/kernels/gemm_tile.h"

namespace relume {
namespace RELUME_ISA {
namespace {

constexpr int kVectors = 8;  // of sums that stay in registers over all rows

template <class T>
void sum_columns(const BagRows<T>& bag, int64_t column, T* result) {
  using V = typename Vector<T>::type;
  V sum[kVectors] = {};
  for (int64_t i = 0; i < bag.count; i++) {
    if (bag.factors[i] == T(0)) continue;
    const V factor = bag.factors[i] - V{};
    const T* row = bag.table + bag.rows[i] * bag.width + column;
#pragma GCC unroll 8
    for (int k = 0; k < kVectors; k++) sum[k] += factor * *reinterpret_cast<const V*>(row + k * Vector<T>::width);
  }
#pragma GCC unroll 8
  for (int k = 0; k < kVectors; k++) *reinterpret_cast<V*>(result + column + k * Vector<T>::width) = sum[k];
}

template <class T>
void sum_rest(const BagRows<T>& bag, int64_t column, T* result) {
  for (int64_t j = column; j < bag.width; j++) result[j] = 0;
  for (int64_t i = 0; i < bag.count; i++) {
    const T factor = bag.factors[i];
    if (factor == T(0)) continue;
    const T* row = bag.table + bag.rows[i] * bag.width;
#pragma GCC ivdep
    for (int64_t j = column; j < bag.width; j++) result[j] += factor * row[j];
  }
}

template <class T>
void sum(const BagRows<T>& bag, T* result) {
  constexpr int64_t kColumns = kVectors * Vector<T>::width;
  int64_t column = 0;
  for (; column + kColumns <= bag.width; column += kColumns) sum_columns(bag, column, result);
  if (column < bag.width) sum_rest(bag, column, result);
}

}  // namespace

extern const BagLoops bag_loops;
const BagLoops bag_loops{{sum<float>}, {sum<double>}};

}  // namespace RELUME_ISA
}  // namespace relume
