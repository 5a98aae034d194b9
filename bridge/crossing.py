"""How values cross between Python and Lua. docs/bridge.md has the rules as a table.

Each value is passed as a plain value that lupa can carry and one letter that says what it
stands for; bridge/lua/relume/bridge.lua is the other half and lists the letters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

import relume as rl
from relume import _C, Tensor
from relume.bridge import graphs, python_layers
from relume.bridge.layers import LuaCriterionProxy, LuaLayer
from relume.bridge.proxies import LuaFunction, LuaObject, LuaTable, LuaValue, PlainObject, Proxy

if TYPE_CHECKING:
    from relume.bridge.runtime import Lua

__all__ = ["Handle", "decode", "decode_all", "encode_all"]

# Lua's numbers are doubles: beyond this, neighbouring integers become one.
LARGEST_EXACT_INTEGER = 2**53
MOST_VALUES = 7000  # arguments or results of one call, within the stack that LuaJIT gives to C


class Handle:
    """A Python object on the Lua side, and what calling it there does."""

    __slots__ = ("call", "identity", "target")

    def __init__(self, target: Any, call: Any = None):
        self.target = target
        self.call = target if call is None else call
        self.identity = id(target)


# ---- Python to Lua ----


def _encode_int(lua: Lua, value: int) -> tuple[bytes, Any]:
    if not -LARGEST_EXACT_INTEGER <= value <= LARGEST_EXACT_INTEGER:
        raise OverflowError(
            f"the integer {value} is no exact Lua number (those end at 2^53); pass float({value}) "
            "to round it, or a tensor of int64"
        )
    return b"v", int(value)


def _encode_str(lua: Lua, value: str) -> tuple[bytes, Any]:
    return b"v", value.encode("utf-8", "surrogateescape")


def _encode_plain(lua: Lua, value: Any) -> tuple[bytes, Any]:
    return b"v", value


def _encode_tensor(lua: Lua, value: Tensor) -> tuple[bytes, Any]:
    return _C.lua_address(value)


def _encode_storage(lua: Lua, value: rl.Storage) -> tuple[bytes, Any]:
    return b"s", value._address


def _encode_array(lua: Lua, value: np.ndarray) -> tuple[bytes, Any]:
    tensor = rl.from_numpy(value)
    lua._keep_alive(tensor)
    return _encode_tensor(lua, tensor)


def _encode_number(lua: Lua, value: np.generic) -> tuple[bytes, Any]:
    item = value.item()
    encoder = _ENCODERS.get(type(item))
    if encoder is None or type(item) is type(value):
        raise TypeError(f"a {type(value).__name__} has no counterpart in Lua")
    return encoder(lua, item)


def _encode_proxy(lua: Lua, value: Proxy) -> tuple[bytes, Any]:
    if value._runtime is not lua:
        raise ValueError(
            "this Lua object belongs to another runtime; copy it with .to_python() and pass that"
        )
    return b"v", value._reference


def _encode_layer(lua: Lua, value: Any) -> tuple[bytes, Any]:
    return b"q", Handle(python_layers.side_of(value))


def _encode_side(lua: Lua, value: python_layers.Side) -> tuple[bytes, Any]:
    return b"q", Handle(value)


def _encode_graph(lua: Lua, value: Any) -> tuple[bytes, Any]:
    if python_layers.stays_here(lua, value):
        return _encode_layer(lua, value)
    return b"v", graphs.to_lua(lua, value)


def _encode_function(lua: Lua, value: Callable) -> tuple[bytes, Any]:
    return b"p", Handle(value)


def _encode_object(lua: Lua, value: Any) -> tuple[bytes, Any]:
    return b"o", Handle(value)


def _encode_iterator(lua: Lua, value: Any) -> tuple[bytes, Any]:
    """`for x in iterator do` calls it with two values that are nothing to it."""
    return b"o", Handle(value, lambda *_: next(value, None))


def _encode_opaque(lua: Lua, value: LuaValue) -> tuple[bytes, Any]:
    return b"u", _encode_proxy(lua, value)[1]


_ENCODERS: dict[type, Callable[[Lua, Any], tuple[bytes, Any]]] = {
    type(None): _encode_plain,
    bool: _encode_plain,
    float: _encode_plain,
    bytes: _encode_plain,
    int: _encode_int,
    str: _encode_str,
    Tensor: _encode_tensor,
    rl.Storage: _encode_storage,
    np.ndarray: _encode_array,
    LuaFunction: _encode_proxy,
    LuaTable: _encode_proxy,
    LuaObject: _encode_proxy,
    PlainObject: _encode_proxy,
    LuaLayer: _encode_proxy,
    python_layers.Side: _encode_side,
    LuaCriterionProxy: _encode_proxy,
    LuaValue: _encode_opaque,
}
_FUNCTION_TYPES = (
    type(lambda: None),
    type(len),
    type(str.join),
    type("".join),
    type(_encode_plain.__get__(0)),
    type("".__len__),
)


def _find_encoder(value: Any) -> Callable[[Lua, Any], tuple[bytes, Any]]:
    """For types that are met for the first time."""
    kind = type(value)
    for base in kind.__mro__[:-1]:
        if base in _ENCODERS:
            return _ENCODERS[base]
    if isinstance(value, np.generic):
        return _encode_number
    if graphs.is_structure(value):
        return _encode_graph
    if isinstance(value, rl.nn.Module):
        return _encode_layer
    if isinstance(value, _FUNCTION_TYPES):
        return _encode_function
    if hasattr(kind, "__next__") and not callable(value):
        return _encode_iterator
    return _encode_object


def encode(lua: Lua, value: Any) -> tuple[bytes, Any]:
    """A value as (kind, what lupa carries).

    Raises:
        OverflowError: an integer that a Lua number cannot hold exactly.
    """
    kind = type(value)
    if kind is Tensor:  # in as few steps as can be
        return _C.lua_address(value)
    encoder = _ENCODERS.get(kind)
    if encoder is None:
        encoder = _ENCODERS[kind] = _find_encoder(value)
    return encoder(lua, value)


def encode_all(lua: Lua, values: Iterable[Any]) -> tuple[bytes | None, list[Any]]:
    """Several values as (kinds or None, what lupa carries)."""
    kinds = b""
    carried = []
    is_plain = True
    for value in values:
        encoder = _ENCODERS.get(type(value))
        if encoder is None:
            encoder = _ENCODERS[type(value)] = _find_encoder(value)
        if encoder is _encode_plain:
            kinds += b"v"
            carried.append(value)
            continue
        kind, plain = encoder(lua, value)
        kinds += kind
        carried.append(plain)
        if kind != b"v":
            is_plain = False
    if len(carried) > MOST_VALUES:
        raise ValueError(
            f"Lua takes at most {MOST_VALUES} values at once, not {len(carried)}; pass a list"
        )
    return (None if is_plain else kinds), carried


# ---- Lua to Python ----


def _decode_plain(lua: Lua, value: Any) -> Any:
    if type(value) is bytes:
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    if type(value) is int and abs(value) > LARGEST_EXACT_INTEGER:
        return float(value)  # which can be given back
    return value


_DECODERS: dict[int, Callable[[Lua, Any], Any]] = {  # by letter
    ord("v"): _decode_plain,
    ord("t"): lambda lua, address: _C.adopt_tensor(address),
    ord("s"): lambda lua, address: _C.adopt_storage(address),
    ord("l"): LuaTable,
    ord("c"): LuaObject,
    ord("m"): LuaLayer,
    ord("k"): LuaCriterionProxy,
    ord("f"): LuaFunction,
    ord("u"): LuaValue,
    ord("o"): lambda lua, handle: handle.target,
    ord("x"): lambda lua, handle: handle.target,
    ord("q"): lambda lua, handle: handle.target.original,
    ord("i"): lambda lua, digits: int(digits),
}


def decode(lua: Lua, kind: bytes, value: Any) -> Any:
    """A value that came from Lua."""
    return _DECODERS[kind[0]](lua, value)


def decode_all(lua: Lua, kinds: bytes | None, values: Iterable[Any]) -> list[Any]:
    """Several values that came from Lua."""
    if kinds is None:
        return [value if type(value) is float else _decode_plain(lua, value) for value in values]
    return [_DECODERS[kind](lua, value) for kind, value in zip(kinds, values, strict=True)]
