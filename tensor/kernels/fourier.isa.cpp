// The passes of Fourier transforms. Several lines are transformed at once, one in each lane of
// a vector; a single one runs through the same code with a vector of one lane.
#include "tensor/kernels/fourier.h"

#include <algorithm>

#include "tensor/buffer.h"
#include "tensor/transpose.h"

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
  Numbers conjugate() const { return {re, -im}; }
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

// Lines that lie so are the rows of a matrix, and their real and imaginary parts in turn its columns:
// numbers for all lanes are its transpose.
template <class Pointer>
bool is_matrix(Pointer const* lines, int count, int lanes, int64_t stride) {
  if (stride != 1 || count != lanes || lanes == 1) return false;
  for (int lane = 1; lane < lanes; ++lane) {
    if (lines[lane] != lines[0] + lane * (lines[1] - lines[0])) return false;
  }
  return true;
}

template <class T, int lanes>
void read_lines(const FourierLines<T>& lines, int64_t length, Numbers<T, lanes>* data) {
  if (is_matrix(lines.from, lines.count, lanes, lines.from_stride)) {
    const int64_t pitch = 2 * (lines.from[1] - lines.from[0]);
    transpose_copy(sizeof(T), data, lanes, lines.from[0], pitch, 2 * length, lanes);
    return;
  }
  for (int64_t k = 0; k < length; ++k) {
    T* const re = reinterpret_cast<T*>(&data[k].re);
    T* const im = reinterpret_cast<T*>(&data[k].im);
    for (int lane = 0; lane < lanes; ++lane) {
      const std::complex<T> x = lines.from[lane < lines.count ? lane : 0][k * lines.from_stride];
      re[lane] = x.real();
      im[lane] = x.imag();
    }
  }
}

template <class T, int lanes>
void write_lines(const Numbers<T, lanes>* data, int64_t length, const FourierLines<T>& lines) {
  if (is_matrix(lines.to, lines.count, lanes, lines.to_stride)) {
    const int64_t pitch = 2 * (lines.to[1] - lines.to[0]);
    transpose_copy(sizeof(T), lines.to[0], pitch, data, lanes, lanes, 2 * length);
    return;
  }
  for (int64_t k = 0; k < length; ++k) {
    const T* const re = reinterpret_cast<const T*>(&data[k].re);
    const T* const im = reinterpret_cast<const T*>(&data[k].im);
    for (int lane = 0; lane < lines.count; ++lane) {
      lines.to[lane][k * lines.to_stride] = std::complex<T>(re[lane], im[lane]);
    }
  }
}

// Memory for the passes of a transform, and for one number more at the end of its result.
template <class T, int lanes>
class Workspace {
 public:
  explicit Workspace(const FourierPlan<T>& plan) : size_(plan.memory() + 1), buffer_(2 * size_ + 1) {}

  Numbers<T, lanes>* data() const {
    // Vectors want their own alignment.
    const auto start = reinterpret_cast<std::uintptr_t>(buffer_.data());
    constexpr std::uintptr_t alignment = alignof(Numbers<T, lanes>);
    return reinterpret_cast<Numbers<T, lanes>*>((start + alignment - 1) / alignment * alignment);
  }

  // The transform of `data()`. The backward one is the forward one of the conjugate, conjugated.
  Numbers<T, lanes>* run(const FourierPlan<T>& plan, bool forward, T scale) const {
    Numbers<T, lanes>* const numbers = data();
    for (int64_t k = 0; !forward && k < plan.length; ++k) numbers[k].im = -numbers[k].im;
    Numbers<T, lanes>* const result = plan.convolution ? run_convolution<T, lanes>(plan, numbers, numbers + size_)
                                                       : run_passes<T, lanes>(plan, numbers, numbers + size_);
    if (scale == 1 && forward) return result;
    const T imaginary_scale = forward ? scale : -scale;
    for (int64_t k = 0; k < plan.length; ++k) result[k] = {result[k].re * scale, result[k].im * imaginary_scale};
    return result;
  }

 private:
  int64_t size_;
  Buffer<Numbers<T, lanes>> buffer_;
};

