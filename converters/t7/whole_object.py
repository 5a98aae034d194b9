"""The row of Torch7's own format: whatever was loaded, all of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from relume.converters import t7
from relume.converters.formats import Options, Refusal
from relume.converters.weights.contents import contents_of, object_of


def check(obj: Any) -> list[Refusal]:
    """Nothing is refused here; `write` names the places of what Torch7 has no form for."""
    return []


def write(obj: Any, path: Path, options: Options) -> None:
    if options.dtype:
        obj = object_of(contents_of(obj, replace(options, everything=True)))
    with open(path, "wb", buffering=0) as stream:
        t7.write([obj], stream)


def load(path: Path) -> Any:
    return t7.load(path)
