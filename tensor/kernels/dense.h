// Kernels that write row-major memory, for outputs of any layout.
#pragma once
#include "tensor/copy.h"

namespace relume {

// A row-major tensor that stands for an output: the output itself where it is row-major,
// otherwise memory that `write_back` copies into it.
class DenseOutput {
 public:
  explicit DenseOutput(const Tensor& output)
      : output_(output), dense_(output.is_contiguous() ? output : empty_like(output)) {}

  const Tensor& operator*() const { return dense_; }
  const Tensor* operator->() const { return &dense_; }
  void write_back() const {
    if (dense_.body() != output_.body()) copy(output_, dense_);
  }

 private:
  Tensor output_, dense_;
};

}  // namespace relume
