// Our own matrix product, one per instruction set (gemm.isa.cpp): what tensor/blas.cpp
// uses where there is no OpenBLAS.
#pragma once
#include "tensor/blas.h"

namespace relume {

// result += alpha * a b, on the calling thread. Any strides; `result` has columns side by side
// (column_stride 1).
template <class T>
using GemmKernel = void (*)(T alpha, const Matrix<const T>& a, const Matrix<const T>& b,
                            const Matrix<T>& result);

struct GemmKernels {
  GemmKernel<float> float32;
  GemmKernel<double> float64;
};

}  // namespace relume
