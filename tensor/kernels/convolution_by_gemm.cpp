// Convolution as matrix products: the elements under every window are gathered into the
// columns of a matrix, a band of output rows at a time so that it stays in the cache.
#include <vector>

#include "tensor/blas.h"
#include "tensor/buffer.h"
#include "tensor/kernels/small_images.h"
#include "tensor/kernels/window_matrix.h"
#include "tensor/parallel.h"

namespace relume {
namespace {

constexpr int64_t kBandElements = 256 * 1024;  // of the matrix of windows

int64_t rows_per_band(const Convolution& shape) {
  const int64_t width = std::max<int64_t>(1, shape.output.width);
  const int64_t pixels =
      std::max(kProductPixels, kBandElements / std::max<int64_t>(1, shape.window_elements()));
  return std::min(shape.output.height, std::max<int64_t>(1, pixels / width));
}

// Splits the images over the threads; every thread has a matrix of windows of its own. With
// fewer images than threads the products inside use the threads instead.
template <class T, class Work>
void for_each_image(const Convolution& shape, int64_t columns_size, const Work& work) {
  const int64_t workers = shape.batch < num_threads() ? 1 : num_threads();
  const Buffer<T> memory(workers * columns_size);
  parallel_for(0, workers, 1, [&](int64_t begin, int64_t end) {
    for (int64_t worker = begin; worker < end; worker++) {
      T* columns = memory.data() + worker * columns_size;
      const int64_t first = shape.batch * worker / workers, last = shape.batch * (worker + 1) / workers;
      for (int64_t image = first; image < last; image++) work(image, worker, columns);
    }
  });
}

template <class T>
int64_t columns_size(const Convolution& shape) {
  return shape.is_pointwise() ? 0 : shape.window_elements() * rows_per_band(shape) * shape.output.width;
}

// Calls f(group, first row, end row) for every group and band of rows.
template <class Function>
void for_each_band(const Convolution& shape, const Function& function) {
  const int64_t step = shape.is_pointwise() ? shape.output.height : rows_per_band(shape);
  for (int64_t group = 0; group < shape.groups; group++) {
    for (int64_t row = 0; row < shape.output.height; row += step) {
      function(group, row, std::min(shape.output.height, row + step));
    }
  }
}

// One group's part of one image's output (or of its gradient) in a band of rows.
template <class T>
Matrix<T> output_band(const Convolution& shape, T* output, int64_t image, int64_t group,
                      int64_t row_begin, int64_t row_end) {
  const int64_t pixels = shape.output_pixels();
  T* start = output + (image * shape.out_channels + group * shape.group_outputs()) * pixels +
             row_begin * shape.output.width;
  return {start, shape.group_outputs(), (row_end - row_begin) * shape.output.width, pixels, 1};
}

template <class T>
Matrix<T> group_weight(const Convolution& shape, T* weight, int64_t group) {
  const int64_t elements = shape.window_elements();
  return {weight + group * shape.group_outputs() * elements, shape.group_outputs(), elements};
}

template <class T>
T* group_image(const Convolution& shape, T* input, int64_t image, int64_t group) {
  return input + (image * shape.in_channels + group * shape.group_inputs()) * shape.input_pixels();
}

template <class T>
Matrix<const T> windows(const Convolution& shape, const T* image, int64_t row_begin, int64_t row_end,
                        T* columns) {
  const int64_t pixels = (row_end - row_begin) * shape.output.width;
  if (shape.is_pointwise()) return {image, shape.window_elements(), pixels};
  gather_windows(shape, image, row_begin, row_end, columns, pixels);
  return {columns, shape.window_elements(), pixels};
}

}  // namespace

template <class T>
void convolve_by_gemm(const Convolution& shape, const T* input, const T* weight, const T* bias,
                      T* output) {
  if (images_together(shape) > 1) return convolution_of_small_images(shape, input, weight, bias, output);
  for_each_image<T>(shape, columns_size<T>(shape), [&](int64_t image, int64_t, T* columns) {
    for_each_band(shape, [&](int64_t group, int64_t row_begin, int64_t row_end) {
      const Matrix<T> target = output_band(shape, output, image, group, row_begin, row_end);
      for (int64_t i = 0; bias && i < target.rows; i++) {
        std::fill_n(&target.at(i, 0), target.columns, bias[group * target.rows + i]);
      }
      gemm<T>(1, group_weight(shape, weight, group),
              windows(shape, group_image(shape, input, image, group), row_begin, row_end, columns),
              bias ? 1 : 0, target);
    });
  });
}

template <class T>
void input_gradient_by_gemm(const Convolution& shape, const T* grad_output, const T* weight,
                            T* grad_input) {
  if (images_together(shape) > 1) return input_gradient_of_small_images(shape, grad_output, weight, grad_input);
  const int64_t image_size = shape.in_channels * shape.input_pixels();
  for_each_image<T>(shape, columns_size<T>(shape), [&](int64_t image, int64_t, T* columns) {
    if (!shape.is_pointwise()) std::fill_n(grad_input + image * image_size, image_size, T(0));
    for_each_band(shape, [&](int64_t group, int64_t row_begin, int64_t row_end) {
      const Matrix<const T> grad = output_band(shape, grad_output, image, group, row_begin, row_end);
      T* target = group_image(shape, grad_input, image, group);
      const Matrix<T> result(shape.is_pointwise() ? target : columns, shape.window_elements(),
                             grad.columns);
      gemm<T>(1, group_weight(shape, weight, group).transposed(), grad, 0, result);
      if (!shape.is_pointwise()) scatter_windows(shape, columns, row_begin, row_end, target, grad.columns);
    });
  });
}

template <class T>
void weight_gradient_by_gemm(const Convolution& shape, const T* grad_output, const T* input,
                             T* grad_weight) {
  if (images_together(shape) > 1) return weight_gradient_of_small_images(shape, grad_output, input, grad_weight);
  const int64_t weight_size = shape.out_channels * shape.window_elements();
  // Every thread has a sum of its own.
  const int64_t columns_end = columns_size<T>(shape);
  std::fill_n(grad_weight, weight_size, T(0));
  if (shape.batch == 0) return;
  const int64_t workers = shape.batch < num_threads() ? 1 : num_threads();
  std::vector<T> sums(workers > 1 ? workers * weight_size : 0);
  for_each_image<T>(shape, columns_end, [&](int64_t image, int64_t worker, T* columns) {
    T* sum = workers > 1 ? sums.data() + worker * weight_size : grad_weight;
    for_each_band(shape, [&](int64_t group, int64_t row_begin, int64_t row_end) {
      const Matrix<const T> grad = output_band(shape, grad_output, image, group, row_begin, row_end);
      gemm<T>(1, grad,
              windows(shape, group_image(shape, input, image, group), row_begin, row_end, columns)
                  .transposed(),
              1, group_weight(shape, sum, group));
    });
  });
  for (int64_t worker = 0; workers > 1 && worker < workers; worker++) {
    for (int64_t i = 0; i < weight_size; i++) grad_weight[i] += sums[worker * weight_size + i];
  }
}

template void convolve_by_gemm(const Convolution&, const float*, const float*, const float*, float*);
template void convolve_by_gemm(const Convolution&, const double*, const double*, const double*, double*);
template void input_gradient_by_gemm(const Convolution&, const float*, const float*, float*);
template void input_gradient_by_gemm(const Convolution&, const double*, const double*, double*);
template void weight_gradient_by_gemm(const Convolution&, const float*, const float*, float*);
template void weight_gradient_by_gemm(const Convolution&, const double*, const double*, double*);

}  // namespace relume
