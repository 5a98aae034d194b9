#include "tensor/python/creation.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <string>

#include "tensor/convert.h"
#include "tensor/default_dtype.h"
#include "tensor/ops.h"
#include "tensor/python/arguments.h"
#include "tensor/python/bindings.h"
#include "tensor/thread_state.h"

namespace relume {
namespace {

// ---- arrays ----

// A buffer of Python's buffer protocol, released with the object.
struct Buffer {
  Py_buffer view{};
  bool held = false;

  explicit Buffer(PyObject* object) {
    if (PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) != 0) throw_python_error();
    held = true;
  }
  ~Buffer() {
    if (held) PyBuffer_Release(&view);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
};

// The DType of a struct-module format in the machine's byte order; false when relume has none.
bool dtype_from_format(const char* format, std::size_t size, DType& dtype) {
  if (!format) format = "B";
  if (*format == '@' || *format == '=' || *format == '<') ++format;  // little-endian machines only
  const std::string_view code = format;
  for (int i = 0; i < kDTypeCount; ++i) {
    const DTypeInfo& candidate = info(static_cast<DType>(i));
    // 'l' and 'q' may both be 64 bits wide: any signed integer is known by its size.
    const bool same = candidate.buffer_format == code ||
                      ((code == "i" || code == "l" || code == "q") && candidate.kind == Kind::integer &&
                       static_cast<DType>(i) != DType::uint8);
    if (same && candidate.size == size) {
      dtype = static_cast<DType>(i);
      return true;
    }
  }
  return false;
}

void release_buffer(void* context) {
  if (!Py_IsInitialized()) return;  // the interpreter is gone, and the memory with it
  const PyGILState_STATE state = PyGILState_Ensure();
  delete static_cast<Buffer*>(context);
  PyGILState_Release(state);
}

// Why a buffer cannot be shared; empty when it can.
std::string obstacle(const Py_buffer& view, bool known_type) {
  if (!known_type) return message("its type (format '", view.format, "') has no relume dtype");
  if (view.ndim > kMaxDims) return message("it has ", view.ndim, " dimensions; at most ", kMaxDims, " are supported");
  if (view.readonly) return "it is read-only";
  if (view.suboffsets) return "its memory is not one strided block";
  for (int i = 0; i < view.ndim; ++i) {
    if (view.shape[i] > 1 && view.strides[i] % view.itemsize != 0) {
      return message("its strides in bytes are no multiple of its item size ", view.itemsize);
    }
  }
  return "";
}

Tensor share_buffer(std::unique_ptr<Buffer> buffer, DType dtype) {
  const Py_buffer& view = buffer->view;
  std::vector<int64_t> shape(view.shape, view.shape + view.ndim);
  std::vector<int64_t> strides(view.ndim, 0);
  // The lowest and the highest element, relative to the first one.
  int64_t lowest = 0;
  int64_t highest = 0;
  bool has_elements = true;
  for (int i = 0; i < view.ndim; ++i) {
    has_elements = has_elements && shape[i] > 0;
    strides[i] = shape[i] > 1 ? view.strides[i] / view.itemsize : 1;
    const int64_t extent = (std::max<int64_t>(shape[i], 1) - 1) * strides[i];
    (extent < 0 ? lowest : highest) += extent;
  }
  const std::size_t bytes = has_elements ? (highest - lowest + 1) * view.itemsize : 0;
  if (!has_elements) lowest = 0;
  char* base = static_cast<char*>(view.buf) + lowest * view.itemsize;
  Ref<Storage> storage = Storage::wrap(base, bytes, dtype, release_buffer, buffer.get());
  buffer.release();
  return make_view(storage.get(), -lowest, shape, strides, dtype);
}

// A NumPy copy in a type and layout that can be shared.
nb::object shareable_copy(PyObject* array) {
  static const std::pair<const char*, const char*> kWider[] = {
      {"uint16", "int32"}, {"uint32", "int64"}, {"uint64", "int64"}};
  nb::module_ numpy = nb::module_::import_("numpy");
  nb::object source = numpy.attr("asarray")(nb::borrow(array));
  nb::object dtype = source.attr("dtype").attr("newbyteorder")("=");
  const std::string name = nb::str(dtype.attr("name")).c_str();
  if (name == "uint64") {
    nb::object too_large = source.attr("__gt__")(INT64_MAX).attr("any")();
    check(PyObject_IsTrue(too_large.ptr()) == 0,
          "relume has no uint64, and this array has numbers that int64 cannot hold; convert it first: "
          "array.astype(numpy.float64)");
  }
  for (const auto& [narrow, wide] : kWider) {
    if (name == narrow) dtype = numpy.attr("dtype")(wide);
  }
  return numpy.attr("array")(source, nb::arg("dtype") = dtype, nb::arg("order") = "C");
}

// ---- nested sequences ----

bool is_sequence(PyObject* object) {
  if (PyUnicode_Check(object) || PyBytes_Check(object) || PyDict_Check(object)) return false;
  if (is_tensor(object)) return unwrap(object)->ndim > 0;
  if (is_numpy_array(object)) return PyObject_Length(object) >= 0 || (PyErr_Clear(), false);
  return PySequence_Check(object);
}

// Collects the numbers of nested sequences, and the shape that they agree on.
class NestedNumbers {
 public:
  explicit NestedNumbers(PyObject* data) { collect(data, 0); }

