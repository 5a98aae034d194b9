"""What the rules read from old layers: numbers as Python writes them, and weights."""

from __future__ import annotations

from typing import Any

from relume import Tensor
from relume.converters.pytorch.layers import SAME, Form, Weight
from relume.legacy_nn.types import sizes_of

__all__ = ["given", "number", "numbers", "pair", "place", "weights", "whole"]


def whole(value: Any) -> int:
    """A Lua number that means a count."""
    return int(value)


def number(value: Any) -> int | float:
    """A Lua number, without a point where it is whole.

    >>> number(2.0), number(0.5)
    (2, 0.5)
    """
    value = float(value)
    return int(value) if value.is_integer() else value


def numbers(sizes: Any) -> tuple[int, ...]:
    """The numbers of a LongStorage."""
    return tuple(int(size) for size in sizes_of(sizes))


def place(index: Any) -> int:
    """A Torch7 index or dimension, counted from 1, as one from 0; negative ones stay.

    >>> place(1), place(-1)
    (0, -1)
    """
    index = int(index)
    return index - 1 if index > 0 else index


def pair(layer: Any, kind: str, axes: str = "HW") -> Any:
    """A setting per axis, as one number where all are the same: kH and kW as (kH, kW)."""
    values = tuple(int(getattr(layer, kind + axis)) for axis in axes)
    return values[0] if len(set(values)) == 1 else values


def given(**arguments: Any) -> dict[str, Any]:
    """Arguments without those that are None."""
    return {name: value for name, value in arguments.items() if value is not None}


def weights(layer: Any, *names: str, form: Form = SAME) -> tuple[Weight, ...]:
    """The tensors of a layer that is called the same in both worlds.

    Args:
        layer: the old layer.
        names: names of its tensors; those that it does not have are left out.
        form: how the first one becomes the new one.
    """
    found = []
    for position, name in enumerate(names):
        tensor = getattr(layer, name, None)
        if isinstance(tensor, Tensor):
            found.append(Weight(name, (tensor,), form if position == 0 else SAME))
    return tuple(found)
