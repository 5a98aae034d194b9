"""The helper modules as text: what a generated file copies of `helpers`."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from importlib import resources

__all__ = ["Helper", "all_helpers", "helpers_for", "imports_of"]


@dataclass(frozen=True)
class Helper:
    """One class or function of the helper files.

    Attributes:
        name: of the class or function.
        text: its source.
        names: all names in it; some may be those of other helpers.
        place: where it stands among all of them.
    """

    name: str
    text: str
    names: frozenset[str]
    place: int


@functools.cache
def all_helpers() -> dict[str, Helper]:
    """Every helper by name."""
    found: dict[str, Helper] = {}
    folder = resources.files("relume.converters.pytorch") / "helpers"
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if not file.name.endswith(".py"):
            continue
        source = file.read_text(encoding="utf-8")
        for node in ast.parse(source).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                text = ast.get_source_segment(source, node) or ""
                names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                found[node.name] = Helper(node.name, text, frozenset(names), len(found))
    return found


def helpers_for(names: set[str]) -> list[Helper]:
    """The helpers among these names, with those that they use, used ones first.

    >>> [helper.name for helper in helpers_for({"Squeeze", "nothing"})]
    ['sample_dim', 'Squeeze']
    """
    known = all_helpers()
    chosen: dict[str, Helper] = {}
    waiting = [name for name in names if name in known]
    while waiting:
        helper = known[waiting.pop()]
        if helper.name not in chosen:
            chosen[helper.name] = helper
            waiting += [name for name in helper.names if name in known]
    ordered: list[Helper] = []
    while chosen:
        ready = [h for h in chosen.values() if not (h.names & chosen.keys() - {h.name})]
        first = min(ready or chosen.values(), key=lambda helper: helper.place)
        ordered.append(chosen.pop(first.name))
    return ordered


# What the text of a file uses -> the line that imports it.
IMPORTS = {
    "math": "import math",
    "torch": "import torch",
    "F": "import torch.nn.functional as F",
    "nn": "from torch import nn",
}


def imports_of(text: str) -> list[str]:
    """The import lines that a piece of source needs, in order."""
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    needed = [line for name, line in IMPORTS.items() if name in names]
    standard = [line for line in needed if line == "import math"]
    rest = [line for line in needed if line != "import math"]
    return [*standard, *([""] if standard else []), *rest]
