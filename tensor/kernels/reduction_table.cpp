#include "tensor/kernels/reduction_table.h"

#include "tensor/kernels/isa.h"

namespace relume {
namespace {

ReductionTable make_table() {
  ReductionTable table;
  baseline::add_reductions(table);
  add_complex_reductions(table);
#if defined(RELUME_HAS_AVX)
  if (chosen_isa() == Isa::avx2) avx2::add_reductions(table);
  if (chosen_isa() == Isa::avx512) avx512::add_reductions(table);
#endif
  return table;
}

const ReductionTable table = make_table();

}  // namespace

const ReductionLoops& find_reduction(Reduction reduction, DType dtype) {
  return table.loops[static_cast<int>(reduction)][static_cast<int>(dtype)];
}

}  // namespace relume
