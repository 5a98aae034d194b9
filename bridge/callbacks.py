"""What Lua calls Python with: the functions that bridge/lua/relume/bridge.lua finds in `python`."""

from __future__ import annotations

import importlib
import os
import traceback
import weakref
from typing import TYPE_CHECKING, Any

import relume as rl
from relume import _C
from relume.bridge import python_layers
from relume.bridge.crossing import Handle, decode_all
from relume.bridge.errors import LuaError
from relume.bridge.proxies import Proxy
from relume.converters import t7

if TYPE_CHECKING:
    from relume.bridge.runtime import Lua

__all__ = ["install_callbacks"]


def install_callbacks(python: Any, lua: Lua) -> None:
    """Gives Lua what it calls Python with; Lua must not keep its own runtime alive."""
    runtime = weakref.ref(lua)

    def failure(error: BaseException) -> tuple[Any, ...]:
        if not isinstance(error, Exception):  # KeyboardInterrupt, SystemExit: no pcall keeps them
            owner = runtime()
            if owner is not None:
                owner._interrupt = error
        if isinstance(error, LuaError):  # reads in Lua as what was raised there
            value = error.value
            is_here = isinstance(value, Proxy) and value._runtime is runtime()
            raised = value._reference if is_here else None
            return b"!", Handle(error), error.message.encode("utf-8", "replace"), raised
        text = "".join(traceback.format_exception_only(type(error), error)).strip()
        return b"!", Handle(error), text.encode("utf-8", "replace")

    def guarded(function: Any) -> Any:
        def run(*args: Any) -> tuple[Any, ...]:
            try:
                owner = runtime()
                if owner is None:
                    raise RuntimeError("this Lua runtime is closed")
                if owner._interrupt is not None:
                    raise owner._interrupt
                args = owner._move_home(args)
                result = function(owner, *args)
                if result is None:
                    return None, None
                return owner._encode_results(result if isinstance(result, tuple) else (result,))
            except BaseException as error:
                return failure(error)

        return run

    def call(handle: Handle, kinds: bytes | None = None, *values: Any) -> tuple[Any, ...]:
        # as `guarded` does it, in fewer steps: this is what every call of Python costs
        try:
            owner = runtime()
            if owner is None:
                raise RuntimeError("this Lua runtime is closed")
            if owner._interrupt is not None:
                raise owner._interrupt
            if kinds == b"t":  # an address needs no other care
                result = handle.call(_C.adopt_tensor(values[0]))
            elif values:
                values = owner._move_home(values)  # the traceback of an error keeps this frame
                result = handle.call(*decode_all(owner, kinds, values))
            else:
                result = handle.call()
            if result is None:
                return None, None
            return owner._encode_results(result if isinstance(result, tuple) else (result,))
        except BaseException as error:
            return failure(error)

    def get(owner: Lua, handle: Handle, kinds: bytes | None, name: Any) -> Any:
        (key,) = decode_all(owner, kinds, (name,))
        if isinstance(key, str) and hasattr(handle.target, key):
            return (getattr(handle.target, key),)  # one value, also if that is a tuple
        if hasattr(handle.target, "__getitem__"):
            try:
                return (handle.target[key],)
            except (KeyError, IndexError, TypeError):
                return None
        return None

    def set_value(owner: Lua, handle: Handle, kinds: bytes | None, *pair: Any) -> None:
        key, value = decode_all(owner, kinds, pair)
        if isinstance(key, str) and not hasattr(handle.target, "__setitem__"):
            setattr(handle.target, key, value)
        else:
            handle.target[key] = value

    def load(owner: Lua, path: bytes) -> Any:
        return (rl.load(os.fsdecode(path)),)

    def loads(owner: Lua, data: bytes) -> Any:
        return (t7.loads(data),)

    def knows(owner: Lua, typename: bytes) -> bool:
        from relume import legacy_nn

        return legacy_nn.lookup(typename.decode()) is not None

    def make(owner: Lua, kinds: bytes | None, *values: Any) -> Any:
        return python_layers.make(*decode_all(owner, kinds, values))

    def fill(owner: Lua, kinds: bytes | None, *values: Any) -> Any:
        return python_layers.fill(*decode_all(owner, kinds, values))

    def classes(owner: Lua, package: bytes) -> Any:
        return python_layers.classes_of_package(package.decode())

    def package_of(owner: Lua, typename: bytes) -> str | None:
        return python_layers.package_of(typename.decode())

    def import_module(owner: Lua, name: bytes) -> Any:
        return importlib.import_module("relume.bridge.packages." + name.decode())

    python[b"load"] = guarded(load)
    python[b"loads"] = guarded(loads)
    python[b"make"] = guarded(make)
    python[b"fill"] = guarded(fill)
    python[b"classes"] = guarded(classes)
    python[b"knows"] = guarded(knows)
    python[b"package_of"] = guarded(package_of)
    python[b"import"] = guarded(import_module)
    python[b"call"] = call
    python[b"get"] = guarded(get)
    python[b"set"] = guarded(set_value)
    python[b"text"] = lambda handle: str(handle.target).encode()
    python[b"traceback"] = lambda handle: "".join(
        traceback.format_exception(type(handle.target), handle.target, handle.target.__traceback__)
    ).encode()
