// The loops of one instruction set, from all files of kernels.
#include "tensor/kernels/loops.h"

namespace relume {
namespace RELUME_ISA {

void add_loops(LoopTable& table) {
  add_unary_loops(table);
  add_math_loops(table);
  add_special_loops(table);
  add_activation_loops(table);
  add_smooth_activation_loops(table);
  add_arithmetic_loops(table);
  add_more_arithmetic_loops(table);
  add_comparison_loops(table);
  add_ternary_loops(table);
  add_complex_loops(table);
}

}  // namespace RELUME_ISA
}  // namespace relume
