// Calling ops from Python: results become Python objects, and long kernels run without
// Python's lock.
#pragma once
#include "tensor/dispatch.h"
#include "tensor/python/tensor_object.h"

namespace relume {

// Below this many input elements letting go of the lock costs more than it gives.
constexpr int64_t kReleaseLockAbove = 1 << 16;

bool is_long_running(const Op& op, const Value* values, int count);

// Tensor, tuple of Tensors or list of Tensors, as the schema says.
PyObject* wrap_outputs(const Op& op, Outputs& outputs);

inline PyObject* call_op(const Op& op, const Value* values, int count) {
  if (__builtin_expect(is_long_running(op, values, count), false)) {
    Outputs outputs;
    {
      ReleaseLock release(true);
      outputs = invoke(op, values, count);
    }
    return wrap_outputs(op, outputs);
  }
  Outputs outputs = invoke(op, values, count);
  return wrap_outputs(op, outputs);
}

// For ops with one result.
inline Tensor run_op(const Op& op, const Value* values, int count) {
  ReleaseLock release(is_long_running(op, values, count));
  return std::move(invoke(op, values, count)[0]);
}
inline Tensor run_op_in_place(const Op& op, const Value* values, int count) {
  ReleaseLock release(is_long_running(op, values, count));
  return invoke_in_place(op, values, count);
}

}  // namespace relume
