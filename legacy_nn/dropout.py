"""Layers that drop elements at random, with Torch7's random numbers."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_empty


class NoiseLayer(Module):
    """The base of layers that multiply by random noise, kept in `noise` for backward."""

    parameter_names = ()
    buffer_names = ("noise",)
    inplace = False
    stochastic_inference = False

    def draw(self, shape: tuple, dtype: Any) -> Tensor:
        """Fresh noise: one Torch7 random number per element."""
        self.noise = rl.empty(shape, dtype=dtype).bernoulli_(1 - self.p)
        return self.noise

    def _drops(self) -> bool:
        return bool(self.train or self.stochastic_inference)

    def _noise_shape(self, input: Tensor) -> tuple:
        return tuple(input.shape)

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        pass

    def updateOutput(self, input: Tensor) -> Tensor:
        source = input.detach()
        output = self.compute(source)
        if self.inplace:
            if output is not source:
                source.copy_(output)
            output = input
        elif output is source:
            output = source.clone()  # a layer after this one may overwrite it
        self.output = output
        return output

    def setp(self, p: float) -> None:
        """Sets the probability of dropping."""
        self.p = p

    def __str__(self) -> str:
        return f"{self.torch_typename}({self.p:f})"


@register("nn.Dropout")
class Dropout(NoiseLayer):
    """In training, drops elements with probability p and scales the rest up.

    Args:
        p: probability of dropping.
        v1: True for the old way: no scaling in training, scaling down in evaluation.
        inplace: overwrite the input.
        stochasticInference: drop in evaluation mode too.

    >>> from relume import legacy_nn as nn
    >>> nn.Dropout(0.3)
    nn.Dropout(0.300000)
    """

    follows_compute = True
    v2 = True

    def __init__(
        self,
        p: float | None = None,
        v1: bool | None = None,
        inplace: bool | None = None,
        stochasticInference: bool | None = None,
    ) -> None:
        super().__init__()
        self.p = 0.5 if p is None else p
        self.train = True
        if inplace is not None:
            self.inplace = inplace
        self.stochastic_inference = bool(stochasticInference)
        self.v2 = not v1
        if not 0 <= self.p < 1:
            raise ValueError(f"nn.Dropout: p must be at least 0 and less than 1, got {p}")
        self.noise = new_empty()

    def compute(self, input: Tensor) -> Tensor:
        if self.p <= 0:
            return input
        if self._drops():
            noise = self.draw(self._noise_shape(input), input.dtype)
            if self.v2:
                noise.div_(1 - self.p)
            return input * noise
        return input if self.v2 else input * (1 - self.p)

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        if self.train:
            self.gradInput = gradOutput * self.noise if self.p > 0 else gradOutput
        else:
            self.gradInput = gradOutput if self.v2 or self.p <= 0 else gradOutput * (1 - self.p)
        return self.gradInput


@register("nn.SpatialDropout")
class SpatialDropout(NoiseLayer):
    """In training, drops whole planes; in evaluation, scales by 1 - p.

    Args:
        p: probability of dropping.
        stochasticInference: drop in evaluation mode too.
    """

    plane_dims = 2

    def __init__(self, p: float | None = None, stochasticInference: bool | None = None) -> None:
        super().__init__()
        self.p = 0.5 if p is None else p
        self.train = True
        self.stochastic_inference = bool(stochasticInference)
        self.noise = new_empty()

    def _noise_shape(self, input: Tensor) -> tuple:
        if input.ndim not in (self.plane_dims + 1, self.plane_dims + 2):
            raise ValueError(
                f"{self}: expected {self.plane_dims + 1} dimensions, or one more for a batch, "
                f"got {input.ndim}"
            )
        planes = input.ndim - self.plane_dims
        return (*input.shape[:planes], *[1] * self.plane_dims)

    def compute(self, input: Tensor) -> Tensor:
        if self._drops():
            return input * self.draw(self._noise_shape(input), input.dtype)
        return input * (1 - self.p)

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        if not self.train:
            raise RuntimeError(f"{self}: backward is only defined in training mode")
        self.gradInput = gradOutput * self.noise
        return self.gradInput


@register("nn.VolumetricDropout")
class VolumetricDropout(SpatialDropout):
    """In training, drops whole volumes; in evaluation, scales by 1 - p."""

    plane_dims = 3


@register("nn.WhiteNoise")
class WhiteNoise(NoiseLayer):
    """In training, adds normal noise; in evaluation, its mean.

    Args:
        mean: of the noise.
        std: its standard deviation.
    """

    def __init__(self, mean: float | None = None, std: float | None = None) -> None:
        super().__init__()
        self.mean = 0 if mean is None else mean
        self.std = 0.1 if std is None else std
        self.noise = new_empty()

    def compute(self, input: Tensor) -> Tensor:
        if not self.train:
            return input + self.mean if self.mean else input
        self.noise = rl.empty(tuple(input.shape), dtype=input.dtype)
        self.noise.normal_(self.mean, self.std)
        return input + self.noise

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        if not self.train:
            raise RuntimeError(f"{self}: backward is only defined in training mode")
        self.gradInput = gradOutput
        return gradOutput

    def __str__(self) -> str:
        return f"{self.torch_typename} mean: {self.mean:f}, std: {self.std:f}"


@register("nn.RReLU")
class RReLU(NoiseLayer):
    """x, times a random slope below zero in training, the middle slope in evaluation.

    Args:
        lower, upper: bounds of the slope, by default 1/8 and 1/3.
        inplace: overwrite the input.
    """

    def __init__(
        self,
        lower: float | None = None,
        upper: float | None = None,
        inplace: bool | None = None,
    ) -> None:
        super().__init__()
        self.lower = 1 / 8 if lower is None else lower
        self.upper = 1 / 3 if upper is None else upper
        self.inplace = bool(inplace)
        self.noise = new_empty()

    def compute(self, input: Tensor) -> Tensor:
        if not self.train:
            return rl.where(input > 0, input, input * ((self.lower + self.upper) / 2))
        # One number for every element that is not positive, in order.
        is_negative = (input <= 0).detach()
        count = int(is_negative.sum().item())
        drawn = rl.empty((count,), dtype=input.dtype).uniform_(self.lower, self.upper)
        slopes = rl.ones(tuple(input.shape), dtype=input.dtype)
        if count:
            slopes[is_negative] = drawn
        self.noise = slopes
        return input * slopes

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        if self.train and self.upper - self.lower > 1e-6:
            self.gradInput = gradOutput * self.noise
        else:
            slope = (self.lower + self.upper) / 2
            self.gradInput = rl.where(input > 0, gradOutput, gradOutput * slope)
        return self.gradInput

    def __str__(self) -> str:
        return f"{self.torch_typename} (l:{self.lower:f}, u:{self.upper:f})"
