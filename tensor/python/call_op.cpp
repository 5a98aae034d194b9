#include "tensor/python/call_op.h"

#include "tensor/python/named_results.h"

namespace relume {

bool is_long_running(const Op& op, const Value* values, int count) {
  int64_t elements = 0;
  for (int i = 0; i < count; ++i) {
    if (values[i].is_tensor()) {
      elements += values[i].tensor->numel;
    } else if (values[i].type == Value::Type::tensors) {
      for (int j = 0; j < values[i].count; ++j) {
        if (values[i].tensors[j]) elements += values[i].tensors[j]->numel;
      }
    }
  }
  return elements > kReleaseLockAbove && !op.has(Trait::view);
}

PyObject* wrap_outputs(const Op& op, Outputs& outputs) {
  if (op.schema.return_count == 1) return wrap(std::move(outputs[0]));
  const int count = outputs.size();
  if (PyTypeObject* type = named_result_type(op)) {
    nb::object result = checked(PyStructSequence_New(type));
    for (int i = 0; i < count; ++i) PyStructSequence_SetItem(result.ptr(), i, wrap(std::move(outputs[i])));
    return result.release().ptr();
  }
  const bool as_list = op.schema.returns_list;
  nb::object result = checked(as_list ? PyList_New(count) : PyTuple_New(count));
  for (int i = 0; i < count; ++i) {
    PyObject* item = wrap(std::move(outputs[i]));
    if (as_list) {
      PyList_SET_ITEM(result.ptr(), i, item);
    } else {
      PyTuple_SET_ITEM(result.ptr(), i, item);
    }
  }
  return result.release().ptr();
}

}  // namespace relume
