#include "tensor/python/arguments.h"

#include "tensor/python/creation.h"

namespace relume {
namespace {

// The type as a user would write it: other libraries have a Tensor too.
std::string described(PyObject* object) {
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  const std::string module = nb::str(nb::handle(type).attr("__module__")).c_str();
  std::string text = module == "builtins" ? type_name(object) : module + '.' + type_name(object);
  if (module != "builtins" && std::string_view(type_name(object)).find('.') != std::string_view::npos) {
    text = type_name(object);  // a type written in C names its module itself
  }
  if (!is_tensor(object) && PyObject_HasAttrString(object, "__dlpack__")) {
    text += "; relume.from_dlpack() takes it over";
  }
  return text;
}

[[noreturn]] void wrong_type(const ArgumentPlace& place, const char* expected, PyObject* got) {
  throw TypeError(message(place.function, "(): argument '", place.argument->name, "' must be ", expected,
                          ", not ", described(got)));
}

// An attribute of the numpy module, looked up once and kept for ever. NumPy is a runtime
// requirement, and it is imported before the first tensor is made.
PyObject* numpy_attribute(const char* name) {
  nb::object attribute = nb::module_::import_("numpy").attr(name);
  return attribute.release().ptr();
}

int64_t long_value(PyObject* integer) {
  const long long value = PyLong_AsLongLong(integer);
  if (value == -1 && PyErr_Occurred()) throw_python_error();
  return value;
}

int64_t integer_from(PyObject* object, const ArgumentPlace& place) {
  if (PyLong_CheckExact(object)) return long_value(object);
  if (!PyIndex_Check(object) || PyFloat_Check(object)) wrong_type(place, "int", object);
  return long_value(checked(PyNumber_Index(object)).ptr());
}

Value integers_from_sequence(PyObject* object, const ArgumentPlace& place, ArgumentMemory& memory) {
  if (PyLong_CheckExact(object)) return to_integers(&object, 1, place, memory);
  if (PyBool_Check(object)) wrong_type(place, "int or a tuple of ints", object);
  if (PyIndex_Check(object) && !(is_tensor(object) && unwrap(object)->ndim > 0) &&
      !is_numpy_array(object)) {
    return to_integers(&object, 1, place, memory);
  }
  const bool is_list = PyTuple_Check(object) || PyList_Check(object) || is_numpy_array(object) ||
                       is_tensor(object) || PyRange_Check(object);
  if (!is_list) wrong_type(place, "int or a tuple of ints", object);
  // A tuple of its own: an item's __index__ may change the list that it came from.
  nb::object items = checked(PySequence_Tuple(object));
  return to_integers(PySequence_Fast_ITEMS(items.ptr()),
                     static_cast<int>(PyTuple_GET_SIZE(items.ptr())), place, memory);
}

Value tensors_from_sequence(PyObject* object, const ArgumentPlace& place, ArgumentMemory& memory) {
  if (!PyTuple_Check(object) && !PyList_Check(object)) {
    wrong_type(place, "a list or tuple of Tensors", object);
  }
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
  PyObject** items = PySequence_Fast_ITEMS(object);
  TensorBody** list = memory.tensors(static_cast<int>(count));
  const bool missing_allowed = place.argument->type_name == "Tensor?[]";
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (is_tensor(items[i])) {
      list[i] = memory.keep(unwrap_tensor(items[i]));
    } else if (missing_allowed && items[i] == Py_None) {
      list[i] = nullptr;
    } else {
      throw TypeError(message(place.function, "(): argument '", place.argument->name,
                              "' must be a list or tuple of Tensors, but item ", i, " is ",
                              described(items[i])));
    }
  }
  return Value(list, static_cast<int>(count));
}

Value boolean_from(PyObject* object, const ArgumentPlace& place) {
  if (object == Py_True || object == Py_False) return Value(object == Py_True);
  if (!PyLong_Check(object) && !is_numpy_scalar(object)) wrong_type(place, "bool", object);
  const int truth = PyObject_IsTrue(object);
  if (truth < 0) throw_python_error();
  return Value(truth != 0);
}

Value scalar_from(PyObject* object, const ArgumentPlace& place, const char* expected, ArgumentMemory& memory) {
  Value value;
  if (number_value(object, value) || complex_value(object, value, memory)) return value;
  if (is_tensor(object) && unwrap(object)->numel == 1) {
    const Tensor tensor = unwrap_tensor(object);
    if (is_complex(tensor.dtype())) return memory.complex(item_as_complex(tensor));
    if (is_floating(tensor.dtype())) return Value(item_as_double(tensor));
    return Value(item_as_int(tensor));
  }
  wrong_type(place, expected, object);
}

Value real_from(PyObject* object, const ArgumentPlace& place, ArgumentMemory& memory) {
  const Value number = scalar_from(object, place, "float", memory);
  if (number.is_complex()) wrong_type(place, "float", object);
  return Value(number.as_double());
}

}  // namespace

