"""Products of vectors and matrices by the names of the array API's `linalg`."""

from __future__ import annotations

from typing import Any

from relume import _C
from relume._C import Tensor
from relume.tensor import numeric_functions
from relume.tensor.list_functions import chain_matmul, tensordot
from relume.tensor.rearranging import matrix_transpose

_ops = _C.ops

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_transpose",
    "multi_dot",
    "outer",
    "tensordot",
    "trace",
    "vander",
    "vecdot",
]

matmul = _ops["matmul"]
outer = _ops["outer"]


def multi_dot(tensors: Any) -> Tensor:
    """The product of matrices, in the order of multiplication that costs least.

    Args:
        tensors: at least two; the first and the last may be vectors.

    >>> import relume as rl
    >>> rl.linalg.multi_dot([rl.ones(2, 3), rl.ones(3, 4), rl.ones(4)])
    tensor([12., 12.])
    """
    chain = list(tensors)
    if len(chain) < 2:
        raise ValueError(f"multi_dot() needs at least two tensors, got {len(chain)}")
    first, last = chain[0].ndim == 1, chain[-1].ndim == 1
    if first:
        chain[0] = chain[0].unsqueeze(0)
    if last:
        chain[-1] = chain[-1].unsqueeze(1)
    result = chain_matmul(*chain)
    if first:
        result = result.squeeze(0)
    return result.squeeze(-1) if last else result


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product of vectors of 3 elements along a dimension; others broadcast.

    >>> import relume as rl
    >>> rl.linalg.cross(rl.tensor([1.0, 0.0, 0.0]), rl.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    return _ops["cross"](input, other, dim)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The inner products of vectors along a dimension, the first ones conjugated.

    >>> import relume as rl
    >>> rl.linalg.vecdot(rl.ones(2, 3), rl.ones(3))
    tensor([3., 3.])
    """
    return numeric_functions.vecdot(x, y, dim)


def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The sum of products of two vectors' elements, those of the first one conjugated.

    >>> import relume as rl
    >>> rl.vdot(rl.tensor([1j]), rl.tensor([1j]))
    tensor(1.+0.j, dtype=complex64)
    """
    return _ops["dot"](input.conj(), other)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0 to N - 1 of the elements of vectors (..., n), as rows (..., n, N).

    >>> import relume as rl
    >>> rl.linalg.vander(rl.tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """
    return _ops["vander"](x, N, True)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, a view: `offset` counts up to the right.

    >>> import relume as rl
    >>> rl.linalg.diagonal(rl.eye(2))
    tensor([1., 1.])
    """
    return _ops["diagonal"](A, offset, dim1, dim2)


def trace(x: Tensor, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sums of the diagonals of matrices (..., m, n).

    >>> import relume as rl
    >>> rl.linalg.trace(rl.eye(3))
    tensor(3.)
    """
    return diagonal(x, offset=offset).sum(-1, dtype=dtype)
