"""Layers that change shapes: candidates of what follows them, turned round."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from relume.converters.proof.candidates import STEPS, Candidate, Numbers, generic
from relume.legacy_nn.types import sizes_of

__all__ = ["TURNS", "inserted", "number"]


def number(module: Any, name: str) -> int:
    value = getattr(module, "__dict__", {}).get(name)
    return int(value) if isinstance(value, (int, float)) and value > 0 else 0


def inserted(candidate: Candidate, place: int, size: int) -> Candidate:
    """A candidate with one more dimension."""
    if isinstance(candidate, list):
        return [inserted(element, place, size) for element in candidate]
    shape = list(candidate.shape)
    shape.insert(place if place >= 0 else len(shape) + place + 1, size)
    return Numbers(tuple(shape), candidate.largest)


def with_more_dimensions(layer: Any, following: list[Candidate]) -> Iterable[Candidate]:
    """Select, SplitTable, Mean, ...: one dimension more, somewhere."""
    place = number(layer, "dimension") - 1
    for candidate in following or generic():
        known = [place] if place >= 0 else [0, 1, -1]
        for size, where in itertools.product((STEPS, 2), dict.fromkeys([*known, 0, 1])):
            yield inserted(candidate, where, size)


def of_new_shape(layer: Any, following: list[Candidate]) -> Iterable[Candidate]:
    """View and Reshape: anything with as many elements, and what follows as it is."""
    sizes = [size for size in sizes_of(layer.size) if size > 0] if hasattr(layer, "size") else []
    count = 1
    for size in sizes:
        count *= size
    if sizes:
        yield from (Numbers(shape) for shape in ((2, count), (count,), (2, *sizes), tuple(sizes)))
        side = round(count**0.5)
        if side * side == count:
            yield from (
                Numbers((2, side, side)),
                Numbers((2, 1, side, side)),
                Numbers((side, side)),
            )
        for planes_count in (3, 4, 16):
            side = round((count / planes_count) ** 0.5)
            if side * side * planes_count == count:
                yield Numbers((2, planes_count, side, side))
    for candidate in following:
        yield candidate
        if isinstance(candidate, Numbers):
            yield inserted(candidate, 0, 2)


def of_transpose(layer: Any, following: list[Candidate]) -> Iterable[Candidate]:
    pairs = [sizes_of(pair) for pair in getattr(layer, "permutations", [])]
    for candidate in following or generic():
        if isinstance(candidate, Numbers):
            shape = list(candidate.shape)
            for first, second in reversed(pairs):
                if max(first, second) <= len(shape):
                    shape[first - 1], shape[second - 1] = shape[second - 1], shape[first - 1]
            yield Numbers(tuple(shape), candidate.largest)


def of_unsqueeze(layer: Any, following: list[Candidate]) -> Iterable[Candidate]:
    place = number(layer, "pos") - 1
    for candidate in following or generic():
        if isinstance(candidate, Numbers) and len(candidate.shape) > max(place, 0):
            yield Numbers(
                (*candidate.shape[:place], *candidate.shape[place + 1 :]), candidate.largest
            )
        yield candidate


def of_narrow(layer: Any, following: list[Candidate]) -> Iterable[Candidate]:
    place = number(layer, "dimension") - 1
    least = number(layer, "index") + max(int(getattr(layer, "length", 1)), 1)
    for candidate in following or generic():
        if isinstance(candidate, Numbers) and len(candidate.shape) > place >= 0:
            yield resized(candidate, place, max(candidate.shape[place], least))
        yield candidate


def from_table(layer: Any, following: list[Candidate]) -> Iterable[Candidate]:
    """CAddTable, JoinTable, ...: a table of what follows."""
    for candidate in following or generic():
        yield [candidate, candidate]
        yield [candidate] * 3


def of_join(layer: Any, following: list[Candidate]) -> Iterable[Candidate]:
    """JoinTable: parts that make up what follows."""
    place = number(layer, "dimension") - 1
    for candidate in following or generic():
        if isinstance(candidate, Numbers) and 0 <= place < len(candidate.shape):
            size = candidate.shape[place]
            for first in dict.fromkeys((max(size // 2, 1), 1, size - 1)):
                sizes = [first, size - first]
                parts = [resized(candidate, place, n) for n in sizes if n > 0]
                yield parts
            yield [resized(candidate, place, 1)] * size if size < 10 else [candidate]


def resized(candidate: Numbers, place: int, size: int) -> Numbers:
    shape = list(candidate.shape)
    shape[place] = size
    return Numbers(tuple(shape), candidate.largest)


def of_select_table(layer: Any, following: list[Candidate]) -> Iterable[Candidate]:
    place = getattr(layer, "index", 1)
    count = max(abs(int(place)), 2)
    for candidate in following or generic():
        yield [candidate] * count


Turn = Callable[[Any, list[Candidate]], Iterable[Candidate]]
TURNS: dict[str, Turn] = {
    **dict.fromkeys(("nn.View", "nn.Reshape"), of_new_shape),
    **dict.fromkeys(
        ("nn.Select", "nn.SplitTable", "nn.Mean", "nn.Sum", "nn.Max", "nn.Min", "nn.Squeeze"),
        with_more_dimensions,
    ),
    "nn.Transpose": of_transpose,
    "nn.Unsqueeze": of_unsqueeze,
    "nn.Narrow": of_narrow,
    **dict.fromkeys(
        """nn.CAddTable nn.CSubTable nn.CMulTable nn.CDivTable nn.CMaxTable nn.CMinTable
        nn.FlattenTable nn.ReverseTable""".split(),
        from_table,
    ),
    "nn.JoinTable": of_join,
    "nn.SelectTable": of_select_table,
}
