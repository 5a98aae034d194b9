"""`relume convert`: the weights of a file for other tools."""

from __future__ import annotations

import dataclasses
import json as json_format
from pathlib import Path

from relume.command_line.output import console, progress, status
from relume.converters import conversion, object_tree, weights
from relume.converters.formats import format_of


def convert(file: Path, out: Path, *, everything: bool, select: str, json: bool) -> bool:
    """Returns whether there was anything to convert."""
    format_of(out)
    with status(f"reading {file}"):
        root = conversion.load_source(file)
        if select:
            root = object_tree.select(root, select)
        count = len(weights.collect(root, everything=everything).arrays)
    try:
        with progress("writing", count) as advance:
            report = conversion.convert(root, out, everything=everything, progress=advance)
    except conversion.NothingToConvert as error:
        console(error=True).print(f"cannot convert {file}: {error}", markup=False)
        return False
    if json:
        print(json_format.dumps(dataclasses.asdict(report)))
        return True
    print(report)
    for alias, name in report.aliases.items():
        print(f"  {alias} is {name}")
    return True
