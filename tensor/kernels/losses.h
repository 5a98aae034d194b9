// What the losses share: how losses of elements become one number.
#pragma once
#include "tensor/dispatch.h"

namespace relume {

enum class LossReduction { none, mean, sum };

// A str argument: 'none', 'mean' or 'sum'; throws ValueError otherwise.
LossReduction loss_reduction(const Call& call, int argument);

// The loss itself, its mean or its sum, by that argument.
Tensor reduced_loss(const Call& call, int argument, const Tensor& loss);

// `loss * weight`, or the loss where no weight was given.
Tensor weighted_loss(const Call& call, int argument, const Tensor& loss);

}  // namespace relume
