"""Results in a forward function, and the statements that give them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Statement", "Value", "Variable", "variables_in"]


class Variable:
    """One result in a forward function.

    Attributes:
        hint: what it might be called.
        is_tensor: whether it is known to be no table.
        may_broadcast: whether its shape may be another one than that of a tensor with as many
            elements, which Torch7 would add to it all the same.
    """

    def __init__(self, hint: str) -> None:
        self.hint = hint
        self.is_tensor = False
        self.may_broadcast = False


Value = Any  # a Variable, or a tuple of values


@dataclass
class Statement:
    """`targets = template`, with the values in the template's places {0}, {1}, ..."""

    targets: tuple[Variable, ...]
    template: str
    values: tuple[Value, ...]


def variables_in(value: Value) -> Iterator[Variable]:
    if isinstance(value, Variable):
        yield value
    else:
        for part in value:
            yield from variables_in(part)