int64_t* ArgumentMemory::integers(int count) {
  if (used_ + count <= kInline) {
    used_ += count;
    return inline_integers_ + used_ - count;
  }
  rest().integers.emplace_back(count);
  return rest().integers.back().data();
}

TensorBody** ArgumentMemory::tensors(int count) {
  if (listed_ + count <= kInlineTensors) {
    listed_ += count;
    return inline_list_ + listed_ - count;
  }
  rest().tensor_lists.emplace_back(count);
  return rest().tensor_lists.back().data();
}

Value ArgumentMemory::complex(Complex128 number) {
  rest().complex_numbers.push_back(number);
  return Value(rest().complex_numbers.back());
}

TensorBody* ArgumentMemory::keep(Tensor tensor) {
  if (kept_count_ < kInlineTensors) {
    TensorBody* body = tensor.body();
    body->retain();
    kept_[kept_count_++] = body;
    return body;
  }
  rest().tensors.push_back(std::move(tensor));
  return rest().tensors.back().body();
}

const char* ArgumentMemory::keep(nb::object text, const char* characters) {
  rest().objects.push_back(std::move(text));
  return characters;
}

bool is_numpy_array(PyObject* object) {
  static PyObject* type = numpy_attribute("ndarray");
  return PyType_IsSubtype(Py_TYPE(object), reinterpret_cast<PyTypeObject*>(type));
}

bool is_numpy_scalar(PyObject* object) {
  static PyObject* type = numpy_attribute("generic");
  return PyType_IsSubtype(Py_TYPE(object), reinterpret_cast<PyTypeObject*>(type));
}

bool number_value(PyObject* object, Value& value) {
  if (PyFloat_Check(object)) {
    value = Value(PyFloat_AS_DOUBLE(object));
    return true;
  }
  if (PyBool_Check(object)) {
    value = Value(object == Py_True);
    return true;
  }
  if (PyLong_Check(object)) {
    value = Value(long_value(object));
    return true;
  }
  if (!is_numpy_scalar(object)) return false;
  nb::object item = checked(PyObject_CallMethod(object, "item", nullptr));
  return (PyFloat_Check(item.ptr()) || PyLong_Check(item.ptr())) && number_value(item.ptr(), value);
}

bool complex_number(PyObject* object, Complex128& number) {
  if (!PyComplex_Check(object)) {  // numpy.complex128 is one
    if (!is_numpy_scalar(object)) return false;
    nb::object item = checked(PyObject_CallMethod(object, "item", nullptr));
    return PyComplex_Check(item.ptr()) && complex_number(item.ptr(), number);
  }
  const Py_complex parts = PyComplex_AsCComplex(object);
  number = Complex128(parts.real, parts.imag);
  return true;
}

bool complex_value(PyObject* object, Value& value, ArgumentMemory& memory) {
  Complex128 number;
  if (!complex_number(object, number)) return false;
  value = memory.complex(number);
  return true;
}

bool operand_value(PyObject* object, Value& value, ArgumentMemory& memory) {
  if (is_tensor(object)) {
    value = Value(unwrap(object));
    return true;
  }
  if (number_value(object, value) || complex_value(object, value, memory)) return true;
  if (!is_numpy_array(object)) return false;
  value = Value(memory.keep(tensor_from_array(object, ArrayMemory::share_if_possible)));
  return true;
}

Value to_integers(PyObject* const* objects, int count, const ArgumentPlace& place, ArgumentMemory& memory) {
  int64_t* values = memory.integers(count);
  for (int i = 0; i < count; ++i) values[i] = integer_from(objects[i], place);
  return Value(IntSpan(values, count));
}

Value to_value(PyObject* object, const ArgumentPlace& place, ArgumentMemory& memory) {
  const Argument& argument = *place.argument;
  if (object == Py_None && argument.optional) return Value();
  switch (argument.type) {
    case ArgumentType::tensor:
      if (is_tensor(object)) return Value(unwrap(object));
      if (is_numpy_array(object)) wrong_type(place, "Tensor (see relume.from_numpy)", object);
      wrong_type(place, "Tensor", object);
    case ArgumentType::tensor_or_scalar: {
      Value value;
      if (operand_value(object, value, memory)) return value;
      wrong_type(place, "Tensor or number", object);
    }
    case ArgumentType::tensors:
      return tensors_from_sequence(object, place, memory);
    case ArgumentType::scalar:
      return scalar_from(object, place, "a number", memory);
    case ArgumentType::integer:
      return Value(integer_from(object, place));
    case ArgumentType::integers:
      return integers_from_sequence(object, place, memory);
    case ArgumentType::real:
      return real_from(object, place, memory);
    case ArgumentType::boolean:
      return boolean_from(object, place);
    case ArgumentType::dtype:
      return Value(to_dtype(object));
    case ArgumentType::text: {
      if (!PyUnicode_Check(object)) wrong_type(place, "str", object);
      const char* characters = PyUnicode_AsUTF8(object);
      if (!characters) throw_python_error();
      return Value(memory.keep(nb::borrow(object), characters));
    }
  }
  return Value();
}

}  // namespace relume
