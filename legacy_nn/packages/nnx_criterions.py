"""Package nnx: criterions."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.criterion import Criterion, MSECriterion, ParallelCriterion, check_same_size
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_empty


@register("nn.SuperCriterion")
class SuperCriterion(ParallelCriterion):
    """A weighted sum of criterions, each of its own element of the input; one target for all."""

    repeatTarget = True

    def __init__(self) -> None:
        super().__init__()
        self.gradInput = nested.table([])


@register("nn.SparseCriterion")
class SparseCriterion(Criterion):
    """The mean size of the elements of the input.

    Args:
        sizeAverage: False for the sum.
    """

    def __init__(self, sizeAverage: bool | None = None) -> None:
        super().__init__()
        self.sizeAverage = True if sizeAverage is None else sizeAverage

    def compute(self, input: Tensor, target: Any = None) -> Tensor:
        total = rl.where(input >= 0, input, -input).sum()
        return total / self._places(input) if self.sizeAverage else total

    def _places(self, input: Tensor) -> int:
        return input.numel()


@register("nn.SpatialSparseCriterion")
class SpatialSparseCriterion(SparseCriterion):
    """The mean over all places of an image of the sizes of its planes, added up.

    Args:
        nbGradients: unused; kept for files.
        sizeAverage: False for the sum.
    """

    nbGradients = -1

    def __init__(self, nbGradients: int = -1, sizeAverage: bool | None = None) -> None:
        super().__init__(sizeAverage)
        self.nbGradients = nbGradients

    def _places(self, input: Tensor) -> int:
        return input.shape[-1] * input.shape[-2]


@register("nn.SpatialMSECriterion")
class SpatialMSECriterion(MSECriterion):
    """The mean of the squared differences.

    Args:
        sizeAverage: False for the sum.
    """


@register("nn.DistNLLCriterion")
class DistNLLCriterion(Criterion):
    """The cross entropy of a distribution with that of the target.

    Attributes:
        inputIsADistance: large numbers mean unlikely.
        inputIsProbability, inputIsLogProbability: no softmax is needed.
        targetIsProbability: no softmax is needed.
    """

    inputIsADistance = inputIsProbability = inputIsLogProbability = targetIsProbability = False

    def __init__(self) -> None:
        super().__init__()
        self.inputIsADistance = self.inputIsProbability = False
        self.inputIsLogProbability = self.targetIsProbability = False
        self.targetSoftMax = make("SoftMax")
        self.inputLogSoftMax = make("LogSoftMax")
        self.gradLogInput = new_empty()

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        target = check_same_size(self, input, target)
        likely = -input if self.inputIsADistance else input
        last = input.ndim - 1
        if self.inputIsProbability:
            likely = likely.log()
        elif not self.inputIsLogProbability:
            likely = rl.log_softmax(likely, last)
        if not self.targetIsProbability:
            target = rl.softmax(target, last)
        return -(likely * target).sum()


@register("nn.DistMarginCriterion")
class DistMarginCriterion(Criterion):
    """How far all other classes are from one below the lowest of the target classes.

    The target has as many places as there are classes: the classes (from 1), then zeros.

    Args:
        sizeAverage: False for the sum, instead of the mean over the classes.
    """

    def __init__(self, sizeAverage: bool | None = None) -> None:
        super().__init__()
        self.sizeAverage = True if sizeAverage is None else sizeAverage

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        rows = input if input.ndim == 2 else input.unsqueeze(0)
        labels = check_same_size(self, input, target).reshape(rows.shape).to(rl.int64)
        classes = rows.shape[1]
        if labels.amin().item() < 0 or labels.amax().item() > classes:
            raise IndexError(f"{self}: targets must be classes, 1..{classes}, or 0")
        # What comes after the first zero does not count.
        counts = ((labels == 0).to(rl.int64).cumsum(1) == 0).to(rows.dtype)
        marks = rl.zeros((rows.shape[0], classes + 1), dtype=rows.dtype)
        is_target = marks.scatter_add(1, labels, counts).narrow(1, 1, classes) > 0
        lowest = rl.where(is_target, rows, float("inf")).amin(1, keepdim=True)
        distances = rl.where(is_target, rows * 0, (1 - lowest + rows).clamp(0))
        total = distances.sum()
        return total / classes if self.sizeAverage else total


@register("nn.CTCCriterion")
class CTCCriterion(Criterion):
    """Minus the log-likelihood of label sequences over all alignments (Graves et al. 2006).

    The input is steps x samples x classes, before a softmax; class 1 is the blank, and label n
    is class n + 1. Targets are a table of label sequences.

    Args:
        batchFirst: True for samples x steps x classes.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> loss = nn.CTCCriterion().forward(rl.zeros(1, 1, 4), [[2]])
    >>> round(loss, 4)                           # one of four classes
    1.3863
    """

    batchFirst = True  # what files of older versions mean

    def __init__(self, batchFirst: bool | None = None) -> None:
        super().__init__()
        self.batchFirst = bool(batchFirst)
        self.acts = new_empty()
        self.convertedGradients = new_empty()

    def compute(self, input: Tensor, target: Any) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim != 3:
            raise ValueError(
                f"{self}: expected steps x samples x classes, got {nested.describe(input)}"
            )
        steps = input.transpose(0, 1) if self.batchFirst else input
        sequences = [label_list(labels) for labels in nested.elements(target)]
        if len(sequences) != steps.shape[1]:
            raise ValueError(
                f"{self}: expected {steps.shape[1]} label sequences, got {len(sequences)}"
            )
        labels = rl.tensor([n for sequence in sequences for n in sequence], dtype=rl.int64)
        sizes = self.__dict__.get("_sizes")
        lengths = [steps.shape[0]] * len(sequences) if sizes is None else label_list(sizes)
        return rl.ctc_loss(
            rl.log_softmax(steps, 2),
            labels,
            lengths,
            [len(sequence) for sequence in sequences],
            reduction="sum",
        )

    def __call__(self, input: Activation, target: Any = None, sizes: Any = None) -> Any:
        self._sizes = sizes
        return super().__call__(input, target)

    def forward(  # type: ignore[override]
        self, input: Activation, target: Any = None, sizes: Any = None
    ) -> Any:
        """The value; `sizes` says how many steps of each sample count."""
        self._sizes = sizes
        return super().forward(input, target)

    def backward(self, input: Activation, target: Any = None, sizes: Any = None) -> Activation:
        """The gradient of the input (also `self.gradInput`)."""
        self._sizes = sizes
        return super().backward(input, target)


def label_list(labels: Any) -> list[int]:
    """Numbers of a tensor or a table."""
    values = labels.tolist() if isinstance(labels, Tensor) else nested.elements(labels)
    return [int(value) for value in values]
