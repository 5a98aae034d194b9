// Discrete Fourier transforms of one dimension: plans, which are made once per length, and the
// loops that follow them (fourier.isa.cpp).
#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace relume {

// exp(-2 pi i k / n), right to the last bits.
std::complex<double> root_of_unity(int64_t k, int64_t n);

// A length is taken apart into small factors, one pass over the data for each (Stockham's
// method: no pass puts elements in order). Lengths with a large prime factor become a
// convolution of a good length (Bluestein's method).
template <class T>
struct FourierPlan {
  using Complex = std::complex<T>;

  // One factor: `radix` parts of `rest` groups of `stride` elements.
  struct Pass {
    int64_t radix, rest, stride;
    std::vector<Complex> twiddles;  // of part k in group p: twiddles[p * (radix - 1) + k - 1]
    std::vector<Complex> roots;     // of unity of order `radix`
  };

  explicit FourierPlan(int64_t length);
  // Kept for the next call; safe to use from several threads.
  static std::shared_ptr<const FourierPlan> of_length(int64_t length);

  // Elements that a transform needs as memory, twice.
  int64_t memory() const { return convolution ? convolution->length : length; }

  int64_t length;
  std::vector<Pass> passes;
  std::shared_ptr<const FourierPlan> convolution;  // Bluestein's, of a larger length
  std::vector<Complex> chirp, chirp_transform;
};

// A real transform of an even length is a complex one of half of it, and these roots.
template <class T>
struct RealFourierPlan {
  explicit RealFourierPlan(int64_t length);
  static std::shared_ptr<const RealFourierPlan> of_length(int64_t length);

  std::shared_ptr<const FourierPlan<T>> half;
  std::vector<std::complex<T>> roots;  // exp(-2 pi i k / length)
};

// Lines of elements that lie a stride apart, and where their transforms go: the same place or another.
template <class T>
struct FourierLines {
  const std::complex<T>* const* from;
  std::complex<T>* const* to;
  int count;
  int64_t from_stride, to_stride;
};

// Transforms up to `lanes` lines at a time, and multiplies them by `scale`. Real lines are taken in
// pairs as complex numbers, half as many; their spectrum has one number more than that.
template <class T>
struct FourierKernel {
  int lanes;
  void (*transform)(const FourierPlan<T>& plan, const FourierLines<T>& lines, bool forward, T scale);
  void (*real)(const RealFourierPlan<T>& plan, const FourierLines<T>& lines, T scale);
  void (*real_inverse)(const RealFourierPlan<T>& plan, const FourierLines<T>& lines, T scale);
};
struct FourierKernels {
  FourierKernel<float> float32;
  FourierKernel<double> float64;
};

}  // namespace relume
