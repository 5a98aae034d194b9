"""What commands print with: colours and tables on a terminal, plain text in a pipe."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as RichTable
from rich.text import Text

PIPE_WIDTH = 10_000  # text in a pipe is never wrapped or cut


def console(*, error: bool = False) -> Console:
    """Writes to the standard output (or error); made anew, since tests replace the streams."""
    stream = sys.stderr if error else sys.stdout
    is_terminal = stream.isatty()
    return Console(
        file=stream, highlight=False, soft_wrap=True, width=None if is_terminal else PIPE_WIDTH
    )


def print_table(
    columns: list[str], rows: list[list[Any]], *, right: frozenset[str] = frozenset()
) -> None:
    """A table with headings; in a pipe its columns are padded with spaces only."""
    out = console()
    if out.is_terminal:
        table = RichTable(*columns, box=None, header_style="bold", pad_edge=False)
        for column in table.columns:
            column.justify = "right" if column.header in right else "left"
            column.overflow = "fold"
        for row in rows:
            table.add_row(*[str(cell) for cell in row])
        out.print(table)
        return
    cells = [columns, *[[str(cell) for cell in row] for row in rows]]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    for line in cells:
        padded = [
            cell.rjust(width) if name in right else cell.ljust(width)
            for cell, width, name in zip(line, widths, columns, strict=True)
        ]
        print("  ".join(padded).rstrip())


def print_lines(lines: Iterable[list[tuple[str, str]]]) -> None:
    """Lines of pieces (text, style)."""
    out = console()
    for pieces in lines:
        if out.is_terminal:
            out.print(Text.assemble(*pieces))
        else:
            print("".join([text for text, _ in pieces]).rstrip())


@contextmanager
def status(text: str) -> Iterator[None]:
    """A spinner while something unmeasured goes on; nothing in a pipe."""
    out = console(error=True)
    if not out.is_terminal:
        yield
        return
    with out.status(text):
        yield


@contextmanager
def progress(text: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar, for 0 one without an end; gives a function that moves it on by some steps."""
    out = console(error=True)
    if not out.is_terminal:
        yield lambda steps: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=out, transient=True) as bar:
        task = bar.add_task(text, total=total or None)
        yield lambda steps: bar.advance(task, steps)


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self.started = time.perf_counter()

    def seconds(self) -> float:
        return time.perf_counter() - self.started


def bytes_text(count: float) -> str:
    """ "3.2 MB": powers of 1000, three digits.

    >>> bytes_text(3_210_000)
    '3.21 MB'
    """
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}" if unit != "bytes" else f"{count} bytes"
        count /= 1000
    return f"{count:.3g} TB"


def settings_of(texts: Iterable[str]) -> dict[str, Any]:
    """Options of a format, given as NAME=VALUE; a value may be JSON.

    >>> settings_of(["opset=17", "names=short"])
    {'opset': 17, 'names': 'short'}
    """
    settings: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"--set takes NAME=VALUE, got {text!r}")
        try:
            settings[name] = json.loads(value)
        except ValueError:
            settings[name] = value
    return settings
