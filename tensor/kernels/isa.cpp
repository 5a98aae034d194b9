#include "tensor/kernels/isa.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace relume {
namespace {

Isa best_of_cpu() {
#if defined(RELUME_HAS_AVX)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  if (avx2 && avx512) return Isa::avx512;
  if (avx2) return Isa::avx2;
#endif
  return Isa::baseline;
}

Isa choose() {
  const Isa best = best_of_cpu();
  const char* wanted = std::getenv("RELUME_ISA");
  if (!wanted) return best;
  for (Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (std::strcmp(wanted, name(isa)) == 0) return std::min(best, isa);
  }
  return best;
}

}  // namespace

Isa chosen_isa() {
  static const Isa isa = choose();
  return isa;
}

const char* name(Isa isa) {
  constexpr const char* names[] = {"baseline", "avx2", "avx512"};
  return names[static_cast<int>(isa)];
}

}  // namespace relume
