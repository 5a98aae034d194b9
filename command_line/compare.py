"""`relume compare`: two models on one input; `relume diff`: what two checkpoints hold."""

from __future__ import annotations

import json as json_format
from pathlib import Path

from relume.command_line.output import console, print_table, status
from relume.command_line.run import read_input
from relume.converters import object_tree
from relume.converters.comparison import compare as compare_models
from relume.converters.difference import Change, difference
from relume.converters.loading import load_any
from relume.converters.proof.inputs import NoInputFound


def compare(
    a: Path,
    b: Path,
    *,
    input: Path | None,
    tolerance: float,
    gradients: bool,
    select: str,
    report: Path | None,
    json: bool,
) -> bool:
    """Returns whether both sides agree."""
    arrays = None if input is None else read_input(input)
    try:
        with status("running"):
            found = compare_models(
                a, b, arrays, tolerance=tolerance, gradients=gradients, select=select
            )
    except NoInputFound as error:
        console(error=True).print(f"cannot compare: {error}", markup=False)
        return False
    if report is not None:
        found.save(report)
    print(found.to_json() if json else found)
    return found.agrees


def diff(a: Path, b: Path, *, select: str, json: bool) -> bool:
    """Returns whether both files hold the same."""
    with status("reading"):
        roots = [load_any(path) for path in (a, b)]
        if select:
            roots = [object_tree.select(root, select) for root in roots]
    found = difference(*roots)
    if json:
        print(json_format.dumps([entry.as_dict() for entry in found]))
    elif not found:
        print("no difference")
    else:
        print_difference(found)
    return not found


def print_difference(found: list[Change]) -> None:
    rows = [
        [SIGNS[entry.kind], entry.path, entry.what, entry.before, entry.after] for entry in found
    ]
    print_table(["", "path", "what", "before", "after"], rows)
    counts = {kind: sum(entry.kind == kind for entry in found) for kind in SIGNS}
    print("\n" + ", ".join(f"{count} {kind}" for kind, count in counts.items() if count))


SIGNS = {"added": "+", "removed": "-", "changed": "~"}
