#include "tensor/inner_loop.h"

#include <algorithm>

#include "tensor/half.h"
#include "tensor/kernels/best_isa.h"
#include "tensor/kernels/row_loops.h"

namespace relume {

RELUME_PER_ISA(RowLoops, row_loops)

namespace {

constexpr int64_t kChunk = 512;  // elements that stay in the nearest cache, as floats too

template <class T>
void read_row(const char* from, int64_t stride, int64_t count, RowConversion<float, T> convert, float* to) {
  if (stride == sizeof(T)) return convert(reinterpret_cast<const T*>(from), count, to);
  for (int64_t i = 0; i < count; ++i) to[i] = *reinterpret_cast<const T*>(from + i * stride);
}
template <class T>
void write_row(const float* from, int64_t count, RowConversion<T, float> convert, char* to, int64_t stride) {
  if (stride == sizeof(T)) return convert(from, count, reinterpret_cast<T*>(to));
  for (int64_t i = 0; i < count; ++i) *reinterpret_cast<T*>(to + i * stride) = T(from[i]);
}

void read_floats(DType dtype, const char* from, int64_t stride, int64_t count, float* to) {
  const RowLoops& loops = best_row_loops();
  dtype == DType::float16 ? read_row(from, stride, count, loops.half_to_float, to)
                          : read_row(from, stride, count, loops.bfloat16_to_float, to);
}
void write_floats(DType dtype, const float* from, int64_t count, char* to, int64_t stride) {
  const RowLoops& loops = best_row_loops();
  dtype == DType::float16 ? write_row(from, count, loops.float_to_half, to, stride)
                          : write_row(from, count, loops.float_to_bfloat16, to, stride);
}

}  // namespace

InnerLoop::InnerLoop(const Elementwise& work) : work_(work), loop_(find_loop(work.function, work.compute)) {
  const bool is_short = work.compute == DType::float16 || work.compute == DType::bfloat16;
  const bool in_float = is_short && work.function != Function::nextafter;  // which is another one in each type
  if (in_float && loop_) float_loop_ = find_loop(work.function, DType::float32);
}

void InnerLoop::run_in_float(char* const* data, const int64_t* strides, int64_t count,
                             const void* parameters) const {
  alignas(64) float rows[kMaxOperands + 1][kChunk];
  char* at[kMaxOperands + 1];
  int64_t steps[kMaxOperands + 1];
  const bool writes_floats = work_.result == work_.compute;
  for (int64_t start = 0; start < count; start += kChunk) {
    const int64_t here = std::min(kChunk, count - start);
    for (int i = 0; i <= work_.operand_count; ++i) {
      char* row = data[i] + start * strides[i];
      const bool is_condition = i == 1 && work_.first_is_condition;
      const bool as_it_is = is_condition || (i == 0 && !writes_floats);
      at[i] = as_it_is ? row : reinterpret_cast<char*>(rows[i]);
      steps[i] = as_it_is ? strides[i] : strides[i] == 0 ? 0 : static_cast<int64_t>(sizeof(float));
      if (i > 0 && !as_it_is) read_floats(work_.compute, row, strides[i], strides[i] == 0 ? 1 : here, rows[i]);
    }
    float_loop_(at, steps, here, parameters);
    if (writes_floats) write_floats(work_.result, rows[0], here, data[0] + start * strides[0], strides[0]);
  }
}

}  // namespace relume
