"""A log of numbers per epoch, and its plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from relume.converters import Table


class Logger:
    """Writes a tab-separated line per entry, with a header of names, and plots the columns.

    Args:
        filename: where to write; None keeps the entries in memory only.

    From the optim package of Torch7, with its file format.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "train.log")
    >>> logger = Logger(path)
    >>> logger.setNames(["loss"])
    >>> logger.add([0.5])
    >>> open(path).read()
    'loss\\t\\n 5.0000e-01\\t\\n'
    """

    def __init__(self, filename: str | Path | None = None) -> None:
        self.path = None if filename is None else Path(filename)
        self.names: list[str] = []
        self.columns: dict[str, list[Any]] = {}
        self.styles: list[str] = []
        self.logscale = False
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text("")

    def setNames(self, names: Sequence[str] | Table) -> None:
        """Names the columns and writes the header."""
        if self.names:
            raise ValueError("Logger: the columns have names already")
        self.names = [str(name) for name in _listed(names)]
        self.columns = {name: [] for name in self.names}
        self._write("".join(f"{name}\t" for name in self.names))

    def add(self, values: Sequence[Any] | Mapping[str, Any] | Table) -> None:
        """Writes a line.

        Args:
            values: one per column, in order; or by name, which names the columns the first time.

        Raises:
            ValueError: another number of values than columns.
        """
        if isinstance(values, Table) and not values.is_list():
            values = dict(values.items())
        if isinstance(values, Mapping):
            if not self.names:
                self.setNames(list(values))
            values = [values[name] for name in self.names]
        values = _listed(values)
        if len(values) != len(self.names):
            raise ValueError(f"Logger: {len(self.names)} columns, got {len(values)} values")
        for name, value in zip(self.names, values, strict=True):
            self.columns[name].append(value)
        self._write("".join(f"{_shown(value)}\t" for value in values))

    def style(self, styles: str | Sequence[str] | Table) -> None:
        """How to plot each column: "-" a line, "+-" with marks, "." points, "|" bars, ..."""
        self.styles = [styles] if isinstance(styles, str) else [str(s) for s in _listed(styles)]

    def setlogscale(self, state: bool = True) -> None:
        """Plots on a logarithmic axis."""
        self.logscale = state

    def plot(self, filename: str | Path | None = None) -> Path:
        """Draws the columns through matplotlib.

        Args:
            filename: where; the log's name with ".png" when left out.

        Returns:
            The path of the picture.

        Raises:
            ImportError: matplotlib is not installed.
        """
        if filename is None and self.path is None:
            raise ValueError("Logger: give plot() a file name; the log itself has none")
        target = Path(filename) if filename else self.path.with_suffix(".png")  # type: ignore[union-attr]
        from matplotlib.figure import Figure

        figure = Figure()
        axes = figure.add_subplot()
        for i, name in enumerate(self.names):
            style = self.styles[i % len(self.styles)] if self.styles else "-"
            values = self.columns[name]
            if all(isinstance(value, int | float) for value in values):
                axes.plot(range(1, len(values) + 1), values, _matplotlib_style(style), label=name)
        if self.logscale:
            axes.set_yscale("log")
        axes.legend()
        figure.savefig(target)
        return target

    def _write(self, line: str) -> None:
        if self.path:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")


def _listed(values: Any) -> list[Any]:
    return values.as_list() if isinstance(values, Table) else list(values)


def _shown(value: Any) -> str:
    return f"{value:11.4e}" if isinstance(value, int | float) else str(value)


def _matplotlib_style(style: str) -> str:
    """gnuplot's words for lines and points in matplotlib's letters."""
    return {"+-": "+-", "-": "-", "+": "+", ".": ".", "|": "|", "~": "-"}.get(style, "-")
