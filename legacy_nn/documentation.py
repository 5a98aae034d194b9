"""Writes docs/legacy_nn_classes.md, the table of all classes.

    python -m relume.legacy_nn.documentation

The golden cases are counted in tests/data, so this runs in a checkout of the repository.
"""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import relume
from relume import legacy_nn
from relume.converters.onnx.refusals import REFUSED
from relume.legacy_nn import layouts, registry
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.module import Module

ROOT = Path(relume.__file__).parent
PAGE = ROOT / "docs" / "legacy_nn_classes.md"
SECTIONS = ("nn", "nngraph", "rnn", "dpnn")
# Packages by the module that a class is written in, the longest match first.
PACKAGES = {
    "relume.legacy_nn.gmodule": "nngraph",
    "relume.legacy_nn.graph_nodes": "nngraph",
    "relume.legacy_nn.rnn.": "rnn",
    "relume.legacy_nn.dpnn.": "dpnn",
    "relume.legacy_nn.cudnn.": "cudnn",
    "relume.legacy_nn.packages.nnx_": "nnx",
    "relume.legacy_nn.packages.fbnn_": "fbnn",
}
BEGINNING = """# The classes of `legacy_nn`

<!-- Written by python -m relume.legacy_nn.documentation; do not edit. -->

Every Torch class that a file may hold and that runs here. *Backward* is Torch7's `backward`;
*twice* says whether the modern face `layer(x)` is on the tape down to the operations, so that its
gradient can be differentiated again; *golden* counts the cases that a real Torch7 computed and the
tests repeat; *printed* says whether the printed form is compared with Torch7's (checked), written
here (own), or the class's name (name). A *base* computes nothing itself. *onnx* says
whether a network with it can become an ONNX model.

"""
LAYOUTS = """
## Old layouts

What changed in the fields of classes, when (by the public repositories), and what files from before
mean. Loading upgrades in memory; saving writes the fields of today.

"""


class Row(NamedTuple):
    """What the table says of a class."""

    name: str
    package: str
    forward: str
    backward: str
    twice: str
    golden: str
    printed: str
    onnx: str
    notes: str


class Golden(NamedTuple):
    """How many cases there are of each class, and of which the printed form is known."""

    cases: Counter[str]
    printed: set[str]


def golden_cases() -> Golden:
    cases: Counter[str] = Counter()
    printed = set()
    for section in SECTIONS:
        for path in sorted((ROOT / "tests" / "data" / section).glob("*.t7")):
            file = relume.load_all(path)[0] if path.stem == "GPU" else relume.load(path)
            for case in file.cases:
                name = f"nn.{path.stem}" if section != "nngraph" else "nn.gModule"
                cases[name] += 1
                if case.get("printed"):
                    printed.add(name)
    return Golden(cases, printed)


def names() -> list[str]:
    """The registered classes of this room; the bridge has some of its own."""
    room = __name__.rpartition(".")[0]
    return [
        name
        for name in registry.registered_names()
        if getattr(registry.lookup(name), "__module__", "").startswith(room)
    ]


def rows(golden: Golden) -> Iterator[Row]:
    """One row per registered class, in the order of their names."""
    for name in names():
        yield row_of(name, registry.lookup(name), golden)


def row_of(name: str, cls: Any, golden: Golden) -> Row:
    what = first_sentence(cls)
    target = alias_target(cls)
    notes = f"{target}" if target else what
    if not (inspect.isclass(cls) and issubclass(cls, Module)):
        return Row(name, package_of(name, cls), "", "", "", "", "", "", notes)
    runs = has_forward(cls)
    count = golden.cases[name]
    return Row(
        name=name,
        package=package_of(name, cls),
        forward="yes" if runs else "base",
        backward="yes" if runs else "",
        twice="" if not runs else "no" if cls._own_forward else "yes",
        golden=str(count) if count else "",
        printed="checked" if name in golden.printed else printed_by(cls),
        onnx="" if not runs or issubclass(cls, Criterion) else "no" if name in REFUSED else "yes",
        notes=notes,
    )


def package_of(name: str, cls: Any) -> str:
    """The package or project that defines a class in Torch."""
    prefix, _, _ = name.rpartition(".")
    if prefix and prefix.split(".")[0] not in ("nn", "torch"):
        return prefix.split(".")[0]
    where = getattr(cls, "__module__", "")
    for start, package in PACKAGES.items():
        if f"{where}.".startswith(start):
            return package
    parts = where.split(".")
    if len(parts) > 3 and parts[2] in ("packages", "models"):
        return parts[3].replace("_", "-")
    return "nn" if prefix == "nn" else prefix or "user code"


def alias_target(cls: Any) -> str | None:
    """What another name of a class of nn stands for."""
    if getattr(cls, "__module__", "") != "relume.legacy_nn.aliases":
        return None
    return f"is `{cls.__mro__[1].torch_typename}`"


def first_sentence(cls: Any) -> str:
    text = (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " ")
    return text.replace("|", "\\|")


def has_forward(cls: Any) -> bool:
    """Does a class say what it computes, or is it a base of others?"""
    base = Criterion if issubclass(cls, Criterion) else Module
    return cls.compute is not base.compute or cls.updateOutput is not base.updateOutput


def printed_by(cls: Any) -> str:
    return "own" if cls.__str__ is not Module.__str__ else "name"


def table(columns: list[str], lines: Sequence[tuple[str, ...]]) -> str:
    head = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join([*head, *("| " + " | ".join(line) + " |" for line in lines)]) + "\n"


def layout_rows() -> Iterator[tuple[str, str, str, str]]:
    """Class, when it changed, the fields that files have since, what files without them mean."""
    for name in sorted(layouts.CHANGES):
        for change in layouts.CHANGES[name]:
            means = (
                lua_text(change.default)
                if change.upgrade is None
                else first_sentence(change.upgrade)
            )
            fields = ", ".join(
                f"`{field}`" if " " not in field else field for field in change.fields.split(", ")
            )
            yield f"`{name}`", change.since, fields, means


def lua_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"


def page() -> str:
    """The text of docs/legacy_nn_classes.md."""
    found = list(rows(golden_cases()))
    lines = [(f"`{row.name}`", *row[1:]) for row in found]
    columns = ["class", *Row._fields[1:]]
    counts = f"{len(found)} classes.\n\n"
    parts = [BEGINNING, counts, table(columns, lines), LAYOUTS]
    return "".join(
        [*parts, table(["class", "since", "files have", "files without"], list(layout_rows()))]
    )


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}: {len(legacy_nn.registered_names())} classes", file=sys.stderr)


if __name__ == "__main__":
    main()
