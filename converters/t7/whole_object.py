"""The row of Torch7's own format: whatever was loaded, all of it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from relume.converters import t7
from relume.converters.formats import Options, Refusal
from relume.converters.object_tree import class_name, walk
from relume.converters.weights.collecting import Weights
from relume.converters.weights.contents import contents_of, object_of


def check(obj: Any) -> list[Refusal]:
    """Arrays of other libraries that cannot be tensors. `write` names the places of what else
    Torch7 has no form for."""
    reasons: dict[str, list[str]] = defaultdict(list)
    weights = Weights()
    for node in walk(obj):
        try:
            weights.tensor_of(node.value)
        except (TypeError, ValueError) as error:
            reasons[class_name(node.value)].append(str(error))
    return [Refusal(name, len(found), found[0]) for name, found in reasons.items()]


def write(obj: Any, path: Path, options: Options) -> None:
    if options.dtype:
        obj = object_of(contents_of(obj, replace(options, everything=True)))
    with open(path, "wb", buffering=0) as stream:
        t7.write([obj], stream)


def load(path: Path) -> Any:
    return t7.load(path)
