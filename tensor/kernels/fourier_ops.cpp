// Discrete Fourier transforms of tensors, complex and real. Their norms are numbers that
// relume.fft chooses; the sizes are those of the input.
#include <algorithm>

#include "tensor/copy.h"
#include "tensor/elementwise.h"
#include "tensor/kernels/best_isa.h"
#include "tensor/kernels/fourier.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/views.h"
#include "tensor/parallel.h"

namespace relume {

RELUME_PER_ISA(FourierKernels, fourier_kernels)

namespace {

constexpr int kMostLanes = 16;
constexpr int64_t kElementsPerThread = 1 << 14;

template <class T>
const FourierKernel<T>& fourier_kernel();
template <>
const FourierKernel<float>& fourier_kernel<float>() {
  return best_fourier_kernels().float32;
}
template <>
const FourierKernel<double>& fourier_kernel<double>() {
  return best_fourier_kernels().float64;
}

// The lines of a contiguous tensor along a dimension.
struct Lines {
  int64_t length, stride, count;

  Lines(IntSpan shape, int dim) : length(shape[dim]), stride(1), count(1) {
    for (int i = 0; i < shape.count; ++i) {
      if (i != dim) count *= shape[i];
      if (i > dim) stride *= shape[i];
    }
  }
  int64_t start(int64_t line) const { return line / stride * stride * length + line % stride; }
};

template <class Function>
void for_line_ranges(const Lines& lines, Function&& function) {
  parallel_for(0, lines.count, std::max<int64_t>(kMostLanes, kElementsPerThread / std::max<int64_t>(1, lines.length)),
               function);
}

// Calls run(FourierLines) on groups of as many lines as the kernel takes.
template <class T, class Run>
void for_line_groups(const std::complex<T>* from, const Lines& from_lines, std::complex<T>* to, const Lines& to_lines,
                     const Run& run) {
  const int lanes = fourier_kernel<T>().lanes;
  for_line_ranges(to_lines, [&](int64_t begin, int64_t end) {
    const std::complex<T>* from_starts[kMostLanes];
    std::complex<T>* to_starts[kMostLanes];
    while (begin < end) {
      const int count = static_cast<int>(std::min<int64_t>(lanes, end - begin));
      for (int i = 0; i < count; ++i) {
        from_starts[i] = from + from_lines.start(begin + i);
        to_starts[i] = to + to_lines.start(begin + i);
      }
      run(FourierLines<T>{from_starts, to_starts, count, from_lines.stride, to_lines.stride});
      begin += count;
    }
  });
}

// Both are contiguous; they may be the same.
template <class T>
void transform_dim(const Tensor& input, const Tensor& result, int dim, bool forward, double scale) {
  const Lines lines(result.shape(), dim);
  if (lines.length == 0 || lines.count == 0) return;
  const auto plan = FourierPlan<T>::of_length(lines.length);
  for_line_groups<T>(input.data_as<std::complex<T>>(), lines, result.data_as<std::complex<T>>(), lines,
                     [&](const FourierLines<T>& group) {
                       fourier_kernel<T>().transform(*plan, group, forward, static_cast<T>(scale));
                     });
}

template <class Function>
void visit_parts(DType complex, Function&& function) {
  complex == DType::complex64 ? function(float{}) : function(double{});
}

int checked_dim(const Call& call, int argument) {
  const Tensor input = call.tensor(0);
  check(input.ndim() > 0, call.op.name(), "() needs a tensor with at least one dimension");
  return wrap_dim(call.integer(argument), input.ndim());
}

void check_length(const Call& call, int64_t length) {
  check(length > 0, call.op.name(), "() cannot transform ", length, " elements");
}

DType transform_dtype(const Call& call) {
  const DType dtype = floating_type(call.tensor(0).dtype());
  check<TypeError>(item_size(dtype) > 2, call.op.name(), "() does not transform ", name(dtype),
                   "; convert the tensor to float32 first");
  return complex_type(dtype);
}

void fft_complex_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const DType dtype = transform_dtype(call);
  const Tensor result = empty(input.shape(), dtype);
  Tensor current = contiguous_copy_if_needed(as_type(input, dtype));
  double scale = call.real(2);
  for (int64_t given : call.integers(1)) {
    const int dim = wrap_dim(given, input.ndim());
    check(input.ndim() > 0, "a tensor without dimensions cannot be transformed");
    check_length(call, input.size(dim));
    visit_parts(dtype, [&](auto zero) { transform_dim<decltype(zero)>(current, result, dim, call.boolean(3), scale); });
    current = result;
    scale = 1;
  }
  check(call.integers(1).count > 0, "fft_complex(): at least one dimension must be given");
  call.set_output(0, result);
}

// ---- real input ----

// Lines of real numbers side by side are lines of half as many complex ones.
Lines paired(Lines lines) {
  lines.length /= 2;
  return lines;
}
template <class T>
void real_even(const Tensor& input, const Tensor& result, int dim, T scale) {
  const Lines from(input.shape(), dim), to(result.shape(), dim);
  const T* source = input.data_as<T>();
  std::complex<T>* target = result.data_as<std::complex<T>>();
  const auto plan = RealFourierPlan<T>::of_length(from.length);
  const auto run = [&](const FourierLines<T>& group) { fourier_kernel<T>().real(*plan, group, scale); };
  if (from.stride == 1) {
    return for_line_groups(reinterpret_cast<const std::complex<T>*>(source), paired(from), target, to, run);
  }
  const int64_t half = from.length / 2;
  for_line_ranges(to, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* x = source + from.start(i);
      std::complex<T>* y = target + to.start(i);
      for (int64_t k = 0; k < half; ++k) {
        y[k * to.stride] = {x[2 * k * from.stride], x[(2 * k + 1) * from.stride]};
      }
    }
  });
  for_line_groups<T>(target, to, target, to, run);
}

