"""The containers of Torch's package tds, which lived outside of Lua's memory."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator
from typing import Any

from relume.converters.table import Table, contents_text

__all__ = ["TdsHash", "TdsVec"]


class TdsHash(Table):
    """A tds.Hash: used as a table; `len()` is the number of entries, as in tds.

    >>> TdsHash({"a": 1})["a"]
    1
    """

    __slots__ = ()
    torch_typename = "tds.Hash"

    def __len__(self) -> int:
        return len(self._array) + len(self._hash)


class TdsVec:
    """A tds.Vec: a list that counts from 1 and may hold None.

    >>> v = TdsVec(["a", None])
    >>> v[1], len(v), v.as_list()
    ('a', 2, ['a', None])
    """

    __slots__ = ("__weakref__", "_values")
    _values: list[Any]
    torch_typename = "tds.Vec"

    def __init__(self, values: Iterable[Any] = ()):
        self._values = list(values)

    def _position(self, index: int) -> int:
        if not 1 <= index <= len(self._values):
            raise IndexError(f"index {index} is outside of 1 to {len(self._values)}")
        return index - 1

    def __getitem__(self, index: int) -> Any:
        return self._values[self._position(index)]

    def __setitem__(self, index: int, value: Any) -> None:
        if index == len(self._values) + 1:
            self._values.append(value)
        else:
            self._values[self._position(index)] = value

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def as_list(self) -> list[Any]:
        """The values as a list."""
        return list(self._values)

    def items(self) -> list[tuple[int, Any]]:
        """(index, value) pairs, from 1."""
        return list(enumerate(self._values, 1))

    @reprlib.recursive_repr("{...}")
    def __repr__(self) -> str:
        return f"TdsVec({contents_text(self.items(), True)})"
