#include "tensor/kernels/function_table.h"

#include "tensor/kernels/isa.h"

namespace relume {
namespace {

LoopTable make_table() {
  LoopTable table;
  baseline::add_loops(table);
#if defined(RELUME_HAS_AVX)
  if (chosen_isa() == Isa::avx2) avx2::add_loops(table);
  if (chosen_isa() == Isa::avx512) avx512::add_loops(table);
#endif
  return table;
}

const LoopTable table = make_table();

}  // namespace

Loop find_loop(Function function, DType dtype) {
  return table.loops[static_cast<int>(function)][static_cast<int>(dtype)];
}

}  // namespace relume
