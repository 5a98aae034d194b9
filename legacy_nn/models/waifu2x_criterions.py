"""Criterions of waifu2x (nagadomi/waifu2x), w2nn.X. Some give another gradient than the
mathematical one, as they did there."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.convolution import SpatialConvolution
from relume.legacy_nn.criterion import Criterion, check_same_size
from relume.legacy_nn.models.waifu2x import RandomBinaryConvolution
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_empty


@register("w2nn.ClippedWeightedHuberCriterion")
class ClippedWeightedHuberCriterion(Criterion):
    """The mean Huber loss of weighted differences to an input that is kept within bounds.

    Args:
        weight: of every element of a sample.
        gamma: where the loss becomes linear, by default 1.
        clip: the bounds of the input.

    The gradient passes the weights and the bounds unchanged.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> criterion = nn.w2nn.ClippedWeightedHuberCriterion(rl.ones(2), 0.1)
    >>> round(criterion.forward(rl.tensor([[0.5, 3.0]]), rl.tensor([[0.5, 0.0]])), 4)
    0.0475
    """

    gamma = 1.0
    clip: Any = (0.0, 1.0)

    def __init__(self, weight: Tensor, gamma: float | None = None, clip: Any = (0.0, 1.0)) -> None:
        super().__init__()
        self.weight = weight.clone()
        self.gamma = 1.0 if gamma is None else gamma
        self.clip = nested.table(list(clip))

    def _difference(self, input: Tensor, target: Tensor) -> Tensor:
        low, high = nested.elements(self.clip)
        target = check_same_size(self, input, target)
        return (input.detach().clamp(float(low), float(high)) - target) * self.weight

    def updateOutput(self, input: Tensor, target: Any = None) -> float:
        difference, gamma = self._difference(input, target), float(self.gamma)
        size = difference.abs()
        losses = rl.where(size < gamma, size.square() / 2, gamma * (size - gamma / 2))
        self.output = losses.mean().item()
        return self.output

    def updateGradInput(self, input: Tensor, target: Any = None) -> Tensor:
        gamma = float(self.gamma)
        self.gradInput = self._difference(input, target).clamp(-gamma, gamma) / input.numel()
        return self.gradInput


@register("w2nn.WeightedHuberCriterion")
class WeightedHuberCriterion(ClippedWeightedHuberCriterion):
    """`ClippedWeightedHuberCriterion` under its earlier name."""


@register("w2nn.ClippedMSECriterion")
class ClippedMSECriterion(Criterion):
    """The mean square of the differences to an input that is kept within bounds.

    Args:
        min, max: the bounds.

    The gradient is the difference over the number of elements, and passes the bounds.
    """

    min, max = 0.0, 1.0

    def __init__(self, min: float = 0.0, max: float = 1.0) -> None:
        super().__init__()
        self.min, self.max = min, max

    def _difference(self, input: Tensor, target: Tensor) -> Tensor:
        target = check_same_size(self, input, target)
        return input.detach().clamp(float(self.min), float(self.max)) - target

    def updateOutput(self, input: Tensor, target: Any = None) -> float:
        self.output = self._difference(input, target).square().mean().item()
        return self.output

    def updateGradInput(self, input: Tensor, target: Any = None) -> Tensor:
        self.gradInput = self._difference(input, target) / input.numel()
        return self.gradInput


@register("w2nn.WeightedMSECriterion")
class WeightedMSECriterion(Criterion):
    """The mean square of weighted differences; the gradient is the weighted difference.

    Args:
        weight: of every element of a sample.
    """

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = weight.clone()

    def updateOutput(self, input: Tensor, target: Any = None) -> float:
        self.output = self._difference(input, target).square().mean().item()
        return self.output

    def updateGradInput(self, input: Tensor, target: Any = None) -> Tensor:
        self.gradInput = self._difference(input, target)
        return self.gradInput

    def _difference(self, input: Tensor, target: Tensor) -> Tensor:
        return (input.detach() - check_same_size(self, input, target)) * self.weight


@register("w2nn.L1Criterion")
class L1Criterion(Criterion):
    """The mean of the absolute differences."""

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        return (input - check_same_size(self, input, target)).abs().mean()


def as_images(rows: Tensor, planes: int) -> Tensor:
    """Square images that may come as rows of all their pixels."""
    if rows.ndim != 2:
        return rows
    side = math.isqrt(rows.shape[1] // planes)
    return rows.reshape((rows.shape[0], planes, side, side))


@register("w2nn.LBPCriterion")
class LBPCriterion(Criterion):
    """The mean Huber loss of random local differences (local binary patterns) of two images kept
    between 0 and 1.

    Args:
        ch: planes of the images.
        n: how many differences; the first are the planes themselves. By default 128.
        k: size of the surroundings, by default 3.
        layers: how many convolutions, by default 1.

    The gradient passes the bounds of the input.
    """

    gamma = 0.1
    filter1: Any
    filter2: Any

    def __init__(
        self, ch: int, n: int | None = None, k: int | None = None, layers: int | None = None
    ) -> None:
        super().__init__()
        self.layers, self.gamma = layers or 1, 0.1
        self.n, self.k, self.ch = n or 128, k or 3, ch
        self.filter1 = make("Sequential")
        for layer in range(self.layers):
            filter = RandomBinaryConvolution(self.n if layer else ch, self.n, self.k, self.k)
            if not layer:
                filter.weight.narrow(0, 0, ch).zero_()
                for plane in range(ch):
                    filter.weight[plane, plane, self.k // 2, self.k // 2] = 1
            self.filter1.add(filter)
        self.filter2 = self.filter1.clone()
        self.diff, self.diff_abs = new_empty(), new_empty()

    def children(self) -> list[Any]:
        return [self.filter1, self.filter2]

    def updateOutput(self, input: Tensor, target: Any = None) -> float:
        planes, gamma = int(self.ch), float(self.gamma)
        images = as_images(input.detach(), planes)
        targets = as_images(check_same_size(self, input, target).reshape(input.shape), planes)
        own = self.filter1.forward(images.clamp(0, 1))
        self.diff = own - self.filter2.forward(targets.clamp(0, 1))
        self.diff_abs = size = self.diff.abs()
        losses = rl.where(size < gamma, size.square() / 2, gamma * (size - gamma / 2))
        self.output = losses.mean().item()
        return self.output

    def updateGradInput(self, input: Tensor, target: Any = None) -> Tensor:
        gamma, images = float(self.gamma), as_images(input.detach(), int(self.ch))
        slopes = self.diff.clamp(-gamma, gamma) * (self.n / input.numel())
        gradient = self.filter1.updateGradInput(images.clamp(0, 1), slopes)
        self.gradInput = gradient.reshape(input.shape)
        return self.gradInput


@register("w2nn.RandomBinaryCriterion")
class RandomBinaryCriterion(LBPCriterion):
    """`LBPCriterion` under its earlier name."""


@register("w2nn.SSIMCriterion")
class SSIMCriterion(Criterion):
    """The structural similarity of two images between 0 and 1 (Wang et al. 2004, "Image quality
    assessment").

    Args:
        ch: planes of the images, by default 1.
        kernel_size: of the surroundings, by default 11.
        sigma: how far they reach, by default 1.5.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> x = rl.rand(1, 1, 16, 16, dtype=rl.float64)
    >>> round(nn.w2nn.SSIMCriterion().forward(x, x), 6)
    1.0
    """

    c1, c2 = 0.01**2, 0.03**2
    conv: Any

    def __init__(
        self, ch: int | None = None, kernel_size: int | None = None, sigma: float | None = None
    ) -> None:
        super().__init__()
        self.ch, size, sigma = ch or 1, kernel_size or 11, sigma or 1.5
        places = rl.arange(size).to(rl.float64) - size // 2
        line = (-places.square() / (2 * sigma**2)).exp()
        kernel = line.unsqueeze(1) * line
        self.c1, self.c2 = 0.01**2, 0.03**2
        self.conv = SpatialConvolution(self.ch, self.ch, size, size).noBias()
        with rl.no_grad():
            self.conv.weight.zero_()
            for plane in range(self.ch):
                self.conv.weight[plane, plane].copy_(kernel / kernel.sum())

    def children(self) -> list[Any]:
        return [self.conv]

    def updateOutput(self, input: Tensor, target: Any = None) -> float:
        first, second = input.detach(), check_same_size(self, input, target)
        mean, other = self._mean(first), self._mean(second)
        products = self._mean(first * second) - mean * other
        squares = self._mean(first * first) - mean * mean
        squares = squares + self._mean(second * second) - other * other
        likeness = (2 * mean * other + self.c1) / (mean * mean + other * other + self.c1)
        contrast = (2 * products + self.c2) / (squares + self.c2)
        self.output = (likeness * contrast).mean().item()
        return self.output

    def _mean(self, images: Tensor) -> Tensor:
        """Weighted means of the surroundings."""
        with rl.no_grad():
            return self.conv(images)

    def updateGradInput(self, input: Tensor, target: Any = None) -> Tensor:
        raise NotImplementedError(f"{self}: it measures, and has no gradient")


@register("w2nn.PSNRCriterion")
class PSNRCriterion(Criterion):
    """The peak signal-to-noise ratio in decibels of an input kept between 0 and 1."""

    def updateOutput(self, input: Tensor, target: Any = None) -> float:
        error = (input.clamp(0, 1) - check_same_size(self, input, target)).square().mean().item()
        self.output = 10 * math.log10(1 / error) if error > 0 else math.inf
        return self.output

    def updateGradInput(self, input: Tensor, target: Any = None) -> Tensor:
        raise NotImplementedError(f"{self}: it measures, and has no gradient")


@register("w2nn.AuxiliaryLossCriterion")
class AuxiliaryLossCriterion(Criterion):
    """The mean of one criterion over all outputs of a network.

    Args:
        base_criterion: makes a criterion when called.
    """

    def __init__(self, base_criterion: Any) -> None:
        super().__init__()
        self.base_criterion = base_criterion
        self.criterions: list[Any] = []
        self.sizeAverage = False

    def children(self) -> list[Any]:
        return nested.elements(self.criterions)

    def compute(self, input: Activation, target: Tensor) -> Tensor:
        outputs = nested.elements(input) if nested.is_table(input) else [input]
        values = [self._criterion(i)(output, target) for i, output in enumerate(outputs)]
        return sum(values[1:], values[0]) / len(values)

    def _criterion(self, place: int) -> Any:
        while len(self.criterions) <= place:
            made = self.base_criterion()
            made.sizeAverage = self.sizeAverage
            self.criterions.append(made)
        return self.criterions[place]
