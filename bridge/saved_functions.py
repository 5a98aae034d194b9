"""Functions that a Torch7 file holds as bytecode, run by the Lua that wrote them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from relume.bridge.errors import LuaError
from relume.converters.lua_function import LuaFunction

# Which of lupa's modules takes which bytecode.
RUNTIMES = {
    "Lua 5.1": "lua51",
    "Lua 5.2": "lua52",
    "Lua 5.3": "lua53",
    "Lua 5.4": "lua54",
    "LuaJIT 2.0": "luajit20",
    "LuaJIT 2.1": "luajit21",
}
PLAIN = (type(None), bool, int, float, str, bytes)


def run_saved(function: LuaFunction, *arguments: Any) -> Any:
    """Runs a function of a file, in a Lua of its own that has Lua's libraries and no Torch.

    Bytecode can do whatever a program can: run only what you trust.

    Args:
        function: from a file, without variables from the outside other than Lua's globals.
        *arguments: numbers, texts, bools and None.

    Returns:
        What it returned; a tuple of several values.

    Raises:
        NotImplementedError: its bytecode is of a Lua that is not here, it needs variables from the
            outside, or an argument is more than a plain value.
        LuaError: it raised an error.
    """
    load = _loader(function)
    if any(variable.name != "_ENV" for variable in function.upvalues):
        names = ", ".join(str(variable.name) for variable in function.upvalues)
        raise NotImplementedError(f"{function!r} needs variables from the outside: {names}")
    if not all(isinstance(argument, PLAIN) for argument in arguments):
        raise NotImplementedError(
            f"{function!r} runs without Torch, on numbers and texts; what works on tensors has to "
            "be written anew, in Python or in Lua source for relume.bridge.Lua"
        )
    loaded = load(function.bytecode)
    if isinstance(loaded, tuple):
        message = loaded[1].decode(errors="replace")
        raise NotImplementedError(f"{function!r} cannot run here: {message}")
    try:
        return loaded(*(a.encode() if isinstance(a, str) else a for a in arguments))
    except Exception as error:
        if type(error).__name__ != "LuaError":
            raise
        raise LuaError(str(error)) from error


def _loader(function: LuaFunction) -> Callable[[bytes], Any]:
    """Lua's `load`, of the Lua that takes this bytecode."""
    name = RUNTIMES.get(function.dialect)
    try:
        module = importlib.import_module(f"lupa.{name}") if name else None
    except ImportError:
        module = None
    if module is None:
        raise NotImplementedError(f"{function!r} cannot run: there is no {function.dialect} here")
    runtime = module.LuaRuntime(encoding=None, register_eval=False, register_builtins=False)
    return runtime.eval(b"loadstring or load")
