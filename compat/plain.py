"""Loaded objects as the containers that torchfile and old PyTorch gave: dicts, lists, arrays."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from relume import Storage, Tensor
from relume.converters import LuaFunction as LoadedFunction
from relume.converters import Table, TdsHash, TdsVec
from relume.converters import TorchObject as LoadedObject

__all__ = ["LuaFunction", "Style", "TorchObject", "convert", "hashable_uniq_dict"]

LuaFunction = namedtuple("LuaFunction", ["size", "dumped", "upvalues"])


class hashable_uniq_dict(dict):
    """A table: a dict that is equal to itself only, and may be a key. `d.name` is `d[b"name"]` or
    `d["name"]`, or None where there is neither.

    >>> d = hashable_uniq_dict({b"epoch": 3})
    >>> d.epoch, d.rate, d == {b"epoch": 3}
    (3, None, False)
    """

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return entry(self, name)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other


class TorchObject:
    """An object of any class: `object.name` is a field, or None where there is none.

    >>> layer = TorchObject(b"nn.Linear", {b"bias": 2})
    >>> layer.torch_typename(), layer.bias, layer["bias"], layer.weight
    (b'nn.Linear', 2, 2, None)
    """

    def __init__(self, typename: Any, obj: Any = None, version_number: float = 0) -> None:
        self._typename = typename
        self._obj = obj
        self._version_number = version_number

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_obj", "_typename", "_version_number"):
            raise AttributeError(name)
        return entry(self._obj, name)

    def __getitem__(self, key: Any) -> Any:
        return entry(self._obj, key)

    def torch_typename(self) -> Any:
        """The name of the class."""
        return self._typename

    def __repr__(self) -> str:
        return f"TorchObject({self._typename!r}, {self._obj!r})"

    def __dir__(self) -> list[str]:
        fields = self._obj if isinstance(self._obj, dict) else {}
        names = (key.decode("latin-1") if isinstance(key, bytes) else str(key) for key in fields)
        return [*object.__dir__(self), *names]


def entry(fields: Any, key: Any) -> Any:
    """A value by its key, as text or as bytes; None where there is none."""
    if not isinstance(fields, dict):
        return None
    if key in fields:
        return fields[key]
    return fields.get(key.encode()) if isinstance(key, str) else None


@dataclass
class Style:
    """What things become.

    Attributes:
        lists: tables with the keys 1 to n and no other become lists.
        integers: whole numbers become int; otherwise every number is a float.
        decode: strings are str; otherwise bytes.
        byte_names: names of classes are bytes.
        tensor, storage: what tensors and storages become.
        keep: objects that stay as they are.
    """

    lists: bool
    integers: bool
    decode: bool
    byte_names: bool
    tensor: Callable[[Tensor], Any]
    storage: Callable[[Storage], Any]
    keep: Callable[[Any], bool] = lambda value: False


def convert(roots: Iterable[Any], style: Style) -> list[Any]:
    """Loaded objects in another style; what was shared still is.

    >>> style = Style(True, True, False, True, lambda t: t, lambda s: s)
    >>> convert([Table({"a": Table([1, 2.5])})], style)
    [{b'a': [1, 2.5]}]
    """
    conversion = Conversion(style)
    return [conversion.convert(root) for root in roots]


class Conversion:
    """One walk over an object; nothing recurses, so that depth costs memory only."""

    def __init__(self, style: Style) -> None:
        self.style = style
        self.made: dict[int, Any] = {}
        self.waiting: list[tuple[Any, Any]] = []  # loaded containers and what is to be filled

    def convert(self, root: Any) -> Any:
        result = self.shell(root)
        while self.waiting:
            source, target = self.waiting.pop()
            if isinstance(target, list):
                target.extend(map(self.shell, source))
            else:
                for key, value in source:
                    target[self.key(key)] = self.shell(value)
        return result

    def shell(self, value: Any) -> Any:
        """What a value becomes; a container is empty at first."""
        plain = self.plain(value)
        if plain is not value or value is None or isinstance(value, (str, bytes, int, float)):
            return plain
        if id(value) not in self.made:
            self.made[id(value)] = self.make(value)
        return self.made[id(value)]

    def plain(self, value: Any) -> Any:
        if isinstance(value, bool):
            return value
        if isinstance(value, str):
            return value if self.style.decode else value.encode("utf-8", "surrogateescape")
        if isinstance(value, int):
            return value if self.style.integers else float(value)
        if isinstance(value, float):
            return int(value) if self.style.integers and value.is_integer() else value
        return value

    def make(self, value: Any) -> Any:
        if self.style.keep(value):
            return value
        if isinstance(value, Tensor):
            return self.style.tensor(value)
        if isinstance(value, Storage):
            return self.style.storage(value)
        if isinstance(value, TdsVec):
            return self.fill_later(list(value), [])
        if isinstance(value, Table):
            if self.becomes_list(value):
                return self.fill_later(list(value), [])
            return self.fill_later(value.items_in_file_order(), hashable_uniq_dict())
        if isinstance(value, LoadedFunction):
            return LuaFunction(len(value.bytecode), value.bytecode, self.shell(value._upvalues))
        if isinstance(value, LoadedObject):
            return self.make_object(value)
        return value

    def becomes_list(self, table: Table) -> bool:
        """Are its keys 1 to n, as int?"""
        if not self.style.lists or not table.is_list() or isinstance(table, TdsHash):
            return False
        return self.style.integers or len(table) == 0

    def make_object(self, value: LoadedObject) -> TorchObject:
        fields: Any = value.payload
        if fields is None:
            fields = self.make(Table(value.fields))
        typename: Any = value.torch_typename
        if self.style.byte_names:
            typename = typename.encode("utf-8", "surrogateescape")
        return TorchObject(typename, fields, value.torch_version)

    def fill_later(self, source: Iterable[Any], target: Any) -> Any:
        self.waiting.append((source, target))
        return target

    def key(self, key: Any) -> Any:
        """A key; where Python cannot have its new form as one, it stays as it was loaded."""
        converted = self.shell(key)
        try:
            hash(converted)
        except TypeError:
            return key
        return converted
