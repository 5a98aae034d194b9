#include "tensor/kernels/row_conversions.h"

namespace relume {
namespace RELUME_ISA {
namespace {

template <class To, class From>
void convert_row(const From* source, int64_t count, To* target) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) target[i] = To(source[i]);
}

}  // namespace

extern const RowConversions row_conversions;
const RowConversions row_conversions{convert_row<Half, float>, convert_row<float, Half>,
                                     convert_row<BFloat16, float>, convert_row<float, BFloat16>};

}  // namespace RELUME_ISA
}  // namespace relume
