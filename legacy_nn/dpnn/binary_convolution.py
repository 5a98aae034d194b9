"""A convolution with weights of two values: nn.SpatialBinaryConvolution."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn.convolution import SpatialConvolution
from relume.legacy_nn.distances import with_gradient_of
from relume.legacy_nn.registry import register


def signs_times_size(weight: Tensor, dims: tuple[int, ...]) -> Tensor:
    """The signs of a weight, times its mean absolute value over some dimensions."""
    return rl.sign(weight) * weight.abs().mean(dims, keepdim=True)


@register("nn.SpatialBinaryConvolution")
class SpatialBinaryConvolution(SpatialConvolution):
    """A convolution whose filters are, in training, signs times their mean size (Rastegari et al.
    2016, "XNOR-Net").

    Args:
        nInputPlane, nOutputPlane: planes of the input and the output.
        kW, kH: width and height of the kernel.
        dW, dH: steps.
        padW, padH: zeros around the input.
    """

    def __init__(self, nInputPlane: int, nOutputPlane: int, kW: int, kH: int, *more: Any) -> None:
        super().__init__(nInputPlane, nOutputPlane, kW, kH, *more)
        self.noBias()
        self.iwh = self.nInputPlane * self.kW * self.kH
        self.owh = self.nOutputPlane * self.kW * self.kH

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        by_output = signs_times_size(weight.detach(), (1, 2, 3))
        output = super().compute(input.detach(), with_gradient_of(by_output, weight), bias)
        # The gradient of the input goes through the sizes of the input planes.
        by_input = signs_times_size(weight.detach(), (0, 2, 3))
        return with_gradient_of(output, output + super().compute(input, by_input, None))

    def __str__(self) -> str:
        return f"Binary Convolution: {super().__str__()}"