  const std::vector<int64_t>& shape() const { return shape_; }

  DType natural_dtype() const {
    if (!complex_numbers_.empty()) return default_complex();
    if (has_real_ || values_.empty()) return default_float();
    return has_integer_ ? DType::int64 : DType::boolean;
  }

  Tensor tensor(DType dtype) const {
    Tensor result = empty(shape_, dtype);
    check<TypeError>(complex_numbers_.empty() || is_complex(dtype), "complex numbers do not fit into ", name(dtype));
    visit_any(dtype, [&](auto zero) {
      using T = decltype(zero);
      T* out = result.data_as<T>();
      for (const Value& value : values_) {
        if (!fits<T>(value)) {
          throw ValueError(message("the number ", value.as_double(), " does not fit into ", name(dtype)));
        }
        *out++ = number_as<T>(value);
      }
    });
    return result;
  }

 private:
  // Any number is a float or a bool; an integer type holds only so many.
  template <class T>
  static bool fits(const Value& value) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      constexpr double kLimit = 0x1p63;
      if (value.type == Value::Type::real && !(value.real >= -kLimit && value.real < kLimit)) return false;
      const int64_t number = value.as_int();
      return number >= static_cast<int64_t>(std::numeric_limits<T>::min()) &&
             number <= static_cast<int64_t>(std::numeric_limits<T>::max());
    }
    return true;
  }

  void collect(PyObject* object, std::size_t depth) {
    if (!is_sequence(object)) return collect_number(object, depth);
    check(depth < kMaxDims, "data is nested more than ", kMaxDims, " levels deep");
    // A tuple of its own: reading a number may run code that changes the list.
    nb::object items = checked(PySequence_Tuple(object));
    const Py_ssize_t count = PyTuple_GET_SIZE(items.ptr());
    if (!complete_ && depth == shape_.size()) shape_.push_back(count);
    check(depth < shape_.size() && shape_[depth] == count, "nested sequences differ in length: expected ",
          depth < shape_.size() ? message(shape_[depth], " items") : "a number", " at depth ", depth,
          ", found ", count, " items");
    if (count == 0) complete_ = true;
    for (Py_ssize_t i = 0; i < count; ++i) collect(PyTuple_GET_ITEM(items.ptr(), i), depth + 1);
  }

  void collect_number(PyObject* object, std::size_t depth) {
    complete_ = true;
    Value value;
    if (is_tensor(object)) {
      const Tensor tensor = unwrap_tensor(object);
      value = is_complex(tensor.dtype())         ? complex(item_as_complex(tensor))
              : is_floating(tensor.dtype())      ? Value(item_as_double(tensor))
              : tensor.dtype() == DType::boolean ? Value(item_as_int(tensor) != 0)
                                                 : Value(item_as_int(tensor));
    } else if (Complex128 number; complex_number(object, number)) {
      value = complex(number);
    } else if (!number_value(object, value)) {
      check<TypeError>(is_numpy_array(object), "cannot make a tensor of ", type_name(object),
                       ": expected numbers, nested lists of numbers, or an array");
      nb::object item = checked(PyObject_CallMethod(object, "item", nullptr));
      return collect_number(item.ptr(), depth);
    }
    check(depth == shape_.size(), "nested sequences differ in depth: a number at depth ", depth,
          " where depth ", shape_.size(), " was expected");
    has_real_ = has_real_ || value.type == Value::Type::real;
    has_integer_ = has_integer_ || value.type == Value::Type::integer;
    values_.push_back(value);
  }

