"""Manipulation functions of the standard."""

from __future__ import annotations

from typing import Any

import relume
from relume import Tensor


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """The tensors as views of the shape that they broadcast to together."""
    return relume.broadcast_arrays(*arrays)


def broadcast_to(x: Tensor, /, shape: Any) -> Tensor:
    """A view that repeats dimensions of size 1."""
    return relume.broadcast_to(x, shape)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Tensor:
    """Joins tensors along a dimension that they have; with axis=None each as one row.

    >>> import relume as rl
    >>> concat([rl.tensor([[1, 2]]), rl.tensor([3])], axis=None)
    tensor([1, 2, 3])
    """
    if axis is None:
        return relume.cat([x.reshape(-1) for x in arrays], 0)
    first = arrays[0]
    if any(x.ndim != first.ndim for x in arrays):
        shapes = ", ".join(str(x.shape) for x in arrays)
        raise ValueError(f"concat() needs tensors of as many dimensions, not shapes {shapes}")
    return relume.cat(list(arrays), axis)


def expand_dims(x: Tensor, /, axis: int) -> Tensor:
    """A view with a dimension of size 1 inserted at `axis`."""
    return relume.expand_dims(x, axis)


def flip(x: Tensor, /, *, axis: Any = None) -> Tensor:
    """The order of elements reversed along dimensions, or all of them."""
    return relume.flip(x, tuple(range(x.ndim)) if axis is None else axis)


def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    """A view with dimensions moved to other places, the rest in order."""
    return relume.moveaxis(x, source, destination)


def permute_dims(x: Tensor, /, axes: Any) -> Tensor:
    """A view with the dimensions in another order."""
    return relume.permute_dims(x, axes)


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Every index of a dimension (of the flattened tensor without one) repeated.

    >>> import relume as rl
    >>> repeat(rl.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    return relume.repeat_interleave(x, repeats, axis)


def reshape(x: Tensor, /, shape: Any, *, copy: bool | None = None) -> Tensor:
    """The same elements in another shape.

    Args:
        copy: True: on memory of its own; False: a view, or ValueError; None: a copy only where
            strides cannot express the shape.
    """
    if copy is False:
        return x.view(shape)
    result = relume.reshape(x, shape)
    return result.clone() if copy else result


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Tensor:
    """Elements moved along dimensions, the end coming in at the start.

    >>> import relume as rl
    >>> roll(rl.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    if axis is None:
        return relume.roll(x, shift)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shifts = (shift,) * len(axes) if isinstance(shift, int) else tuple(shift)
    return relume.roll(x, shifts, axes)


def squeeze(x: Tensor, /, axis: Any) -> Tensor:
    """A view without the given dimensions, whose size must be 1."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for one in axes:
        if x.ndim == 0 or x.size(one) != 1:
            raise ValueError(f"squeeze() needs a dimension of size 1; shape {x.shape}, axis {one}")
    return relume.squeeze(x, axes)


def stack(arrays: Any, /, *, axis: int = 0) -> Tensor:
    """Joins tensors of one shape along a new dimension."""
    return relume.stack(list(arrays), axis)


def tile(x: Tensor, repetitions: Any, /) -> Tensor:
    """The tensor repeated along its last dimensions."""
    return relume.tile(x, repetitions)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Views of all indices of a dimension."""
    return relume.unstack(x, axis)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The given indices of a dimension; a vector needs no axis.

    >>> import relume as rl
    >>> take(rl.tensor([5, 6, 7]), rl.tensor([2, 0]))
    tensor([7, 5])
    """
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take() needs an axis for a tensor of shape {x.shape}")
        axis = 0
    return relume.index_select(x, axis, indices)


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """The elements at `indices` of a dimension; both broadcast in the others."""
    return relume.take_along_axis(x, indices, axis)
