"""How far a view of memory reaches."""

from __future__ import annotations

from collections.abc import Sequence

from relume import Tensor


def extent(shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> tuple[int, int]:
    """The first position that a view touches, and the one after the last; twice the place where it
    would begin for a view without elements.

    Args:
        shape: the view's sizes.
        strides: its steps, which may be negative.
        offset: where its first element is.

    >>> from relume.tensor.extent import extent
    >>> extent((2, 3), (10, 1), 4)
    (4, 17)
    >>> extent((3,), (-2,), 4)
    (0, 5)
    >>> extent((0, 3), (3, 1), 4)
    (4, 4)
    """
    if 0 in shape:
        return offset, offset
    steps = [(size - 1) * stride for size, stride in zip(shape, strides, strict=True)]
    before, after = sum(min(step, 0) for step in steps), sum(max(step, 0) for step in steps)
    return offset + before, offset + after + 1


def span(tensor: Tensor) -> tuple[int, int]:
    """`extent` of a tensor in its storage."""
    return extent(tensor.shape, tensor.stride(), tensor.storage_offset())
