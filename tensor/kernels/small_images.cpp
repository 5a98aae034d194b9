#include "tensor/kernels/small_images.h"

#include <vector>

#include "tensor/blas.h"
#include "tensor/buffer.h"
#include "tensor/kernels/window_matrix.h"

namespace relume {
namespace {

constexpr int64_t kPixelsTogether = 400;  // which meet a weight that is packed once for them

// Some images in a row, in one group of channels; their pixels stand side by side in matrices whose
// rows are `pitch()` long.
struct SmallImages {
  const Convolution& shape;
  int64_t group, first, count;

  int64_t pixels() const { return shape.output_pixels(); }
  int64_t pitch() const { return count * pixels(); }

  template <class T>
  T* input(T* images, int64_t i) const {
    return images + ((first + i) * shape.in_channels + group * shape.group_inputs()) * shape.input_pixels();
  }
  template <class T>
  T* output(T* images, int64_t i) const {
    return images + ((first + i) * shape.out_channels + group * shape.group_outputs()) * pixels();
  }
  template <class T>
  Matrix<T> weight(T* weight) const {
    const int64_t elements = shape.window_elements();
    return {weight + group * shape.group_outputs() * elements, shape.group_outputs(), elements};
  }

  template <class T>
  void gather(const T* images, T* columns) const {
    for (int64_t i = 0; i < count; i++)
      gather_windows(shape, input(images, i), 0, shape.output.height, columns + i * pixels(), pitch());
  }
  template <class T>
  void scatter(const T* columns, T* images) const {
    for (int64_t i = 0; i < count; i++)
      scatter_windows(shape, columns + i * pixels(), 0, shape.output.height, input(images, i), pitch());
  }
  // The outputs as a matrix, a row for each channel.
  template <class T>
  void join(const T* images, T* rows) const {
    for (int64_t i = 0; i < count; i++) {
      const T* source = output(images, i);
      for (int64_t channel = 0; channel < shape.group_outputs(); channel++)
        std::copy_n(source + channel * pixels(), pixels(), rows + channel * pitch() + i * pixels());
    }
  }
  template <class T>
  void separate(const T* rows, const T* bias, T* images) const {
    for (int64_t i = 0; i < count; i++) {
      T* target = output(images, i);
      for (int64_t channel = 0; channel < shape.group_outputs(); channel++) {
        const T* source = rows + channel * pitch() + i * pixels();
        const T added = bias ? bias[group * shape.group_outputs() + channel] : T(0);
        for (int64_t k = 0; k < pixels(); k++) target[channel * pixels() + k] = source[k] + added;
      }
    }
  }
};

// Splits the images over the threads and calls work(images, worker, columns, rows) with two matrices
// of the worker's own: one of windows, one of outputs.
template <class T, class Work>
void for_each_product(const Convolution& shape, const Work& work) {
  const int64_t together = images_together(shape), workers = num_threads();
  const int64_t columns_size = shape.window_elements() * together * shape.output_pixels();
  const int64_t rows_size = shape.group_outputs() * together * shape.output_pixels();
  const Buffer<T> memory(workers * (columns_size + rows_size));
  parallel_for(0, workers, 1, [&](int64_t begin, int64_t end) {
    for (int64_t worker = begin; worker < end; worker++) {
      T* columns = memory.data() + worker * (columns_size + rows_size);
      const int64_t last = shape.batch * (worker + 1) / workers;
      for (int64_t image = shape.batch * worker / workers; image < last; image += together) {
        for (int64_t group = 0; group < shape.groups; group++) {
          work(SmallImages{shape, group, image, std::min(together, last - image)}, worker, columns,
               columns + columns_size);
        }
      }
    }
  });
}

}  // namespace

int64_t images_together(const Convolution& shape) {
  if (shape.batch < num_threads() || shape.output_pixels() == 0) return 1;
  if (shape.output_pixels() > kProductPixels / 2) return 1;
  const int64_t per_thread = divide_up(shape.batch, num_threads());
  const int64_t most = std::clamp<int64_t>(kPixelsTogether / shape.output_pixels(), 1, per_thread);
  return divide_up(per_thread, divide_up(per_thread, most));  // products of about equal size
}

template <class T>
void convolution_of_small_images(const Convolution& shape, const T* input, const T* weight, const T* bias,
                                 T* output) {
  for_each_product<T>(shape, [&](const SmallImages& images, int64_t, T* columns, T* rows) {
    images.gather(input, columns);
    gemm<T>(1, images.weight(weight), Matrix<const T>(columns, shape.window_elements(), images.pitch()), 0,
            Matrix<T>(rows, shape.group_outputs(), images.pitch()));
    images.separate(rows, bias, output);
  });
}

template <class T>
void input_gradient_of_small_images(const Convolution& shape, const T* grad_output, const T* weight,
                                    T* grad_input) {
  std::fill_n(grad_input, shape.batch * shape.in_channels * shape.input_pixels(), T(0));
  for_each_product<T>(shape, [&](const SmallImages& images, int64_t, T* columns, T* rows) {
    images.join(grad_output, rows);
    gemm<T>(1, images.weight(weight).transposed(), Matrix<const T>(rows, shape.group_outputs(), images.pitch()),
            0, Matrix<T>(columns, shape.window_elements(), images.pitch()));
    images.scatter(columns, grad_input);
  });
}

template <class T>
void weight_gradient_of_small_images(const Convolution& shape, const T* grad_output, const T* input,
                                     T* grad_weight) {
  // Every thread has a sum of its own.
  const int64_t workers = num_threads(), size = shape.out_channels * shape.window_elements();
  std::vector<T> sums((workers - 1) * size);
  std::fill_n(grad_weight, size, T(0));
  for_each_product<T>(shape, [&](const SmallImages& images, int64_t worker, T* columns, T* rows) {
    images.gather(input, columns);
    images.join(grad_output, rows);
    T* sum = worker == 0 ? grad_weight : sums.data() + (worker - 1) * size;
    gemm<T>(1, Matrix<const T>(rows, shape.group_outputs(), images.pitch()),
            Matrix<const T>(columns, shape.window_elements(), images.pitch()).transposed(), 1,
            images.weight(sum));
  });
  for (std::size_t i = 0; i < sums.size(); i++) grad_weight[i % size] += sums[i];
}

template void convolution_of_small_images(const Convolution&, const float*, const float*, const float*, float*);
template void convolution_of_small_images(const Convolution&, const double*, const double*, const double*,
                                          double*);
template void input_gradient_of_small_images(const Convolution&, const float*, const float*, float*);
template void input_gradient_of_small_images(const Convolution&, const double*, const double*, double*);
template void weight_gradient_of_small_images(const Convolution&, const float*, const float*, float*);
template void weight_gradient_of_small_images(const Convolution&, const double*, const double*, double*);

}  // namespace relume
