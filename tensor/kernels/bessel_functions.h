// Modified Bessel functions of order 0 and 1, without branches, to a few units in the last
// place: one polynomial for |x| <= 8 and one in 8 / |x| beyond, fitted at Chebyshev's points
// with 50 digits.
#pragma once
#include "tensor/kernels/math.h"

namespace relume {
namespace RELUME_ISA {
namespace math {

// exp(-x) * I0(x) and exp(-x) * I1(x) / x for 0 <= x <= 8, with t = x / 4 - 1.
inline double scaled_i0_near(double t) {
  return polynomial(
      t, 4.394426308340083e-09, -1.631130691668671e-08, 2.679771004975793e-08,
      -8.594601526025913e-08, 3.659216730162776e-07, -1.1419495259048662e-06,
      3.232396382443255e-06, -9.183910794736519e-06, 2.5198651465609148e-05,
      -6.55678677969644e-05, 0.0001624084559061418, -0.0003828654139905961,
      0.0008563135177565376, -0.0018119029764120445, 0.0036171271654272855, -0.006792394821044967,
      0.011960077703464203, -0.019682655784004566, 0.03017791206221918, -0.04298594929673067,
      0.05677703201501785, -0.06954119563154397, 0.07927522590752974, -0.08496338091542556,
      0.08734341617550884, -0.08904344136077733, 0.09451562853995125, -0.11300432688620536,
      0.2070019212239867);
}
inline double scaled_i1_near(double t) {
  return polynomial(
      t, 3.6696752013169966e-10, -1.4165980180332847e-09, 2.644330576999187e-09,
      -8.986801013193351e-09, 3.7901404602356164e-08, -1.2424046295570417e-07,
      3.7617292810159424e-07, -1.1327198008251626e-06, 3.29361514435675e-06,
      -9.136529630106953e-06, 2.4233987591498262e-05, -6.142361409267038e-05,
      0.00014842110758080817, -0.0003411760229204836, 0.0007445123998749739,
      -0.001538874564273584, 0.0030057624040464932, -0.005534567846988655, 0.009583962153764291,
      -0.015571309244077562, 0.023686016957350876, -0.03367135552107505, 0.044674572621282986,
      -0.05528003922699226, 0.06376740371340611, -0.0684826062058269, 0.06805759990951162,
      -0.061124338029666284, 0.044687709875608835);
}

// sqrt(x) * exp(-x) * I0(x) and I1(x) for x >= 8, with t = 16 / x - 1.
inline double scaled_i0_far(double t) {
  return polynomial(
      t, -7.06893851181878e-11, -1.9216763724933513e-11, 5.181936971288284e-10,
      1.4672236659214398e-10, -1.7789375042917173e-09, -5.562201990080394e-10,
      3.881151253996067e-09, 1.497880830187091e-09, -6.188265090497361e-09,
      -3.4857887470034955e-09, 7.58022133915272e-09, 7.540601378890834e-09, -5.4685974495866e-09,
      -1.3404241991980871e-08, -6.729724111923548e-09, 7.553516470355896e-09,
      2.1545177650836005e-08, 3.932602459703109e-08, 8.87225351128584e-08, 2.973598432479169e-07,
      1.4838475473607391e-06, 1.1143033791556743e-05, 0.00013621607439232746,
      0.003360551983667854, 0.4021765094450081);
}
inline double scaled_i1_far(double t) {
  return polynomial(
      t, 7.347992441734663e-11, 1.7502497778701306e-11, -5.388285995923524e-10,
      -1.342266320082222e-10, 1.8513716745511988e-09, 5.146498826087142e-10,
      -4.047785403711858e-09, -1.4171698018664596e-09, 6.4870195719816896e-09,
      3.406636130196794e-09, -8.044231276166508e-09, -7.630751970065577e-09,
      6.040877342160988e-09, 1.4029693589852716e-08, 6.715795128085017e-09,
      -8.426622829598154e-09, -2.337059627111857e-08, -4.312935369971356e-08,
      -1.0001323461066435e-07, -3.483855609009937e-07, -1.8349101134666435e-06,
      -1.5038547201176271e-05, -0.00021923576383430274, -0.009749577193235728,
      0.38939845902587233);
}

inline double near_place(double x) { return 0.25 * clip(x, 0.0, 8.0) - 1; }
inline double far_place(double x) { return 16 / clip(x, 8.0, 1e300) - 1; }

inline double i0e(double x) {
  const double size = __builtin_fabs(x);
  const double near = scaled_i0_near(near_place(size));
  const double far = scaled_i0_far(far_place(size)) / __builtin_sqrt(size);
  return x != x ? x : size < 8 ? near : far;
}
inline double i1e(double x) {
  const double size = __builtin_fabs(x);
  const double near = x * scaled_i1_near(near_place(size));
  const double far = __builtin_copysign(scaled_i1_far(far_place(size)) / __builtin_sqrt(size), x);
  return x != x ? x : size < 8 ? near : far;
}
// The exponential in two factors: the function overflows later than exp does.
inline double i0(double x) {
  const double half = exp(0.5 * __builtin_fabs(x));
  return half == kInfinity ? half : i0e(x) * half * half;
}
inline double i1(double x) {
  const double half = exp(0.5 * __builtin_fabs(x));
  return half == kInfinity ? __builtin_copysign(half, x) : i1e(x) * half * half;
}

}  // namespace math
}  // namespace RELUME_ISA
}  // namespace relume
