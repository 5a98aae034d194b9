"""`relume th`: a prompt for Lua, as Torch7's front end `th` gave one."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from relume.bridge import Lua, LuaError

__all__ = ["Prompt"]

FIRST, MORE = "th> ", "..> "
PRESSES_TO_LEAVE = 3
SHOWN_LINES_OF_STACK = 12


def history_file() -> Path:
    """Where the lines are kept that were typed."""
    return Path(os.environ.get("RELUME_HISTORY", "~/.relume_history")).expanduser()


class Prompt:
    """Reads lines of Lua and runs them in a runtime until the input ends."""

    def __init__(self, lua: Lua) -> None:
        self._trepl = lua.require("trepl")
        self._trepl.remember_globals()
        self._is_terminal = sys.stdin.isatty()
        self._readline = self._start_readline() if self._is_terminal else None

    def interact(self) -> None:
        """The loop. An error is shown and the next line read; Ctrl-C ends one evaluation."""
        while True:
            try:
                source = self._read()
            except KeyboardInterrupt:
                print()
                continue
            if source is None:
                if self._is_terminal:
                    print()
                return
            if source.strip():
                self._run(source)

    # ---- reading ----

    def _read(self) -> str | None:
        """A line, or several that belong together; None at the end of the input."""
        lines: list[str] = []
        while True:
            try:
                lines.append(self._read_line(MORE if lines else FIRST))
            except EOFError:
                return "\n".join(lines) if lines else None
            source = "\n".join(lines)
            if not source.strip() or self._trepl.is_complete(source):
                self._remember(source)
                return source

    def _read_line(self, prompt: str) -> str:
        sys.stdout.flush()
        if self._is_terminal:
            return input(prompt)
        line = (
            self._trepl.read_line()
        )  # what scripts read with `io.read` comes from the same buffer
        if line is None:
            raise EOFError
        return line if isinstance(line, str) else os.fsdecode(line)

    def _start_readline(self) -> Any:
        try:
            import readline
        except ImportError:  # Python was built without it
            return None
        with contextlib.suppress(OSError):
            readline.read_history_file(history_file())
        readline.set_auto_history(False)
        readline.set_history_length(10_000)
        readline.set_completer(self._complete)
        readline.set_completer_delims(" \t\n\"'()[]{},;+-*/%^#=<>~")
        readline.parse_and_bind("tab: complete")
        return readline

    def _remember(self, source: str) -> None:
        if self._readline is None or not source.strip():
            return
        self._readline.add_history(source.replace("\n", " "))
        with contextlib.suppress(OSError):  # a home that cannot be written is no reason to stop
            history_file().touch()
            self._readline.append_history_file(1, history_file())

    def _complete(self, word: str, state: int) -> str | None:
        """Readline's completer: the candidate number `state` for a word."""
        if state == 0:
            self._candidates = self._candidates_for(word)
        return self._candidates[state] if state < len(self._candidates) else None

    def _candidates_for(self, word: str) -> list[str]:
        readline: Any = self._readline  # it is what calls this
        line = readline.get_line_buffer()[: readline.get_endidx()]
        if is_inside_quotes(line):
            return files_starting_with(word)
        try:
            return list(self._trepl.complete(line).to_python())
        except LuaError:
            return []

    # ---- running ----

    def _run(self, source: str) -> None:
        started = time.perf_counter()
        try:
            with WayOut():
                self._trepl.run(source)
        except KeyboardInterrupt as stop:
            show_error("interrupted!", getattr(stop, "lua_traceback", ""))
        except LuaError as error:
            show_error(error.message, error.lua_traceback)
        except Exception as error:
            show_error(f"{type(error).__name__}: {error}", getattr(error, "lua_traceback", ""))
        if self._is_terminal:
            print_right(f"[{time.perf_counter() - started:.4f}s]")


class WayOut:
    """Ends the program at the third Ctrl-C: what Lua called may not look at the first.

    Python's handlers wait for Lua to return, so a thread listens to a pipe: signals are its bytes.
    """

    def __enter__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._wakeup = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def __exit__(self, *error: object) -> None:
        signal.set_wakeup_fd(self._wakeup)
        os.write(self._writer, b"\0")  # the thread ends
        self._listener.join()
        os.close(self._reader)
        os.close(self._writer)

    def _listen(self) -> None:
        presses = 0
        while (number := os.read(self._reader, 1)[0]) != 0:
            presses += number == signal.SIGINT
            if presses >= PRESSES_TO_LEAVE:
                os.write(2, b"\n")
                os._exit(130)
            if presses == PRESSES_TO_LEAVE - 1:
                os.write(2, b"\nnot stopping yet; press Ctrl-C once more to leave\n")


# ---- text ----


def is_inside_quotes(line: str) -> bool:
    """Does the end of a line lie in a string that has begun?"""
    quote = ""
    for character in line:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
    return bool(quote)


def files_starting_with(word: str) -> list[str]:
    """Paths that begin with a word; folders end in a slash."""
    folder, beginning = os.path.split(word)
    try:
        names = sorted(os.listdir(os.path.expanduser(folder) or "."))
    except OSError:
        return []
    paths = [os.path.join(folder, name) for name in names if name.startswith(beginning)]
    return [path + "/" if os.path.isdir(os.path.expanduser(path)) else path for path in paths]


def show_error(message: str, stack: str) -> None:
    """On standard error: the message and where it arose, without the prompt's own frames."""
    sys.stdout.flush()
    lines = [line for line in stack.splitlines() if "/trepl/init.lua:" not in line]
    if lines == ["[C]: in function 'error'"]:  # a line that is no Lua
        lines = []
    text = "\n".join([message, "stack traceback:", *lines[:SHOWN_LINES_OF_STACK]])
    print(text if lines else message, file=sys.stderr, flush=True)


def print_right(text: str) -> None:
    """At the right end of the terminal's line, in grey."""
    width = shutil.get_terminal_size().columns
    print(f"\x1b[0;90m{text.rjust(width - 1)}\x1b[0m", flush=True)
