// One argument of an op: a small tagged union that Python, Lua (through the FFI), the
// tape and the tracer all read. It borrows what it points to.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tensor/error.h"
#include "tensor/tensor.h"

namespace relume {

// The layout is part of the C ABI (bridge/lua); keep the two in step.
struct Value {
  enum class Type : uint8_t { none, tensor, integer, real, boolean, integers, tensors, dtype, text, complex };

  Type type = Type::none;
  int32_t count = 0;  // of a list
  union {
    TensorBody* tensor;
    int64_t integer;
    double real;
    bool boolean;
    const int64_t* integers;
    TensorBody* const* tensors;  // a null entry is a missing tensor
    DType dtype;
    const char* text;
    const Complex128* complex;
  };

  Value() : integer(0) {}
  Value(const Tensor& value) : type(value.defined() ? Type::tensor : Type::none), tensor(value.body()) {}
  Value(TensorBody* value) : type(value ? Type::tensor : Type::none), tensor(value) {}
  Value(int value) : type(Type::integer), integer(value) {}
  Value(int64_t value) : type(Type::integer), integer(value) {}
  Value(double value) : type(Type::real), real(value) {}
  Value(bool value) : type(Type::boolean), integer(0) { boolean = value; }
  Value(DType value) : type(Type::dtype), integer(0) { dtype = value; }
  Value(const char* value) : type(Type::text), text(value) {}
  Value(IntSpan span) : type(Type::integers), count(span.count), integers(span.values) {}
  Value(const std::vector<int64_t>& list) : Value(IntSpan(list)) {}
  Value(const Complex128& value) : type(Type::complex), complex(&value) {}
  Value(TensorBody* const* list, int length) : type(Type::tensors), count(length), tensors(list) {}

  bool is_none() const { return type == Type::none; }
  bool is_tensor() const { return type == Type::tensor; }
  bool is_complex() const { return type == Type::complex; }
  bool is_real_number() const {
    return type == Type::integer || type == Type::real || type == Type::boolean;
  }
  bool is_number() const { return is_real_number() || is_complex(); }
  // A number's value, whatever its type; a complex one throws TypeError.
  double as_double() const {
    return type == Type::real ? real : type == Type::boolean ? (boolean ? 1.0 : 0.0) : static_cast<double>(whole());
  }
  int64_t as_int() const {
    return type == Type::real ? static_cast<int64_t>(real) : type == Type::boolean ? (boolean ? 1 : 0) : whole();
  }
  Complex128 as_complex() const { return is_complex() ? *complex : Complex128(as_double(), 0); }
  IntSpan as_integers() const { return {integers, count}; }

 private:
  int64_t whole() const {
    check<TypeError>(type != Type::complex, "expected a real number, got a complex one");
    return integer;
  }
};
static_assert(sizeof(Value) == 16, "the C ABI relies on 16 bytes");

}  // namespace relume
