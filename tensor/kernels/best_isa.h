// For a source that uses tables of loops which every NAME.isa.cpp defines (not for such a
// source itself, see isa.h):
//
//   RELUME_PER_ISA(GemmKernels, gemm_kernels)   // then best_gemm_kernels() is the CPU's best
#pragma once
#include "tensor/kernels/isa.h"

#if defined(RELUME_HAS_AVX)
#define RELUME_PER_ISA(Type, table)                        \
  namespace baseline {                                     \
  extern const Type table;                                 \
  }                                                        \
  namespace avx2 {                                         \
  extern const Type table;                                 \
  }                                                        \
  namespace avx512 {                                       \
  extern const Type table;                                 \
  }                                                        \
  static const Type& best_##table() {                      \
    if (chosen_isa() == Isa::avx512) return avx512::table; \
    if (chosen_isa() == Isa::avx2) return avx2::table;     \
    return baseline::table;                                \
  }
#else
#define RELUME_PER_ISA(Type, table) \
  namespace baseline {              \
  extern const Type table;          \
  }                                 \
  static const Type& best_##table() { return baseline::table; }
#endif
