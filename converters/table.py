"""A Lua table in Python."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator
from typing import Any

from relume._C import Tensor

__all__ = ["Table"]


class _BooleanKey:
    """Stands for the key true or false, which Python's dict would take for 1 or 0."""

    __slots__ = ("value",)

    def __init__(self, value: bool):
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


TRUE_KEY = _BooleanKey(True)
FALSE_KEY = _BooleanKey(False)


def _stored(key: Any) -> Any:
    """The form in which a key is kept: 2.0 is the key 2, as in Lua."""
    if isinstance(key, float):
        if key != key:
            raise ValueError("NaN cannot be the key of a table")
        return int(key) if key.is_integer() else key
    if isinstance(key, bool):
        return TRUE_KEY if key else FALSE_KEY
    if key is None:
        raise ValueError("None (nil) cannot be the key of a table")
    return key


def _shown(key: Any) -> Any:
    return key.value if type(key) is _BooleanKey else key


class Table:
    """A Lua table: any keys, identity instead of equality.

    Keys are int for integral numbers, str (bytes where they are not UTF-8), or any object.
    `t[key]` raises KeyError for an absent key; assigning None removes a key. `t.name` is
    `t["name"]` unless the class has a method of that name.

    `len(t)` is Lua's `#`: an n with t[n] present and t[n + 1] absent. Iterating gives the values
    t[1], t[2], ... up to the first absent one, as `ipairs` does; `key in t` asks for a key.

    Args:
        values: a sequence, whose items get the keys 1, 2, ..., or a mapping.

    >>> t = Table(["a", "b"])
    >>> t[1], len(t), list(t)
    ('a', 2, ['a', 'b'])
    >>> t.name = "net"
    >>> t["name"], sorted(t.keys(), key=str)
    ('net', [1, 2, 'name'])
    """

    __slots__ = ("__weakref__", "_items")
    _items: dict[Any, Any]
    torch_typename = "table"

    def __init__(self, values: Any = ()):
        object.__setattr__(self, "_items", {})
        for key, value in values.items() if hasattr(values, "items") else enumerate(values, 1):
            self[key] = value

    def __getitem__(self, key: Any) -> Any:
        try:
            return self._items[key if type(key) is str else _stored(key)]
        except KeyError:
            raise KeyError(key) from None

    def __setitem__(self, key: Any, value: Any) -> None:
        key = _stored(key)
        if value is None:
            self._items.pop(key, None)
        else:
            self._items[key] = value

    def __delitem__(self, key: Any) -> None:
        del self._items[_stored(key)]

    def __contains__(self, key: Any) -> bool:
        return key is not None and key == key and _stored(key) in self._items

    def __getattr__(self, name: str) -> Any:
        try:
            return self._items[name]
        except KeyError:
            raise AttributeError(f"the table has no key {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        if name not in self._items:
            raise AttributeError(f"the table has no key {name!r}")
        del self._items[name]

    def __len__(self) -> int:
        items = self._items
        count = len(items)
        if count in items and count + 1 not in items:
            return count
        if 1 not in items:
            return 0
        present, absent = 1, 2
        while absent in items:
            present, absent = absent, absent * 2
        while absent - present > 1:
            middle = (present + absent) // 2
            if middle in items:
                present = middle
            else:
                absent = middle
        return present

    def __bool__(self) -> bool:
        return bool(self._items)

    def __iter__(self) -> Iterator[Any]:
        position = 1
        while position in self._items:
            yield self._items[position]
            position += 1

    def get(self, key: Any, default: Any = None) -> Any:
        """The value at `key`, or `default`.

        >>> Table({"a": 1}).get("b", 0)
        0
        """
        if key is None or key != key:
            return default
        return self._items.get(_stored(key), default)

    def keys(self) -> list[Any]:
        """All keys, in the order of the file or of insertion."""
        return [_shown(key) for key in self._items]

    def values(self) -> list[Any]:
        """All values, in the order of `keys()`."""
        return list(self._items.values())

    def items(self) -> list[tuple[Any, Any]]:
        """All (key, value) pairs.

        >>> Table({"a": 1}).items()
        [('a', 1)]
        """
        return [(_shown(key), value) for key, value in self._items.items()]

    def is_list(self) -> bool:
        """Are the keys exactly 1, 2, ..., n? True for an empty table.

        >>> Table([5, 6]).is_list(), Table({"a": 1}).is_list()
        (True, False)
        """
        return all(position in self._items for position in range(1, len(self._items) + 1))

    def as_list(self) -> list[Any]:
        """The values at 1, 2, ..., n as a list.

        Raises:
            ValueError: the table has other keys. `list(table)` ignores them.

        >>> Table([5, 6]).as_list()
        [5, 6]
        """
        if not self.is_list():
            other = [key for key in self.keys() if key not in range(1, len(self._items) + 1)]
            raise ValueError(
                f"the table is no list: it has the key {other[0]!r}; list(table) takes t[1], "
                "t[2], ... and ignores the others"
            )
        return [self._items[position] for position in range(1, len(self._items) + 1)]

    def update(self, values: Any) -> None:
        """Sets the keys of a mapping or of another table."""
        for key, value in values.items():
            self[key] = value

    @reprlib.recursive_repr("{...}")
    def __repr__(self) -> str:
        return f"{type(self).__name__}({contents_text(self.items(), self.is_list())})"

    def __dir__(self) -> Iterable[str]:
        fields = [key for key in self._items if isinstance(key, str) and key.isidentifier()]
        return [*object.__dir__(self), *fields]

    def __copy__(self) -> Table:
        return type(self)(self)

    def __getstate__(self) -> dict[Any, Any]:
        return self._items

    def __setstate__(self, state: dict[Any, Any]) -> None:
        object.__setattr__(self, "_items", state)


_MOST_SHOWN = (12, 6)  # entries of the outermost container and of those inside
_depth = 0


def contents_text(pairs: list[tuple[Any, Any]], is_list: bool) -> str:
    """A container's contents for its repr: a few entries, two levels deep."""
    global _depth
    if _depth >= len(_MOST_SHOWN):
        return "{...}" if pairs else "{}"
    most = _MOST_SHOWN[_depth]
    _depth += 1
    try:
        shown = [
            _value_text(value) if is_list else f"{_key_text(key)} = {_value_text(value)}"
            for key, value in pairs[:most]
        ]
    finally:
        _depth -= 1
    if len(pairs) > most:
        shown.append(f"... {len(pairs) - most} more")
    return "{" + ", ".join(shown) + "}"


def _value_text(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"<{value.torch_typename or value.dtype} {'x'.join(map(str, value.shape))}>"
    return repr(value)


def _key_text(key: Any) -> str:
    return key if isinstance(key, str) and key.isidentifier() else f"[{key!r}]"
