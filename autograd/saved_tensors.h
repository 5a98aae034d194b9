// Keeping something else than the tensor that a derivative needs: a copy on disk, or
// nothing at all where it can be computed again (checkpointing).
#pragma once
#include <functional>

#include "tensor/tensor.h"

namespace relume {

// Gives a packed tensor back.
using Unpack = std::function<Tensor()>;

class SavedTensorHooks {
 public:
  virtual ~SavedTensorHooks() = default;
  // Called for every tensor but leaves when a node saves it; off the tape.
  virtual Unpack pack(const Tensor& tensor) = 0;
};

}  // namespace relume
