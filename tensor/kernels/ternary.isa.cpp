// Functions of three elements.
#include "tensor/kernels/loops.h"

namespace relume {
namespace RELUME_ISA {
namespace {

template <class T>
struct Addcmul {
  T value;
  T operator()(T a, T b, T c) const { return static_cast<T>(a + value * b * c); }
};
template <class T>
struct Addcdiv {
  T value;
  T operator()(T a, T b, T c) const { return a + value * b / c; }
};
template <class T>
struct Lerp {
  T operator()(T start, T end, T weight) const { return start + weight * (end - start); }
};

// Operands of a row: consecutive elements, or one for all.
template <class T>
struct Consecutive {
  const T* elements;
  T operator[](int64_t i) const { return elements[i]; }
};
template <class T>
struct Same {
  T element;
  T operator[](int64_t) const { return element; }
};

template <class T, class A, class B>
void choose(T* out, const uint8_t* condition, A a, B b, int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const T x = a[i], y = b[i];
    out[i] = condition[i] ? x : y;
  }
}

// The condition is bool whatever the type of the others.
template <class T>
void where_loop(char* const* data, const int64_t* strides, int64_t count, const void*) {
  constexpr int64_t size = sizeof(T);
  const auto consecutive_or_same = [](int64_t stride) { return stride == size || stride == 0; };
  if (strides[0] == size && strides[1] == 1 && consecutive_or_same(strides[2]) && consecutive_or_same(strides[3])) {
    T* out = reinterpret_cast<T*>(data[0]);
    const uint8_t* condition = reinterpret_cast<const uint8_t*>(data[1]);
    const T* a = reinterpret_cast<const T*>(data[2]);
    const T* b = reinterpret_cast<const T*>(data[3]);
    if (strides[2] != 0 && strides[3] != 0) return choose<T>(out, condition, Consecutive<T>{a}, Consecutive<T>{b}, count);
    if (strides[2] != 0) return choose<T>(out, condition, Consecutive<T>{a}, Same<T>{*b}, count);
    if (strides[3] != 0) return choose<T>(out, condition, Same<T>{*a}, Consecutive<T>{b}, count);
    return choose<T>(out, condition, Same<T>{*a}, Same<T>{*b}, count);
  }
  for (int64_t i = 0; i < count; ++i) {
    element<T>(data[0], strides[0], i) = element<uint8_t>(data[1], strides[1], i)
                                             ? element<T>(data[2], strides[2], i)
                                             : element<T>(data[3], strides[3], i);
  }
}

// The weight is one number most of the time.
template <class T>
void lerp_loop(char* const* data, const int64_t* strides, int64_t count, const void* parameters) {
  constexpr int64_t size = sizeof(T);
  const bool by_number = strides[0] == size && strides[1] == size && strides[2] == size && strides[3] == 0;
  if (!by_number) return ternary_loop<Lerp<Compute<T>>, T, T>(data, strides, count, parameters);
  using C = Compute<T>;
  T* out = reinterpret_cast<T*>(data[0]);
  const T* start = reinterpret_cast<const T*>(data[1]);
  const T* end = reinterpret_cast<const T*>(data[2]);
  const C weight = static_cast<C>(*reinterpret_cast<const T*>(data[3]));
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<T>(Lerp<C>{}(static_cast<C>(start[i]), static_cast<C>(end[i]), weight));
  }
}

template <class... Ts>
void fill_lerp(LoopTable& table, Types<Ts...>) {
  ((table.loops[static_cast<int>(Function::lerp)][static_cast<int>(DTypeOf<Ts>::value)] =
        lerp_loop<Ts>),
   ...);
}

template <class... Ts>
void fill_where(LoopTable& table, Types<Ts...>) {
  ((table.loops[static_cast<int>(Function::where)][static_cast<int>(DTypeOf<Ts>::value)] =
        where_loop<Ts>),
   ...);
}

}  // namespace

void add_ternary_loops(LoopTable& table) {
  fill_where(table, AllTypes{});
  fill<Addcmul, 3>(table, Function::addcmul, NumberTypes{});
  fill<Addcdiv, 3>(table, Function::addcdiv, FloatingTypes{});
  fill_lerp(table, FloatingTypes{});
}

}  // namespace RELUME_ISA
}  // namespace relume
