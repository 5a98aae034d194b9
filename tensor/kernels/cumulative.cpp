// Running totals along a dimension: cumsum, cumprod, logcumsumexp, cummax and cummin.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/default_dtype.h"
#include "tensor/kernels/dense.h"
#include "tensor/ops.h"
#include "tensor/parallel.h"

namespace relume {
namespace {

// ---- totals: begin() and add(), which gives the total so far ----

template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;  // integers wrap around

template <class T>
struct RunningSum {
  Wide<T> total = 0;
  T add(T x) { return static_cast<T>(total += static_cast<Wide<T>>(x)); }
};
template <class T>
struct RunningProduct {
  Wide<T> total = 1;
  T add(T x) { return static_cast<T>(total *= static_cast<Wide<T>>(x)); }
};
// log(sum(exp(x))) as the largest term so far and the sum relative to it.
template <class T>
struct RunningLogSumExp {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  T add(T given) {
    const double x = static_cast<double>(given);
    if (x > largest) {
      sum = sum == 0 ? 1 : sum * std::exp(largest - x) + 1;
      largest = x;
    } else if (x == largest) {
      sum += 1;
    } else {
      sum += std::exp(x - largest);
    }
    return static_cast<T>(std::isinf(largest) ? (sum != sum ? sum : largest) : largest + std::log(sum));
  }
};

// Lines along a dimension of row-major memory: `outer` blocks of `length` rows of `inner`.
struct Lines {
  int64_t outer = 1, length = 1, inner = 1;

  Lines(const Tensor& tensor, int dim) {
    for (int i = 0; i < tensor.ndim(); ++i) {
      (i < dim ? outer : i == dim ? length : inner) *= tensor.size(i);
    }
  }
};

constexpr int64_t kBlock = 128;  // neighbouring lines that are walked together

// Calls `walk(first, lines)` for groups of neighbouring lines: `first` is the place of the first
// element of the first one.
template <class Walk>
void for_each_block(const Lines& lines, const Walk& walk) {
  const int64_t blocks = (lines.inner + kBlock - 1) / kBlock;
  const int64_t elements = std::max<int64_t>(1, lines.length * std::min(lines.inner, kBlock));
  parallel_for(0, lines.outer * blocks, std::max<int64_t>(1, kParallelGrain / 2 / elements),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t column = i % blocks * kBlock;
                   walk(i / blocks * lines.length * lines.inner + column,
                        std::min(kBlock, lines.inner - column));
                 }
               });
}

template <class Total, class T>
void run_totals(const T* from, T* to, const Lines& lines) {
  for_each_block(lines, [&](int64_t first, int64_t together) {
    const T* row = from + first;
    T* out = to + first;
    if (together == 1) {
      Total total;
      for (int64_t k = 0; k < lines.length; ++k) out[k * lines.inner] = total.add(row[k * lines.inner]);
      return;
    }
    Total totals[kBlock];
    for (int64_t k = 0; k < lines.length; ++k, row += lines.inner, out += lines.inner) {
#pragma GCC ivdep
      for (int64_t i = 0; i < together; ++i) out[i] = totals[i].add(row[i]);
    }
  });
}

struct Plus {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};
struct Times {
  template <class T>
  T operator()(T a, T b) const {
    return a * b;
  }
};

// May a few terms be folded before the total meets them? In double they could overflow where
// one after the other would not.
template <class T>
constexpr bool has_room = !std::is_same_v<T, double>;

