// t[key] and t[key] = value, by NumPy's rules.
//
// Integers, slices, None and ... are views, made one dimension after the other. Lists,
// arrays, tensors of integers or bools are gathered by the op `index`; integers beside
// them count as such indices too.
#include "tensor/ops.h"
#include "tensor/python/arguments.h"
#include "tensor/python/call_op.h"
#include "tensor/python/creation.h"
#include "tensor/python/error_names.h"
#include "tensor/thread_state.h"

namespace relume {
namespace {

const OpFunction index_op{"index"}, index_put_op{"index_put_"};

// What a key does to a tensor: views first, then one gather.
struct Selection {
  Tensor view;
  std::vector<Tensor> indices;  // by dimension of `view`; undefined for a whole dimension
  bool advanced = false;
};

bool is_integer(PyObject* item) {
  if (PyBool_Check(item)) return false;
  if (is_tensor(item)) return false;
  return PyLong_Check(item) || (PyIndex_Check(item) && !is_numpy_array(item));
}

bool is_bool(PyObject* item) {
  return PyBool_Check(item) || (is_numpy_scalar(item) && !PyIndex_Check(item) &&
                                std::string_view(type_name(item)).substr(0, 10) == "numpy.bool");
}

// Lists, ranges, arrays and tensors.
bool is_advanced(PyObject* item) {
  // The frequent cases first.
  if (item == Py_None || item == Py_Ellipsis || PySlice_Check(item) || PyLong_CheckExact(item)) return false;
  return is_tensor(item) || is_numpy_array(item) || PyList_Check(item) || PyTuple_Check(item) || PyRange_Check(item) ||
         is_bool(item);
}

int64_t integer_of(PyObject* item) {
  const Py_ssize_t value = PyNumber_AsSsize_t(item, PyExc_IndexError);
  if (value == -1 && PyErr_Occurred()) throw_python_error();
  return value;
}

// A bound or step of a slice, clipped to 64 bits as Python does.
Value slice_part(PyObject* part) {
  if (part == Py_None) return Value();
  check<TypeError>(PyIndex_Check(part), "slice indices must be integers or None, not ", type_name(part));
  const Py_ssize_t value = PyNumber_AsSsize_t(part, nullptr);
  if (value == -1 && PyErr_Occurred()) throw_python_error();
  return Value(static_cast<int64_t>(value));
}

Tensor index_tensor(PyObject* item) {
  Tensor indices;
  if (is_tensor(item)) {
    indices = unwrap_tensor(item);
  } else if (is_numpy_array(item)) {
    indices = tensor_from_array(item, ArrayMemory::share_if_possible);
  } else if (is_bool(item)) {
    const int truth = PyObject_IsTrue(item);
    if (truth < 0) throw_python_error();
    indices = full({1}, truth, DType::boolean);
  } else {
    indices = tensor_from_data(item, Py_None);
    if (indices.numel() == 0) indices = empty(indices.shape(), DType::int64);
  }
  check<IndexError>(!is_differentiable(indices.dtype()), "tensors used as indices must hold integers or bools, not ",
                    name(indices.dtype()));
  return indices;
}

// How many dimensions an item of the key uses up.
int dimensions_of(PyObject* item) {
  if (item == Py_None || item == Py_Ellipsis) return 0;
  if (PySlice_Check(item) || PyLong_CheckExact(item)) return 1;
  if (is_bool(item)) return 0;
  if (is_tensor(item)) return unwrap(item)->dtype == DType::boolean ? unwrap(item)->ndim : 1;
  if (!is_advanced(item)) return 1;
  const Tensor indices = index_tensor(item);
  return indices.dtype() == DType::boolean ? indices.ndim() : 1;
}

class KeyReader {
 public:
  KeyReader(const Tensor& tensor, PyObject* const* items, int count) : items_(items), count_(count) {
    selection_.view = tensor;
    int used = 0;
    for (int i = 0; i < count; ++i) {
      check<IndexError>(items[i] != Py_Ellipsis || !has_ellipsis_, "an index can hold only one ...");
      has_ellipsis_ = has_ellipsis_ || items[i] == Py_Ellipsis;
      selection_.advanced = selection_.advanced || is_advanced(items[i]);
      used += dimensions_of(items[i]);
    }
    check<IndexError>(used <= tensor.ndim(), "too many indices: the tensor has ", tensor.ndim(),
                      " dimensions, the index uses ", used);
    skipped_ = tensor.ndim() - used;
  }

