// Our own matrix products, one per instruction set (gemm.isa.cpp): what tensor/blas.cpp uses for
// small matrices, and for all where there is no OpenBLAS.
#pragma once
#include "tensor/blas.h"

namespace relume {

// result += alpha * a b, on the calling thread. Any strides; `result` has columns side by side
// (column_stride 1).
template <class T>
using GemmKernel = void (*)(T alpha, const Matrix<const T>& a, const Matrix<const T>& b,
                            const Matrix<T>& result);

// result = alpha * a b + beta * result; the same, for `b` of up to kSmallGemm rows and columns.
template <class T>
using SmallGemmKernel = void (*)(T alpha, const Matrix<const T>& a, const Matrix<const T>& b, T beta,
                                 const Matrix<T>& result);
constexpr int64_t kSmallGemm = 64;

struct GemmKernels {
  GemmKernel<float> float32;
  GemmKernel<double> float64;
  SmallGemmKernel<float> small_float32;
  SmallGemmKernel<double> small_float64;
};

}  // namespace relume