  Value complex(Complex128 number) {
    complex_numbers_.push_back(number);
    return Value(complex_numbers_.back());
  }

  std::vector<Value> values_;
  std::deque<Complex128> complex_numbers_;  // what values_ point to
  std::vector<int64_t> shape_;
  bool complete_ = false;  // the depth is known
  bool has_real_ = false;
  bool has_integer_ = false;
};

Tensor cast(const Tensor& tensor, DType dtype) {
  return tensor.dtype() == dtype ? tensor : ops::to_dtype(tensor, dtype);
}

}  // namespace

Tensor tensor_from_array(PyObject* array, ArrayMemory memory) {
  if (memory == ArrayMemory::copy) {
    return ops::clone(tensor_from_array(array, ArrayMemory::share_if_possible));
  }
  auto buffer = std::make_unique<Buffer>(array);
  DType dtype = DType::float32;
  const bool known = dtype_from_format(buffer->view.format, buffer->view.itemsize, dtype);
  const std::string reason = obstacle(buffer->view, known);
  if (reason.empty()) return share_buffer(std::move(buffer), dtype);
  if (memory == ArrayMemory::share) {
    const std::string text = message("cannot share the array's memory: ", reason,
                                     "; copy it with relume.tensor(array) instead");
    if (!known) throw TypeError(text);
    throw ValueError(text);
  }
  nb::object copy = shareable_copy(array);
  auto copied = std::make_unique<Buffer>(copy.ptr());
  check<TypeError>(dtype_from_format(copied->view.format, copied->view.itemsize, dtype),
                   "cannot make a tensor of this array: ", reason);
  check(copied->view.ndim <= kMaxDims, "cannot make a tensor of this array: ", reason);
  return share_buffer(std::move(copied), dtype);
}

Tensor tensor_from_data(PyObject* data, PyObject* dtype) {
  GradMode no_grad(false);
  if (is_tensor(data)) {
    Tensor copy = ops::clone(unwrap_tensor(data));
    return cast(copy, to_dtype_or(dtype, copy.dtype()));
  }
  if (is_numpy_array(data) || PyMemoryView_Check(data)) {
    Tensor copy = tensor_from_array(data, ArrayMemory::copy);
    return cast(copy, to_dtype_or(dtype, copy.dtype()));
  }
  if (!is_numpy_scalar(data) && !PyType_Check(data) && PyObject_HasAttrString(data, "__array__")) {
    nb::object array = nb::module_::import_("numpy").attr("asarray")(nb::borrow(data));
    return tensor_from_data(array.ptr(), dtype);
  }
  const NestedNumbers numbers(data);
  return numbers.tensor(to_dtype_or(dtype, numbers.natural_dtype()));
}

void bind_creation(nb::module_& module) {
  module.def("register_dtypes", register_dtypes);
  module.def("default_float", [] { return nb::borrow(dtype_object(default_float())); });
  module.def("set_default_float", [](nb::object dtype) { set_default_float(to_dtype(dtype.ptr())); });
  module.def("tensor_from_data", [](nb::object data, nb::object dtype) {
    return tensor_from_data(data.ptr(), dtype.ptr());
  }, nb::arg("data").none(), nb::arg("dtype").none());
  module.def("tensor_from_array", [](nb::object array, bool share) {
    return tensor_from_array(array.ptr(), share ? ArrayMemory::share : ArrayMemory::share_if_possible);
  });
  module.def("tensor_from_address", [](std::uintptr_t address) {
    check(address != 0, "expected the address of a tensor, not 0");
    return Tensor::borrow(reinterpret_cast<TensorBody*>(address));
  }, "The tensor whose core object is at this address; takes a reference of its own.");
}

}  // namespace relume
