"""What goes wrong in Lua, in Python."""

from __future__ import annotations

from typing import Any

__all__ = ["LuaError", "LuaTimeout"]


class LuaError(RuntimeError):
    """An error that Lua code raised.

    A Python exception that passes through Lua is not one of these: it arrives as itself, with
    Lua's stack in its `lua_traceback`.

    Attributes:
        value: what was raised: the message, or any value given to `error`.
        lua_traceback: Lua's stack where it was raised, a line per level.

    >>> import relume as rl
    >>> with rl.bridge.Lua() as lua:
    ...     try:
    ...         lua.execute("error('out of paint')")
    ...     except rl.bridge.LuaError as error:
    ...         print(error.message)
    [string "execute"]:1: out of paint
    """

    def __init__(self, message: str, value: Any = None, lua_traceback: str = ""):
        super().__init__(message)
        self.message = message
        self.value = value
        self.lua_traceback = lua_traceback

    def __str__(self) -> str:
        told = str(self.args[0])  # the message, and what those who passed it on have added
        if not self.lua_traceback:
            return told
        return f"{told}\nLua stack:\n{self.lua_traceback}"


class LuaTimeout(LuaError):
    """Lua code was stopped because it took longer than it was given.

    >>> import relume as rl
    >>> with rl.bridge.Lua() as lua:
    ...     try:
    ...         lua.execute("while true do end", time_limit=0.1)
    ...     except rl.bridge.LuaTimeout as error:
    ...         print(error.message)
    Lua code was stopped after its time limit of 0.1 s
    """

    def __init__(self, limit: float, lua_traceback: str = ""):
        message = f"Lua code was stopped after its time limit of {limit:g} s"
        super().__init__(message, message, lua_traceback)


def _is_told(earlier: str, stack: str) -> bool:
    """Is a stack the outer part of an earlier one? Its innermost line says where that one began."""
    return earlier.splitlines()[-stack.count("\n") :] == stack.splitlines()[1:] != []


def note_lua_stack(error: BaseException, stack: str) -> None:
    """Adds Lua's stack to a Python exception that went through Lua."""
    earlier = getattr(error, "lua_traceback", "")
    if _is_told(earlier, stack):
        return
    try:
        error.lua_traceback = f"{earlier}\n{stack}" if earlier else stack  # type: ignore[attr-defined]
    except AttributeError:
        return  # an exception class without room for attributes
    if hasattr(error, "add_note"):  # Python 3.11
        error.add_note(f"Lua stack:\n{stack}")
