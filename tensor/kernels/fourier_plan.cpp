#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "tensor/kernels/best_isa.h"
#include "tensor/kernels/fourier.h"

namespace relume {

RELUME_PER_ISA(FourierKernels, fourier_kernels)

namespace {

constexpr double kTwoPi = 6.28318530717958647692;
constexpr int64_t kLargestRadix = 61;  // beyond, a convolution is faster
constexpr std::size_t kKeptPlans = 32;

std::vector<int64_t> factors_of(int64_t length) {
  std::vector<int64_t> factors;
  const auto divide = [&](int64_t factor) {
    for (; length % factor == 0; length /= factor) factors.push_back(factor);
  };
  divide(4);
  divide(2);
  for (int64_t factor = 3; factor * factor <= length; factor += 2) divide(factor);
  if (length > 1) factors.push_back(length);
  return factors;
}

// The smallest length of factors 2, 3 and 5 only that is not smaller.
int64_t good_length(int64_t least) {
  int64_t best = INT64_MAX;
  for (int64_t fives = 1; fives < best; fives *= 5) {
    for (int64_t threes = fives; threes < best; threes *= 3) {
      int64_t length = threes;
      while (length < least) length *= 2;
      best = std::min(best, length);
      if (threes >= least) break;
    }
    if (fives >= least) break;
  }
  return best;
}

// Plans by length; all are forgotten when they become many.
template <class Plan>
std::shared_ptr<const Plan> kept_plan(int64_t length) {
  static std::mutex mutex;
  static auto* plans = new std::map<int64_t, std::shared_ptr<const Plan>>;
  {
    std::lock_guard<std::mutex> lock(mutex);
    const auto found = plans->find(length);
    if (found != plans->end()) return found->second;
  }
  const auto plan = std::make_shared<const Plan>(length);
  std::lock_guard<std::mutex> lock(mutex);
  if (plans->size() >= kKeptPlans) plans->clear();
  (*plans)[length] = plan;
  return plan;
}

template <class T>
std::complex<T> root(int64_t k, int64_t n) {
  return std::complex<T>(root_of_unity(k, n));
}

template <class T>
void plan_passes(FourierPlan<T>& plan, const std::vector<int64_t>& factors) {
  int64_t current = plan.length, stride = 1;
  for (int64_t radix : factors) {
    typename FourierPlan<T>::Pass pass{radix, current / radix, stride, {}, {}};
    for (int64_t p = 0; p < pass.rest; ++p) {
      for (int64_t k = 1; k < radix; ++k) pass.twiddles.push_back(root<T>(p * k, current));
    }
    for (int64_t k = 0; k < radix; ++k) pass.roots.push_back(root<T>(k, radix));
    current = pass.rest;
    stride *= radix;
    plan.passes.push_back(std::move(pass));
  }
}

// x[j] w^(jk) with w^(jk) = c(k-j) / (c(j) c(k)), where c(j) = exp(i pi j^2 / n): a convolution.
template <class T>
void plan_convolution(FourierPlan<T>& plan) {
  const int64_t n = plan.length, wide = good_length(2 * n - 1);
  plan.convolution = FourierPlan<T>::of_length(wide);
  plan.chirp.resize(n);
  std::vector<std::complex<double>> kernel(wide, 0.0);
  int64_t square = 0;  // j^2 modulo 2n
  for (int64_t j = 0; j < n; ++j) {
    const std::complex<double> chirp = std::conj(root_of_unity(square, 2 * n));
    plan.chirp[j] = std::complex<T>(chirp);
    kernel[j] = chirp;
    if (j > 0) kernel[wide - j] = chirp;
    square = (square + 2 * j + 1) % (2 * n);
  }
  std::complex<double>* const line = kernel.data();
  best_fourier_kernels().float64.transform(*FourierPlan<double>::of_length(wide), {&line, &line, 1, 1, 1}, true,
                                           1.0 / static_cast<double>(wide));
  plan.chirp_transform.assign(kernel.begin(), kernel.end());
}

}  // namespace

std::complex<double> root_of_unity(int64_t k, int64_t n) {
  // Turned into the first eighth of the circle, where sine and cosine are exact to the last bit.
  k %= n;
  int64_t eighths = 8 * k;
  const bool mirrored = eighths > 4 * n;  // below the real axis: exp(-i x), which is the conjugate
  if (mirrored) eighths = 8 * n - eighths;
  const bool left = eighths > 2 * n;
  if (left) eighths = 4 * n - eighths;
  const bool steep = eighths > n;
  if (steep) eighths = 2 * n - eighths;
  const double angle = kTwoPi * (static_cast<double>(eighths) / (8.0 * static_cast<double>(n)));
  double x = std::cos(angle), y = std::sin(angle);
  if (steep) std::swap(x, y);
  if (left) x = -x;
  return {x, mirrored ? y : -y};
}

template <class T>
FourierPlan<T>::FourierPlan(int64_t length) : length(length) {
  const std::vector<int64_t> factors = factors_of(length);
  if (!factors.empty() && factors.back() > kLargestRadix) {
    plan_convolution(*this);
  } else {
    plan_passes(*this, factors);
  }
}

template <class T>
std::shared_ptr<const FourierPlan<T>> FourierPlan<T>::of_length(int64_t length) {
  return kept_plan<FourierPlan<T>>(length);
}

template <class T>
RealFourierPlan<T>::RealFourierPlan(int64_t length) : half(FourierPlan<T>::of_length(length / 2)) {
  for (int64_t k = 0; k <= length / 4; ++k) roots.push_back(root<T>(k, length));
}

template <class T>
std::shared_ptr<const RealFourierPlan<T>> RealFourierPlan<T>::of_length(int64_t length) {
  return kept_plan<RealFourierPlan<T>>(length);
}

template struct FourierPlan<float>;
template struct FourierPlan<double>;
template struct RealFourierPlan<float>;
template struct RealFourierPlan<double>;

}  // namespace relume
