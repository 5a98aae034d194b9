"""Criterions with margins, distances and several labels."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.criterion import (
    Criterion,
    ElementCriterion,
    check_same_size,
    class_labels,
)
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import lookup, register
from relume.legacy_nn.types import new_empty, new_parameter


def above_zero(value: Tensor) -> Tensor:
    """max(value, 0)"""
    return rl.relu(value)


class MarginBase(Criterion):
    """The base of criterions with a margin.

    Args:
        margin: how far is far enough.
        sizeAverage: False for the sum instead of the mean.
    """

    margin: float = 1
    default_margin: float = 1

    def __init__(self, margin: float | None = None, sizeAverage: bool | None = None) -> None:
        super().__init__()
        self.margin = self.default_margin if margin is None else margin
        self.sizeAverage = True if sizeAverage is None else sizeAverage

    def of_average(self, values: Tensor) -> Tensor:
        total = values.sum()
        return total / values.numel() if self.sizeAverage else total


@register("nn.MarginCriterion")
class MarginCriterion(MarginBase):
    """The mean of max(0, margin - target * input), for targets 1 and -1."""

    def compute(self, input: Tensor, target: Any) -> Tensor:
        target = check_same_size(self, input, target)
        return self.of_average(above_zero(self.margin - target * input))


@register("nn.HingeEmbeddingCriterion")
class HingeEmbeddingCriterion(MarginBase):
    """The mean of the input where the target is 1, of max(0, margin - input) where it is -1."""

    def compute(self, input: Tensor, target: Any) -> Tensor:
        target = check_same_size(self, input, target)
        return self.of_average(rl.where(target == 1, input, above_zero(self.margin - input)))


def pair_of(criterion: Any, input: Activation) -> tuple[Tensor, Tensor]:
    """The two tensors that a criterion of two inputs gets."""
    values = nested.elements(input) if nested.is_table(input) else []
    if len(values) < 2:
        raise ValueError(
            f"{criterion}: expected a table of two tensors, got {nested.describe(input)}"
        )
    return values[0], values[1]


@register("nn.L1HingeEmbeddingCriterion")
class L1HingeEmbeddingCriterion(MarginBase):
    """The 1-norm of a difference for target 1, max(0, margin - norm) for target -1."""

    def __init__(self, margin: float | None = None) -> None:
        super().__init__(margin)
        del self.__dict__["sizeAverage"]
        self.gradInput = nested.table([new_empty(), new_empty()])

    def compute(self, input: Activation, target: Any) -> Tensor:
        first, second = pair_of(self, input)
        sign = target.reshape((-1,))[0].item() if isinstance(target, Tensor) else target
        distance = (first - second).abs().sum()
        return distance if sign == 1 else above_zero(self.margin - distance)


@register("nn.MarginRankingCriterion")
class MarginRankingCriterion(MarginBase):
    """The mean of max(0, margin - target * (x1 - x2)) of a table {x1, x2}."""

    def __init__(self, margin: float | None = None, sizeAverage: bool | None = None) -> None:
        super().__init__(margin, sizeAverage)
        self.gradInput = nested.table([new_parameter(1), new_parameter(1)])

    def compute(self, input: Activation, target: Any) -> Tensor:
        first, second = pair_of(self, input)
        values = above_zero((second - first) * target + self.margin)
        return self.of_average(values)


@register("nn.CosineEmbeddingCriterion")
class CosineEmbeddingCriterion(MarginBase):
    """1 - cosine for target 1, max(0, cosine - margin) for target -1."""

    default_margin = 0
    margin = 0

    def __init__(self, margin: float | None = None, sizeAverage: bool | None = None) -> None:
        super().__init__(margin, sizeAverage)
        self.gradInput = nested.table([new_empty(), new_empty()])

    def compute(self, input: Activation, target: Any) -> Tensor:
        first, second = pair_of(self, input)
        if first.ndim == 1:
            first, second = first.unsqueeze(0), second.unsqueeze(0)
        products = (first * second).sum(1)
        lengths = (first.square().sum(1) + 1e-12) * (second.square().sum(1) + 1e-12)
        cosine = products / lengths.sqrt()
        if not isinstance(target, Tensor):
            target = rl.full((cosine.numel(),), float(target), dtype=cosine.dtype)
        is_same = target.reshape((-1,)) == 1
        return self.of_average(rl.where(is_same, 1 - cosine, above_zero(cosine - self.margin)))


@register("nn.MultiMarginCriterion")
class MultiMarginCriterion(MarginBase):
    """How far the right class is ahead of the others: the sum over the others of
    max(0, margin - input[target] + input[i]) ** p, over the number of classes.

    Args:
        p: 1 or 2.
        weights: one per class, or None.
        margin: how far is far enough.
    """

    p = 1
    weights: Tensor | None = None
    ignoreIndex = 0

    def __init__(
        self, p: int | None = None, weights: Tensor | None = None, margin: float | None = None
    ) -> None:
        super().__init__(margin)
        self.p = 1 if p is None else p
        if self.p not in (1, 2):
            raise ValueError(f"nn.MultiMarginCriterion: p must be 1 or 2, got {p}")
        if weights is not None:
            self.weights = weights

    def compute(self, input: Tensor, target: Any) -> Tensor:
        rows = input if input.ndim == 2 else input.unsqueeze(0)
        samples, classes = rows.shape
        labels, _ = class_labels(self, target, samples, classes)
        places = (labels - 1).unsqueeze(1)
        behind = above_zero(self.margin - rows.gather(1, places) + rows)
        values = behind.square() if self.p == 2 else behind
        if self.weights is not None:
            values = values * self.weights.index_select(0, labels - 1).unsqueeze(1)
        others = rl.ones(tuple(rows.shape), dtype=rows.dtype).scatter(1, places, 0.0)
        total = (values * others).sum() / classes
        return total / samples if self.sizeAverage else total


@register("nn.MultiLabelMarginCriterion")
class MultiLabelMarginCriterion(Criterion):
    """How far the classes of a sample are ahead of the others. A target holds the classes (from
    1) and zeros after them.

    Args:
        sizeAverage: False for the sum instead of the mean.
    """

    def __init__(self, sizeAverage: bool | None = None) -> None:
        super().__init__()
        self.sizeAverage = True if sizeAverage is None else sizeAverage
        self.isTarget = new_empty()

    def compute(self, input: Tensor, target: Any) -> Tensor:
        rows = input if input.ndim == 2 else input.unsqueeze(0)
        samples, classes = rows.shape
        targets = target.reshape((samples, -1)).tolist()
        total = rows.sum() * 0
        for row, labels in enumerate(targets):
            right = [int(label) - 1 for label in labels[: index_of_zero(labels)]]
            wrong = [i for i in range(classes) if i not in right]
            if not right or not wrong:
                continue
            values = rows.select(0, row)
            chosen = values.index_select(0, rl.tensor(right, dtype=rl.int64)).unsqueeze(1)
            others = values.index_select(0, rl.tensor(wrong, dtype=rl.int64)).unsqueeze(0)
            total = total + above_zero(1 - (chosen - others)).sum()
        total = total / classes
        return total / samples if self.sizeAverage else total


def index_of_zero(labels: list) -> int:
    """Where the first zero stands, or the length."""
    return next((i for i, label in enumerate(labels) if label == 0), len(labels))


@register("nn.MultiLabelSoftMarginCriterion")
class MultiLabelSoftMarginCriterion(Criterion):
    """Binary cross entropy of sigmoid(input), for targets 0 and 1.

    Args:
        weights: one per class, or None.
        sizeAverage: False for the sum instead of the mean.
    """

    weights: Tensor | None = None

    def __init__(self, weights: Tensor | None = None, sizeAverage: bool | None = None) -> None:
        super().__init__()
        if weights is not None:
            self.weights = weights
        self.sizeAverage = True if sizeAverage is None else sizeAverage
        sigmoid: Any = lookup("nn.Sigmoid")
        self.sigmoid = sigmoid()

    def compute(self, input: Tensor, target: Any) -> Tensor:
        target = check_same_size(self, input, target)
        chance = rl.sigmoid(input)
        value = (chance + 1e-12).log() * target + (1 - chance + 1e-12).log() * (1 - target)
        if self.weights is not None:
            value = value * self.weights
        total = -value.sum()
        return total / input.numel() if self.sizeAverage else total


@register("nn.L1Cost")
class L1Cost(Criterion):
    """The 1-norm of the input; there is no target."""

    def __init__(self) -> None:
        super().__init__()

    def compute(self, input: Tensor, target: Any = None) -> Tensor:
        return input.abs().sum()


@register("nn.WeightedMSECriterion")
class WeightedMSECriterion(ElementCriterion):
    """The mean of the squares of input - weight * target.

    Args:
        weight: one per element of a sample.
    """

    weight: Any = None

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = weight.clone()

    def of_elements(self, input: Tensor, target: Tensor) -> Tensor:
        return (input - target * self.weight).square()


@register("nn.SpatialAutoCropMSECriterion")
class SpatialAutoCropMSECriterion(ElementCriterion):
    """`MSECriterion` of planes; a larger target is cropped around its middle."""

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        for dim in (-2, -1):
            size, room = input.shape[dim], target.shape[dim]
            target = target.narrow(dim, (room - size) // 2, size)
        return super().compute(input, target)

    def of_elements(self, input: Tensor, target: Tensor) -> Tensor:
        return (input - target).square()


@register("nn.DistanceRatioCriterion")
class DistanceRatioCriterion(Criterion):
    """The mean of -log(exp(-near) / (exp(-near) + exp(-far))) of distances {near, far}.

    Args:
        sizeAverage: False for the sum instead of the mean.
    """

    def __init__(self, sizeAverage: bool | None = None) -> None:
        super().__init__()
        self.sizeAverage = True if sizeAverage is None else sizeAverage

    def compute(self, input: Activation, target: Any = None) -> Tensor:
        near, far = pair_of(self, input)
        loss = rl.log(rl.exp(-near) + rl.exp(-far)) + near
        self.loss = loss.detach()
        return loss.sum() / near.shape[0] if self.sizeAverage else loss.sum()


@register("nn.ModuleCriterion")
class ModuleCriterion(Criterion):
    """A criterion of what modules make of the input and the target.

    Args:
        criterion: the criterion.
        inputModule: a module for the input, or None.
        targetModule: a module for the target, or None.
        castTarget: unused; kept for files.
    """

    inputModule: Any = None
    targetModule: Any = None

    def __init__(
        self,
        criterion: Any,
        inputModule: Any = None,
        targetModule: Any = None,
        castTarget: bool | None = None,
    ) -> None:
        super().__init__()
        self.criterion = criterion
        if inputModule is not None:
            self.inputModule = inputModule
        if targetModule is not None:
            self.targetModule = targetModule
        self.castTarget = True if castTarget is None else castTarget

    def compute(self, input: Activation, target: Any) -> Tensor:
        if self.inputModule is not None:
            input = self.inputModule(input)
        if self.targetModule is not None:
            target = self.targetModule(target)
        return self.criterion(input, target)
