"""Walks over what layers take and give: a tensor, or a (nested) table of tensors.

A table may be a `Table`, a list or a tuple; what comes out is always a `Table`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relume import Tensor
from relume.converters.table import Table

Activation = Any  # a Tensor, or a Table / list / tuple of activations


def is_table(value: Any) -> bool:
    """Is this a table in Torch7's sense?"""
    return isinstance(value, (Table, list, tuple))


def elements(value: Activation) -> list:
    """The elements [1], [2], ... of a table, as a list."""
    if type(value) is list:
        return value
    if isinstance(value, Table):
        return value.as_list()
    if isinstance(value, tuple):
        return list(value)
    raise TypeError(f"expected a table of tensors, got {describe(value)}")


def table(values: list) -> Table:
    """A Table with these values at [1], [2], ..."""
    return Table(values)


def map_tensors(function: Callable[[Tensor], Any], value: Activation) -> Activation:
    """The same structure with `function` applied to every tensor; other values stay.

    >>> import relume as rl
    >>> from relume.legacy_nn.nested import map_tensors
    >>> map_tensors(lambda t: t * 2, [rl.ones(1), 3]).as_list()[1]
    3
    """
    if isinstance(value, Tensor):
        return function(value)
    if is_table(value):
        return table([map_tensors(function, element) for element in elements(value)])
    return value


def tensors_in(value: Activation) -> list[Tensor]:
    """All tensors of an activation, in order."""
    if isinstance(value, Tensor):
        return [value]
    if not is_table(value):
        return []
    return [tensor for element in elements(value) for tensor in tensors_in(element)]


def pair_up(first: Activation, second: Activation) -> list[tuple[Tensor, Any]]:
    """The tensors of `first`, each with what stands at its place in `second` (or None)."""
    if isinstance(first, Tensor):
        return [(first, second)]
    if not is_table(first):
        return []
    others = elements(second) if is_table(second) else []
    pairs = []
    for position, element in enumerate(elements(first)):
        pairs += pair_up(element, others[position] if position < len(others) else None)
    return pairs


def add(first: Activation, second: Activation) -> Activation:
    """The sum of two gradients of one structure; None counts as zero."""
    if first is None:
        return second
    if second is None:
        return first
    if isinstance(first, Tensor):
        return first + second
    left, right = elements(first), elements(second)
    missing = [None] * abs(len(left) - len(right))
    left, right = (left + missing, right) if len(left) < len(right) else (left, right + missing)
    return table([add(a, b) for a, b in zip(left, right, strict=False)])


def zeros_like(value: Activation) -> Activation:
    """The same structure, all zeros."""
    return map_tensors(lambda tensor: tensor.detach() * 0 if tensor.numel() else tensor, value)


def fill_gaps(gradient: Activation, like: Activation) -> Activation:
    """A gradient with zeros where it is None, in the structure of `like`."""
    if gradient is None:
        return zeros_like(like)
    if not is_table(like) or not is_table(gradient):
        return gradient
    values = elements(gradient)
    return table(
        [
            fill_gaps(values[i] if i < len(values) else None, element)
            for i, element in enumerate(elements(like))
        ]
    )


def describe(value: Any) -> str:
    """In words for error messages: 'a torch.DoubleTensor of size 3x4'."""
    if isinstance(value, Tensor):
        size = "x".join(str(n) for n in value.shape) or "one number"
        return f"a {value.torch_typename or value.dtype} of size {size}"
    if is_table(value):
        return "a table of " + ", ".join(describe(element) for element in elements(value)[:4])
    return f"a {type(value).__name__}"
