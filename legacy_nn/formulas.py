"""Tables of layers that Python and Lua share: JSON with formulas that both languages can read.

A formula is made of calls of registered ops, such as `div(x, add(abs(x), 1))`, of numbers, and of
the layer's fields as `self["name"]`. Rows of `tables/*.json` have

    name           of the class, without "nn."
    fields         the constructor's arguments in order: [name] or [name, default]
    constants      further fields
    compute        the output, from x (the input) and self
    gradient       for Lua, which has no tape of its own: the gradient of the input, from g (of the
                   output), x and y (the output); in place, x is what became of the input
    restore        the input, from the output x: what an in-place layer of Lua leaves after backward
    printed        what follows the class name in the layer's text: "({field})"
    documentation  one line
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import relume as rl
from relume.legacy_nn.printing import lua_number

__all__ = ["Fields", "compile_formula", "fill_in", "load_table"]

_TABLES = Path(__file__).parent / "tables"


def load_table(name: str) -> list[dict[str, Any]]:
    """The rows of a table.

    >>> load_table("pointwise")[0]["compute"]
    'tanh(x)'
    """
    return json.loads((_TABLES / f"{name}.json").read_text(encoding="utf-8"))


class Fields:
    """The fields of a layer by name, as formulas see them."""

    def __init__(self, layer: Any) -> None:
        self._layer = layer

    def __getitem__(self, name: str) -> Any:
        own = vars(self._layer)
        return own[name] if name in own else getattr(type(self._layer), name)


def compile_formula(formula: str, *arguments: str) -> Callable[..., Any]:
    """The formula as a function of its variables.

    >>> import relume as rl
    >>> compile_formula("add(abs(x), 1)", "x")(rl.tensor([-2.0])).tolist()
    [3.0]
    """
    code = compile(formula, f"<{formula}>", "eval")
    names = [name for name in code.co_names if name not in arguments]
    ops = {name: getattr(rl, name) for name in names}
    return eval(f"lambda {', '.join(arguments)}: {formula}", {"__builtins__": {}, **ops})


def fill_in(printed: str, fields: Fields) -> str:
    """A printed form with the values of its fields, numbers as Lua prints them.

    >>> from relume import legacy_nn as nn
    >>> str(nn.LeakyReLU(0.2))
    'nn.LeakyReLU(0.2)'
    """
    text, rest = "", printed
    while "{" in rest:
        before, _, rest = rest.partition("{")
        field, _, rest = rest.partition("}")
        name, _, form = field.partition(":")
        value = fields[name]
        text += before + (format(value, form) if form else lua_number(value))
    return text + rest
