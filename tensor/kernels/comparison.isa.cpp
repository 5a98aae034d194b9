// Comparisons, and logic of truth values and of bits.
#include "tensor/kernels/loops.h"

namespace relume {
namespace RELUME_ISA {
namespace {

template <class T>
struct Equal {
  bool operator()(T a, T b) const { return a == b; }
};
template <class T>
struct NotEqual {
  bool operator()(T a, T b) const { return a != b; }
};
template <class T>
struct Less {
  bool operator()(T a, T b) const { return a < b; }
};
template <class T>
struct LessEqual {
  bool operator()(T a, T b) const { return a <= b; }
};
template <class T>
struct LogicalAnd {
  bool operator()(T a, T b) const { return (a != T(0)) & (b != T(0)); }
};
template <class T>
struct LogicalOr {
  bool operator()(T a, T b) const { return (a != T(0)) | (b != T(0)); }
};
template <class T>
struct LogicalXor {
  bool operator()(T a, T b) const { return (a != T(0)) != (b != T(0)); }
};
template <class T>
struct BitwiseAnd {
  T operator()(T a, T b) const { return static_cast<T>(a & b); }
};
template <class T>
struct BitwiseOr {
  T operator()(T a, T b) const { return static_cast<T>(a | b); }
};
template <class T>
struct BitwiseXor {
  T operator()(T a, T b) const { return static_cast<T>(a ^ b); }
};
// Bools are bytes of 0 and 1 to these, which compilers compute on vectors; bools they do not.
template <template <class> class F>
void fill_as_bytes(LoopTable& table, Function name) {
  table.loops[static_cast<int>(name)][static_cast<int>(DType::boolean)] = binary_loop<F<uint8_t>, uint8_t, uint8_t>;
}
template <class T>
struct Greater {
  bool operator()(T a, T b) const { return a > b; }
};
template <class T>
struct GreaterEqual {
  bool operator()(T a, T b) const { return a >= b; }
};

}  // namespace

void add_comparison_loops(LoopTable& table) {
  fill<Equal, 2, ToBool>(table, Function::eq, AllTypes{});
  fill<NotEqual, 2, ToBool>(table, Function::ne, AllTypes{});
  fill<Less, 2, ToBool>(table, Function::lt, AllTypes{});
  fill<LessEqual, 2, ToBool>(table, Function::le, AllTypes{});
  fill<Greater, 2, ToBool>(table, Function::gt, AllTypes{});
  fill<GreaterEqual, 2, ToBool>(table, Function::ge, AllTypes{});
  fill<LogicalAnd, 2, ToBool>(table, Function::logical_and, AllTypes{});
  fill<LogicalOr, 2, ToBool>(table, Function::logical_or, AllTypes{});
  fill<LogicalXor, 2, ToBool>(table, Function::logical_xor, AllTypes{});
  fill<BitwiseAnd, 2>(table, Function::bitwise_and, BitTypes{});
  fill_as_bytes<BitwiseAnd>(table, Function::bitwise_and);
  fill<BitwiseOr, 2>(table, Function::bitwise_or, BitTypes{});
  fill_as_bytes<BitwiseOr>(table, Function::bitwise_or);
  fill<BitwiseXor, 2>(table, Function::bitwise_xor, BitTypes{});
  fill_as_bytes<BitwiseXor>(table, Function::bitwise_xor);
}

}  // namespace RELUME_ISA
}  // namespace relume
