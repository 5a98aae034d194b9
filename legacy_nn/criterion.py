"""Criterions: a number that says how far an input is from a target."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import graph_nodes, nested
from relume.legacy_nn.counting import first_outside
from relume.legacy_nn.errors import name_layer
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.record import Record
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_empty, new_parameter


@register("nn.Criterion")
class Criterion(Module):
    """The base of criterions: write `compute(input, target)`, which gives one number.

    `criterion(x, t)` is the modern face, a tensor on the tape. `forward` and `backward` are
    Torch7's: `forward` gives a Python number.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> c, x, t = nn.MSECriterion(), rl.tensor([1.0, 2.0]), rl.tensor([1.0, 0.0])
    >>> c.forward(x, t)
    2.0
    >>> c.backward(x, t).tolist()
    [0.0, 2.0]
    """

    parameter_names: tuple[str, ...] = ()
    sizeAverage = True

    def __init__(self) -> None:
        super().__init__()
        self.output = 0

    def compute(self, input: Activation, target: Any) -> Tensor:
        raise NotImplementedError(
            f"{self.torch_typename} does not say how it computes its output: write "
            "compute(self, input, target) or updateOutput(self, input, target)"
        )

    def __call__(self, input: Activation, target: Any = None) -> Any:
        """The value on the tape. Given graph nodes, a graph node: `criterion([output, target])`."""
        inputs = (input,) if target is None else (input, target)
        if not isinstance(input, Tensor) and graph_nodes.is_node_call(inputs):
            from relume.legacy_nn.composite import make

            return graph_nodes.make_node(make("ModuleFromCriterion", self), inputs)
        if self._own_forward:
            from relume.legacy_nn.protocol_function import apply_criterion

            return apply_criterion(self, input, target)
        try:
            return self.compute(input, target)
        except Exception as error:
            name_layer(error, self, input, target)
            raise

    def forward(  # type: ignore[override]
        self, input: Activation, target: Any = None
    ) -> Any:
        """The value for an input and a target, a Python number (also `self.output`)."""
        try:
            return self.updateOutput(input, target)
        except Exception as error:
            name_layer(error, self, input, target)
            raise

    def updateOutput(self, input: Activation, target: Any = None) -> Any:
        """Computes `self.output` and remembers the tape for `backward`."""
        record = self._record = Record(input, [], self.compute, target)
        self.output = record.output.item()
        return self.output

    def backward(  # type: ignore[override]
        self, input: Activation, target: Any = None
    ) -> Activation:
        """The gradient of the input (also `self.gradInput`)."""
        return self.updateGradInput(input, target)

    def updateGradInput(self, input: Activation, target: Any = None) -> Activation:
        """The gradient of the input (also `self.gradInput`)."""
        record = self._record
        is_known = record is not None and record.is_of(input) and record.is_with(target)
        if record is None or not is_known or not record.has_tape():
            with rl.enable_grad():
                record = self._record = Record(input, [], self.compute, target)
        one = rl.ones_like(record.output.detach())
        self._set_grad_input(input, record.gradients(self, one, True, True))
        return self.gradInput

    def clearState(self) -> Any:
        self._record = None
        if isinstance(self.gradInput, Tensor):
            self.gradInput = new_empty(self.gradInput.torch_typename)
        return self


def check_same_size(criterion: Any, input: Tensor, target: Any) -> Tensor:
    """The target in the shape of the input."""
    if isinstance(target, (int, float)):
        target = rl.full(tuple(input.shape), float(target), dtype=input.dtype)
    if not isinstance(target, Tensor) or target.numel() != input.numel():
        raise ValueError(
            f"{criterion}: input and target must have one size, got {nested.describe(input)} "
            f"and {nested.describe(target)}"
        )
    return target if target.shape == input.shape else target.reshape(input.shape)


class ElementCriterion(Criterion):
    """The base of criterions that sum (or average) over pairs of elements.

    Args:
        sizeAverage: False for the sum instead of the mean.
    """

    def __init__(self, sizeAverage: bool | None = None) -> None:
        super().__init__()
        self.sizeAverage = True if sizeAverage is None else sizeAverage

    def of_elements(self, input: Tensor, target: Tensor) -> Tensor:
        """The value of every pair."""
        raise NotImplementedError

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        total = self.of_elements(input, check_same_size(self, input, target)).sum()
        return total / input.numel() if self.sizeAverage else total


@register("nn.MSECriterion")
class MSECriterion(ElementCriterion):
    """The mean of the squared differences."""

    __doc__ += "\n\n    Args:\n        sizeAverage: False for the sum.\n    "

    def of_elements(self, input: Tensor, target: Tensor) -> Tensor:
        return (input - target).square()

    def updateDiagHessianInput(self, input: Tensor, target: Tensor) -> Tensor:
        """The second derivatives, for nn.hessian: the same number for every element."""
        second = 2 / input.numel() if self.sizeAverage else 2
        self.diagHessianInput = rl.full(tuple(input.shape), second, dtype=input.dtype)
        return self.diagHessianInput


@register("nn.AbsCriterion")
class AbsCriterion(ElementCriterion):
    """The mean of the absolute differences."""

    __doc__ += "\n\n    Args:\n        sizeAverage: False for the sum.\n    "

    def of_elements(self, input: Tensor, target: Tensor) -> Tensor:
        difference = input - target
        return rl.where(difference >= 0, difference, -difference)


@register("nn.SmoothL1Criterion")
class SmoothL1Criterion(ElementCriterion):
    """The mean of the absolute differences, rounded off near zero."""

    __doc__ += "\n\n    Args:\n        sizeAverage: False for the sum.\n    "

    def of_elements(self, input: Tensor, target: Tensor) -> Tensor:
        difference = input - target
        size = difference.abs()
        return rl.where(size < 1, difference.square() * 0.5, size - 0.5)


@register("nn.SoftMarginCriterion")
class SoftMarginCriterion(ElementCriterion):
    """The mean of log(1 + exp(-target * input)), for targets 1 and -1."""

    def of_elements(self, input: Tensor, target: Tensor) -> Tensor:
        return rl.log1p(rl.exp(-(target * input)))


@register("nn.DistKLDivCriterion")
class DistKLDivCriterion(ElementCriterion):
    """The Kullback-Leibler divergence of log-probabilities from probabilities."""

    def of_elements(self, input: Tensor, target: Tensor) -> Tensor:
        positive = target > 0
        safe = rl.where(positive, target, 1.0)
        return rl.where(positive, target * (safe.log() - input), target * 0)


@register("nn.BCECriterion")
class BCECriterion(Criterion):
    """Binary cross entropy of probabilities.

    Args:
        weights: one per class, or None.
        sizeAverage: False for the sum instead of the mean.
    """

    weights: Tensor | None = None
    eps = 1e-12

    def __init__(self, weights: Tensor | None = None, sizeAverage: bool | None = None) -> None:
        super().__init__()
        self.sizeAverage = True if sizeAverage is None else sizeAverage
        if weights is not None:
            self.weights = weights

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        target = check_same_size(self, input, target)
        value = (input + self.eps).log() * target + (1 - input + self.eps).log() * (1 - target)
        if self.weights is not None:
            value = value * self.weights
        total = -value.sum()
        return total / input.numel() if self.sizeAverage else total


def class_labels(criterion: Any, target: Any, samples: int, classes: int) -> tuple[Tensor, bool]:
    """Targets as an int64 vector of labels (from 1), checked; and: does any of them not count?"""
    if isinstance(target, Tensor):
        given = target.detach().reshape((-1,))
        labels = given.to(rl.int64)
    else:
        values = nested.elements(target) if nested.is_table(target) else [target]
        given = labels = rl.tensor([int(label) for label in values], dtype=rl.int64)
    if labels.numel() != samples:
        raise ValueError(
            f"{criterion}: expected {samples} target{'s' if samples > 1 else ''}, "
            f"got {labels.numel()}"
        )
    ignored = int(criterion.ignoreIndex)
    lowest, highest = labels.amin().item(), labels.amax().item()
    if lowest >= 1 and highest <= classes and not lowest <= ignored <= highest:
        return labels, False
    counted = [label for label in given.tolist() if label != ignored]
    wrong = first_outside(counted, classes)
    if wrong:
        raise IndexError(f"{criterion}: target {wrong} is not a class: they are 1..{classes}")
    return labels, True


@register("nn.ClassNLLCriterion")
class ClassNLLCriterion(Criterion):
    """The negative log-probability of the right class (labels count from 1).

    Args:
        weights: one per class, or None.
        sizeAverage: False for the sum instead of the (weighted) mean.
        ignoreIndex: a label that does not count.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.ClassNLLCriterion().forward(rl.tensor([-1.0, -2.0]), 2)
    2.0
    """

    weights: Tensor | None = None
    ignoreIndex = -100

    def __init__(
        self,
        weights: Tensor | None = None,
        sizeAverage: bool | None = None,
        ignoreIndex: int | None = None,
    ) -> None:
        super().__init__()
        self.sizeAverage = True if sizeAverage is None else sizeAverage
        self.ignoreIndex = -100 if ignoreIndex is None else ignoreIndex
        if weights is not None:
            self.weights = weights
        self.output_tensor = new_parameter(1)
        self.total_weight_tensor = new_parameter(1).fill_(1)
        self.target = rl.zeros((1,), dtype=rl.int64)

    def __len__(self) -> int:
        return self.weights.numel() if self.weights is not None else 0

    def compute(self, input: Tensor, target: Any) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim not in (1, 2):
            raise ValueError(
                f"{self}: expected log-probabilities of size C or NxC, got {nested.describe(input)}"
            )
        rows = input if input.ndim == 2 else input.unsqueeze(0)
        return self._of_rows(rows, target)

    def _of_rows(self, rows: Tensor, target: Any) -> Tensor:
        samples, classes = rows.shape
        labels, has_ignored = class_labels(self, target, samples, classes)
        if self.weights is None and not has_ignored and samples:
            total = rl.nll_loss(rows, labels - 1, reduction="mean" if self.sizeAverage else "sum")
            self.output_tensor = total.detach().reshape((1,))
            self.total_weight_tensor = rl.full((1,), samples, dtype=rows.dtype)
            return total
        counts = rl.ones((samples,), dtype=rows.dtype)  # how much every sample counts
        if has_ignored:
            is_ignored = labels == int(self.ignoreIndex)
            counts = counts.masked_fill(is_ignored, 0)
            labels = labels.masked_fill(is_ignored, 1)
        places = labels - 1
        if self.weights is not None:
            counts = counts * self.weights.index_select(0, places)
        chosen = rows.gather(1, places.unsqueeze(1)).squeeze(1)
        total = -(chosen * counts).sum()
        total_weight = counts.sum()
        if self.sizeAverage and total_weight.item() != 0:
            total = total / total_weight
        self.output_tensor = total.detach().reshape((1,))
        self.total_weight_tensor = total_weight.reshape((1,))
        return total


@register("nn.CrossEntropyCriterion")
class CrossEntropyCriterion(Criterion):
    """LogSoftMax and ClassNLLCriterion in one.

    Args:
        weights: one per class, or None.
        sizeAverage: False for the sum instead of the (weighted) mean.
    """

    def __init__(self, weights: Tensor | None = None, sizeAverage: bool | None = None) -> None:
        super().__init__()
        from relume.legacy_nn import normalization

        self.lsm = normalization.LogSoftMax()  # type: ignore[attr-defined]
        self.nll = ClassNLLCriterion(weights, sizeAverage)
        self.sizeAverage = self.nll.sizeAverage
        self.oldSizeAverage = self.sizeAverage

    def compute(self, input: Tensor, target: Any) -> Tensor:
        shape = tuple(size for size in input.shape if size != 1) or (1,)
        self.nll.sizeAverage = self.sizeAverage
        return self.nll(self.lsm(input.reshape(shape)), target)


@register("nn.SpatialClassNLLCriterion")
class SpatialClassNLLCriterion(ClassNLLCriterion):
    """The negative log-probability of the right class at every place.

    Args:
        weights: one per class, or None.
        sizeAverage: False for the sum instead of the (weighted) mean.
    """

    def compute(self, input: Tensor, target: Any) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim not in (3, 4):
            raise ValueError(
                f"{self}: expected log-probabilities of size CxHxW or NxCxHxW, "
                f"got {nested.describe(input)}"
            )
        planes = input if input.ndim == 4 else input.unsqueeze(0)
        classes = planes.shape[1]
        rows = planes.permute((0, 2, 3, 1)).reshape((-1, classes))
        return self._of_rows(rows, target)


# ---- criterions made of criterions ----


@register("nn.MultiCriterion")
class MultiCriterion(Criterion):
    """A weighted sum of criterions of one input and one target."""

    def __init__(self) -> None:
        super().__init__()
        self.criterions: list[Any] = []
        self.weights: Any = rl.zeros(0, dtype=rl.float64).storage()

    def add(self, criterion: Any, weight: float = 1) -> MultiCriterion:
        """Adds a criterion with its weight."""
        self.criterions.append(criterion)
        weights = [*self._weights()[: len(self.criterions) - 1], float(weight)]
        self.weights = rl.tensor(weights, dtype=rl.float64).storage()
        return self

    def _weights(self) -> list[float]:
        weights = self.weights
        if isinstance(weights, Tensor):
            return weights.tolist()
        if isinstance(weights, rl.Storage):
            return weights.tensor().tolist() if len(weights) else []
        return list(nested.elements(weights))

    def children(self) -> list[Any]:
        return nested.elements(self.criterions)

    def compute(self, input: Activation, target: Any) -> Tensor:
        values = [
            criterion(input, target) * weight
            for criterion, weight in zip(self.children(), self._weights(), strict=False)
        ]
        return sum(values[1:], values[0])


@register("nn.ParallelCriterion")
class ParallelCriterion(MultiCriterion):
    """A weighted sum of criterions, each of its own element of input and target.

    Args:
        repeatTarget: True when all have the same target.
    """

    repeatTarget = False

    def __init__(self, repeatTarget: bool | None = None) -> None:
        super().__init__()
        self.gradInput, self.weights = nested.table([]), nested.table([])
        if repeatTarget is not None:
            self.repeatTarget = repeatTarget

    def add(self, criterion: Any, weight: float = 1) -> ParallelCriterion:
        """Adds a criterion with its weight."""
        super().add(criterion, weight)
        self.weights = nested.table(self._weights())
        return self

    def compute(self, input: Activation, target: Any) -> Tensor:
        inputs = nested.elements(input)
        targets = [target] * len(inputs) if self.repeatTarget else nested.elements(target)
        values = [
            criterion(own_input, own_target) * weight
            for criterion, weight, own_input, own_target in zip(
                self.children(), self._weights(), inputs, targets, strict=False
            )
        ]
        return sum(values[1:], values[0])
