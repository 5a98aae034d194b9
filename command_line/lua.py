"""`relume lua`: a Lua script, run as Torch7's interpreter would."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path

import relume


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Lets Ctrl-C end the process: Python's own handler waits for Lua to return, and compiled
    Lua loops look at nothing until they are done."""
    previous = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def run_script(script: Path, arguments: list[str], cuda: str | None = None) -> None:
    """Runs a script; with `cuda` "cpu", CUDA tensors are those of the CPU.

    Raises:
        ValueError: another value of `cuda`.
    """
    if cuda not in (None, "cpu"):
        raise ValueError(f"--cuda takes cpu, not {cuda!r}: scripts run on the CPU")
    if not script.is_file():
        raise FileNotFoundError(2, "No such file", str(script))
    lua = relume.bridge.Lua()
    try:
        with interruptible():
            if cuda == "cpu":
                lua.execute("require('relume.cuda').use_cpu()")
            lua.execute("pcall(require, 'pl')")  # th gave scripts penlight's globals
            lua.run(str(script), *arguments)
    finally:
        lua.close()
