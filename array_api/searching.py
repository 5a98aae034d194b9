"""Searching, sorting and set functions of the standard."""

from __future__ import annotations

from typing import Any, NamedTuple

import relume
from relume import Tensor


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the largest element is, along a dimension or in row-major order."""
    return relume.argmax(x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the smallest element is, along a dimension or in row-major order."""
    return relume.argmin(x, axis, keepdims)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The indices of the elements that are not 0, a vector for each dimension."""
    if x.ndim == 0:
        raise ValueError("nonzero() needs at least 1 dimension")
    return relume.nonzero(x, as_tuple=True)


def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor:
    """Elements of `x1` where the condition is true, of `x2` elsewhere."""
    return relume.where(condition, x1, x2)


def searchsorted(
    x1: Tensor, x2: Tensor, /, *, side: str = "left", sorter: Tensor | None = None
) -> Tensor:
    """Where elements of `x2` would go into the sorted vector `x1`.

    Args:
        side: of equal elements the new one comes first ("left") or last ("right").
        sorter: the order that sorts `x1`, as argsort gives it.
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted(): side must be 'left' or 'right', not {side!r}")
    ordered = x1 if sorter is None else relume.index_select(x1, 0, sorter)
    kind = relume.result_type(ordered, x2)
    return relume.searchsorted(ordered.to(kind), x2.to(kind), right=side == "right")


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order along a dimension."""
    return relume.sort(x, axis, descending, stable=stable)[0]


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """Positions that sort a tensor along a dimension; equal elements keep their order."""
    return relume.sort(x, axis, descending, stable=stable)[1]


class UniqueAll(NamedTuple):
    """The distinct elements, where each comes first, which one each element is, how often."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """The distinct elements and how often each comes."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """The distinct elements and which one each element is."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> UniqueAll:
    """Distinct elements, sorted, with first places, inverse and counts; NaNs are all distinct.

    >>> import relume as rl
    >>> unique_all(rl.tensor([3, 1, 3])).counts
    tensor([1, 2])
    """
    values, inverse, counts = relume.unique(x.reshape(-1), return_inverse=True, return_counts=True)
    last = relume.full(values.shape, x.numel(), dtype="int64")
    firsts = last.scatter_reduce(0, inverse, relume.arange(x.numel()), "amin")
    return UniqueAll(values, firsts, inverse.reshape(x.shape), counts)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """Distinct elements, sorted, and how often each comes."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """Distinct elements, sorted, and which one each element of `x` is."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """Distinct elements, sorted."""
    return unique_all(x).values
