"""`relume run --layers`, `--save-layers` and `--compare`: what every layer gave."""

from __future__ import annotations

import math
from typing import Any

from relume.command_line.output import print_table
from relume.legacy_nn.printing import first_line
from relume.legacy_nn.tracing import OutputDifference, Trace, TracedLayer
from relume.tensor.printing import size_text

COLUMNS = ["path", "layer", "output", "min", "max", "mean", "std", "nan", "inf", "ms"]
NUMBERS = ("min", "max", "mean", "std")
COMPARED = ["differs", "relative"]  # the columns that --compare adds
RIGHT = frozenset([*NUMBERS, "nan", "inf", "ms", "relative"])


def describe(trace: Trace, differences: list[OutputDifference]) -> list[dict[str, Any]]:
    """One row per tensor that a layer gave. Numbers that JSON lacks (NaN) are None."""
    compared = {difference.name: difference for difference in differences}
    return [
        describe_output(layer, name, compared.get(name))
        for layer in trace
        for name in layer.statistics
    ]


def describe_output(
    layer: TracedLayer, name: str, difference: OutputDifference | None
) -> dict[str, Any]:
    statistics = layer.statistics[name]
    row: dict[str, Any] = {
        "path": name,
        "layer": layer.module.torch_typename,
        "printed": first_line(layer.module),
        "output": list(statistics.shape),
        "nan": statistics.nan,
        "inf": statistics.inf,
        "seconds": layer.seconds,
    }
    row.update({key: finite(getattr(statistics, key)) for key in NUMBERS})
    if difference is not None:
        row["differs"] = difference.differs
        row["largest_difference"] = finite(difference.largest)
        row["relative_difference"] = finite(difference.relative)
    return row


def finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def print_layers(trace: Trace, differences: list[OutputDifference]) -> None:
    rows = describe(trace, differences)
    first = next((d.name for d in differences if d.differs), None)
    columns = COLUMNS + COMPARED * bool(differences)
    print_table(columns, [texts(row, first, bool(differences)) for row in rows], right=RIGHT)
    if differences:
        print(f"\n{verdict(differences)}")


def texts(row: dict[str, Any], first: str | None, is_compared: bool) -> list[str]:
    """A row as the table shows it."""
    cells = [row["path"], row["printed"], size_text(row["output"])]
    cells += ["nan" if row[key] is None else f"{row[key]:.4g}" for key in NUMBERS]
    cells += [str(row["nan"] or ""), str(row["inf"] or ""), f"{row['seconds'] * 1e3:.3f}"]
    if is_compared:
        cells += difference_texts(row, first)
    return cells


def difference_texts(row: dict[str, Any], first: str | None) -> list[str]:
    if "differs" not in row:
        return ["not compared", ""]
    relative = row["relative_difference"]
    number = "" if relative is None else f"{relative:.2e}"
    if not row["differs"]:
        return ["", number]
    return ["FIRST" if row["path"] == first else "yes", number]


def verdict(differences: list[OutputDifference]) -> str:
    """What the comparison says, in a line."""
    first = next((d for d in differences if d.differs), None)
    if first is None:
        return f"all {len(differences)} outputs agree"
    how = "has another shape" if first.largest is None else f"differs by {first.largest:.3g}"
    return f"the first output that differs is that of {first.name}: it {how}"
