// Sums of rows of a table, per instruction set (bag_loops.isa.cpp).
#pragma once
#include <cstdint>

namespace relume {

// The rows of a bag and what each is multiplied with; the table is row-major without gaps.
template <class T>
struct BagRows {
  const T* table;
  int64_t width;
  const int64_t* rows;
  const T* factors;
  int64_t count;
};

template <class T>
struct BagLoopsOf {
  // result, `width` long, = sum of factor * row; a factor of 0 skips its row, whatever that holds.
  void (*sum)(const BagRows<T>& bag, T* result);
};
struct BagLoops {
  BagLoopsOf<float> float32;
  BagLoopsOf<double> float64;
};

}  // namespace relume
