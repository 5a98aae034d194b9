// Tensors from Python data.
#pragma once
#include "tensor/python/tensor_object.h"

namespace relume {

enum class ArrayMemory {
  share,              // throws ValueError or TypeError when the memory cannot be shared
  share_if_possible,  // copies what cannot be shared
  copy,
};

// A NumPy array, or anything else with the buffer protocol.
Tensor tensor_from_array(PyObject* array, ArrayMemory memory);

// Numbers, nested sequences of them, arrays and tensors; always a copy. `dtype` may be None.
Tensor tensor_from_data(PyObject* data, PyObject* dtype);

}  // namespace relume
