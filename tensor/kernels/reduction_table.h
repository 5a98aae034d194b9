// The inner loops of reductions, by reduction and element type.
#pragma once
#include <cstdint>

#include "tensor/dtype.h"

namespace relume {

enum class Reduction : uint8_t {
  sum, nan_sum, count_nonzero, mean, prod, sum_of_squares, root_of_squares, max, min, arg_max, arg_min, any, all, count
};

// A reduction folds elements into accumulators, whose type only its loops know. Strides are
// in bytes. `first` is the position of the first element among all that one result folds.
struct ReductionLoops {
  int64_t accumulator_size = 0;  // bytes; 0: the reduction does not take this type
  DType result = DType::float32;

  void (*start)(char* accumulators, int64_t count);
  // Folds each of `rows` rows of `count` elements into an accumulator of its own.
  void (*rows)(char* accumulators, const char* data, int64_t stride, int64_t row_stride,
               int64_t count, int64_t rows, int64_t first);
  // Folds `rows` rows of `count` elements into `count` accumulators.
  void (*columns)(char* accumulators, const char* data, int64_t stride, int64_t row_stride,
                  int64_t count, int64_t rows, int64_t first);
  // Folds accumulators of later elements into those of earlier ones.
  void (*merge)(char* accumulators, const char* later, int64_t count);
  // Writes results one after the other: for arg_max and arg_min the positions, and the values
  // to `values` unless that is null. `divisor` is that of a mean.
  void (*finish)(char* results, char* values, const char* accumulators, int64_t count,
                 double divisor);
};

constexpr int64_t kMaxAccumulatorSize = 16;

struct ReductionTable {
  ReductionLoops loops[static_cast<int>(Reduction::count)][kDTypeCount] = {};
};

// Its accumulator_size is 0 where the reduction does not take that type.
const ReductionLoops& find_reduction(Reduction reduction, DType dtype);

// Defined by complex_reductions.cpp.
void add_complex_reductions(ReductionTable& table);

// What each instruction set adds; defined by reduction.isa.cpp.
namespace baseline {
void add_reductions(ReductionTable& table);
}
namespace avx2 {
void add_reductions(ReductionTable& table);
}
namespace avx512 {
void add_reductions(ReductionTable& table);
}

}  // namespace relume
