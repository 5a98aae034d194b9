"""Threads for the Lua package `threads`: each with a Lua runtime of its own."""

from __future__ import annotations

import itertools
import sys
import threading

__all__ = ["join", "start"]

_numbers = itertools.count(1)
_running: dict[int, threading.Thread] = {}


def _run(code: str) -> None:
    from relume.bridge.runtime import Lua

    with Lua() as lua:
        try:
            lua.execute(code)
        except Exception as error:
            print(f"FATAL THREAD PANIC: {error}", file=sys.stderr, flush=True)


def start(code: str) -> int:
    """Runs Lua source in a new thread; returns a number to wait for it with."""
    number = next(_numbers)
    # a thread that waits for a job must not keep the program from ending
    thread = threading.Thread(target=_run, args=(code,), name=f"lua-{number}", daemon=True)
    _running[number] = thread
    thread.start()
    return number


def join(number: int) -> None:
    """Waits until a thread has ended. A number is good for one call."""
    _running.pop(int(number)).join()
