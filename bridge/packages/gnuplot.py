"""Figures for the Lua package `gnuplot`, drawn by matplotlib into files."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["draw"]

# How gnuplot's styles look in matplotlib: the words of `with ...`, and the letters of `plot`.
LINES: dict[str, dict[str, Any]] = {
    "-": {"linestyle": "-"},
    "lines": {"linestyle": "-"},
    "+": {"linestyle": "", "marker": "+"},
    "points": {"linestyle": "", "marker": "+"},
    ".": {"linestyle": "", "marker": ".", "markersize": 2},
    "dots": {"linestyle": "", "marker": ".", "markersize": 2},
    "+-": {"linestyle": "-", "marker": "+"},
    "linespoints": {"linestyle": "-", "marker": "+"},
    "~": {"linestyle": "-"},
    "steps": {"linestyle": "-", "drawstyle": "steps-post"},
}
LEGEND_PLACES = {
    ("left", "top"): "upper left",
    ("center", "top"): "upper center",
    ("right", "top"): "upper right",
    ("left", "middle"): "center left",
    ("center", "middle"): "center",
    ("right", "middle"): "center right",
    ("left", "bottom"): "lower left",
    ("center", "bottom"): "lower center",
    ("right", "bottom"): "lower right",
}


def draw(path: str, figure: Any) -> None:
    """Draws a figure as bridge/lua/gnuplot.lua describes it.

    Args:
        path: the file; its ending (.png, .pdf, .svg, .eps) is the format.
        figure: `kind` ("plot", "splot", "imagesc", "hist" or "scatter3"), `series`, labels,
            `axis`, `grid`, `legend`, and `raw`, commands of gnuplot's.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: another ending.
    """
    if Path(path).suffix.lower() not in (".png", ".pdf", ".svg", ".eps", ".ps", ".jpg"):
        raise ValueError(f"gnuplot writes .png, .pdf, .svg and .eps, not {path!r}")
    from matplotlib.figure import Figure

    settings = {str(key): value for key, value in figure.items()}
    series = [_fields(entry) for entry in _values(settings.get("series"))]
    canvas = Figure()
    is_solid = settings["kind"] in ("splot", "scatter3")
    axes = canvas.add_subplot(projection="3d") if is_solid else canvas.add_subplot()
    _KINDS[settings["kind"]](axes, series)
    _decorate(axes, settings)
    for command in _values(settings.get("raw")):
        _run_raw(axes, str(command))
    canvas.savefig(path)


def _values(table: Any) -> list[Any]:
    return [] if table is None else list(table.values())


def _fields(entry: Any) -> dict[str, Any]:
    return {str(key): value for key, value in entry.items()}


def _array(value: Any) -> np.ndarray:
    return np.asarray(value.tolist() if hasattr(value, "tolist") else value, dtype=float)


# ---- kinds of plots ----


def _plot(axes: Any, series: list[dict[str, Any]]) -> None:
    for entry in series:
        x, y = _array(entry["x"]), _array(entry["y"])
        style = _style_of(str(entry.get("format", "-")))
        label = entry.get("label") or None
        if style == "v":
            axes.quiver(x[:, 0], y[:, 0], x[:, 1], y[:, 1], angles="xy", scale_units="xy", scale=1)
        elif style == "|":
            axes.bar(x, y, width=_bar_width(x), label=label)
        elif style == "filledcurves":
            columns = y if y.ndim == 2 else np.stack([y, np.zeros_like(y)], axis=1)
            axes.fill_between(x, columns[:, 0], columns[:, 1], alpha=0.5, label=label)
        else:
            if style == "~":
                x, y = _smooth(x, y)
            axes.plot(x, y, label=label, **LINES[style])


def _style_of(text: str) -> str:
    if text in LINES or text in ("|", "v"):
        return text
    words = re.search(r"\b(?:with|w)\s+(\w+)", text)
    name = words.group(1) if words else ""
    if name in ("boxes", "impulses", "histogram"):
        return "|"
    if name in ("vectors", "vector"):
        return "v"
    if name == "filledcurves" or name in LINES:
        return name
    return "-"


def _bar_width(x: np.ndarray) -> float:
    return float(np.min(np.diff(np.sort(x)))) if x.size > 1 else 1.0


def _smooth(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A cubic spline through the points; straight lines without SciPy."""
    try:
        from scipy.interpolate import CubicSpline  # type: ignore[import-untyped]
    except ImportError:
        return x, y

    order = np.argsort(x)
    x, y = x[order], y[order]
    keep = np.concatenate([[True], np.diff(x) > 0])
    if keep.sum() < 3:
        return x, y
    fine = np.linspace(x[0], x[-1], 10 * x.size)
    return fine, CubicSpline(x[keep], y[keep])(fine)


