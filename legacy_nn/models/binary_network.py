"""Networks with weights and activations of two values (itayhubara/BinaryNet; Courbariaux, Hubara
et al. 2016)."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.convolution import SpatialConvolution
from relume.legacy_nn.criterion import ElementCriterion
from relume.legacy_nn.distances import with_gradient_of
from relume.legacy_nn.linear import Linear, draw_uniform, uniform_bound
from relume.legacy_nn.models.autoencoders import Binarize
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register, register_also
from relume.legacy_nn.types import new_parameter


def binary(layer: Any, weight: Tensor) -> Tensor:
    """1 and -1 in the place of weights, with the gradient of the weights. With `stcWeights`,
    training has them at random, as there: (weight + 1) / 2 less a number between 0 and 1."""
    own = weight.detach()
    if layer.train and layer.stcWeights:
        drawn = rl.empty(tuple(own.shape), dtype=own.dtype).uniform_()
        return with_gradient_of(((own + 1) / 2).clamp(0, 1) - drawn, weight)
    return with_gradient_of((own >= 0).to(own.dtype) * 2 - 1, weight)


@register("BinarizedNeurons")
class BinarizedNeurons(Binarize):
    """The sign; in training with `stcFlag`, 1 with probability (x + 1) / 2, else -1. Gradients pass
    through.

    Args:
        stcFlag: draw in training.
    """


@register("BinaryLinear")
class BinaryLinear(Linear):
    """`Linear` with the signs of its weights.

    Args:
        inputSize, outputSize: lengths of the vectors.
        stcWeights: draw weights in training.
    """

    stcWeights: Any = None

    def __init__(self, inputSize: int, outputSize: int, stcWeights: bool | None = None) -> None:
        super().__init__(inputSize, outputSize)
        self.stcWeights = stcWeights

    def reset(self, stdv: float | None = None) -> None:
        draw_uniform(1, self.weight)
        draw_uniform(uniform_bound(stdv, self.weight.shape[1]), self.bias)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return super().compute(input, binary(self, weight), bias)


@register_also("cudnnBinarySpatialConvolution")
@register("BinarySpatialConvolution")
class BinarySpatialConvolution(SpatialConvolution):
    """`SpatialConvolution` with the signs of its weights.

    Args:
        nInputPlane, nOutputPlane: numbers of planes.
        kW, kH: width and height of the kernel.
        dW, dH: steps.
        padW, padH: zeros added at each side.
    """

    stcWeights: Any = None

    def reset(self, stdv: float | None = None) -> None:
        draw_uniform(1, self.weight)
        inputs = int(self.kW) * int(self.kH) * int(self.nInputPlane)
        draw_uniform(uniform_bound(stdv, inputs), self.bias)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return super().compute(input, binary(self, weight), bias)


def nearest_power(values: Tensor) -> Tensor:
    """The powers of two that are nearest by their logarithms, with the signs of the values."""
    size = values.abs()
    logarithm = rl.where(size > 0, size, 1).log2()
    return values.sign() * rl.pow(2, (logarithm + 0.5).floor())


class ShiftNormalization(Module):
    """The base of normalisations that multiply by powers of two alone.

    Args:
        nOutput: how many features; 0 (of planes) for no learned factors.
        runningVal: use running statistics in evaluation.
        eps: added to the variance, by default 1e-5.
        momentum: of the running statistics, by default 0.125.
        affine: False for no learned factors.
    """

    parameter_names = ("weight", "bias")
    buffer_names = ("centered", "centeredOrg", "normalized", "buffer", "buffer2", "std")
    over: tuple[int, ...] = (0,)  # the dimensions that statistics are of
    affine: Any = None
    eps, momentum = 1e-5, 0.125
    runningVal: Any = True
    running_mean: Tensor
    running_std: Tensor

    def __init__(
        self,
        nOutput: int,
        runningVal: bool | None = None,
        eps: float | None = None,
        momentum: float | None = None,
        affine: bool | None = None,
    ) -> None:
        super().__init__()
        self.affine = nOutput > 0 if affine is None else affine
        self.eps, self.momentum = eps or 1e-5, momentum or 0.125
        self.runningVal = True if runningVal is None else runningVal
        self.running_mean, self.running_std = new_parameter(nOutput), new_parameter(nOutput)
        if self.affine:
            for name in ("weight", "bias", "gradWeight", "gradBias"):
                self.__dict__[name] = new_parameter(nOutput)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        with rl.no_grad():
            self.running_mean.zero_()
            self.running_std.fill_(1)
            if self.weight is not None:
                self.weight.fill_(1)
                self.bias.zero_()

    def _by_feature(self, values: Tensor) -> Tensor:
        return values.detach().reshape((1, -1, *[1] * (len(self.over) - 1)))

    def _check(self, input: Tensor) -> Tensor:
        count = len(self.over) + 1
        if not isinstance(input, Tensor) or input.ndim != count or not input.numel():
            shape = "N x features" if count == 2 else "N x planes x H x W"
            raise ValueError(f"{self}: expected a batch {shape}, got {nested.describe(input)}")
        features = self.running_mean.numel() or input.shape[1]
        if input.shape[1] != features:
            raise ValueError(f"{self}: expected {features} features, got {nested.describe(input)}")
        return input.detach()

    def updateOutput(self, input: Tensor) -> Tensor:
        values = self._check(input)
        if not self.train and self.runningVal:
            factor = nearest_power(self._by_feature(self.running_std))
            output = (values - self._by_feature(self.running_mean)) * factor
        else:
            output = self._normalized(values)
        if self.affine:
            factor = nearest_power(self._by_feature(self.weight))
            output = output * factor + self._by_feature(self.bias)
        self.output = output
        return output

    def _normalized(self, values: Tensor) -> Tensor:
        mean = values.mean(self.over, keepdim=True)
        centred = values - mean
        self.centered = nearest_power(centred)
        variance = (self.centered * centred).mean(self.over, keepdim=True)
        inverse = (variance + float(self.eps)) ** -0.5
        share = float(self.momentum)
        pairs = ((self.running_mean, mean), (self.running_std, inverse))
        for running, own in pairs:
            running.mul_(1 - share).add_(own.reshape((-1,)), alpha=share)
        self.std = nearest_power(inverse)
        output = centred * self.std
        self.normalized = nearest_power(output)
        return output

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        if not self.train:
            raise RuntimeError(
                f"{self}: backward works in training only, as there; "
                f"the input was {nested.describe(input)}"
            )
        shares = (self.centered * gradOutput).mean(self.over, keepdim=True)
        gradient = gradOutput - self.centered * shares * self.std**2
        gradient = (gradient - gradOutput.mean(self.over, keepdim=True)) * self.std
        if self.affine:
            gradient = gradient * nearest_power(self._by_feature(self.weight))
        self.gradInput = gradient
        return gradient

    def accGradParameters(self, input: Tensor, gradOutput: Tensor, scale: float = 1) -> None:
        if self.affine:
            self.gradWeight.add_((self.normalized * gradOutput).sum(self.over), alpha=scale)
            self.gradBias.add_(gradOutput.sum(self.over), alpha=scale)


@register("BatchNormalizationShiftPow2")
class BatchNormalizationShiftPow2(ShiftNormalization):
    """Normalises every feature of a batch, N x features, with powers of two.

    Args:
        nOutput: how many features.
        runningVal: use running statistics in evaluation.
        eps: added to the variance, by default 1e-5.
        momentum: of the running statistics, by default 0.125.
        affine: False for no learned factors.
    """


@register("SpatialBatchNormalizationShiftPow2")
class SpatialBatchNormalizationShiftPow2(ShiftNormalization):
    """Normalises every plane of a batch, N x planes x H x W, with powers of two.

    Args:
        nOutput: how many planes.
        runningVal: use running statistics in evaluation.
        eps: added to the variance, by default 1e-5.
        momentum: of the running statistics, by default 0.125.
    """

    over = (0, 2, 3)


@register("SqrtHingeEmbeddingCriterion")
class SqrtHingeEmbeddingCriterion(ElementCriterion):
    """The mean of max(0, margin - x * y) squared, for targets y of 1 and -1.

    Args:
        margin: by default 1.
    """

    margin = 1.0

    def __init__(self, margin: float | None = None) -> None:
        super().__init__()
        self.margin = margin or 1.0

    def of_elements(self, input: Tensor, target: Tensor) -> Tensor:
        return (float(self.margin) - input * target).clamp(0).square()