void fft_real_cpu(Call& call) {
  const int dim = checked_dim(call, 1);
  const DType dtype = transform_dtype(call);
  Tensor input = call.tensor(0);
  check<TypeError>(!is_complex(input.dtype()), "fft_real() transforms real tensors, got ", name(input.dtype()));
  const int64_t length = input.size(dim);
  check_length(call, length);
  Dims shape(input.shape());
  shape[dim] = length / 2 + 1;
  if (length % 2 != 0) {
    const Tensor whole = empty(input.shape(), dtype);
    copy(whole, input);
    visit_parts(dtype, [&](auto zero) { transform_dim<decltype(zero)>(whole, whole, dim, true, call.real(2)); });
    copy(call.output(0, shape, dtype), narrow_view(whole, dim, 0, shape[dim]));
    return;
  }
  const Tensor dense = contiguous_copy_if_needed(as_type(input, real_type(dtype)));
  const Tensor result = empty(shape, dtype);
  visit_parts(dtype, [&](auto zero) {
    using T = decltype(zero);
    real_even<T>(dense, result, dim, static_cast<T>(call.real(2)));
  });
  call.set_output(0, result);
}

// ---- real output ----

// `spectrum` has length / 2 + 1 elements along the dimension.
template <class T>
void real_inverse_even(const Tensor& spectrum, const Tensor& result, int dim, T scale) {
  const Lines from(spectrum.shape(), dim), to(result.shape(), dim);
  const std::complex<T>* data = spectrum.data_as<std::complex<T>>();
  T* target = result.data_as<T>();
  const auto plan = RealFourierPlan<T>::of_length(to.length);
  const auto run = [&](const FourierLines<T>& group) { fourier_kernel<T>().real_inverse(*plan, group, scale); };
  if (to.stride == 1) {
    return for_line_groups(data, from, reinterpret_cast<std::complex<T>*>(target), paired(to), run);
  }
  const Tensor pairs = empty(spectrum.shape(), spectrum.dtype());
  std::complex<T>* const paired_data = pairs.data_as<std::complex<T>>();
  for_line_groups(data, from, paired_data, from, run);
  const int64_t half = to.length / 2;
  for_line_ranges(from, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const std::complex<T>* x = paired_data + from.start(i);
      T* y = target + to.start(i);
      for (int64_t k = 0; k < half; ++k) {
        y[2 * k * to.stride] = x[k * from.stride].real();
        y[(2 * k + 1) * to.stride] = x[k * from.stride].imag();
      }
    }
  });
}

// The second half of the spectrum of real numbers is the first one backwards, conjugated.
template <class T>
void mirror(const Tensor& whole, int dim) {
  const Lines lines(whole.shape(), dim);
  for (int64_t i = 0; i < lines.count; ++i) {
    std::complex<T>* line = whole.data_as<std::complex<T>>() + lines.start(i);
    line[0] = line[0].real();
    for (int64_t k = 1; 2 * k < lines.length; ++k) {
      line[(lines.length - k) * lines.stride] = std::conj(line[k * lines.stride]);
    }
  }
}

void fft_real_inverse_cpu(Call& call) {
  const int dim = checked_dim(call, 1);
  const DType dtype = transform_dtype(call);
  const Tensor input = call.tensor(0);
  const int64_t length = call.integer(2), kept = length / 2 + 1;
  check_length(call, length);
  check(input.size(dim) == kept, "fft_real_inverse(): ", length, " real numbers have ", kept,
        " complex ones in their spectrum, not ", input.size(dim));
  Dims shape(input.shape());
  shape[dim] = length;
  if (length % 2 != 0) {
    const Tensor whole = empty(shape, dtype);
    copy(narrow_view(whole, dim, 0, kept), input);
    visit_parts(dtype, [&](auto zero) {
      using T = decltype(zero);
      mirror<T>(whole, dim);
      transform_dim<T>(whole, whole, dim, false, call.real(3));
    });
    copy(call.output(0, shape, real_type(dtype)), whole);
    return;
  }
  const Tensor spectrum = contiguous_copy_if_needed(as_type(input, dtype));
  const Tensor result = empty(shape, real_type(dtype));
  visit_parts(dtype, [&](auto zero) {
    using T = decltype(zero);
    real_inverse_even<T>(spectrum, result, dim, static_cast<T>(call.real(3)));
  });
  call.set_output(0, result);
}

const Register register_fft_complex{
    "fft_complex(Tensor input, int[] dim, float scale, bool forward) -> Tensor",
    "The discrete Fourier transform along dimensions, times a number: the sum over j of input[j] "
    "exp(-2 pi i j k / n), with the other sign unless forward.",
    {Trait::takes_complex, Trait::internal}, fft_complex_cpu};
const Register register_fft_real{
    "fft_real(Tensor input, int dim, float scale) -> Tensor",
    "The first half (n / 2 + 1 numbers) of the Fourier transform of real numbers, times a number.",
    {Trait::takes_complex, Trait::not_holomorphic, Trait::internal}, fft_real_cpu};
const Register register_fft_real_inverse{
    "fft_real_inverse(Tensor input, int dim, int n, float scale) -> Tensor",
    "The n real numbers whose spectrum begins with the input (n / 2 + 1 numbers), times a number.",
    {Trait::takes_complex, Trait::not_holomorphic, Trait::internal}, fft_real_inverse_cpu};

}  // namespace
}  // namespace relume
