// The exponential of matrices, by scaling and squaring (Higham, The Scaling and Squaring Method
// for the Matrix Exponential Revisited, 2005).
#include <cmath>
#include <map>

#include "tensor/copy.h"
#include "tensor/kernels/lapack.h"
#include "tensor/ops.h"

namespace relume {
namespace {

const OpFunction solve{"linalg_solve_ex"}, index_select{"index_select"}, amax{"amax"}, eye{"eye"},
    index_copy_{"index_copy_"};

// Of the approximation of degree 13, which is exact to double precision up to this norm.
constexpr double kCoefficients[] = {64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800,
                                    129060195264000,   10559470521600,    670442572800,     33522128640,
                                    1323241920,        40840800,          960960,           16380,
                                    182,               1};
constexpr double kLargestNorm = 5.371920351148152;
constexpr int kMostHalvings = 1100;  // more than the exponents of double allow

// b[k] * a2 + b[k + 2] * a4 + b[k + 4] * a6
Tensor combined(int k, const Tensor& a2, const Tensor& a4, const Tensor& a6) {
  return a2 * kCoefficients[k] + a4 * kCoefficients[k + 2] + a6 * kCoefficients[k + 4];
}

Tensor exponential(const Tensor& matrices, int halvings) {
  const Tensor a = matrices * std::ldexp(1.0, -halvings);
  const Tensor identity = eye(a.size(a.ndim() - 1), Value(), a.dtype());
  const Tensor a2 = ops::matmul(a, a), a4 = ops::matmul(a2, a2), a6 = ops::matmul(a2, a4);
  const Tensor odd = ops::matmul(
      a, ops::matmul(a6, combined(9, a2, a4, a6)) + combined(3, a2, a4, a6) + identity * kCoefficients[1]);
  const Tensor even = ops::matmul(a6, combined(8, a2, a4, a6)) + combined(2, a2, a4, a6) + identity * kCoefficients[0];
  Tensor result = solve(even - odd, even + odd);
  for (int i = 0; i < halvings; ++i) result = ops::matmul(result, result);
  return result;
}

int halvings_for(double norm) {
  if (!(norm > kLargestNorm)) return 0;
  if (std::isinf(norm)) return kMostHalvings;
  return std::min(kMostHalvings, static_cast<int>(std::ceil(std::log2(norm / kLargestNorm))));
}

void matrix_exp_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check_square(call, input);
  const DType dtype = lapack_dtype(call, input);
  const int64_t n = input.size(input.ndim() - 1);
  if (input.numel() == 0) return call.set_output(0, full(input.shape(), 0, dtype));
  // A stack of matrices in double precision.
  const Tensor wide = ops::to_dtype(input, is_complex(dtype) ? DType::complex128 : DType::float64);
  const Tensor stack = ops::reshape(wide, IntSpan({-1, n, n}));
  const Tensor norms = ops::contiguous(amax(ops::sum(ops::abs(stack), IntSpan({-2})), IntSpan({-1})));
  std::map<int, std::vector<int64_t>> groups;
  for (int64_t i = 0; i < stack.size(0); ++i) groups[halvings_for(norms.data_as<double>()[i])].push_back(i);
  const Tensor result = empty(stack.shape(), stack.dtype());
  for (const auto& [halvings, members] : groups) {
    if (groups.size() == 1) {
      copy(result, exponential(stack, halvings));
      break;
    }
    const Tensor index = empty({static_cast<int64_t>(members.size())}, DType::int64);
    std::copy(members.begin(), members.end(), index.data_as<int64_t>());
    index_copy_(result, 0, index, exponential(index_select(stack, 0, index), halvings));
  }
  call.set_output(0, ops::to_dtype(ops::reshape(result, input.shape()), dtype));
}

const Register register_matrix_exp{
    "linalg_matrix_exp(Tensor A) -> Tensor", "The matrix exponential of square matrices.",
    {Trait::takes_complex, Trait::internal}, matrix_exp_cpu};

}  // namespace
}  // namespace relume
