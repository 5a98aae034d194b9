"""LuaJIT's profiler: compiled loops can be stopped while it runs, and it serves one runtime at a
time. The runtime that runs a chunk takes it, unless the one that has it is running."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relume.bridge.runtime import Lua

_changing = threading.RLock()  # a runtime may be collected while it is held
_holder: weakref.ref[Lua] | None = None


def hold(runtime: Lua) -> None:
    """Lets the compiled loops of a runtime be stopped from here on."""
    global _holder
    if _holder is not None and _holder() is runtime:
        return
    with _changing:
        before = _holder() if _holder is not None else None
        if before is not None:
            if before.is_running:
                return
            before.operate_if_open("stop_profiler")
        runtime.operate_if_open("start_profiler")
        _holder = weakref.ref(runtime)


def release(runtime: Lua) -> None:
    """Before a runtime goes: the profiler must not look at it any more."""
    global _holder
    with _changing:
        if _holder is not None and _holder() in (runtime, None):
            _holder = None
        runtime.operate_if_open("stop_profiler")
