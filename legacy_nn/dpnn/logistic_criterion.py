"""Logistic regression for targets 1 and -1."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.criterion import Criterion, check_same_size
from relume.legacy_nn.registry import register


@register("nn.BinaryLogisticRegression")
class BinaryLogisticRegression(Criterion):
    """The mean of log(1 + exp(-target * input)), for targets 1 and -1.

    Args:
        sizeAverage: False for the sum.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> loss = nn.BinaryLogisticRegression().forward(rl.zeros(4), rl.ones(4))
    >>> round(loss, 4)
    0.6931
    """

    def __init__(self, sizeAverage: bool | None = None) -> None:
        super().__init__()
        self.sizeAverage = True if sizeAverage is None else sizeAverage

    def _check(self, input: Any) -> None:
        if input.ndim > 2 or (input.ndim == 2 and 1 not in input.shape):
            raise ValueError(f"{self}: expected size N, Nx1 or 1xN, got {nested.describe(input)}")

    def _places(self, input: Tensor) -> int:
        """What a mean divides by."""
        return input.numel()

    def compute(self, input: Tensor, target: Any) -> Tensor:
        self._check(input)
        target = check_same_size(self, input, target)
        total = rl.softplus(-target * input).sum()
        return total / self._places(input) if self.sizeAverage else total


@register("nn.SpatialBinaryLogisticRegression")
class SpatialBinaryLogisticRegression(BinaryLogisticRegression):
    """The mean of log(1 + exp(-target * input)) over all places of an image.

    Args:
        sizeAverage: False for the sum.
    """

    def _check(self, input: Any) -> None:
        if input.ndim not in (3, 4) or input.shape[-3] != 1:
            raise ValueError(
                f"{self}: expected size 1xHxW or Nx1xHxW, got {nested.describe(input)}"
            )

    def _places(self, input: Tensor) -> int:
        return 2 * input.numel()
