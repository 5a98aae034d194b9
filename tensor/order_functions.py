"""Functions that order, pick and count elements and have more than one form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relume import _C
from relume._C import Tensor
from relume.tensor.dimensions import chosen_dimension, takes_numpy_names

_ops = _C.ops


def argsort(
    input: Tensor,
    dim: int = -1,
    descending: bool = False,
    stable: bool = False,
    *,
    axis: int | None = None,
) -> Tensor:
    """Positions that would sort a tensor along a dimension; equal elements keep their order.

    Args:
        dim: 0-based; negative ones count from the end.
        descending: the largest first.
        stable: accepted for PyTorch's sake: sorting is always stable here.

    Returns:
        Tensor of int64, of the shape of `input`.

    >>> import relume as rl
    >>> rl.argsort(rl.tensor([3, 1, 2]))
    tensor([1, 2, 0])
    """
    return _ops["sort"](input, dim if axis is None else axis, descending)[1]


def _middle(name: str, input: Tensor, dim: int | None, keepdim: bool) -> Any:
    op = _ops[f"{name}_with_indices"]
    if dim is None:
        return op(input.reshape(-1), 0)[0]
    return op(input, dim, keepdim)


@takes_numpy_names
def median(
    input: Tensor, dim: int | None = None, keepdim: bool = False, *, axis: int | None = None
) -> Any:
    """The middle element in order, the lower one of two; NaN if there is one.

    Args:
        dim: a dimension (0-based); None for all elements.
        keepdim: keep the dimension with size 1.

    Returns:
        A 0-d tensor; with `dim` the pair (values, indices).

    >>> import relume as rl
    >>> rl.median(rl.tensor([4.0, 1.0, 3.0, 2.0]))
    tensor(2.)
    >>> values, indices = rl.median(rl.tensor([[3, 1, 2], [9, 7, 8]]), 1)
    >>> values
    tensor([2, 8])
    """
    return _middle("median", input, chosen_dimension(dim, axis), keepdim)


@takes_numpy_names
def nanmedian(
    input: Tensor, dim: int | None = None, keepdim: bool = False, *, axis: int | None = None
) -> Any:
    """The middle one of the elements that are not NaN.

    Args:
        dim: a dimension (0-based); None for all elements.
        keepdim: keep the dimension with size 1.

    Returns:
        A 0-d tensor; with `dim` the pair (values, indices).

    >>> import relume as rl
    >>> rl.nanmedian(rl.tensor([4.0, float("nan"), 1.0, 3.0]))
    tensor(3.)
    """
    return _middle("nanmedian", input, chosen_dimension(dim, axis), keepdim)


def _chosen(groups: Any, return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = groups
    results = [values]
    if return_inverse:
        results.append(inverse)
    if return_counts:
        results.append(counts)
    return results[0] if len(results) == 1 else tuple(results)


@takes_numpy_names
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements, or the distinct slices along a dimension. NaN equals nothing.

    Args:
        sorted: accepted for PyTorch's sake: the result is always in order.
        return_inverse: also the position of each element in the result.
        return_counts: also how often each one occurs.
        dim: the dimension (0-based) whose slices are compared; None for single elements.

    Returns:
        A tensor, or a tuple (values, inverse, counts) without what was not asked for.

    >>> import relume as rl
    >>> rl.unique(rl.tensor([3, 1, 3, 2]), return_counts=True)
    (tensor([1, 2, 3]), tensor([1, 1, 2]))
    >>> rl.unique(rl.tensor([[1, 2], [0, 5], [1, 2]]), dim=0)
    tensor([[0, 5],
            [1, 2]])
    """
    return _chosen(_ops["unique_groups"](input, dim, return_inverse), return_inverse, return_counts)


@takes_numpy_names
def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The elements (or slices along a dimension) without those that equal the one before.

    Args:
        return_inverse: also the position of each element in the result.
        return_counts: also how often each one is repeated.
        dim: the dimension (0-based) whose slices are compared; None for single elements.

    Returns:
        A tensor, or a tuple (values, inverse, counts) without what was not asked for.

    >>> import relume as rl
    >>> rl.unique_consecutive(rl.tensor([1, 1, 2, 2, 1]))
    tensor([1, 2, 1])
    """
    return _chosen(_ops["consecutive_groups"](input, dim), return_inverse, return_counts)


def histogram(
    input: Tensor,
    bins: int | Tensor,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, Tensor]:
    """How many elements lie in each bin, and the edges of the bins.

    Args:
        bins: the number of equally wide bins, or their edges in increasing order. A bin has its
            left edge but not its right one, which only the last one has.
        range: the outer edges of bins given by number; those of the elements when None.
        weight: what each element counts, of the shape of `input`.
        density: divide by the total and the width of the bins.

    Returns:
        (histogram, edges), both in the type of `input`.

    Raises:
        TypeError: a tensor that is not of a floating type.

    >>> import relume as rl
    >>> rl.histogram(rl.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 3.0))
    (tensor([2., 1.]), tensor([0. , 1.5, 3. ]))
    """
    if isinstance(bins, Tensor):
        edges = bins
    else:
        edges = _ops["linspace"](*_outer_edges(input, range), bins + 1, dtype=input.dtype)
    return _ops["histogram_of_edges"](input, edges, weight, density), edges


def _outer_edges(input: Tensor, range: Sequence[float] | None) -> tuple[float, float]:
    if range is not None:
        low, high = range
    elif input.numel():
        low, high = float(input.amin().item()), float(input.amax().item())
    else:
        low, high = 0.0, 1.0
    return (low - 0.5, high + 0.5) if low == high else (low, high)


FUNCTIONS = (argsort, histogram, median, nanmedian, unique, unique_consecutive)
METHODS = {f.__name__: f for f in FUNCTIONS}
