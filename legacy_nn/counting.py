"""Torch7's numbers from 1 as numbers from 0, checked."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor


def from_one(layer: Any, indices: Tensor, count: int) -> Tensor:
    """Indices from 1 to `count` as int64 indices from 0.

    Raises:
        IndexError: one is below 1 or above `count`.

    >>> import relume as rl
    >>> from_one("a layer", rl.tensor([1.0, 3.0]), 3).tolist()
    [0, 2]
    """
    places = indices.detach().to(rl.int64)
    if places.numel():
        lowest, highest = int(places.amin().item()), int(places.amax().item())
        if lowest < 1 or highest > count:
            wrong = first_outside(indices.detach().reshape((-1,)).tolist(), count)
            raise IndexError(f"{layer}: index {wrong} is not in 1..{count}")
    return places - 1


def first_outside(numbers: list[Any], count: int) -> str:
    """The first of some numbers that is no whole number from 1 to `count`, as a text.

    >>> first_outside([1.0, float("nan"), 9.0], 3), first_outside([3.5, 9.0], 3)
    ('nan', '9')
    """
    for number in numbers:
        if not math.isfinite(number) or not 1 <= int(number) <= count:
            return f"{number:.14g}"
    return ""


def place_from_one(index: int, count: int, what: str = "slices") -> int:
    """An index from 1, or a negative one from the end, as an index from 0.

    Raises:
        IndexError: there is no such place.

    >>> place_from_one(2, 3), place_from_one(-1, 3)
    (1, 2)
    """
    place = index - 1 if index > 0 else count + index
    if index == 0 or not 0 <= place < count:
        raise IndexError(f"there is no index {index}, counted from 1, in {count} {what}")
    return place


def positive_dimension(dimension: int, ndim: int, input_dims: int | None = None) -> int:
    """A dimension of the Torch7 kind as one from 0: negative ones count from the end; with
    `input_dims`, an input with one dimension more is a batch.

    >>> positive_dimension(1, 3, 2), positive_dimension(-1, 3)
    (1, 2)

    Raises:
        IndexError: there is no such dimension.
    """
    if dimension < 0:
        place = ndim + dimension
    else:
        is_batch = input_dims is not None and ndim == input_dims + 1
        place = dimension - 1 + is_batch
    if not 0 <= place < ndim:
        raise IndexError(f"there is no dimension {dimension}, counted from 1, in {ndim}")
    return place
