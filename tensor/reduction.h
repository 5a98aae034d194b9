// Folding the elements of a tensor along any of its dimensions.
#pragma once
#include "tensor/dims.h"
#include "tensor/dispatch.h"
#include "tensor/kernels/reduction_table.h"

namespace relume {

// A set of dimensions of a tensor, one bit each.
class DimSet {
 public:
  static DimSet all(int ndim) { return DimSet((1u << ndim) - 1); }
  // Wraps negative dimensions; throws ValueError for a repeated and IndexError for a wrong one.
  static DimSet of(IntSpan dims, int ndim);

  bool has(int dim) const { return bits_ & (1u << dim); }
  bool operator==(DimSet other) const { return bits_ == other.bits_; }

 private:
  explicit DimSet(uint32_t bits) : bits_(bits) {}
  uint32_t bits_;
};

// The shape that is left, reduced dimensions being dropped or kept with size 1.
Dims reduced_shape(IntSpan shape, DimSet dims, bool keepdim);

// Folds `input` along `dims`. Results go to `results` (for arg_max and arg_min positions,
// with the values in `values` unless that is null), contiguous and in order. Positions count
// the reduced elements row-major. A mean divides by the number of elements it folds.
void reduce(Reduction reduction, const Tensor& input, DimSet dims, char* results, char* values);

}  // namespace relume
