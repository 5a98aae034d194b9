"""Cross entropy at every place of planes and volumes."""

from __future__ import annotations

from typing import Any

from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.criterion import Criterion, SpatialClassNLLCriterion
from relume.legacy_nn.normalization import SpatialLogSoftMax
from relume.legacy_nn.registry import register


def check_places(criterion: Any, input: Any, target: Any, dims: int) -> None:
    """The target must have a label for every place of the input, and both a batch."""
    fits = isinstance(input, Tensor) and isinstance(target, Tensor) and input.ndim == dims
    if not fits or (input.shape[0], *input.shape[2:]) != tuple(target.shape):
        places = "x".join("NTHW"[-(dims - 2) :]) if dims == 4 else "TxHxW"
        raise ValueError(
            f"{criterion}: expected an input of NxCx{places} and a target of Nx{places}, "
            f"got {nested.describe(input)} and {nested.describe(target)}"
        )


@register("cudnn.SpatialCrossEntropyCriterion")
class SpatialCrossEntropyCriterion(Criterion):
    """SpatialLogSoftMax and SpatialClassNLLCriterion in one.

    Args:
        weights: one per class, or None.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> criterion = nn.cudnn.SpatialCrossEntropyCriterion()
    >>> round(criterion.forward(rl.zeros(1, 2, 2, 2), rl.ones(1, 2, 2)), 4)
    0.6931
    """

    def __init__(self, weights: Tensor | None = None) -> None:
        super().__init__()
        self.slsm = SpatialLogSoftMax()
        self.nll = SpatialClassNLLCriterion(weights)
        self.sizeAverage = True

    def children(self) -> list[Any]:
        return [self.slsm, self.nll]

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        check_places(self, input, target, 4)
        self.nll.sizeAverage = self.sizeAverage
        logarithms = self.slsm(input)
        if isinstance(self.nll, SpatialClassNLLCriterion):
            return self.nll(logarithms, target)
        # Older files: a ClassNLLCriterion of one row per place.
        rows = logarithms.permute((0, 2, 3, 1)).reshape((-1, input.shape[1]))
        return self.nll(rows, target.reshape((-1,)))


@register("cudnn.VolumetricCrossEntropyCriterion")
class VolumetricCrossEntropyCriterion(Criterion):
    """`SpatialCrossEntropyCriterion` of volumes.

    Args:
        weights: one per class, or None.
    """

    def __init__(self, weights: Tensor | None = None) -> None:
        super().__init__()
        self.scec = SpatialCrossEntropyCriterion(weights)

    def children(self) -> list[Any]:
        return [self.scec]

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        check_places(self, input, target, 5)
        samples, classes, time, height, width = input.shape
        planes = input.reshape((samples, classes, time * height, width))
        return self.scec(planes, target.reshape((samples, time * height, width)))
