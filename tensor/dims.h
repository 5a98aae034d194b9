// A short list of sizes, strides or dimension numbers, held in place: making a view
// must not cost an allocation.
#pragma once
#include "tensor/tensor.h"

namespace relume {

struct Dims {
  int64_t values[kMaxDims];
  int count = 0;

  Dims() = default;
  Dims(IntSpan span) {
    for (int64_t value : span) push(value);
  }

  void push(int64_t value) {
    check(count < kMaxDims, "a tensor can have at most ", kMaxDims, " dimensions");
    values[count++] = value;
  }
  void insert(int position, int64_t value) {
    push(value);
    for (int i = count - 1; i > position; --i) values[i] = values[i - 1];
    values[position] = value;
  }
  void erase(int position) {
    for (int i = position; i + 1 < count; ++i) values[i] = values[i + 1];
    --count;
  }
  int64_t& operator[](int i) { return values[i]; }
  int64_t operator[](int i) const { return values[i]; }
  operator IntSpan() const { return {values, count}; }
};

// Row-major strides without gaps.
inline Dims contiguous_strides(IntSpan shape) {
  Dims strides(shape);
  int64_t step = 1;
  for (int i = shape.count - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i] > 1 ? shape[i] : 1;
  }
  return strides;
}

}  // namespace relume
