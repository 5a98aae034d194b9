#include "tensor/dtype.h"

#include <string>

#include "tensor/error.h"

namespace relume {
namespace {

constexpr DTypeInfo kInfo[kDTypeCount] = {
    {"bool", "", "?", 1, Kind::boolean},
    {"uint8", "Byte", "B", 1, Kind::integer},
    {"int8", "Char", "b", 1, Kind::integer},
    {"int16", "Short", "h", 2, Kind::integer},
    {"int32", "Int", "i", 4, Kind::integer},
    {"int64", "Long", "l", 8, Kind::integer},
    {"float16", "Half", "e", 2, Kind::floating},
    {"bfloat16", "", "", 2, Kind::floating},
    {"float32", "Float", "f", 4, Kind::floating},
    {"float64", "Double", "d", 8, Kind::floating},
    {"complex64", "", "Zf", 8, Kind::complex},
    {"complex128", "", "Zd", 16, Kind::complex},
};

}  // namespace

const DTypeInfo& info(DType dtype) { return kInfo[static_cast<int>(dtype)]; }

DType real_type(DType dtype) {
  return dtype == DType::complex64 ? DType::float32 : dtype == DType::complex128 ? DType::float64 : dtype;
}

DType complex_type(DType dtype) {
  return dtype == DType::float64 || dtype == DType::complex128 ? DType::complex128 : DType::complex64;
}

void refuse_complex(DType dtype) {
  throw TypeError(message("tensors of type ", name(dtype), " are not supported here; take real(), imag() "
                          "or abs() of them first"));
}

DType dtype_from_name(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kInfo[i].name == name) return static_cast<DType>(i);
  }
  throw ValueError(message("unknown dtype '", name, "'"));
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  const Kind kind_a = info(a).kind;
  const Kind kind_b = info(b).kind;
  if (kind_a != kind_b) {
    const DType higher = kind_a > kind_b ? a : b, lower = kind_a > kind_b ? b : a;
    const bool needs_double_parts = is_complex(higher) && lower == DType::float64;
    return needs_double_parts ? DType::complex128 : higher;
  }
  // uint8 fits into every signed type but int8; the two 16-bit floats into float32.
  if ((a == DType::uint8 && b == DType::int8) || (a == DType::int8 && b == DType::uint8)) {
    return DType::int16;
  }
  if ((a == DType::float16 && b == DType::bfloat16) ||
      (a == DType::bfloat16 && b == DType::float16)) {
    return DType::float32;
  }
  return a > b ? a : b;
}

}  // namespace relume
