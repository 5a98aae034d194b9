"""Layers of waifu2x (nagadomi/waifu2x), which its published models hold as w2nn.X."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.convolution import SpatialConvolution
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register


@register("w2nn.LeakyReLU")
class LeakyReLU(Module):
    """x where positive, negative_scale * x elsewhere.

    Args:
        negative_scale: by default 0.333.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.w2nn.LeakyReLU(0.1).forward(rl.tensor([-2.0, 3.0])).tolist()
    [-0.20000000298023224, 3.0]
    """

    parameter_names = ()
    negative_scale = 0.333

    def __init__(self, negative_scale: float | None = None) -> None:
        super().__init__()
        self.negative_scale = 0.333 if negative_scale is None else negative_scale

    def compute(self, input: Tensor) -> Tensor:
        return rl.leaky_relu(input, float(self.negative_scale))


@register("w2nn.InplaceClip01")
class InplaceClip01(Module):
    """Keeps values between 0 and 1, in the input itself; the gradient passes unchanged."""

    parameter_names = ()

    def updateOutput(self, input: Tensor) -> Tensor:
        self.output = input.detach().clamp_(0, 1)
        return self.output

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = gradOutput
        return gradOutput


@register("w2nn.ScaleTable")
class ScaleTable(Module):
    """Multiplies planes (N x C x H x W) by one number each (N x C x 1 x 1): a table of both."""

    parameter_names = ()

    def compute(self, input: Activation) -> Tensor:
        planes, scale = nested.elements(input)[:2]
        if planes.shape[1] != scale.shape[1]:
            raise ValueError(
                f"{self}: expected as many numbers as planes, got {nested.describe(input)}"
            )
        return planes * scale


@register("w2nn.AuxiliaryLossTable")
class AuxiliaryLossTable(Module):
    """In training all outputs of a network, in evaluation one of them.

    Args:
        i: which, from 1.
    """

    parameter_names = ()
    i = 1

    def __init__(self, i: int = 1) -> None:
        super().__init__()
        self.i = i
        self.train = True

    def compute(self, input: Activation) -> Activation:
        outputs = nested.elements(input)
        return nested.table(outputs) if self.train else outputs[int(self.i) - 1]


@register("w2nn.ShakeShakeTable")
class ShakeShakeTable(Module):
    """The sum of two branches; in training weighted at random, differently in backward.

    From Gastaldi: Shake-Shake regularization (2017).
    """

    parameter_names = ()

    def __init__(self) -> None:
        super().__init__()
        self.train = True

    def _weights(self, input: Tensor) -> Tensor:
        weights = rl.empty((input.shape[0],), dtype=input.dtype).uniform_()
        return weights.reshape((-1, *[1] * (input.ndim - 1)))

    def updateOutput(self, input: Activation) -> Tensor:
        first, second = nested.elements(input)
        self.output = first + second
        if self.train:
            self.alpha, self.beta = self._weights(first), self._weights(first)
            self.output = 2 * ((1 - self.alpha) * first + self.alpha * second)
        return self.output

    def updateGradInput(self, input: Activation, gradOutput: Tensor) -> Activation:
        share = self.__dict__.get("beta")
        if share is None or share.numel() != gradOutput.shape[0]:
            share = rl.full((1,), 0.5, dtype=gradOutput.dtype)
        share = share.reshape((-1, *[1] * (gradOutput.ndim - 1)))
        self.gradInput = nested.table([gradOutput * share, gradOutput * (1 - share)])
        return self.gradInput


@register("w2nn.DepthExpand2x")
class DepthExpand2x(Module):
    """Four planes as one of twice the height and width: element (y, x) of plane
    C/2 * a + C/4 * b + c becomes element (2y + a, 2x + b) of plane c."""

    parameter_names = ()

    def compute(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim != 4 or input.shape[1] % 4:
            raise ValueError(
                f"{self}: expected NxCxHxW with C a multiple of 4, got {nested.describe(input)}"
            )
        samples, planes, height, width = input.shape
        rows = input.permute((0, 3, 2, 1)).reshape((samples, width, height * 2, planes // 2))
        rows = rows.transpose(1, 2)
        rows = rows.reshape((samples, height * 2, width * 2, planes // 4))
        return rows.permute((0, 3, 1, 2)).contiguous()


@register("w2nn.GradWeight")
class GradWeight(Module):
    """Passes its input on and multiplies the gradient.

    Args:
        constant_scalar: the factor.
    """

    parameter_names = ()
    constant_scalar: float

    def __init__(self, constant_scalar: float) -> None:
        super().__init__()
        self.constant_scalar = constant_scalar

    def updateOutput(self, input: Tensor) -> Tensor:
        self.output = input
        return input

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = gradOutput * float(self.constant_scalar)
        return self.gradInput


class FixedConvolution(SpatialConvolution):
    """The base of convolutions whose weights are not learnt."""

    def accGradParameters(self, input: Tensor, gradOutput: Tensor, scale: float = 1) -> None:
        """Nothing is learnt."""

    def updateParameters(self, learningRate: float) -> None:
        """Nothing is learnt."""


@register("w2nn.EdgeFilter")
class EdgeFilter(FixedConvolution):
    """The differences of every element and its eight neighbours, eight planes per plane."""

    def __init__(self, nInputPlane: int) -> None:
        super().__init__(nInputPlane, nInputPlane * 8, 3, 3)

    def reset(self, stdv: float | None = None) -> None:
        self.noBias()
        neighbours = [place for place in range(9) if place != 4]
        with rl.no_grad():
            self.weight.zero_()
            for plane in range(self.nInputPlane):
                for index, place in enumerate(neighbours):
                    kernel = self.weight[8 * plane + index, plane]
                    kernel[1, 1] = 1
                    kernel[place // 3, place % 3] = -1


@register("w2nn.RandomBinaryConvolution")
class RandomBinaryConvolution(FixedConvolution):
    """A convolution with weights -1, 0 and 1 that were drawn once.

    Args:
        nInputPlane, nOutputPlane, kW, kH: as in `SpatialConvolution`.
        kSparsity: how many places are drawn, as a part of all.
    """

    kSparsity = 0.9

    def __init__(
        self, nInputPlane: int, nOutputPlane: int, kW: int, kH: int, kSparsity: float = 0.9
    ) -> None:
        self.kSparsity = kSparsity
        super().__init__(nInputPlane, nOutputPlane, kW, kH)
        self.kSparsity = kSparsity

    def reset(self, stdv: float | None = None) -> None:
        self.noBias()
        with rl.no_grad():
            flat = self.weight.reshape((-1,))
            flat.zero_()
            count = math.floor(self.kSparsity * flat.numel())
            places = (rl.rand(count, dtype=rl.float64) * flat.numel()).to(rl.int64)
            signs = (rl.rand(count, dtype=rl.float64) < 0.5).to(flat.dtype) * 2 - 1
            flat.index_put_([places], signs)


@register("w2nn.Print")
class Print(Module):
    """Passes its input on; waifu2x printed its size to find mistakes."""

    parameter_names = ()

    def compute(self, input: Activation) -> Activation:
        return nested.map_tensors(lambda tensor: tensor * 1, input)


@register("w2nn.PrintTable")
class PrintTable(Print):
    """`Print` for tables."""

    def __init__(self, id: Any = None) -> None:
        super().__init__()
        self.id = id
