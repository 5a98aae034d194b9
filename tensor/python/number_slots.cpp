// The operators of Tensor: arithmetic, comparison, conversion to Python numbers.
#include "tensor/python/arguments.h"
#include "tensor/python/call_op.h"

namespace relume {
namespace {

// One op per operator, looked up at its first use.
enum Operator { kAdd, kSub, kMul, kDiv, kFloorDivide, kRemainder, kPow, kMatmul, kAnd, kOr, kXor,
                kEq, kNe, kLt, kLe, kGt, kGe, kNeg, kAbs, kBitwiseNot, kAny, kShiftLeft, kShiftRight };
const OpFunction kOperators[] = {
    {"add"}, {"sub"}, {"mul"}, {"div"}, {"floor_divide"}, {"remainder"}, {"pow"}, {"matmul"},
    {"bitwise_and"}, {"bitwise_or"}, {"bitwise_xor"}, {"eq"}, {"ne"}, {"lt"}, {"le"}, {"gt"}, {"ge"},
    {"neg"}, {"abs"}, {"bitwise_not"}, {"any"}, {"bitwise_left_shift"}, {"bitwise_right_shift"}};

// The general case of an operand: subclasses, Python and NumPy numbers, arrays. A number
// becomes a 0-d tensor where the op takes tensors only.
bool general_operand(PyObject* object, const Argument& argument, Value& value, ArgumentMemory& memory) {
  if (!operand_value(object, value, memory)) return false;
  return value.is_tensor() || argument.type == ArgumentType::tensor_or_scalar;
}

PyObject* general_binary(const Op& op, PyObject* left, PyObject* right) {
  ArgumentMemory memory;
  Value values[2];
  if (!general_operand(left, op.schema.arguments[0], values[0], memory) ||
      !general_operand(right, op.schema.arguments[1], values[1], memory)) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  return call_op(op, values, 2);
}

// The frequent case: exact tensors and Python floats, without any detour.
inline bool fast_operand(PyObject* object, Value& value) {
  if (Py_TYPE(object) == tensor_type) {
    value = Value(unwrap(object));
    return true;
  }
  if (PyFloat_CheckExact(object)) {
    value = Value(PyFloat_AS_DOUBLE(object));
    return true;
  }
  return false;
}

inline PyObject* binary_operator(const Op& op, PyObject* left, PyObject* right) {
  Value values[2];
  if (fast_operand(left, values[0]) && fast_operand(right, values[1]) &&
      (values[0].is_tensor() || op.schema.arguments[0].type == ArgumentType::tensor_or_scalar) &&
      (values[1].is_tensor() || op.schema.arguments[1].type == ArgumentType::tensor_or_scalar)) {
    return call_op(op, values, 2);
  }
  return general_binary(op, left, right);
}

template <Operator which>
PyObject* binary(PyObject* left, PyObject* right) {
  return guard([&] { return binary_operator(kOperators[which].get(), left, right); });
}

template <Operator which>
PyObject* in_place(PyObject* self, PyObject* other) {
  return guard([&]() -> PyObject* {
    const Op& op = kOperators[which].get();
    ArgumentMemory memory;
    Value values[2] = {Value(unwrap(self)), Value()};
    if (!(fast_operand(other, values[1]) && op.schema.arguments[1].type == ArgumentType::tensor_or_scalar) &&
        !general_operand(other, op.schema.arguments[1], values[1], memory)) {
      Py_RETURN_NOTIMPLEMENTED;
    }
    run_op_in_place(op, values, 2);
    Py_INCREF(self);
    return self;
  });
}

template <Operator which>
PyObject* unary(PyObject* self) {
  return guard([&] {
    const Value value(unwrap(self));
    return call_op(kOperators[which].get(), &value, 1);
  });
}

PyObject* positive(PyObject* self) {
  Py_INCREF(self);
  return self;
}

PyObject* power(PyObject* base, PyObject* exponent, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary<kPow>(base, exponent);
}

PyObject* in_place_power(PyObject* self, PyObject* exponent, PyObject*) {
  return in_place<kPow>(self, exponent);
}

PyObject* compare(PyObject* self, PyObject* other, int comparison) {
  static constexpr Operator kComparisons[] = {kLt, kLe, kEq, kNe, kGt, kGe};  // Py_LT is 0
  return guard([&] { return binary_operator(kOperators[kComparisons[comparison]].get(), self, other); });
}

Tensor single_element(PyObject* self, const char* purpose) {
  const Tensor tensor = unwrap_tensor(self);
  check<ValueError>(tensor.numel() == 1, "only a tensor with one element can be converted to ", purpose,
                    "; this one has shape ", to_string(tensor.shape()));
  check<TypeError>(!is_complex(tensor.dtype()), "a complex tensor cannot be converted to ", purpose,
                   "; take t.real or abs(t) first");
  return tensor;
}

int truth(PyObject* self) {
  int result = 0;
  const int status = guard_status([&] {
    const Tensor tensor = unwrap_tensor(self);
    check<ValueError>(tensor.numel() == 1, "the truth of a tensor of shape ", to_string(tensor.shape()),
                      " is ambiguous; use t.any() or t.all()");
    result = is_complex(tensor.dtype())    ? item_as_complex(tensor) != 0.0
             : is_floating(tensor.dtype()) ? item_as_double(tensor) != 0                                            : item_as_int(tensor) != 0;
  });
  return status < 0 ? -1 : result;
}

PyObject* to_int(PyObject* self) {
  return guard([&] {
    const Tensor tensor = single_element(self, "an int");
    return is_floating(tensor.dtype()) ? PyLong_FromDouble(item_as_double(tensor))
                                       : PyLong_FromLongLong(item_as_int(tensor));
  });
}

PyObject* to_float(PyObject* self) {
  return guard([&] {
    const Tensor tensor = single_element(self, "a float");
    return PyFloat_FromDouble(is_floating(tensor.dtype()) ? item_as_double(tensor)
                                                          : static_cast<double>(item_as_int(tensor)));
  });
}

PyObject* to_index(PyObject* self) {
  return guard([&] {
    const Tensor tensor = unwrap_tensor(self);
    check<TypeError>(tensor.numel() == 1 && !is_differentiable(tensor.dtype()),
                     "only an integer tensor with one element can be used as an index; this one is ",
                     name(tensor.dtype()), " of shape ", to_string(tensor.shape()));
    return PyLong_FromLongLong(item_as_int(tensor));
  });
}

int contains(PyObject* self, PyObject* value) {
  int found = 0;
  const int status = guard_status([&] {
    nb::object equal = checked(compare(self, value, Py_EQ));
    check<TypeError>(is_tensor(equal.ptr()), "a tensor does not contain values of type ", type_name(value));
    const Value whole(unwrap(equal.ptr()));
    found = item_as_int(run_op(kOperators[kAny].get(), &whole, 1)) != 0;
  });
  return status < 0 ? -1 : found;
}

template <class Function>
PyType_Slot slot(int id, Function* function) {
  return {id, reinterpret_cast<void*>(function)};
}

}  // namespace

void add_number_slots(std::vector<PyType_Slot>& slots) {
  const PyType_Slot table[] = {
      slot(Py_nb_add, binary<kAdd>),
      slot(Py_nb_subtract, binary<kSub>),
      slot(Py_nb_multiply, binary<kMul>),
      slot(Py_nb_true_divide, binary<kDiv>),
      slot(Py_nb_floor_divide, binary<kFloorDivide>),
      slot(Py_nb_remainder, binary<kRemainder>),
      slot(Py_nb_power, power),
      slot(Py_nb_matrix_multiply, binary<kMatmul>),
      slot(Py_nb_and, binary<kAnd>),
      slot(Py_nb_or, binary<kOr>),
      slot(Py_nb_xor, binary<kXor>),
      slot(Py_nb_lshift, binary<kShiftLeft>),
      slot(Py_nb_rshift, binary<kShiftRight>),
      slot(Py_nb_inplace_add, in_place<kAdd>),
      slot(Py_nb_inplace_subtract, in_place<kSub>),
      slot(Py_nb_inplace_multiply, in_place<kMul>),
      slot(Py_nb_inplace_true_divide, in_place<kDiv>),
      slot(Py_nb_inplace_floor_divide, in_place<kFloorDivide>),
      slot(Py_nb_inplace_remainder, in_place<kRemainder>),
      slot(Py_nb_inplace_power, in_place_power),
      slot(Py_nb_inplace_and, in_place<kAnd>),
      slot(Py_nb_inplace_or, in_place<kOr>),
      slot(Py_nb_inplace_xor, in_place<kXor>),
      slot(Py_nb_inplace_lshift, in_place<kShiftLeft>),
      slot(Py_nb_inplace_rshift, in_place<kShiftRight>),
      slot(Py_nb_negative, unary<kNeg>),
      slot(Py_nb_positive, positive),
      slot(Py_nb_absolute, unary<kAbs>),
      slot(Py_nb_invert, unary<kBitwiseNot>),
      slot(Py_nb_bool, truth),
      slot(Py_nb_int, to_int),
      slot(Py_nb_float, to_float),
      slot(Py_nb_index, to_index),
      slot(Py_tp_richcompare, compare),
      slot(Py_sq_contains, contains),
  };
  slots.insert(slots.end(), std::begin(table), std::end(table));
}

}  // namespace relume
