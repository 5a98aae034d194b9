"""Kinds of inputs: tensors of some sizes, and tables of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from relume.tensor.printing import size_text

__all__ = [
    "STEPS",
    "Candidate",
    "Numbers",
    "features",
    "frames",
    "generic",
    "generic_tables",
    "indices",
    "planes",
    "tables",
    "unique",
    "volumes",
]

USUAL_SIDES = (32, 28, 16, 64, 96, 224, 128, 112, 48, 8, 20, 227, 231, 256, 299, 192, 160)
SIDES = dict.fromkeys([*USUAL_SIDES, *range(4, 65)])  # of images; networks may take only one
STEPS = 5  # of sequences


@dataclass(frozen=True)
class Numbers:
    """A tensor to be made.

    Attributes:
        shape: its sizes.
        largest: 0 for numbers around zero; otherwise whole numbers from 1 to it.
        is_mask: zeros and ones, as bytes.
    """

    shape: tuple[int, ...]
    largest: int = 0
    is_mask: bool = False

    def __str__(self) -> str:
        size = size_text(self.shape)
        if self.is_mask:
            return f"a mask of {size}"
        return f"{size} of 1..{self.largest}" if self.largest else size


Candidate = Any  # Numbers, or a list of candidates for a table


def features(count: int) -> list[Candidate]:
    return [Numbers(shape) for shape in ((2, count), (count,), (2, STEPS, count))]


def frames(count: int, least: int = 1) -> list[Candidate]:
    long = max(3 * least, STEPS)
    return [Numbers((2, long, count)), Numbers((long, count)), Numbers((2, 40, count))]


def planes(count: int) -> list[Candidate]:
    """Batches of images, single ones, and ones wide enough for text."""
    return [
        *(Numbers((2, count, side, side)) for side in SIDES),
        *(Numbers((count, side, side)) for side in USUAL_SIDES),
        *(Numbers((2, count, 32, side)) for side in (100, 160)),
    ]


def volumes(count: int) -> list[Candidate]:
    sizes = (
        (2, count, 8, 8, 8),
        (2, count, 16, 16, 16),
        (count, 8, 8, 8),
        (2, count, 16, 112, 112),
    )
    return [Numbers(size) for size in sizes]


def indices(count: int) -> list[Candidate]:
    return [Numbers(shape, count) for shape in ((2, STEPS), (STEPS,), (STEPS, 2), (2,), (1,))]


def generic() -> list[Candidate]:
    """For layers that take anything."""
    shapes = ((2, 4), (4,), (2, 3, 4), (2, 3, 8, 8), (3, 8, 8), (4, 4), (2, 4, 4, 4, 4))
    return [Numbers(shape) for shape in shapes]


def tables(count: int, shapes: Iterable[tuple[int, ...]]) -> list[Candidate]:
    return [[Numbers(shape)] * count for shape in shapes]


def generic_tables() -> list[Candidate]:
    """For what takes tables of which nothing is known: of tensors of one shape, one in another."""
    shapes = [candidate for candidate in generic() if len(candidate.shape) < 5]
    flat: list[Candidate] = [[shape] * count for count in (2, 3, 4) for shape in shapes]
    in_another = [[shape, [shape] * 2] for shape in shapes]
    return [*flat, *in_another, *([[shape] * 2] * 2 for shape in shapes)]


def unique(candidates: Iterable[Candidate]) -> list[Candidate]:
    found = {repr(candidate): candidate for candidate in candidates}
    return list(found.values())