// A long total waits for each of its terms: four at a time wait once.
template <class Fold, class T>
void fold_rows(const T* from, T* to, const Lines& lines, Wide<T> start) {
  const Fold fold;
  parallel_for(0, lines.outer, std::max<int64_t>(1, kParallelGrain / 2 / std::max<int64_t>(1, lines.length)),
               [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const T* x = from + line * lines.length;
      T* out = to + line * lines.length;
      Wide<T> total = start;
      int64_t k = 0;
      for (; k + 4 <= lines.length; k += 4) {
        const Wide<T> a = static_cast<Wide<T>>(x[k]), b = fold(a, static_cast<Wide<T>>(x[k + 1]));
        const Wide<T> c = static_cast<Wide<T>>(x[k + 2]), d = fold(c, static_cast<Wide<T>>(x[k + 3]));
        const Wide<T> all = fold(b, d);
        out[k] = static_cast<T>(fold(total, a));
        out[k + 1] = static_cast<T>(fold(total, b));
        out[k + 2] = static_cast<T>(fold(total, fold(b, c)));
        out[k + 3] = static_cast<T>(fold(total, all));
        total = fold(total, all);
      }
      for (; k < lines.length; ++k) {
        total = fold(total, static_cast<Wide<T>>(x[k]));
        out[k] = static_cast<T>(total);
      }
    }
  });
}

// Types that loops exist for: 16-bit floats go by float, integers by int64.
template <class Function>
void visit_wide(DType dtype, const Function& function) {
  if (dtype == DType::float64) return function(double{});
  if (is_floating(dtype)) return function(float{});
  function(int64_t{});
}
DType wide_type(DType dtype) {
  return dtype == DType::float64 ? dtype : is_floating(dtype) ? DType::float32 : DType::int64;
}
Tensor as_type(const Tensor& input, DType dtype) {
  return contiguous_copy_if_needed(input.dtype() == dtype ? input : ops::to_dtype(input, dtype));
}

enum class Running { sum, product, log_sum_exp };

template <class T>
void run(Running what, const T* from, T* to, const Lines& lines) {
  if (what == Running::sum) {
    if (lines.inner == 1 && has_room<T>) return fold_rows<Plus>(from, to, lines, Wide<T>(0));
    return run_totals<RunningSum<T>>(from, to, lines);
  }
  if (what == Running::product) {
    if (lines.inner == 1 && has_room<T>) return fold_rows<Times>(from, to, lines, Wide<T>(1));
    return run_totals<RunningProduct<T>>(from, to, lines);
  }
  if constexpr (std::is_floating_point_v<T>) run_totals<RunningLogSumExp<T>>(from, to, lines);
}

// The sums of the real and of the imaginary parts.
Tensor complex_sums(const Tensor& input, int dim) {
  static const OpFunction view_as_real{"view_as_real"}, view_as_complex{"view_as_complex"}, cumsum{"cumsum"};
  return input.ndim() == 0 ? ops::clone(input) : view_as_complex(cumsum(view_as_real(input), dim));
}

// Product by product: what is behind a complex factor depends on both of its parts.
Tensor complex_products(const Tensor& input, int dim) {
  if (input.ndim() == 0 || input.size(dim) == 0) return ops::clone(input);
  std::vector<Tensor> products{ops::select(input, dim, int64_t{0})};
  for (int64_t i = 1; i < input.size(dim); ++i) products.push_back(products.back() * ops::select(input, dim, i));
  std::vector<TensorBody*> bodies;
  for (const Tensor& product : products) bodies.push_back(product.body());
  static const OpFunction stack{"stack"};
  return stack(Value(bodies.data(), static_cast<int>(bodies.size())), dim);
}

// (input, dim, *, dtype): integers are added and multiplied in int64.
template <Running what>
void running_kernel(Call& call) {
  const Tensor input = call.tensor(0);
  const int dim = wrap_dim(call.integer(1), input.ndim());
  DType dtype = is_differentiable(input.dtype()) ? input.dtype()
                : what == Running::log_sum_exp ? default_float()
                                               : DType::int64;
  if (what != Running::log_sum_exp) dtype = call.dtype(2, dtype);
  if (is_complex(dtype)) {
    const Tensor numbers = ops::to_dtype(input, dtype);
    return call.set_output(0, what == Running::sum ? complex_sums(numbers, dim) : complex_products(numbers, dim));
  }
  const DType wide = wide_type(dtype);
  const Tensor source = as_type(input, wide);
  const Lines lines(input, dim);
  const Tensor out = call.output(0, input.shape(), dtype);
  const bool direct = out.dtype() == wide && out.is_contiguous();
  const Tensor target = direct ? out : empty(input.shape(), wide);
  visit_wide(dtype, [&](auto example) {
    using T = decltype(example);
    run(what, source.data_as<T>(), target.data_as<T>(), lines);
  });
  if (!direct) copy(out, target);
}

