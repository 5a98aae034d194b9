"""Whole graphs of objects across the border: structure is copied, tensors are shared.

A Torch object is a class name and fields, in a file, in Python and in Lua. Going across is a
walk over that graph; what was one object on one side is one object on the other. Nothing
recurses, so chains of any depth pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from relume.converters.lua_function import LuaFunction as LuaFunctionRecord
from relume.converters.table import Table
from relume.converters.torch_object import TorchObject

if TYPE_CHECKING:
    from relume.bridge.proxies import Proxy
    from relume.bridge.runtime import Lua

__all__ = ["check_key", "is_structure", "to_lua", "to_python"]

_REFERENCE = ord("r")
_PLAIN_TYPES = {bool, float, int, str}
_PAIRS_PER_CALL = 500  # far below the number of arguments that Lua takes


def is_structure(value: Any) -> bool:
    """Is this a container, or an object of a Torch class, that is rebuilt on the Lua side?"""
    if hasattr(value, "_reference"):  # it lives there
        return False
    return isinstance(value, (dict, list, tuple, Table, TorchObject)) or _is_torch_object(value)


def check_key(key: Any) -> None:
    """ValueError for what cannot be a key of a Lua table."""
    if key is None or (isinstance(key, float) and key != key):
        raise ValueError(f"{'None (nil)' if key is None else 'NaN'} cannot be the key of a table")


def _is_torch_object(value: Any) -> bool:
    """Is this of a Python class that stands for a Torch class? Its attributes are the fields."""
    return hasattr(value, "torch_typename") and hasattr(value, "_load_fields")


def _typename(value: Any) -> str:
    if isinstance(value, (dict, list, tuple, Table)):
        return ""
    return value.torch_typename


def _entries(value: Any) -> list[tuple[Any, Any]]:
    """Keys and values as Lua is to see them: sequences count from 1."""
    from relume.legacy_nn.released_gradients import all_fields

    if isinstance(value, (list, tuple)):
        return list(enumerate(value, 1))
    if isinstance(value, (dict, Table)):
        return list(value.items())
    if isinstance(value, TorchObject):
        if value.payload:
            raise TypeError(
                f"an object of class {value.torch_typename} wrote itself in a format of its own; "
                "Lua cannot be given its fields"
            )
        return list(value.fields.items())
    return list(all_fields(value).items())


def to_lua(lua: Lua, root: Any) -> Any:
    """Builds `root` and all that it holds in Lua; returns lupa's reference to it."""
    from relume.bridge.crossing import encode
    from relume.bridge.python_layers import stays_here

    numbers = {id(root): 1}
    queue = [root]
    state = lua._graph("begin")
    made = 0
    position = 0
    while position < len(queue):
        kinds = bytearray()
        carried: list[Any] = []
        for key, value in _entries(queue[position]):
            if value is None or isinstance(value, LuaFunctionRecord):
                continue
            check_key(key)
            for part in (key, value):
                is_plain = type(part) in _PLAIN_TYPES
                if not is_plain and is_structure(part) and not stays_here(lua, part):
                    number = numbers.get(id(part))
                    if number is None:
                        queue.append(part)
                        number = numbers[id(part)] = len(queue)
                    kind, plain = b"r", number
                else:
                    kind, plain = encode(lua, part)
                kinds += kind
                carried.append(plain)
        if made < len(queue):
            names = "".join(_typename(value) + "\n" for value in queue[made:])
            lua._graph("make", state, names.encode())
            made = len(queue)
        step = 2 * _PAIRS_PER_CALL
        for start in range(0, len(carried), step):
            part = carried[start : start + step]
            lua._graph("fill", state, position + 1, bytes(kinds[start : start + step]), *part)
        position += 1
    return lua._graph("object", state, 1)


def to_python(lua: Lua, proxy: Proxy) -> Any:
    """Rebuilds a Lua table or object, and all that it holds, in Python."""
    from relume import legacy_nn
    from relume.bridge.crossing import decode

    objects: dict[int, Any] = {}
    found: list[tuple[int, str, bytes, list[Any]]] = []

    def visit(number: int, typename: bytes, kinds: bytes, values: Any) -> None:
        carried = [values[i + 1] for i in range(len(kinds))]
        found.append((number, typename.decode(), kinds, carried))

    lua._graph("walk", proxy._reference, visit)
    for number, typename, kinds, values in found:
        if not typename:
            objects[number] = Table()
        else:
            fields_there = _plain_keys(lua, kinds, values)
            variant = legacy_nn.registry.variant_of(typename, fields_there)
            cls: Any = variant or legacy_nn.lookup(typename) or lua._class_in_lua(typename)
            objects[number] = cls.__new__(cls) if cls else TorchObject(typename)
    fields: dict[int, dict[Any, Any]] = {}
    for number, _, kinds, values in found:
        parts = [
            objects[value] if kind == _REFERENCE else decode(lua, bytes((kind,)), value)
            for kind, value in zip(kinds, values, strict=True)
        ]
        pairs = zip(parts[::2], parts[1::2], strict=True)
        target = objects[number]
        if isinstance(target, Table):
            for key, value in pairs:  # no dict: in one, True and 1 are the same key
                target[key] = value
        elif isinstance(target, TorchObject):
            target.fields.update(pairs)
        else:
            fields[number] = dict(pairs)
    for number, own in fields.items():
        objects[number]._load_fields(own, 1)
    return objects[1]


def _plain_keys(lua: Lua, kinds: bytes, values: list[Any]) -> Iterator[Any]:
    """The keys of an object that are no tables or objects."""
    from relume.bridge.crossing import decode

    for kind, value in zip(kinds[::2], values[::2], strict=True):
        if kind != _REFERENCE:
            yield decode(lua, bytes((kind,)), value)
