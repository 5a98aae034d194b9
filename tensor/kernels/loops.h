// The loops that apply a function of one element to many. A function is a class template on
// the type T it computes in:
//
//   template <class T> struct Add { T operator()(T a, T b) const { return a + b; } };
//   template <class T> struct LeakyRelu { T slope; T operator()(T x) const {...} };   // parameters
//
// `fill<Add, 2>(table, Function::add, ArithmeticTypes{})` puts its loops into the table.
// Everything here lives in the namespace of the instruction set (see isa.h).
#pragma once
#include <cstring>
#include <type_traits>

#include "tensor/kernels/function_table.h"

namespace relume {
namespace RELUME_ISA {

// Defined by the files of kernels.
void add_unary_loops(LoopTable& table);
void add_math_loops(LoopTable& table);
void add_special_loops(LoopTable& table);
void add_activation_loops(LoopTable& table);
void add_smooth_activation_loops(LoopTable& table);
void add_arithmetic_loops(LoopTable& table);
void add_more_arithmetic_loops(LoopTable& table);
void add_comparison_loops(LoopTable& table);
void add_ternary_loops(LoopTable& table);
void add_complex_loops(LoopTable& table);

// The type that elements of type T are computed in.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

// Functions with parameters are aggregates of T: the parameters, in order.
template <class F>
F make_function(const void* parameters) {
  F function{};
  if constexpr (!std::is_empty_v<F>) std::memcpy(&function, parameters, sizeof(F));
  return function;
}

template <class T>
const T& element(const char* data, int64_t stride, int64_t i) {
  return *reinterpret_cast<const T*>(data + i * stride);
}
template <class T>
T& element(char* data, int64_t stride, int64_t i) {
  return *reinterpret_cast<T*>(data + i * stride);
}

// A function may leave rare arguments to another one, which the loop calls element by
// element: `static bool rare(T x)` and `static T slow(T x)`.
template <class F, class T, class = void>
constexpr bool has_rare = false;
template <class F, class T>
constexpr bool has_rare<F, T, std::void_t<decltype(F::rare(T{}))>> = true;

template <class F, class T, class In>
auto apply_to(const F& function, In value) {
  const T x = static_cast<T>(value);
  if constexpr (has_rare<F, T>) {
    return F::rare(x) ? F::slow(x) : function(x);
  } else {
    return function(x);
  }
}

// Few enough to stay in the nearest cache between looking at them and computing.
constexpr int64_t kChunk = 1024;

template <class F, class T>
bool any_rare(const T* data, int64_t count) {
  int found = 0;
  for (int64_t i = 0; i < count; ++i) found |= F::rare(data[i]);
  return found != 0;
}

template <class F, class T>
void chunked_loop(T* to, const T* from, int64_t count) {
  const F function{};
  for (; count > 0; to += kChunk, from += kChunk, count -= kChunk) {
    const int64_t here = count < kChunk ? count : kChunk;
    if (any_rare<F>(from, here)) {
      for (int64_t i = 0; i < here; ++i) to[i] = F::slow(from[i]);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < here; ++i) to[i] = function(from[i]);
    }
  }
}

// `ivdep` below: an output may be an operand, but only at the same place.

template <class F, class In, class Out>
void unary_loop(char* const* data, const int64_t* strides, int64_t count, const void* parameters) {
  using T = Compute<In>;
  const F function = make_function<F>(parameters);
  char* out = data[0];
  const char* in = data[1];
  if (strides[0] == sizeof(Out) && strides[1] == sizeof(In)) {
    Out* to = reinterpret_cast<Out*>(out);
    const In* from = reinterpret_cast<const In*>(in);
    if constexpr (has_rare<F, T> && std::is_same_v<T, In>) {
      chunked_loop<F>(to, from, count);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) {
        to[i] = static_cast<Out>(apply_to<F, T>(function, from[i]));
      }
    }
    return;
  }
  const int64_t to = strides[0], from = strides[1];
  for (int64_t i = 0; i < count; ++i) {
    element<Out>(out, to, i) = static_cast<Out>(apply_to<F, T>(function, element<In>(in, from, i)));
  }
}

