// What ops written in terms of other ops share.
#pragma once
#include <vector>

#include "tensor/dims.h"
#include "tensor/ops.h"

namespace relume {

// Tensors as a list argument of an op; lends what it holds.
class TensorList {
 public:
  explicit TensorList(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {
    for (const Tensor& tensor : tensors_) bodies_.push_back(tensor.body());
  }
  Value value() const { return Value(bodies_.data(), static_cast<int>(bodies_.size())); }

 private:
  std::vector<Tensor> tensors_;
  std::vector<TensorBody*> bodies_;
};

inline Tensor joined(std::vector<Tensor> tensors, int dim) {
  const TensorList list(std::move(tensors));
  return ops::cat(list.value(), dim);
}

inline Tensor stacked(std::vector<Tensor> tensors, int dim) {
  const TensorList list(std::move(tensors));
  return ops::stack(list.value(), dim);
}

// The tensors of a list argument, which must not be empty.
inline std::vector<Tensor> given_tensors(const Call& call, int argument) {
  std::vector<Tensor> tensors = call.tensors(argument);
  check(!tensors.empty(), call.op.name(), "() needs at least one tensor");
  return tensors;
}

// The numbers 0, 1, ..., count - 1.
inline std::vector<int64_t> counting(int count) {
  std::vector<int64_t> numbers(count);
  for (int i = 0; i < count; ++i) numbers[i] = i;
  return numbers;
}

// Which dimensions (bits) a list names; throws ValueError where one is named twice.
inline uint32_t dimension_set(const Call& call, IntSpan dims, int ndim) {
  uint32_t set = 0;
  check<IndexError>(dims.count == 0 || ndim > 0, call.op.name(), "(): a 0-d tensor has no dimensions");
  for (int64_t given : dims) {
    const uint32_t bit = 1u << wrap_dim(given, ndim);
    check(!(set & bit), call.op.name(), "(): a dimension is given twice in ", dims);
    set |= bit;
  }
  return set;
}

}  // namespace relume
