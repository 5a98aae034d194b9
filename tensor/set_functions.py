"""Tensors as sets: union, intersection and difference, sorted and each element once."""

from __future__ import annotations

from relume import _C
from relume._C import Tensor
from relume.tensor.order_functions import unique

_ops = _C.ops


def union1d(ar1: Tensor, ar2: Tensor) -> Tensor:
    """What is in one of them or in both.

    >>> import relume as rl
    >>> union1d(rl.tensor([3, 1]), rl.tensor([2, 3]))
    tensor([1, 2, 3])
    """
    return unique(_ops["cat"]([ar1.reshape(-1), ar2.reshape(-1)]))


def intersect1d(ar1: Tensor, ar2: Tensor) -> Tensor:
    """What is in both.

    >>> import relume as rl
    >>> intersect1d(rl.tensor([3, 1, 3]), rl.tensor([2, 3]))
    tensor([3])
    """
    first = unique(ar1)
    return first[_ops["isin"](first, ar2)]


def setdiff1d(ar1: Tensor, ar2: Tensor) -> Tensor:
    """What is in the first and not in the second.

    >>> import relume as rl
    >>> setdiff1d(rl.tensor([3, 1, 3]), rl.tensor([2, 3]))
    tensor([1])
    """
    first = unique(ar1)
    return first[~_ops["isin"](first, ar2)]


def setxor1d(ar1: Tensor, ar2: Tensor) -> Tensor:
    """What is in one of them only.

    >>> import relume as rl
    >>> setxor1d(rl.tensor([3, 1]), rl.tensor([2, 3]))
    tensor([1, 2])
    """
    return union1d(setdiff1d(ar1, ar2), setdiff1d(ar2, ar1))


FUNCTIONS = (intersect1d, setdiff1d, setxor1d, union1d)