def _splot(axes: Any, series: list[dict[str, Any]]) -> None:
    for entry in series:
        z = _array(entry["z"])
        if "x" in entry:
            x, y = _array(entry["x"]), _array(entry["y"])
        else:
            y, x = np.mgrid[0 : z.shape[0], 0 : z.shape[1]]
        axes.plot_wireframe(x, y, z, label=entry.get("label") or None)


def _scatter3(axes: Any, series: list[dict[str, Any]]) -> None:
    for entry in series:
        points = [_array(entry[name]).ravel() for name in "xyz"]
        axes.scatter(*points, label=entry.get("label") or None)


def _imagesc(axes: Any, series: list[dict[str, Any]]) -> None:
    palette = "viridis" if series[0].get("palette") == "color" else "gray"
    image = axes.imshow(_array(series[0]["z"]), cmap=palette, aspect="equal")
    axes.figure.colorbar(image, ax=axes)


def _hist(axes: Any, series: list[dict[str, Any]]) -> None:
    entry = series[0]
    values = _array(entry["x"]).ravel()
    low, high = entry.get("min", values.min()), entry.get("max", values.max())
    axes.hist(values, bins=int(entry["bins"]), range=(low, high), label=entry.get("label") or None)


_KINDS = {
    "plot": _plot, "splot": _splot, "scatter3": _scatter3, "imagesc": _imagesc, "hist": _hist,
}  # fmt: skip


# ---- around the plot ----


def _decorate(axes: Any, settings: dict[str, Any]) -> None:
    for name in ("xlabel", "ylabel", "zlabel", "title"):
        if name in settings and hasattr(axes, f"set_{name}"):
            getattr(axes, f"set_{name}")(str(settings[name]))
    if "grid" in settings:
        axes.grid(bool(settings["grid"]))
    axis = settings.get("axis")
    if axis in ("image", "equal"):
        axes.set_aspect("equal")
    elif axis == "auto":
        axes.autoscale()
    elif axis is not None and not isinstance(axis, str):
        limits = [None if value == "" else float(value) for value in _values(axis)]
        axes.set_xlim(limits[0], limits[1])
        axes.set_ylim(limits[2], limits[3])
    if axes.get_legend_handles_labels()[1]:
        horizontal, vertical = _values(settings.get("legend")) or ("right", "top")
        axes.legend(loc=LEGEND_PLACES[horizontal, vertical])


def _limits(text: str) -> tuple[float | None, float | None]:
    low, high = (part.strip() for part in text.strip("[]").split(":"))
    return (
        float(low) if low not in ("", "*") else None,
        float(high) if high not in ("", "*") else None,
    )


def _set_ticks(axes: Any, letter: str, text: str) -> None:
    pairs = re.findall(r"[\"']([^\"']*)[\"']\s+(-?[\d.]+)", text)
    if pairs:
        getattr(axes, f"set_{letter}ticks")(
            [float(place) for _, place in pairs], [label for label, _ in pairs]
        )


def _run_raw(axes: Any, command: str) -> None:
    """The commands of gnuplot's that have a counterpart; others are named on standard error."""
    text = command.strip()
    if label := re.fullmatch(r"set\s+(title|xlabel|ylabel)\s+[\"'](.*)[\"'].*", text):
        getattr(axes, f"set_{label[1]}")(label[2])
    elif limits := re.fullmatch(r"set\s+([xy])range\s*(\[.*\]).*", text):
        getattr(axes, f"set_{limits[1]}lim")(*_limits(limits[2]))
    elif log := re.fullmatch(r"set\s+log(?:scale)?\s*([xy]*)\s*\d*", text):
        for letter in log[1] or "xy":
            getattr(axes, f"set_{letter}scale")("log")
    elif ticks := re.fullmatch(r"set\s+([xy])tics\s*(\(.*\)).*", text):
        _set_ticks(axes, ticks[1], ticks[2])
    elif re.fullmatch(r"(un)?set\s+grid.*", text):
        axes.grid(not text.startswith("un"))
    elif not re.match(r"set\s+(term|output|multiplot|key|style|encoding|size)", text):
        print(f"gnuplot.raw: matplotlib, which draws here, has no {text!r}", file=sys.stderr)
