"""`relume lua` and `relume th`: Lua scripts, run as Torch7's interpreters would."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from relume import _C
from relume.bridge import Lua


@dataclass
class Request:
    """What the command line asks for: packages, then statements, then a script, then the prompt."""

    script: Path | None = None
    arguments: list[str] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    is_interactive: bool = False
    pretty: bool = False
    cuda: str | None = None


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Lets Ctrl-C end the process, at once and without a check in compiled loops."""
    previous = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        _C.watch_interrupts()


def carry_out(request: Request) -> None:
    """Runs what is asked for.

    Raises:
        ValueError: another value of `cuda` than None and "cpu".
        FileNotFoundError: there is no such script.
    """
    if request.cuda not in (None, "cpu"):
        raise ValueError(f"--cuda takes cpu, not {request.cuda!r}: scripts run on the CPU")
    reads_input = request.script == Path("-")
    if request.script is not None and not reads_input and not request.script.is_file():
        raise FileNotFoundError(2, "No such file", str(request.script))
    lua = Lua(interruptible=request.is_interactive)
    try:
        with interruptible():
            prepare(lua, request)
            if reads_input:
                lua.execute(sys.stdin.read(), *request.arguments)
            elif request.script is not None:
                lua.run(str(request.script), *request.arguments)
        if request.is_interactive:
            from relume.command_line.th import Prompt

            lua.require("th")
            Prompt(lua).interact()
    finally:
        lua.close()


def prepare(lua: Lua, request: Request) -> None:
    """The world of the script: globals as under th, `arg`, packages and statements."""
    if request.cuda == "cpu":
        lua.execute("require('relume.cuda').use_cpu()")
    lua.execute("require('trepl').provide_globals()")
    if request.pretty:
        lua.require("th")
    script = str(request.script) if request.script is not None else None
    lua.execute(
        "arg = {select(2, ...)}; arg[0] = ...",
        script,
        *request.arguments,
    )
    for name in request.packages:
        lua.require(name)
    for statement in request.statements:
        lua.execute(statement)
