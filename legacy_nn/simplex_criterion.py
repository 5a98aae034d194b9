"""Classes as corners of a regular simplex: nn.ClassSimplexCriterion."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.criterion import MSECriterion, class_labels
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import default_dtype, new_parameter


def simplex_corners(count: int) -> Tensor:
    """`count` points at equal distances on the unit sphere of `count - 1` dimensions."""
    corners = rl.zeros((count, count - 1), dtype=rl.float64)
    for axis in range(count - 1):
        rest = 1 - sum(value * value for value in corners[axis, :axis].tolist())
        corners[axis, axis] = rest**0.5
        # The product of any two corners is -1 / (count - 1).
        products = rl.matmul(corners[axis + 1 :, :axis], corners[axis, :axis])
        corners[axis + 1 :, axis] = (-1 / (count - 1) - products) / rest**0.5
    return corners


@register("nn.ClassSimplexCriterion")
class ClassSimplexCriterion(MSECriterion):
    """The mean squared distance from the corner of a regular simplex that stands for the class.

    See Mroueh, Poggio, Rosasco and Slotine 2012, "Multiclass learning with simplex coding".

    Args:
        nClasses: number of classes, at least 2; also the length of the input vectors.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> criterion = nn.ClassSimplexCriterion(3)
    >>> criterion.forward(criterion.simplex[0], 1)
    0.0
    """

    ignoreIndex = 0  # no label is left out

    def __init__(self, nClasses: int) -> None:
        super().__init__()
        if nClasses < 2:
            raise ValueError(f"nn.ClassSimplexCriterion: needs two classes or more, got {nClasses}")
        self.nClasses = nClasses
        # One unused dimension, so that outputs have one number per class.
        unused = rl.zeros((nClasses, 1), dtype=rl.float64)
        self.simplex = rl.cat([simplex_corners(nClasses), unused], 1).to(default_dtype())
        self._target = new_parameter(nClasses)

    def compute(self, input: Tensor, target: Any) -> Tensor:
        if (
            not isinstance(input, Tensor)
            or input.ndim not in (1, 2)
            or (input.shape[-1] != self.nClasses)
        ):
            raise ValueError(
                f"{self}: expected {self.nClasses} numbers or a batch, got {nested.describe(input)}"
            )
        rows = input if input.ndim == 2 else input.unsqueeze(0)
        labels, _ = class_labels(self, target, rows.shape[0], int(self.nClasses))
        self._target = self.simplex.index_select(0, labels - 1)
        return super().compute(rows, self._target)

    def getPredictions(self, input: Tensor) -> Tensor:
        """The product of every row with every corner."""
        rows = input if input.ndim == 2 else input.unsqueeze(0)
        return rl.matmul(rows, self.simplex.transpose(0, 1))

    def getTopPrediction(self, input: Tensor) -> Tensor:
        """The class (from 1) whose corner is nearest, for every row."""
        return self.getPredictions(input).argmax(1) + 1