  Selection read() {
    for (int i = 0; i < count_; ++i) apply(items_[i]);
    return std::move(selection_);
  }

 private:
  void apply(PyObject* item) {
    Tensor& view = selection_.view;
    if (item == Py_Ellipsis) {
      pass_over(skipped_);
    } else if (item == Py_None) {
      view = ops::unsqueeze(view, dim_);
      pass_over(1);
    } else if (PySlice_Check(item)) {
      apply_slice(reinterpret_cast<PySliceObject*>(item));
      pass_over(1);
    } else if (is_advanced(item)) {
      apply_indices(item);
    } else if (is_integer(item)) {
      apply_integer(integer_of(item));
    } else {
      throw IndexError(message("an index must be an int, slice, ..., None, or a list, range, array or tensor of "
                               "ints or bools, not ", type_name(item)));
    }
  }

  void pass_over(int dimensions) {
    dim_ += dimensions;
    if (selection_.advanced) selection_.indices.resize(selection_.indices.size() + dimensions);
  }

  void apply_slice(PySliceObject* slice) {
    if (slice->start == Py_None && slice->stop == Py_None && slice->step == Py_None) return;
    const Value step = slice->step == Py_None ? Value(1) : slice_part(slice->step);
    selection_.view = ops::slice(selection_.view, dim_, slice_part(slice->start), slice_part(slice->stop), step);
  }

  void apply_integer(int64_t position) {
    if (!selection_.advanced) {
      selection_.view = ops::select(selection_.view, dim_, position);
      return;
    }
    selection_.indices.push_back(full({}, static_cast<double>(position), DType::int64));
    ++dim_;
  }

  void apply_indices(PyObject* item) {
    Tensor indices = index_tensor(item);
    if (is_bool(item) || (indices.dtype() == DType::boolean && indices.ndim() == 0)) {
      // A single truth value selects all or nothing of a new dimension.
      selection_.view = ops::unsqueeze(selection_.view, dim_);
      if (indices.ndim() == 0) indices = ops::reshape(indices, std::vector<int64_t>{1});
    }
    const int used = indices.dtype() == DType::boolean ? indices.ndim() : 1;
    selection_.indices.push_back(indices);
    dim_ += used;
  }

