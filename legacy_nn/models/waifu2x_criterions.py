"""Criterions of waifu2x (nagadomi/waifu2x), w2nn.X. Some give another gradient than the
mathematical one, as they did there."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.criterion import Criterion, check_same_size
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register


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
