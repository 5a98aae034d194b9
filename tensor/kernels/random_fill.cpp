#include "tensor/kernels/random_fill.h"

#include "tensor/convert.h"

namespace relume {

void store_drawn(const double* block, int64_t count, const Tensor& target, int64_t first) {
  visit(target.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* elements = target.data_as<T>() + first;
    for (int64_t i = 0; i < count; ++i) elements[i] = convert<T>(block[i]);
  });
}

}  // namespace relume