template <class T, int lanes>
void transform_lanes(const FourierPlan<T>& plan, const FourierLines<T>& lines, bool forward, T scale) {
  const Workspace<T, lanes> workspace(plan);
  read_lines<T, lanes>(lines, plan.length, workspace.data());
  write_lines<T, lanes>(workspace.run(plan, forward, scale), plan.length, lines);
}

// ---- real lines ----

// The spectrum of real numbers, from that of the complex ones that they make in pairs (`half` of them).
template <class N, class T>
void unpack(N* line, int64_t half, const std::vector<std::complex<T>>& roots) {
  const N first = line[0];
  const decltype(first.re) zero{};
  line[0] = {first.re + first.im, zero};
  line[half] = {first.re - first.im, zero};
  for (int64_t k = 1; 2 * k <= half; ++k) {
    const N a = line[k], b = line[half - k].conjugate();
    const N even = (a + b) * T(0.5), odd = (a - b) * T(0.5);
    const T x = roots[k].real(), y = roots[k].imag();
    const N turned{odd.re * y + odd.im * x, odd.im * y - odd.re * x};  // -i w odd
    line[k] = even + turned;
    line[half - k] = (even - turned).conjugate();
  }
}

// The inverse of that, times two.
template <class N, class T>
void pack(N* line, int64_t half, const std::vector<std::complex<T>>& roots) {
  const auto first = line[0].re, last = line[half].re;
  line[0] = {first + last, first - last};
  for (int64_t k = 1; 2 * k <= half; ++k) {
    const N a = line[k], b = line[half - k].conjugate();
    const N even = a + b, odd = a - b;
    const T x = roots[k].real(), y = roots[k].imag();
    const N turned{odd.re * y - odd.im * x, odd.re * x + odd.im * y};  // i conj(w) odd
    line[k] = even + turned;
    line[half - k] = (even - turned).conjugate();
  }
}

template <class T, int lanes>
void real_lanes(const RealFourierPlan<T>& plan, const FourierLines<T>& lines, T scale) {
  const int64_t half = plan.half->length;
  const Workspace<T, lanes> workspace(*plan.half);
  read_lines<T, lanes>(lines, half, workspace.data());
  Numbers<T, lanes>* const result = workspace.run(*plan.half, true, scale);
  unpack(result, half, plan.roots);
  write_lines<T, lanes>(result, half + 1, lines);
}

template <class T, int lanes>
void real_inverse_lanes(const RealFourierPlan<T>& plan, const FourierLines<T>& lines, T scale) {
  const int64_t half = plan.half->length;
  const Workspace<T, lanes> workspace(*plan.half);
  read_lines<T, lanes>(lines, half + 1, workspace.data());
  pack(workspace.data(), half, plan.roots);
  write_lines<T, lanes>(workspace.run(*plan.half, false, scale), half, lines);
}

template <class T>
constexpr int kLanes = kVectorBytes / sizeof(T);

template <class T>
void transform(const FourierPlan<T>& plan, const FourierLines<T>& lines, bool forward, T scale) {
  lines.count == 1 ? transform_lanes<T, 1>(plan, lines, forward, scale)
                   : transform_lanes<T, kLanes<T>>(plan, lines, forward, scale);
}
template <class T>
void real(const RealFourierPlan<T>& plan, const FourierLines<T>& lines, T scale) {
  lines.count == 1 ? real_lanes<T, 1>(plan, lines, scale) : real_lanes<T, kLanes<T>>(plan, lines, scale);
}
template <class T>
void real_inverse(const RealFourierPlan<T>& plan, const FourierLines<T>& lines, T scale) {
  lines.count == 1 ? real_inverse_lanes<T, 1>(plan, lines, scale) : real_inverse_lanes<T, kLanes<T>>(plan, lines, scale);
}

template <class T>
constexpr FourierKernel<T> kKernel{kLanes<T>, transform<T>, real<T>, real_inverse<T>};

}  // namespace

extern const FourierKernels fourier_kernels;
const FourierKernels fourier_kernels{kKernel<float>, kKernel<double>};

}  // namespace RELUME_ISA
}  // namespace relume