  PyObject* const* items_;
  int count_;
  Selection selection_;
  int dim_ = 0;        // the dimension of the view that the next item is about
  int skipped_ = 0;    // dimensions that ... stands for
  bool has_ellipsis_ = false;
};

Selection read_key(const Tensor& tensor, PyObject* key) {
  if (PyTuple_Check(key)) {
    return KeyReader(tensor, &PyTuple_GET_ITEM(key, 0), static_cast<int>(PyTuple_GET_SIZE(key))).read();
  }
  return KeyReader(tensor, &key, 1).read();
}

std::vector<TensorBody*> bodies(const std::vector<Tensor>& tensors) {
  std::vector<TensorBody*> result;
  for (const Tensor& tensor : tensors) result.push_back(tensor.body());
  return result;
}

PyObject* get_item(PyObject* self, PyObject* key) {
  PyObject* item = guard([&]() -> PyObject* {
    if (PyLong_CheckExact(key)) {
      const Value values[] = {Value(unwrap(self)), Value(0), Value(integer_of(key))};
      return call_op(ops::select.get(), values, 3);
    }
    const Tensor tensor = unwrap_tensor(self);
    Selection selection = read_key(tensor, key);
    if (selection.advanced) {
      const std::vector<TensorBody*> indices = bodies(selection.indices);
      const Value values[] = {Value(selection.view), Value(indices.data(), static_cast<int>(indices.size()))};
      return call_op(index_op.get(), values, 2);
    }
    // t[...] is a new tensor on the same memory.
    if (selection.view.body() == tensor.body()) {
      selection.view = tensor.ndim() == 0 ? ops::reshape(tensor, std::vector<int64_t>{}) : ops::slice(tensor, 0, Value(), Value(), 1);
    }
    return wrap(std::move(selection.view));
  });
  if (!item) name_called_function("");  // who writes t[7] calls no select()
  return item;
}

void assign(const Tensor& tensor, PyObject* key, PyObject* value) {
  ArgumentMemory memory;
  Value source;
  Tensor data;
  if (!operand_value(value, source, memory)) {
    data = tensor_from_data(value, Py_None);
    source = Value(data);
  }
  const Selection selection = read_key(tensor, key);
  if (!selection.advanced) {
    const Value values[] = {Value(selection.view), source};
    run_op_in_place(source.is_tensor() ? ops::copy_.get() : ops::fill_.get(), values, 2);
    return;
  }
  Tensor source_tensor;
  if (!source.is_tensor()) {
    source_tensor = full({}, source.as_double(), selection.view.dtype());
    if (source.type == Value::Type::integer && tensor.dtype() == DType::int64) {
      *source_tensor.data_as<int64_t>() = source.integer;  // a double would round large ones
    }
    source = Value(source_tensor);
  } else if (source.tensor->dtype != tensor.dtype()) {
    source_tensor = ops::to_dtype(Tensor::borrow(source.tensor), tensor.dtype());
    source = Value(source_tensor);
  }
  const std::vector<TensorBody*> indices = bodies(selection.indices);
  const Value values[] = {Value(selection.view), Value(indices.data(), static_cast<int>(indices.size())), source};
  run_op_in_place(index_put_op.get(), values, 3);
}

int set_item(PyObject* self, PyObject* key, PyObject* value) {
  const int status = guard_status([&] {
    check<TypeError>(value != nullptr, "elements of a tensor cannot be deleted");
    assign(unwrap_tensor(self), key, value);
  });
  if (status < 0) name_called_function("");
  return status;
}

Py_ssize_t length(PyObject* self) {
  const TensorBody* body = unwrap(self);
  if (body->ndim > 0) return static_cast<Py_ssize_t>(body->shape[0]);
  PyErr_SetString(PyExc_TypeError, "a 0-d tensor has no len()");
  return -1;
}

// Only for iteration, which ends by an IndexError.
PyObject* sequence_item(PyObject* self, Py_ssize_t position) {
  const TensorBody* body = unwrap(self);
  if (body->ndim > 0 && position >= body->shape[0]) {  // quicker than by an exception of C++
    PyErr_SetNone(PyExc_IndexError);
    return nullptr;
  }
  return guard([&] {
    const Value values[] = {Value(unwrap(self)), Value(0), Value(static_cast<int64_t>(position))};
    return call_op(ops::select.get(), values, 3);
  });
}

PyObject* iterate(PyObject* self) {
  if (unwrap(self)->ndim > 0) return PySeqIter_New(self);
  PyErr_SetString(PyExc_TypeError, "a 0-d tensor cannot be iterated over");
  return nullptr;
}

}  // namespace

void add_mapping_slots(std::vector<PyType_Slot>& slots) {
  const PyType_Slot table[] = {
      {Py_mp_subscript, reinterpret_cast<void*>(get_item)},
      {Py_mp_ass_subscript, reinterpret_cast<void*>(set_item)},
      {Py_mp_length, reinterpret_cast<void*>(length)},
      {Py_sq_item, reinterpret_cast<void*>(sequence_item)},
      {Py_tp_iter, reinterpret_cast<void*>(iterate)},
  };
  slots.insert(slots.end(), std::begin(table), std::end(table));
}

}  // namespace relume
