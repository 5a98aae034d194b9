"""What `help(relume.exp)` shows: the text of a registered op, put together from its schema.

The one-line description and the traits come from the registry, the meaning of arguments from
`glossary.py`, and the example from `examples/*.txt`, one file per family of ops. An entry there
is the name of an op at the beginning of a line, with a colon, and an indented doctest in which
`rl` is relume.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

from relume import _C
from relume.tensor.documentation.glossary import describe_argument, describe_type

WIDTH = 100

# What a trait promises, in the order in which it is told.
NOTES = {
    "elementwise": "Works element by element; shapes broadcast by NumPy's rules.",
    "view": "The result shares the memory of `input`.",
    "random": "Draws from the default generator (`relume.manual_seed`).",
    "in_place": "Changes `input` and returns it.",
    "not_differentiable": "No gradient flows through it.",
}


@functools.cache
def rows() -> dict[str, dict[str, Any]]:
    """The rows of the registry, by the name of the op."""
    return {row["name"]: row for row in _C.registry()}


@functools.cache
def examples() -> dict[str, str]:
    """The doctest of each op that has one, by its name."""
    found: dict[str, str] = {}
    for entry in resources.files(__package__).joinpath("examples").iterdir():
        if entry.name.endswith(".txt"):
            found.update(parse_examples(entry.read_text(encoding="utf-8")))
    return found


def parse_examples(text: str) -> dict[str, str]:
    """The entries of a file of examples.

    >>> parse_examples("exp:\\n    >>> 1 + 1\\n    2\\n")
    {'exp': '>>> 1 + 1\\n2'}
    """
    entries: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if line and not line[0].isspace():
            lines = entries.setdefault(line.removesuffix(":"), [])
        else:
            lines.append(line.removeprefix("    "))
    return {name: "\n".join(lines).strip() for name, lines in entries.items()}


def describe(function: Any) -> str:
    """The docstring of an op function.

    >>> import relume as rl
    >>> print(describe(rl.exp).splitlines()[0])
    exp(Tensor input) -> Tensor
    """
    row = rows()[function.schema.partition("(")[0]]
    traits = set(row["traits"])
    parts = [row["schema"], row["doc"]]
    parts += [note for trait, note in NOTES.items() if trait in traits]
    if function.__name__ == row["name"] + "_":
        parts.append(NOTES["in_place"])
    arguments = _arguments(function)
    if arguments:
        parts.append("Args:\n" + "\n".join(f"    {line}" for line in arguments))
    parts.append("Returns:\n    " + describe_type(row["schema"].rpartition(" -> ")[2]))
    raises = _raises(function, traits)
    if raises:
        parts.append("Raises:\n" + "\n".join(f"    {line}" for line in raises))
    example = examples().get(row["name"])
    if example:
        parts.append(f">>> import relume as rl\n{example}")
    return "\n\n".join(parts)


def _parameters(function: Any) -> list[Any]:
    return list(function.__signature__.parameters.values())


def _arguments(function: Any) -> list[str]:
    lines = []
    for parameter in _parameters(function):
        kind = describe_type(parameter.annotation)
        meaning = describe_argument(parameter.name, parameter.annotation)
        lines.append(f"{parameter.name} ({kind})" + (f": {meaning}" if meaning else ""))
    return lines


def _raises(function: Any, traits: set[str]) -> list[str]:
    parameters = _parameters(function)
    tensors = [p for p in parameters if p.annotation.startswith("Tensor")]
    lines = ["TypeError: an argument of another kind than listed"]
    if "elementwise" in traits and len(tensors) > 1:
        lines.append("ValueError: shapes that do not broadcast")
    elif len(tensors) > 1:
        lines.append("ValueError: shapes or types that do not fit together")
    if any(p.name in ("dim", "dims", "dim0", "dim1", "dim2", "dimension") for p in parameters):
        lines.append("IndexError: a dimension that `input` does not have")
    return lines
