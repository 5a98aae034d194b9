"""Statistical and utility functions of the standard: reductions, running sums, differences."""

from __future__ import annotations

import builtins
from typing import Any

import relume
from relume import Tensor


def sum(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum over dimensions, or over all; integers are summed as int64."""
    return relume.sum(x, axis, keepdims, dtype=dtype)


def prod(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The product over dimensions, or over all; integers are multiplied as int64."""
    return relume.prod(x, axis, keepdims, dtype=dtype)


def mean(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The mean over dimensions, or over all."""
    return relume.mean(x, axis, keepdims)


def max(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The largest element over dimensions, or over all; NaN where there is one."""
    return relume.amax(x, axis, keepdims)


def min(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The smallest element over dimensions, or over all; NaN where there is one."""
    return relume.amin(x, axis, keepdims)


def var(
    x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The variance over dimensions, or over all; the divisor is the count less `correction`."""
    return relume.var(x, axis, correction=correction, keepdim=keepdims)


def std(
    x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The standard deviation over dimensions, or over all."""
    return relume.std(x, axis, correction=correction, keepdim=keepdims)


def all(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Are all elements over dimensions, or over all, other than 0?"""
    return relume.all(x, axis, keepdims)


def any(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Is any element over dimensions, or over all, other than 0?"""
    return relume.any(x, axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """How many elements are not 0, over dimensions, or over all."""
    return relume.sum(x != 0, axis, keepdims)


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Tensor:
    """Running sums along a dimension, with a 0 at the start if wanted.

    >>> import relume as rl
    >>> cumulative_sum(rl.tensor([1, 2, 3]), include_initial=True)
    tensor([0, 1, 3, 6])
    """
    return relume.cumulative_sum(x, axis=axis, dtype=dtype, include_initial=include_initial)


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Tensor:
    """Running products along a dimension, with a 1 at the start if wanted.

    >>> import relume as rl
    >>> cumulative_prod(rl.tensor([1, 2, 3]))
    tensor([1, 2, 6])
    """
    return relume.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """The n-th differences of neighbours along a dimension.

    >>> import relume as rl
    >>> diff(rl.tensor([1, 4, 9]))
    tensor([3, 5])
    """
    parts = [part for part in (prepend, x, append) if part is not None]
    result = relume.cat(parts, axis) if len(parts) > 1 else x
    for _ in range(n):
        size = result.size(axis)
        length = builtins.max(size - 1, 0)
        later = result.narrow(axis, builtins.min(1, size), length)
        earlier = result.narrow(axis, 0, length)
        result = later != earlier if result.dtype == relume.bool_ else later - earlier
    return result
