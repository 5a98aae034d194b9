// The gamma function and its relatives in double: digamma, polygamma, the zeta function of
// Hurwitz, the incomplete gamma and beta functions.
#pragma once
#include "tensor/kernels/error_functions.h"
#include "tensor/kernels/math.h"

namespace relume {
namespace RELUME_ISA {
namespace math {

constexpr double kPi = 3.14159265358979323846;
constexpr double kTiny = 1e-300;  // stands for 0 in continued fractions
constexpr double kPrecision = 0x1p-53;

// log(|gamma(x)|), without the C library's global sign.
inline double lgamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

// log(gamma(1 + x)) for 0 <= x <= 1.
inline double lgamma_of_one_and(double x) {
  const double t = 2 * x - 1;
  return x * polynomial(
                 t, -2.508922202001311e-12, 7.845475192168032e-12, -1.0151332447842754e-11,
                 3.203625114685401e-11, -1.374350116095214e-10, 4.34472544152063e-10,
                 -1.326145662955733e-09, 4.221363666837412e-09, -1.3534519558575234e-08,
                 4.343163415453668e-08, -1.4004625528094898e-07, 4.5435217666362336e-07,
                 -1.4845467422386974e-06, 4.892819890688809e-06, -1.6302859912073135e-05,
                 5.509761615462434e-05, -0.00018982580267111246, 0.0006721846829919744,
                 -0.0024816898010376533, 0.009820705603133417, -0.04435389911289714,
                 0.27805444924906697, -0.24156447527049044);
}

// ---- derivatives of log gamma ----

// digamma(x) / (x - root) for 1 <= x <= 2, with t = 2 * x - 3.
inline double digamma_from_root(double t) {
  return polynomial(
      t, 2.832706668021759e-11, -8.498137230186096e-11, 9.206434499177992e-11,
      -2.7619635330317715e-10, 1.2358072433984831e-09, -3.7075072647122386e-09,
      1.0542687624027994e-08, -3.163020268955334e-08, 9.542050972688906e-08, -2.86315275846934e-07,
      8.589127353033379e-07, -2.57809436305308e-06, 7.741232223504057e-06, -2.325824239445257e-05,
      6.995018873950506e-05, -0.00021074841140458636, 0.0006368880303257201,
      -0.0019350666648590097, 0.005936795278305649, -0.018550615381735115, 0.060135621060196744,
      -0.2118137106407303, 0.9510558760318328);
}

inline double digamma_of_positive(double x) {
  if (x >= 10) {
    const double square = 1 / (x * x);
    const double series =
        square * polynomial(square, -3617.0 / 8160, 1.0 / 12, -691.0 / 32760, 1.0 / 132,
                            -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12);
    return log(x) - 0.5 / x - series;
  }
  double sum = 0;
  for (; x > 2; x -= 1) sum += 1 / (x - 1);
  for (; x < 1; x += 1) sum -= 1 / x;
  constexpr double root = 1.4616321449683622, root_rest = 9.549995429965697e-17;
  return sum + ((x - root) - root_rest) * digamma_from_root(2 * x - 3);
}

inline double digamma(double x) {
  if (x == 0) return -__builtin_copysign(kInfinity, x);
  if (x > 0 || x != x) return digamma_of_positive(x);
  const double fraction = x - __builtin_rint(x);
  if (fraction == 0 || x == -kInfinity) return kNaN;
  return digamma_of_positive(1 - x) - kPi / std::tan(kPi * fraction);
}

inline double trigamma(double x) {
  double reflected = 0, sign = 1;
  if (x < 0.5) {
    if (x == 0 || x == __builtin_floor(x)) return kInfinity;
    const double sine = std::sin(kPi * (x - __builtin_rint(x)));
    reflected = kPi * kPi / (sine * sine);
    x = 1 - x;
    sign = -1;
  }
  double sum = 0;
  for (; x < 10; x += 1) sum += 1 / (x * x);
  const double square = 1 / (x * x);
  const double series =
      polynomial(square, -3617.0 / 510, 7.0 / 6, -691.0 / 2730, 5.0 / 66, -1.0 / 30, 1.0 / 42,
                 -1.0 / 30, 1.0 / 6);
  return reflected + sign * (sum + (1 + 0.5 / x + square * series) / x);
}

// The sum of (q + k)^-s over k = 0, 1, ...: some terms, and the formula of Euler and Maclaurin
// for the rest.
inline double zeta(double s, double q) {
  if (s != s || q != q || s < 1) return kNaN;
  if (s == 1) return kInfinity;
  if (q <= 0) {
    if (q == __builtin_floor(q)) return kInfinity;
    if (s != __builtin_floor(s) || q < -1e6) return kNaN;
  }
  // B(2j) / (2j)!
  constexpr double coefficients[] = {
      1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000,
      1.0 / 74724249600, -3617.0 / 10670622842880000, 43867.0 / 5109094217170944000,
      -174611.0 / 802857662698291200000.0};
  const double enough = s < 4 ? 14 : s + 10;
  double sum = 0, from = q;
  for (; from < enough; from += 1) {
    const double term = std::pow(from, -s);
    sum += term;
    if (from > 0 && term * from <= sum * kPrecision * 1e-3) return sum;
  }
  const double term = std::pow(from, -s);
  sum += term * (from / (s - 1) + 0.5);
  double factor = term * s / from;
  for (int j = 0; j < 10; ++j) {
    const double correction = coefficients[j] * factor;
    sum += correction;
    if (__builtin_fabs(correction) < __builtin_fabs(sum) * kPrecision) break;
    factor *= (s + 2 * j + 1) * (s + 2 * j + 2) / (from * from);
  }
  return sum;
}

// The n-th derivative of digamma.
inline double polygamma(double n, double x) {
  if (n == 0) return digamma(x);
  if (n == 1) return trigamma(x);
  const double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  return sign * std::tgamma(n + 1) * zeta(n + 1, x);
}

// ---- the incomplete gamma function ----

// log(x / center) - (x / center - 1), without the difference of nearly equal numbers.
inline double log_less_distance(double x, double center, double x_less_center) {
  const double distance = x_less_center / center;
  if (distance > -0.25 && distance < 0.4) return log1p_minus_argument(distance);
  return std::log(x / center) - distance;
}

// log(gamma(x + 1)) - (x + 1/2) * log(x) + x - log(2 * pi) / 2, for x >= 10.
inline double stirling_rest(double x) {
  const double square = 1 / (x * x);
  return polynomial(square, 1.0 / 156, -691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260,
                    -1.0 / 360, 1.0 / 12) / x;
}

// x^a * exp(-x) / gamma(a + 1).
inline double gamma_front(double a, double x) {
  if (a < 20) {
    if (x > 700) {
      const double half = std::exp(-0.5 * x);
      return std::pow(x, a) * half * half / std::tgamma(a + 1);
    }
    return std::pow(x, a) * std::exp(-x) / std::tgamma(a + 1);
  }
  return std::exp(a * log_less_distance(x, a, x - a) - stirling_rest(a)) /
         std::sqrt(2 * kPi * a);
}

inline double gamma_series(double a, double x) {
  double term = 1, sum = 1;
  for (double k = 1; term > sum * kPrecision; ++k) {
    term *= x / (a + k);
    sum += term;
  }
  return sum;
}

// The continued fraction of the upper function, by the method of Lentz.
inline double gamma_fraction(double a, double x) {
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, result = d;
  for (double k = 1; k < 1e6; ++k) {
    const double numerator = k * (a - k);
    b += 2;
    d = b + numerator * d;
    d = 1 / (d == 0 ? kTiny : d);
    c = b + numerator / c;
    c = c == 0 ? kTiny : c;
    result *= c * d;
    if (__builtin_fabs(c * d - 1) < 2 * kPrecision) break;
  }
  return result;
}

// For a beyond any use: the normal distribution that the function tends to, corrected once
// (N. Temme, 1979).
inline double upper_gamma_of_large(double a, double x) {
  const double distance = (x - a) / a;
  const double eta =
      __builtin_copysign(std::sqrt(-2 * log_less_distance(x, a, x - a)), distance);
  const double first = __builtin_fabs(eta) < 1e-3 ? -1.0 / 3 + eta / 12 : 1 / distance - 1 / eta;
  return 0.5 * erfc(eta * std::sqrt(0.5 * a)) +
         std::exp(-0.5 * a * eta * eta) / std::sqrt(2 * kPi * a) * first;
}

// The upper function for small a and x, where the lower one is nearly 1.
inline double upper_gamma_of_small(double a, double x) {
  const double power_less_one = std::expm1(a * std::log(x) - lgamma_of_one_and(a));
  double term = 1, sum = 0;
  for (double k = 1; k < 100; ++k) {
    term *= -x / k;
    const double part = term * a / (a + k);
    sum += part;
    if (__builtin_fabs(part) < kPrecision * __builtin_fabs(sum)) break;
  }
  return -power_less_one - (1 + power_less_one) * sum;
}

constexpr double kLargeShape = 1e8;

// The regularised functions: P(a, x) = lower / gamma(a) and Q(a, x) = 1 - P(a, x).
inline double gammainc(double a, double x) {
  if (!(a >= 0 && x >= 0)) return kNaN;
  if (a == 0) return x > 0 ? 1 : kNaN;
  if (x == 0 || a == kInfinity) return a == kInfinity && x == kInfinity ? kNaN : 0;
  if (x == kInfinity) return 1;
  if (a > kLargeShape) return 1 - upper_gamma_of_large(a, x);
  if (x < a + 1) return gamma_front(a, x) * gamma_series(a, x);
  return 1 - gamma_front(a, x) * a * gamma_fraction(a, x);
}
inline double gammaincc(double a, double x) {
  if (!(a >= 0 && x >= 0)) return kNaN;
  if (a == 0) return x > 0 ? 0 : kNaN;
  if (x == 0 || a == kInfinity) return a == kInfinity && x == kInfinity ? kNaN : 1;
  if (x == kInfinity) return 0;
  if (a > kLargeShape) return upper_gamma_of_large(a, x);
  if (x < 1.1 && x < a + 1 && a < 1) return upper_gamma_of_small(a, x);
  if (x < a + 1) return 1 - gamma_front(a, x) * gamma_series(a, x);
  return gamma_front(a, x) * a * gamma_fraction(a, x);
}

// ---- the incomplete beta function ----

// log(gamma(x + step) / gamma(x)), without the difference of large numbers.
inline double log_gamma_ratio(double x, double step) {
  if (x < 11) return lgamma(x + step) - lgamma(x);
  const double from = x - 1, to = from + step;
  return (from + 0.5) * log1p(step / from) + step * std::log(to) - step + stirling_rest(to) -
         stirling_rest(from);
}

// x^a * (1 - x)^b * gamma(a + b) / (gamma(a) * gamma(b)); y is 1 - x.
inline double beta_front(double a, double b, double x, double y) {
  if (a < 10 || b < 10) {
    const double log_y = y < 0.5 ? std::log(y) : std::log1p(-x);
    const double log_x = x < 0.5 ? std::log(x) : std::log1p(-y);
    const double small = a < b ? a : b, large = a < b ? b : a;
    const double ratio = log_gamma_ratio(large, small);
    return std::exp(a * log_x + b * log_y + ratio - lgamma(small));
  }
  const double x_less_mean = (x * b - y * a) / (a + b);
  const double exponent = a * log_less_distance(x, a / (a + b), x_less_mean) +
                          b * log_less_distance(y, b / (a + b), -x_less_mean);
  return std::exp(exponent + stirling_rest(a + b) - stirling_rest(a) - stirling_rest(b)) *
         std::sqrt(a * b / (2 * kPi * (a + b)));
}

inline double beta_fraction(double a, double b, double x) {
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (d == 0 ? kTiny : d);
  double result = d;
  for (double k = 1; k < 1e5; ++k) {
    for (int half = 0; half < 2; ++half) {
      const double numerator = half == 0 ? k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k))
                                         : -(a + k) * (a + b + k) * x /
                                               ((a + 2 * k) * (a + 2 * k + 1));
      d = 1 + numerator * d;
      d = 1 / (d == 0 ? kTiny : d);
      c = 1 + numerator / c;
      c = c == 0 ? kTiny : c;
      result *= c * d;
    }
    if (__builtin_fabs(c * d - 1) < 2 * kPrecision) break;
  }
  return result;
}

// The regularised function: the integral of t^(a-1) * (1-t)^(b-1) up to x over that up to 1.
inline double betainc(double a, double b, double x) {
  if (!(a >= 0 && b >= 0 && x >= 0 && x <= 1)) return kNaN;
  if (a == 0 || b == 0) return a == b ? kNaN : a == 0 ? 1 : 0;
  if (x == 0 || x == 1) return x;
  const double y = 1 - x, front = beta_front(a, b, x, y);
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, y) / b;
}

}  // namespace math
}  // namespace RELUME_ISA
}  // namespace relume
