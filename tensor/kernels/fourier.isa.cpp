// The passes of Fourier transforms. Several lines are transformed at once, one in each lane of
// a vector; a single one runs through the same code with a vector of one lane.
#include "tensor/kernels/fourier.h"

#include <algorithm>

#include "tensor/buffer.h"

namespace relume {
namespace RELUME_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T, int lanes>
struct LanesOf {
  typedef T Type __attribute__((vector_size(lanes * sizeof(T))));
};
template <class T>
struct LanesOf<T, 1> {
  using Type = T;
};

// A complex number per lane.
template <class T, int lanes>
struct Numbers {
  using Scalar = T;
  using V = typename LanesOf<T, lanes>::Type;
  V re, im;

  friend Numbers operator+(const Numbers& a, const Numbers& b) { return {a.re + b.re, a.im + b.im}; }
  friend Numbers operator-(const Numbers& a, const Numbers& b) { return {a.re - b.re, a.im - b.im}; }
  friend Numbers operator*(const Numbers& a, T b) { return {a.re * b, a.im * b}; }
  Numbers times(T x, T y) const { return {re * x - im * y, re * y + im * x}; }
  Numbers times(const std::complex<T>& w) const { return times(w.real(), w.imag()); }
  Numbers times_i() const { return {-im, re}; }
};

// What each radix does to the parts of one group, in place: their Fourier transform.
template <int radix>
struct Butterfly;
template <>
struct Butterfly<2> {
  template <class N>
  static void apply(N* a) {
    const N sum = a[0] + a[1];
    a[1] = a[0] - a[1];
    a[0] = sum;
  }
};
template <>
struct Butterfly<3> {
  template <class N>
  static void apply(N* a) {
    constexpr auto sine = static_cast<typename N::Scalar>(0.86602540378443864676);
    const N sum = a[1] + a[2], turned = ((a[1] - a[2]) * sine).times_i();
    const N middle = a[0] - sum * static_cast<typename N::Scalar>(0.5);
    a[0] = a[0] + sum;
    a[1] = middle - turned;
    a[2] = middle + turned;
  }
};
template <>
struct Butterfly<4> {
  template <class N>
  static void apply(N* a) {
    const N even = a[0] + a[2], odd = a[1] + a[3], other = a[0] - a[2], turned = (a[1] - a[3]).times_i();
    a[0] = even + odd;
    a[1] = other - turned;
    a[2] = even - odd;
    a[3] = other + turned;
  }
};
template <>
struct Butterfly<5> {
  template <class N>
  static void apply(N* a) {
    using Scalar = typename N::Scalar;
    constexpr Scalar cos1 = static_cast<Scalar>(0.30901699437494742410), cos2 = static_cast<Scalar>(-0.80901699437494742410);
    constexpr Scalar sin1 = static_cast<Scalar>(0.95105651629515357212), sin2 = static_cast<Scalar>(0.58778525229247312917);
    const N sum1 = a[1] + a[4], sum2 = a[2] + a[3], difference1 = a[1] - a[4], difference2 = a[2] - a[3];
    const N real1 = a[0] + sum1 * cos1 + sum2 * cos2, real2 = a[0] + sum1 * cos2 + sum2 * cos1;
    const N turned1 = (difference1 * sin1 + difference2 * sin2).times_i();
    const N turned2 = (difference1 * sin2 - difference2 * sin1).times_i();
    a[0] = a[0] + sum1 + sum2;
    a[1] = real1 - turned1;
    a[4] = real1 + turned1;
    a[2] = real2 - turned2;
    a[3] = real2 + turned2;
  }
};

template <class T, int lanes, int radix>
void small_pass(const typename FourierPlan<T>::Pass& pass, const Numbers<T, lanes>* from, Numbers<T, lanes>* to) {
  const int64_t rest = pass.rest, stride = pass.stride;
  for (int64_t p = 0; p < rest; ++p) {
    const std::complex<T>* w = pass.twiddles.data() + p * (radix - 1);
    for (int64_t q = 0; q < stride; ++q) {
      Numbers<T, lanes> parts[radix];
      for (int j = 0; j < radix; ++j) parts[j] = from[q + stride * (p + rest * j)];
      Butterfly<radix>::apply(parts);
      to[q + stride * radix * p] = parts[0];
      for (int k = 1; k < radix; ++k) {
        to[q + stride * (radix * p + k)] = p == 0 ? parts[k] : parts[k].times(w[k - 1]);
      }
    }
  }
}

template <class T, int lanes>
void any_pass(const typename FourierPlan<T>::Pass& pass, const Numbers<T, lanes>* from, Numbers<T, lanes>* to) {
  const int64_t radix = pass.radix, rest = pass.rest, stride = pass.stride;
  for (int64_t p = 0; p < rest; ++p) {
    for (int64_t q = 0; q < stride; ++q) {
      for (int64_t k = 0; k < radix; ++k) {
        Numbers<T, lanes> sum = from[q + stride * p];
        int64_t turn = 0;
        for (int64_t j = 1; j < radix; ++j) {
          turn += k;
          if (turn >= radix) turn -= radix;
          sum = sum + from[q + stride * (p + rest * j)].times(pass.roots[turn]);
        }
        to[q + stride * (radix * p + k)] = k == 0 ? sum : sum.times(pass.twiddles[p * (radix - 1) + k - 1]);
      }
    }
  }
}

// Transforms forward; returns which of the two memories holds the result.
template <class T, int lanes>
Numbers<T, lanes>* run_passes(const FourierPlan<T>& plan, Numbers<T, lanes>* data, Numbers<T, lanes>* other) {
  for (const auto& pass : plan.passes) {
    switch (pass.radix) {
      case 2: small_pass<T, lanes, 2>(pass, data, other); break;
      case 3: small_pass<T, lanes, 3>(pass, data, other); break;
      case 4: small_pass<T, lanes, 4>(pass, data, other); break;
      case 5: small_pass<T, lanes, 5>(pass, data, other); break;
      default: any_pass<T, lanes>(pass, data, other);
    }
    std::swap(data, other);
  }
  return data;
}

template <class T, int lanes>
Numbers<T, lanes>* run_convolution(const FourierPlan<T>& plan, Numbers<T, lanes>* data, Numbers<T, lanes>* other) {
  const int64_t n = plan.length, wide = plan.convolution->length;
  for (int64_t j = 0; j < n; ++j) data[j] = data[j].times(std::conj(plan.chirp[j]));
  std::fill(data + n, data + wide, Numbers<T, lanes>{});
  Numbers<T, lanes>* product = run_passes(*plan.convolution, data, other);
  // Back by a forward transform of the conjugate.
  for (int64_t k = 0; k < wide; ++k) {
    product[k] = product[k].times(plan.chirp_transform[k]);
    product[k].im = -product[k].im;
  }
  Numbers<T, lanes>* result = run_passes(*plan.convolution, product, product == data ? other : data);
  for (int64_t k = 0; k < n; ++k) {
    result[k].im = -result[k].im;
    result[k] = result[k].times(std::conj(plan.chirp[k]));
  }
  return result;
}

// The backward transform is the forward one of the conjugate, conjugated.
template <class T, int lanes>
void transform_lanes(const FourierPlan<T>& plan, std::complex<T>* const* lines, int count, int64_t stride, bool forward,
                     T scale) {
  const int64_t memory = plan.memory();
  Buffer<Numbers<T, lanes>> buffer(2 * memory + 1);
  // Vectors want their own alignment.
  const auto start = reinterpret_cast<std::uintptr_t>(buffer.data());
  constexpr std::uintptr_t alignment = alignof(Numbers<T, lanes>);
  auto* data = reinterpret_cast<Numbers<T, lanes>*>((start + alignment - 1) / alignment * alignment);
  const T sign = forward ? T(1) : T(-1);
  for (int64_t k = 0; k < plan.length; ++k) {
    T* const re = reinterpret_cast<T*>(&data[k].re);
    T* const im = reinterpret_cast<T*>(&data[k].im);
    for (int lane = 0; lane < lanes; ++lane) {
      const std::complex<T> x = lines[lane < count ? lane : 0][k * stride];
      re[lane] = x.real();
      im[lane] = x.imag() * sign;
    }
  }
  const Numbers<T, lanes>* result = plan.convolution ? run_convolution<T, lanes>(plan, data, data + memory)
                                                     : run_passes<T, lanes>(plan, data, data + memory);
  for (int64_t k = 0; k < plan.length; ++k) {
    const T* const re = reinterpret_cast<const T*>(&result[k].re);
    const T* const im = reinterpret_cast<const T*>(&result[k].im);
    for (int lane = 0; lane < count; ++lane) {
      lines[lane][k * stride] = std::complex<T>(re[lane] * scale, im[lane] * (sign * scale));
    }
  }
}

template <class T>
constexpr int kLanes = kVectorBytes / sizeof(T);

template <class T>
void transform(const FourierPlan<T>& plan, std::complex<T>* const* lines, int count, int64_t stride, bool forward,
               T scale) {
  count == 1 ? transform_lanes<T, 1>(plan, lines, count, stride, forward, scale)
             : transform_lanes<T, kLanes<T>>(plan, lines, count, stride, forward, scale);
}

}  // namespace

extern const FourierKernels fourier_kernels;
const FourierKernels fourier_kernels{{kLanes<float>, transform<float>}, {kLanes<double>, transform<double>}};

}  // namespace RELUME_ISA
}  // namespace relume