// ---- running extremes and where they stand, the last of equal ones ----

template <bool largest, class T>
void run_extreme_of_line(const T* from, T* to, int64_t* places, int64_t length) {
  T best = from[0];
  int64_t place = 0;
  for (int64_t k = 0; k < length; ++k) {
    const T x = from[k];
    const bool beyond = (largest ? x >= best : x <= best) || x != x;
    best = beyond ? x : best;
    place = beyond ? k : place;
    to[k] = best;
    places[k] = place;
  }
}

template <bool largest, class T>
void run_extremes(const T* from, T* to, int64_t* places, const Lines& lines) {
  for_each_block(lines, [&](int64_t first, int64_t together) {
    if (lines.length == 0) return;
    if (lines.inner == 1) {
      return run_extreme_of_line<largest>(from + first, to + first, places + first, lines.length);
    }
    T best[kBlock];
    int64_t place[kBlock] = {};
    std::copy_n(from + first, together, best);
    for (int64_t k = 0; k < lines.length; ++k) {
      const int64_t row = first + k * lines.inner;
      for (int64_t i = 0; i < together; ++i) {
        const T x = from[row + i];
        const bool beyond = largest ? x >= best[i] : x <= best[i];
        if (beyond || x != x) {
          best[i] = x;
          place[i] = k;
        }
        to[row + i] = best[i];
        places[row + i] = place[i];
      }
    }
  });
}

template <bool largest>
void extremes_kernel(Call& call) {
  const Tensor input = call.tensor(0);
  const int dim = wrap_dim(call.integer(1), input.ndim());
  const DType wide = wide_type(input.dtype());
  const Tensor source = as_type(input, wide), target = empty(input.shape(), wide);
  const DenseOutput indices(call.output(1, input.shape(), DType::int64));
  visit_wide(input.dtype(), [&](auto example) {
    using T = decltype(example);
    run_extremes<largest>(source.data_as<T>(), target.data_as<T>(), indices->data_as<int64_t>(),
                          Lines(input, dim));
  });
  indices.write_back();
  call.set_output(0, as_type(target, input.dtype()));
}

const Register register_cumsum{
    "cumsum(Tensor input, int dim, *, dtype? dtype=None) -> Tensor",
    "The running sum along a dimension; integers and bool are summed in int64.", {Trait::takes_complex},
    running_kernel<Running::sum>};
const Register register_cumprod{
    "cumprod(Tensor input, int dim, *, dtype? dtype=None) -> Tensor",
    "The running product along a dimension; integers and bool are multiplied in int64.", {Trait::takes_complex},
    running_kernel<Running::product>};
const Register register_logcumsumexp{
    "logcumsumexp(Tensor input, int dim) -> Tensor",
    "The logarithm of the running sum of exponentials along a dimension, without overflow.", {},
    running_kernel<Running::log_sum_exp>};
const Register register_cummax{
    "cummax(Tensor input, int dim) -> (Tensor, Tensor)",
    "The largest element so far along a dimension and its index, the last one of equals; NaN "
    "from the first NaN on.",
    {}, extremes_kernel<true>};
const Register register_cummin{
    "cummin(Tensor input, int dim) -> (Tensor, Tensor)",
    "The smallest element so far along a dimension and its index, the last one of equals; NaN "
    "from the first NaN on.",
    {}, extremes_kernel<false>};

}  // namespace
}  // namespace relume
