// The loop that an element-wise op runs over its operands. Where they are 16-bit floats, rows of them
// become floats first, a few at a time, since processors compute on vectors of those.
#pragma once
#include "tensor/elementwise.h"

namespace relume {

class InnerLoop {
 public:
  // There is none (`exists` is false) where the function does not take the type.
  explicit InnerLoop(const Elementwise& work);
  bool exists() const { return loop_ != nullptr; }

  // As a Loop: data[0] is the output, strides are in bytes.
  void operator()(char* const* data, const int64_t* strides, int64_t count, const void* parameters) const {
    if (float_loop_ && count >= kWorthwhile) return run_in_float(data, strides, count, parameters);
    loop_(data, strides, count, parameters);
  }

 private:
  static constexpr int64_t kWorthwhile = 16;
  void run_in_float(char* const* data, const int64_t* strides, int64_t count, const void* parameters) const;

  const Elementwise& work_;
  Loop loop_;
  Loop float_loop_ = nullptr;  // of 16-bit floats
};

}  // namespace relume
