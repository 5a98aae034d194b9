// Convolutions of images so small that several are put into one matrix product (small_images.cpp).
#pragma once
#include "tensor/kernels/convolution.h"

namespace relume {

// How many images share a product; 1 where images are large enough.
int64_t images_together(const Convolution& shape);

template <class T>
void convolution_of_small_images(const Convolution& shape, const T* input, const T* weight, const T* bias,
                                 T* output);
template <class T>
void input_gradient_of_small_images(const Convolution& shape, const T* grad_output, const T* weight,
                                    T* grad_input);
template <class T>
void weight_gradient_of_small_images(const Convolution& shape, const T* grad_output, const T* input,
                                     T* grad_weight);

}  // namespace relume
