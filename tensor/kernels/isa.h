// Which instruction set the kernels use. A source `NAME.isa.cpp` is compiled once for each,
// into a namespace of that name, and adds its loops to the tables (function_table.h).
//
// Such a source includes nothing that defines inline functions outside of that namespace
// (containers, streams, error.h): the linker keeps one copy of an inline function, which
// must not be the one that was compiled for a CPU with more instructions than this one.
#pragma once

// A sanitized build holds baseline alone: the sets share their sources (docs/trust.md).
#if defined(__x86_64__) && !defined(RELUME_BASELINE_ONLY)
#define RELUME_HAS_AVX 1
#endif

namespace relume {

enum class Isa { baseline, avx2, avx512 };

// The best one that this CPU has; RELUME_ISA=baseline|avx2|avx512 in the environment lowers it.
Isa chosen_isa();
const char* name(Isa isa);

}  // namespace relume
