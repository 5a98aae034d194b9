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


def _only_axis(name: str, x: Tensor, axis: int | None) -> int:
    if axis is None and x.ndim != 1:
        raise ValueError(f"{name}() needs an axis for a tensor of shape {x.shape}")
    return 0 if axis is None else axis


def _with_initial(x: Tensor, axis: int, value: int) -> Tensor:
    shape = list(x.shape)
    shape[axis] = 1
    return relume.cat([relume.full(shape, value, dtype=x.dtype), x], axis)


def _summed_type(x: Tensor, dtype: Any) -> Any:
    return relume.sum(x[..., :0] if x.ndim else x).dtype if dtype is None else dtype


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
    axis = _only_axis("cumulative_sum", x, axis)
    result = relume.cumsum(x.to(_summed_type(x, dtype)), axis)
    return _with_initial(result, axis, 0) if include_initial else result


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
    axis = _only_axis("cumulative_prod", x, axis)
    result = relume.cumprod(x.to(_summed_type(x, dtype)), axis)
    return _with_initial(result, axis, 1) if include_initial else result


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