template <class F, class In, class Out>
void binary_loop(char* const* data, const int64_t* strides, int64_t count, const void* parameters) {
  using T = Compute<In>;
  constexpr int64_t size = sizeof(In);
  const F function = make_function<F>(parameters);
  Out* to = reinterpret_cast<Out*>(data[0]);
  const In* left = reinterpret_cast<const In*>(data[1]);
  const In* right = reinterpret_cast<const In*>(data[2]);
  const bool contiguous_out = strides[0] == sizeof(Out);
  if (contiguous_out && strides[1] == size && strides[2] == size) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<Out>(function(static_cast<T>(left[i]), static_cast<T>(right[i])));
    }
  } else if (contiguous_out && strides[1] == size && strides[2] == 0) {
    const T b = static_cast<T>(*right);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<Out>(function(static_cast<T>(left[i]), b));
    }
  } else if (contiguous_out && strides[1] == 0 && strides[2] == size) {
    const T a = static_cast<T>(*left);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<Out>(function(a, static_cast<T>(right[i])));
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      element<Out>(data[0], strides[0], i) =
          static_cast<Out>(function(static_cast<T>(element<In>(data[1], strides[1], i)),
                                    static_cast<T>(element<In>(data[2], strides[2], i))));
    }
  }
}

template <class F, class In, class Out>
void ternary_loop(char* const* data, const int64_t* strides, int64_t count,
                  const void* parameters) {
  using T = Compute<In>;
  constexpr int64_t size = sizeof(In);
  const F function = make_function<F>(parameters);
  if (strides[0] == sizeof(Out) && strides[1] == size && strides[2] == size && strides[3] == size) {
    Out* to = reinterpret_cast<Out*>(data[0]);
    const In* a = reinterpret_cast<const In*>(data[1]);
    const In* b = reinterpret_cast<const In*>(data[2]);
    const In* c = reinterpret_cast<const In*>(data[3]);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<Out>(
          function(static_cast<T>(a[i]), static_cast<T>(b[i]), static_cast<T>(c[i])));
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    element<Out>(data[0], strides[0], i) =
        static_cast<Out>(function(static_cast<T>(element<In>(data[1], strides[1], i)),
                                  static_cast<T>(element<In>(data[2], strides[2], i)),
                                  static_cast<T>(element<In>(data[3], strides[3], i))));
  }
}

template <class...>
struct Types {};

// The instruction sets above the baseline only repeat what pays: the two common floating types.
#define RELUME_TEXT_OF(name) #name
#define RELUME_TEXT(name) RELUME_TEXT_OF(name)
constexpr bool kIsBaseline = RELUME_TEXT(RELUME_ISA)[0] == 'b';
#undef RELUME_TEXT
#undef RELUME_TEXT_OF

using WideFloats = Types<float, double>;
template <class All>
using ForThisIsa = std::conditional_t<kIsBaseline, All, WideFloats>;

using FloatingTypes = ForThisIsa<Types<float, double, Half, BFloat16>>;
using NumberTypes = ForThisIsa<
    Types<float, double, Half, BFloat16, uint8_t, int8_t, int16_t, int32_t, int64_t>>;
using AllTypes = ForThisIsa<
    Types<float, double, Half, BFloat16, uint8_t, int8_t, int16_t, int32_t, int64_t, bool>>;
using IntegerTypes =
    std::conditional_t<kIsBaseline, Types<uint8_t, int8_t, int16_t, int32_t, int64_t>, Types<>>;
using BitTypes =
    std::conditional_t<kIsBaseline, Types<uint8_t, int8_t, int16_t, int32_t, int64_t, bool>, Types<>>;

struct SameType {
  template <class T>
  using Result = T;
};
struct ToBool {
  template <class T>
  using Result = bool;
};

// Adds the loops of F for the given types; `operands` is 1, 2 or 3.
template <template <class> class F, int operands, class To = SameType, class... Ts>
void fill(LoopTable& table, Function name, Types<Ts...>) {
  [[maybe_unused]] const auto add = [&](auto example) {
    using T = decltype(example);
    using Out = typename To::template Result<T>;
    Loop& place = table.loops[static_cast<int>(name)][static_cast<int>(DTypeOf<T>::value)];
    if constexpr (operands == 1) place = unary_loop<F<Compute<T>>, T, Out>;
    if constexpr (operands == 2) place = binary_loop<F<Compute<T>>, T, Out>;
    if constexpr (operands == 3) place = ternary_loop<F<Compute<T>>, T, Out>;
  };
  (add(Ts{}), ...);
}

}  // namespace RELUME_ISA
}  // namespace relume
