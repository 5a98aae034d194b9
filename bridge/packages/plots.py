"""Curves for `optim.Logger` and the like, drawn by matplotlib into files."""

from __future__ import annotations

from typing import Any

__all__ = ["draw"]

# gnuplot's words for lines and points in matplotlib's letters.
_STYLES = {"+-": "+-", "-": "-", "+": "+", ".": ".", "|": "|", "~": "-"}


def draw(path: str, names: Any, columns: Any, styles: Any, logscale: bool) -> None:
    """Draws columns of numbers against their positions.

    Raises:
        ImportError: matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.add_subplot()
    for i in range(1, len(names) + 1):
        values = list(columns[i].values())
        if all(isinstance(value, int | float) for value in values):
            style = _STYLES.get(styles[i], "-")
            axes.plot(range(1, len(values) + 1), values, style, label=names[i])
    if logscale:
        axes.set_yscale("log")
    axes.legend()
    figure.savefig(path)
