"""A Lua table in Python."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any

from relume._C import Tensor
from relume.tensor.printing import size_text

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
# What a table has in place of a part that it does not use: most use only one.
EMPTY_ARRAY: Any = ()
EMPTY_HASH: Any = MappingProxyType({})


def _stored(key: Any) -> Any:
    """The form in which a key is kept: 2.0 is the key 2, as in Lua."""
    if type(key) is int:
        return key
    if isinstance(key, bool):
        return TRUE_KEY if key else FALSE_KEY
    if isinstance(key, Integral):
        return int(key)
    if isinstance(key, Real):
        if key != key:
            raise ValueError("NaN cannot be the key of a table")
        number = float(key)
        return int(number) if number.is_integer() else number
    if key is None:
        raise ValueError("None (nil) cannot be the key of a table")
    return key


def _may_be_key(key: Any) -> bool:
    return not (key is None or (isinstance(key, Real) and key != key))


def _shown(key: Any) -> Any:
    return key.value if type(key) is _BooleanKey else key


def unpacked(pairs: tuple[Any, ...]) -> dict[Any, Any]:
    """The dict of (key, value, key, value, ...); None stands for no entry.

    >>> unpacked(("a", 1, "b", 2))
    {'a': 1, 'b': 2}
    """
    entries = zip(pairs[::2], pairs[1::2], strict=True)
    return {key: value for key, value in entries if value is not None}


def named(table: Table, name: str) -> Any:
    """The value at a key that is a name, or None: `table.get(name)` where time counts.

    >>> named(Table({"a": 1}), "a")
    1
    """
    return table._hash.get(name)


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

    # As in Lua: the values of 1 to n in one part, all other keys in the other, n + 1 in neither.
    # The second part of a table fresh from a file is a tuple (key, value, key, value, ...) in
    # `_pairs` until somebody looks at it. A file with another order of keys leaves it in `_order`.
    __slots__ = ("__weakref__", "_array", "_hash", "_order", "_pairs")
    _array: list[Any]
    _order: list[Any]
    _hash: dict[Any, Any]
    _pairs: tuple[Any, ...]
    torch_typename = "table"

    def __init__(self, values: Any = ()):
        if type(values) is list and values and type(None) not in map(type, values):
            self._set_parts(values.copy(), EMPTY_HASH)
            return
        self._set_parts(EMPTY_ARRAY, EMPTY_HASH)
        for key, value in values.items() if hasattr(values, "items") else enumerate(values, 1):
            self[key] = value

    def _set_parts(self, array: list[Any], hash_: dict[Any, Any]) -> None:
        object.__setattr__(self, "_array", array)
        object.__setattr__(self, "_hash", hash_)

    def _find(self, key: Any, default: Any) -> Any:
        if type(key) is not str:
            key = _stored(key)
            if type(key) is int and 0 < key <= len(self._array):
                return self._array[key - 1]
        return self._hash.get(key, default)

    def __getitem__(self, key: Any) -> Any:
        value = self._find(key, None)  # None is never a value
        if value is None:
            raise self._no_key(key)
        return value

    def _no_key(self, key: Any) -> KeyError:
        if isinstance(key, int) and self._array:
            return KeyError(f"no key {key}: lists of Lua count from 1, this one to {len(self)}")
        return KeyError(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        key = _stored(key)
        size = len(self._array)
        if type(key) is int and 0 < key <= size:
            if value is None:
                self._cut(key)
            else:
                self._array[key - 1] = value
        elif value is None:
            if key in self._hash:
                del self._hash[key]
        elif type(key) is int and key == size + 1:
            self._append(value)
        else:
            if self._hash is EMPTY_HASH:
                self._set_parts(self._array, {})
            self._hash[key] = value

    def _append(self, value: Any) -> None:
        if self._array is EMPTY_ARRAY:
            self._set_parts([], self._hash)
        self._array.append(value)
        while (following := len(self._array) + 1) in self._hash:
            self._array.append(self._hash.pop(following))

    def _cut(self, key: int) -> None:
        """Removes a key from the array; those after it become other keys."""
        after = self._array[key:]
        del self._array[key - 1 :]
        for position, value in enumerate(after, key + 1):
            self[position] = value

    def __delitem__(self, key: Any) -> None:
        if key not in self:
            raise KeyError(key)
        self[key] = None

    def __contains__(self, key: Any) -> bool:
        return _may_be_key(key) and self._find(key, None) is not None

    def __getattr__(self, name: str) -> Any:
        if name == "_hash":
            object.__setattr__(self, "_hash", unpacked(self._pairs))
            object.__delattr__(self, "_pairs")
            return self._hash
        if name in Table.__slots__:
            raise AttributeError(name)
        try:
            return self._hash[name]
        except KeyError:
            raise AttributeError(f"the table has no key {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        if name not in self._hash:
            raise AttributeError(f"the table has no key {name!r}")
        del self._hash[name]

    def __len__(self) -> int:
        return len(self._array)

    def __bool__(self) -> bool:
        return bool(self._array or self._hash)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._array)

    def get(self, key: Any, default: Any = None) -> Any:
        """The value at `key`, or `default`.

        >>> Table({"a": 1}).get("b", 0)
        0
        """
        return self._find(key, default) if _may_be_key(key) else default

    def keys(self) -> list[Any]:
        """All keys: 1, 2, ..., then the others in the order of the file or of insertion."""
        return [*range(1, len(self._array) + 1), *map(_shown, self._hash)]

    def values(self) -> list[Any]:
        """All values, in the order of `keys()`."""
        return [*self._array, *self._hash.values()]

    def items(self) -> list[tuple[Any, Any]]:
        """All (key, value) pairs, in the order of `keys()`.

        >>> Table({"a": 1}).items()
        [('a', 1)]
        """
        others = ((_shown(key), value) for key, value in self._hash.items())
        return [*enumerate(self._array, 1), *others]

    def items_in_file_order(self) -> list[tuple[Any, Any]]:
        """The pairs of `items()` in the order that the file had; later ones come last."""
        order = getattr(self, "_order", None)
        if order is None:
            return self.items()
        known = {_stored(key) for key in order}
        kept = ((key, self._find(key, None)) for key in order)
        return [
            *((key, value) for key, value in kept if value is not None),
            *((key, value) for key, value in self.items() if _stored(key) not in known),
        ]

    def is_list(self) -> bool:
        """Are the keys exactly 1, 2, ..., n? True for an empty table.

        >>> Table([5, 6]).is_list(), Table({"a": 1}).is_list()
        (True, False)
        """
        return not self._hash

    def as_list(self) -> list[Any]:
        """The values at 1, 2, ..., n as a list.

        Raises:
            ValueError: the table has other keys. `list(table)` leaves them out.

        >>> Table([5, 6]).as_list()
        [5, 6]
        """
        if self._hash:
            raise ValueError(
                f"the table is no list: it has the key {_shown(next(iter(self._hash)))!r}; "
                "list(table) gives t[1], t[2], ... and leaves the others out"
            )
        return list(self._array)

    def as_python(self) -> Any:
        """The table as a list where its keys are 1 to n, else as a dict; tables in it too.

        >>> Table({"losses": Table([0.5, 0.25]), "epoch": 2}).as_python()
        {'losses': [0.5, 0.25], 'epoch': 2}
        """
        made: dict[int, Any] = {}
        waiting: list[Table] = []

        def shell(value: Any) -> Any:
            if not isinstance(value, Table):
                return value
            if id(value) not in made:
                made[id(value)] = [] if value.is_list() and value else {}
                waiting.append(value)
            return made[id(value)]

        result = shell(self)
        while waiting:
            table = waiting.pop()
            target = made[id(table)]
            if isinstance(target, list):
                target.extend(map(shell, table))
            else:
                target.update((key, shell(value)) for key, value in table.items())
        return result

    def update(self, values: Any) -> None:
        """Sets the keys of a mapping or of another table."""
        for key, value in values.items():
            self[key] = value

    @reprlib.recursive_repr("{...}")
    def __repr__(self) -> str:
        return f"{type(self).__name__}({contents_text(self.items(), self.is_list())})"

    def __dir__(self) -> Iterable[str]:
        fields = [key for key in self._hash if isinstance(key, str) and key.isidentifier()]
        return [*object.__dir__(self), *fields]

    def __copy__(self) -> Table:
        return type(self)(self)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return type(self), (), self.items()

    def __setstate__(self, pairs: list[tuple[Any, Any]]) -> None:
        for key, value in pairs:
            self[key] = value


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
        return f"<{value.torch_typename or value.dtype} {size_text(value.shape)}>"
    return repr(value)


def _key_text(key: Any) -> str:
    return key if isinstance(key, str) and key.isidentifier() else f"[{key!r}]"
