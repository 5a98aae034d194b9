// Element types: their sizes, names and how they combine.
#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tensor/half.h"

namespace relume {

enum class DType : uint8_t {
  boolean,
  uint8,
  int8,
  int16,
  int32,
  int64,
  float16,
  bfloat16,
  float32,
  float64,
  complex64,
  complex128,
};
constexpr int kDTypeCount = 12;

enum class Kind : uint8_t { boolean, integer, floating, complex };

struct DTypeInfo {
  std::string_view name;           // "float32"
  std::string_view torch_name;     // "Float": torch.FloatTensor; "" where Torch7 has none
  std::string_view buffer_format;  // of Python's struct module; "" where it has none
  std::size_t size;                // bytes
  Kind kind;
};

const DTypeInfo& info(DType dtype);
inline std::size_t item_size(DType dtype) { return info(dtype).size; }
inline std::string_view name(DType dtype) { return info(dtype).name; }
inline bool is_floating(DType dtype) { return info(dtype).kind == Kind::floating; }
inline bool is_integer(DType dtype) { return info(dtype).kind == Kind::integer; }
inline bool is_complex(DType dtype) { return dtype >= DType::complex64; }
// Does it hold numbers that a gradient can flow through?
inline bool is_differentiable(DType dtype) { return dtype >= DType::float16; }
// The type of the real and imaginary parts; a real type itself.
DType real_type(DType dtype);
// The complex type whose parts hold numbers of this type.
DType complex_type(DType dtype);

// "float32" -> DType::float32; throws ValueError for an unknown name.
DType dtype_from_name(std::string_view name);

// The type of the result of an operation on both, by the array API rules;
// an integer with a floating type gives the floating type, anything with a complex type gives a
// complex one.
DType promote(DType a, DType b);

// Where Python numbers without a type go.
constexpr DType kDefaultFloat = DType::float32;
constexpr DType kDefaultComplex = DType::complex64;

// Maps a C++ type to its DType.
template <class T>
struct DTypeOf;
#define RELUME_DTYPES(X)                                                                  \
  X(bool, boolean) X(uint8_t, uint8) X(int8_t, int8) X(int16_t, int16) X(int32_t, int32)  \
  X(int64_t, int64) X(Half, float16) X(BFloat16, bfloat16) X(float, float32) X(double, float64)
using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;
#define RELUME_COMPLEX_DTYPES(X) X(Complex64, complex64) X(Complex128, complex128)
#define RELUME_DTYPE_OF(type, enumerator) \
  template <>                             \
  struct DTypeOf<type> {                  \
    static constexpr DType value = DType::enumerator; \
  };
RELUME_DTYPES(RELUME_DTYPE_OF)
RELUME_COMPLEX_DTYPES(RELUME_DTYPE_OF)
#undef RELUME_DTYPE_OF

// Throws TypeError.
[[noreturn]] void refuse_complex(DType dtype);

// Calls `function(T{})` with the C++ type of `dtype`, a real one: throws TypeError for a complex
// one, as most kernels should.
template <class Function>
decltype(auto) visit(DType dtype, Function&& function) {
  switch (dtype) {
#define RELUME_CASE(type, enumerator) \
  case DType::enumerator:             \
    return function(type{});
    RELUME_DTYPES(RELUME_CASE)
    default: break;
  }
  refuse_complex(dtype);
}

// Same for complex types only. Throws nothing: the caller knows that it is complex.
template <class Function>
decltype(auto) visit_complex(DType dtype, Function&& function) {
  return dtype == DType::complex64 ? function(Complex64{}) : function(Complex128{});
}

// Same for all types.
template <class Function>
decltype(auto) visit_any(DType dtype, Function&& function) {
  switch (dtype) {
    RELUME_DTYPES(RELUME_CASE)
    RELUME_COMPLEX_DTYPES(RELUME_CASE)
#undef RELUME_CASE
  }
  return function(float{});
}

}  // namespace relume
