"""A Lua function of a file, as a record that is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from relume.converters.table import Table

__all__ = ["LuaFunction", "Upvalue"]


@dataclass(slots=True, eq=False)
class Upvalue:
    """A variable that a function has from the outside.

    Attributes:
        name: its name in the source; None in files of the older kinds.
        id: closures that share the variable have the same id; None in the older kinds.
        value: its value when the function was saved.
    """

    name: str | None
    id: int | None
    value: Any


class LuaFunction:
    """A Lua function of a file: bytecode and upvalues. It is kept, and only run when asked.

    Attributes:
        tag: how it was written: 8 (upvalues with names and ids), 7 or 6 (values only).
        bytecode: what string.dump gave.

    >>> LuaFunction(8, bytes.fromhex("1b4c4a02000940612e6c7561")).dialect
    'LuaJIT 2.1'
    """

    __slots__ = ("__weakref__", "_upvalues", "bytecode", "tag")
    tag: int
    bytecode: bytes
    _upvalues: Table | None

    def __init__(self, tag: int, bytecode: bytes, upvalues: Table | None = None):
        self.tag = tag
        self.bytecode = bytecode
        self._upvalues = upvalues

    @property
    def dialect(self) -> str:
        """Which Lua understands the bytecode: "LuaJIT 2.0", "LuaJIT 2.1", "Lua 5.1", ..."""
        code = self.bytecode
        if code[:3] == b"\x1bLJ" and len(code) > 3:
            return {1: "LuaJIT 2.0", 2: "LuaJIT 2.1"}.get(code[3], f"LuaJIT bytecode {code[3]}")
        if code[:4] == b"\x1bLua" and len(code) > 4:
            return f"Lua {code[4] >> 4}.{code[4] & 15}"
        return "unknown"

    @property
    def version(self) -> int | None:
        """The version byte of the bytecode: 1 or 2 for LuaJIT, 0x51 for Lua 5.1; or None."""
        code = self.bytecode
        if code[:3] == b"\x1bLJ" and len(code) > 3:
            return code[3]
        return code[4] if code[:4] == b"\x1bLua" and len(code) > 4 else None

    @property
    def flags(self) -> int:
        """LuaJIT's flags of the dump: 1 big endian, 2 stripped, 4 uses FFI, 8 64-bit frames."""
        return _leb128(self.bytecode, 4)[0] if self.bytecode[:3] == b"\x1bLJ" else 0

    @property
    def source(self) -> str | None:
        """The name of the chunk it came from, such as "@train.lua"; None where it is not kept."""
        code = self.bytecode
        try:
            if code[:3] == b"\x1bLJ":
                return _luajit_source(code)
            if code[:5] == b"\x1bLua\x51":
                return _lua51_source(code)
            if code[:5] == b"\x1bLua\x53":
                return _lua53_source(code)
        except (IndexError, OverflowError):
            pass
        return None

    @property
    def upvalues(self) -> list[Upvalue]:
        """Its variables from the outside, in order; what the file does not say is None."""
        table = self._upvalues
        if table is None:
            return []
        if self.tag == 8:
            return [
                Upvalue(entry.get("name"), entry.get("id"), entry.get("value"))
                for entry in table
                if isinstance(entry, Table)
            ]
        count = max((key for key, _ in table.items() if type(key) is int), default=0)
        # A value may be nil in the middle; no function has more than 255.
        return [Upvalue(None, None, table.get(i)) for i in range(1, min(count, 255) + 1)]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"this is a Lua function ({self.dialect} bytecode, {len(self.bytecode)} bytes); it is "
            "kept as it is and not run unless you ask: relume.bridge.run_saved(function, ...)"
        )

    def __repr__(self) -> str:
        source = f" from {self.source}" if self.source else ""
        return f"<Lua function{source}: {self.dialect}, {len(self.bytecode)} bytes>"


def _leb128(code: bytes, position: int) -> tuple[int, int]:
    """A little-endian base-128 number and the position after it."""
    value = shift = 0
    while True:
        byte = code[position]
        value |= (byte & 127) << shift
        position += 1
        shift += 7
        if byte < 128:
            return value, position
        if shift > 63:
            raise IndexError("no number")


def _text(code: bytes, start: int, length: int) -> str | None:
    text = code[start : start + length]
    return text.decode("utf-8", "replace") if len(text) == length > 0 else None


def _luajit_source(code: bytes) -> str | None:
    flags, position = _leb128(code, 4)
    if flags & 2:  # stripped
        return None
    length, position = _leb128(code, position)
    return _text(code, position, length)


def _lua51_source(code: bytes) -> str | None:
    order = "little" if code[6] else "big"
    word = code[8]
    length = int.from_bytes(code[12 : 12 + word], order)  # type: ignore[arg-type]
    return _text(code, 12 + word, length - 1)


def _lua53_source(code: bytes) -> str | None:
    word = code[13]
    # Header, an integer and a number that show the byte order, the count of upvalues.
    position = 17 + code[15] + code[16] + 1
    length = code[position]
    if length == 0xFF:
        length = int.from_bytes(code[position + 1 : position + 1 + word], "little")
        position += word
    return _text(code, position + 1, length - 1)
