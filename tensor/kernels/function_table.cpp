#include "tensor/kernels/function_table.h"

#include "tensor/kernels/isa.h"

namespace relume {
namespace {

LoopTable make_table() {
  LoopTable table;
  const auto add_baseline = [&] {
    baseline::add_unary_loops(table);
    baseline::add_math_loops(table);
    baseline::add_activation_loops(table);
    baseline::add_arithmetic_loops(table);
    baseline::add_comparison_loops(table);
    baseline::add_ternary_loops(table);
  };
  add_baseline();
#if defined(__x86_64__)
  if (chosen_isa() == Isa::avx2) {
    avx2::add_unary_loops(table);
    avx2::add_math_loops(table);
    avx2::add_activation_loops(table);
    avx2::add_arithmetic_loops(table);
    avx2::add_comparison_loops(table);
    avx2::add_ternary_loops(table);
  }
  if (chosen_isa() == Isa::avx512) {
    avx512::add_unary_loops(table);
    avx512::add_math_loops(table);
    avx512::add_activation_loops(table);
    avx512::add_arithmetic_loops(table);
    avx512::add_comparison_loops(table);
    avx512::add_ternary_loops(table);
  }
#endif
  return table;
}

const LoopTable table = make_table();

}  // namespace

Loop find_loop(Function function, DType dtype) {
  return table.loops[static_cast<int>(function)][static_cast<int>(dtype)];
}

}  // namespace relume
