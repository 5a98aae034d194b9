"""Reductions of segments: neighbouring slices of a tensor, of different numbers."""

from __future__ import annotations

import math
from typing import Any

from relume import _C
from relume._C import Tensor

_ops = _C.ops

# What `segment_reduce` calls a reduction: what `scatter_reduce` does, and what nothing reduces to.
_REDUCTIONS = {
    "sum": ("sum", 0.0),
    "mean": ("mean", math.nan),
    "prod": ("prod", 1.0),
    "max": ("amax", -math.inf),
    "min": ("amin", math.inf),
}


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """Sums, means, products or extremes of neighbouring slices along a dimension.

    Args:
        data: a floating tensor.
        reduce: "sum", "mean", "prod", "max" or "min".
        lengths: (..., segments), how many slices each segment has; the leading sizes are those
            of `data` before `axis`.
        offsets: instead, where each segment begins, and at the end where the last one ends.
        indices: taken for PyTorch's sake, which does not take them either.
        axis: the dimension that is cut into segments.
        unsafe: taken for PyTorch's sake: lengths are checked.
        initial: what each reduction begins with.

    Returns:
        A tensor of the shape of `data` with `segments` in the place of dimension `axis`.

    Raises:
        ValueError: lengths that are negative or do not add up to the size of the dimension.

    >>> import relume as rl
    >>> rl.segment_reduce(rl.tensor([1.0, 2.0, 3.0]), "sum", lengths=rl.tensor([2, 0, 1]))
    tensor([3., 0., 3.])
    """
    if reduce not in _REDUCTIONS:
        raise ValueError(
            f"segment_reduce(): reduce must be one of {[*_REDUCTIONS]}, not {reduce!r}"
        )
    counts = offsets.diff(dim=-1) if offsets is not None else lengths
    has_both = lengths is not None and offsets is not None
    if counts is None or has_both or indices is not None:
        raise ValueError("segment_reduce() takes lengths or offsets")
    axis = axis % data.ndim
    if counts.shape[:-1] != data.shape[:axis] or counts.ndim != axis + 1:
        raise ValueError(
            f"segment_reduce(): lengths of shape {counts.shape} do not fit data of shape "
            f"{data.shape} along dimension {axis}"
        )
    if (counts < 0).any() or (counts.sum(-1) != data.shape[axis]).any():
        raise ValueError(
            f"segment_reduce(): the lengths of segments must add up to {data.shape[axis]}, "
            f"the size of dimension {axis}"
        )
    join, nothing = _REDUCTIONS[reduce]
    places = _segment_of_each(counts, data.shape[axis])
    behind = data.ndim - axis - 1
    index = places.reshape(*places.shape, *[1] * behind).expand(data.shape)
    shape = (*data.shape[:axis], counts.shape[-1], *data.shape[axis + 1 :])
    start = _ops["full"](shape, nothing if initial is None else initial, dtype=data.dtype)
    result = start.scatter_reduce(axis, index, data, join, include_self=initial is not None)
    if initial is None or reduce != "mean":
        return result
    # `initial` and the slices, over the number of slices alone.
    total = start.scatter_reduce(axis, index, data, "sum", include_self=True)
    return total / counts.clamp(min=1).reshape(*counts.shape, *[1] * behind)


def _segment_of_each(counts: Tensor, size: int) -> Tensor:
    """For each slice the number of its segment."""
    ends = counts.cumsum(-1)
    slices = _ops["arange"](0, size, 1).expand((*counts.shape[:-1], size))
    return _ops["searchsorted"](ends.contiguous(), slices.contiguous(), right=True)


FUNCTIONS: tuple[Any, ...] = (segment_reduce,)
