"""Products of the standard's main namespace."""

from __future__ import annotations

from typing import Any

import relume
from relume import Tensor


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The matrix product, of stacks of matrices too."""
    return relume.matmul(x1, x2)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two dimensions exchanged."""
    return relume.matrix_transpose(x)


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """Sums products over pairs of dimensions of two tensors."""
    return relume.tensordot(x1, x2, axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Dot products along a dimension; complex `x1` is conjugated.

    >>> import relume as rl
    >>> vecdot(rl.tensor([[1, 2], [3, 4]]), rl.tensor([1, 1]))
    tensor([3, 7])
    """
    if x1.ndim == 0 or x2.ndim == 0 or x1.size(axis) != x2.size(axis):
        raise ValueError(
            f"vecdot() needs vectors of one length along axis {axis}, not shapes "
            f"{x1.shape} and {x2.shape}"
        )
    return relume.vecdot(x1, x2, axis)
