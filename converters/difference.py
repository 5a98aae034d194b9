"""How two checkpoints differ: layers, fields, and weights with the norms of their differences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from relume import Storage, Tensor
from relume.converters.lua_function import LuaFunction
from relume.converters.object_tree import (
    class_name,
    fields_of,
    is_plain,
    is_scratch,
    is_table,
    join,
    key_text,
)
from relume.converters.weights.collecting import array_of
from relume.legacy_nn.printing import first_line
from relume.tensor.printing import size_text

__all__ = ["Change", "difference"]

LONG = 60  # characters of a value


@dataclass(frozen=True)
class Change:
    """One thing that is not the same.

    Attributes:
        kind: "added", "removed" or "changed".
        path: where, in the second one (of what was removed: in the first one).
        what: a class; "field"; "shape", "type" or "values" of a tensor.
        before, after: the two, in words.
        norm, relative: of the difference of two tensors, and over the norm of the first.
        largest: the largest absolute difference.
    """

    kind: str
    path: str
    what: str
    before: str = ""
    after: str = ""
    norm: float | None = None
    relative: float | None = None
    largest: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON: without what does not apply."""
        return {
            key: value
            for key, value in asdict(self).items()
            if value is not None and not (isinstance(value, float) and not math.isfinite(value))
        }


def difference(a: Any, b: Any) -> list[Change]:
    """How `b` differs from `a`: objects as `relume.load` gives them.

    Layers that were inserted or taken out are found as such; buffers, gradients and last outputs
    are not compared.

    >>> from relume import legacy_nn as nn
    >>> before = nn.Sequential().add(nn.Identity()).add(nn.Threshold(0, 0))
    >>> after = nn.Sequential().add(nn.Identity()).add(nn.Tanh()).add(nn.Threshold(0.5, 0))
    >>> for found in difference(before, after):
    ...     print(found.kind, found.path, found.what, found.before, found.after)
    added modules.2 nn.Tanh  nn.Tanh
    changed modules.3.threshold field 0 0.5
    """
    found: list[Change] = []
    seen: set[tuple[int, int]] = set()
    waiting = [(a, b, "")]
    while waiting:
        first, second, path = waiting.pop()
        if first is second or (id(first), id(second)) in seen:
            continue
        seen.add((id(first), id(second)))
        differs = list(of_leaves(first, second, path))
        found += differs
        if not differs and not is_leaf(first):
            waiting += reversed(list(matched(first, second, path, found)))
    return found


def is_leaf(value: Any) -> bool:
    return is_plain(value) or isinstance(value, (Tensor, Storage, LuaFunction))


def of_leaves(a: Any, b: Any, path: str) -> Iterator[Change]:
    """What differs of two values that hold no others, or are of two classes."""
    if is_plain(a) and is_plain(b):
        if not same_value(a, b):
            yield Change("changed", path, "field", short(a), short(b))
    elif isinstance(a, Tensor) and isinstance(b, Tensor):
        yield from of_tensors(a, b, path)
    elif isinstance(a, Storage) and isinstance(b, Storage):
        if a.dtype != b.dtype or len(a) != len(b) or numbers(a) != numbers(b):
            yield Change("changed", path, "field", short(numbers(a)), short(numbers(b)))
    elif isinstance(a, LuaFunction) and isinstance(b, LuaFunction):
        if a.bytecode != b.bytecode:
            yield Change("changed", path, "function", repr(a), repr(b))
    elif class_name(a) != class_name(b):
        yield Change("changed", path, "class", described(a), described(b))


def of_tensors(a: Tensor, b: Tensor, path: str) -> Iterator[Change]:
    if a.shape != b.shape:
        yield Change("changed", path, "shape", size_text(a.shape), size_text(b.shape))
        return
    if a.dtype != b.dtype:
        yield Change("changed", path, "type", str(a.dtype), str(b.dtype))
    first, second = array_of(a), array_of(b)
    if first.size == 0 or np.array_equal(first, second, equal_nan=first.dtype.kind in "fc"):
        return
    wide = np.complex128 if first.dtype.kind == "c" else np.float64
    first, second = first.astype(wide), second.astype(wide)
    distance = second - first
    norm, before = float(np.linalg.norm(distance)), float(np.linalg.norm(first))
    largest = float(np.abs(distance).max())
    relative = norm / before if before else None
    share = "" if relative is None else f", {relative:.3g} of it"
    yield Change(
        "changed",
        path,
        "values",
        f"norm {before:.6g}",
        f"norm {float(np.linalg.norm(second)):.6g}; difference {norm:.3g}{share}, "
        f"at most {largest:.3g}",
        norm,
        relative,
        largest,
    )


def matched(a: Any, b: Any, path: str, found: list[Change]) -> Iterator[tuple[Any, Any, str]]:
    """The entries of two objects that belong together; notes those of one only."""
    first, second = entries(a), entries(b)
    if isinstance(a, (list, tuple)) or (path.rpartition(".")[2] == "modules" and is_table(a)):
        yield from aligned(list(first.values()), list(second.values()), path, found)
        return
    for key in dict.fromkeys([*first, *second]):
        inner = join(path, key)
        if key in first and key in second:
            yield first[key], second[key], inner
        elif key in first:
            found.append(only_in_one("removed", inner, first[key]))
        else:
            found.append(only_in_one("added", inner, second[key]))


def entries(value: Any) -> dict[str, Any]:
    """What an object holds, by key, without what the last call left behind."""
    is_layer = not is_table(value)
    return {
        key_text(key): entry
        for key, entry in fields_of(value)
        if entry is not None and not (is_layer and is_scratch(key) and not is_plain(entry))
    }


def aligned(
    a: list[Any], b: list[Any], path: str, found: list[Change]
) -> Iterator[tuple[Any, Any, str]]:
    """Pairs of two lists of layers, where some may have come in or gone."""
    first, second = [list(map(described, values)) for values in (a, b)]
    matcher = SequenceMatcher(a=first, b=second, autojunk=False)
    for _, begin, end, start, stop in matcher.get_opcodes():
        common = min(end - begin, stop - start)
        for offset in range(common):
            yield a[begin + offset], b[start + offset], join(path, start + offset + 1)
        for position in range(begin + common, end):
            found.append(only_in_one("removed", join(path, position + 1), a[position]))
        for position in range(start + common, stop):
            found.append(only_in_one("added", join(path, position + 1), b[position]))


def only_in_one(kind: str, path: str, value: Any) -> Change:
    what = "field" if is_plain(value) else class_name(value)
    before, after = (described(value), "") if kind == "removed" else ("", described(value))
    return Change(kind, path, what, before, after)


def described(value: Any) -> str:
    if is_plain(value):
        return short(value)
    if isinstance(value, Tensor):
        return f"{class_name(value)} {size_text(value.shape)}"
    if hasattr(value, "updateOutput") and not is_table(value):
        return first_line(value)
    return class_name(value)


def numbers(storage: Storage) -> list[Any]:
    return storage.tensor().tolist() if len(storage) else []


def same_value(a: Any, b: Any) -> bool:
    return a == b or (a != a and b != b)


def short(value: Any) -> str:
    text = repr(value) if isinstance(value, (str, bytes)) else str(value)
    return text if len(text) <= LONG else f"{text[:LONG]}..."
