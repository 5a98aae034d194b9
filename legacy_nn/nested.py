"""Walks over what layers take and give: a tensor, or a (nested) table of tensors.

A table may be a `Table`, a list or a tuple; what comes out is always a `Table`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import relume as rl
from relume import Tensor
from relume.converters.table import Table
from relume.tensor.printing import size_text

Activation = Any  # a Tensor, or a Table / list / tuple of activations


def is_table(value: Any) -> bool:
    """Is this a table in Torch7's sense?"""
    return isinstance(value, (Table, list, tuple))


def elements(value: Activation) -> list:
    """The elements [1], [2], ... of a table, as a list."""
    if type(value) is list:
        return value
    if isinstance(value, Table):
        return list(value)
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
        return Table(
            [
                function(element) if type(element) is Tensor else map_tensors(function, element)
                for element in elements(value)
            ]
        )
    return value


def with_tensors(value: Activation, tensors: Iterable[Tensor | None]) -> Activation:
    """The same structure with other tensors, in order; zeros in the place of None.

    >>> import relume as rl
    >>> from relume.legacy_nn.nested import with_tensors
    >>> with_tensors([rl.ones(2), rl.ones(1)], [rl.ones(3), None])[2].tolist()
    [0.0]
    """
    remaining = iter(tensors)

    def other(tensor: Tensor) -> Tensor:
        found = next(remaining)
        return rl.zeros_like(tensor) if found is None else found

    return map_tensors(other, value)


def tensors_in(value: Activation) -> list[Tensor]:
    """All tensors of an activation, in order."""
    if isinstance(value, Tensor):
        return [value]
    if not is_table(value):
        return []
    found = []
    for element in elements(value):
        if type(element) is Tensor:
            found.append(element)
        else:
            found += tensors_in(element)
    return found


def spread(value: Activation, count: int) -> list:
    """`count` elements of a table, None where it has none (a Lua table may have gaps)."""
    if isinstance(value, Table):
        return [value.get(position) for position in range(1, count + 1)]
    values = elements(value)[:count] if is_table(value) else []
    return values + [None] * (count - len(values))


def pair_up(first: Activation, second: Activation) -> list[tuple[Tensor, Any]]:
    """The tensors of `first`, each with what stands at its place in `second` (or None)."""
    if isinstance(first, Tensor):
        return [(first, second)]
    if not is_table(first):
        return []
    own = elements(first)
    return [
        pair
        for element, other in zip(own, spread(second, len(own)), strict=True)
        for pair in pair_up(element, other)
    ]


def add(first: Activation, second: Activation) -> Activation:
    """The sum of two gradients of one structure; None counts as zero. Tables become lists, which
    can hold None."""
    if first is None:
        return second
    if second is None:
        return first
    if isinstance(first, Tensor):
        return first + second
    count = max(len(elements(first)), len(elements(second)))
    pairs = zip(spread(first, count), spread(second, count), strict=True)
    return [add(a, b) for a, b in pairs]


def zeros_like(value: Activation) -> Activation:
    """The same structure, all zeros."""
    return map_tensors(lambda tensor: tensor.detach() * 0 if tensor.numel() else tensor, value)


def fill_gaps(gradient: Activation, like: Activation) -> Activation:
    """A gradient with zeros where it is None, in the structure of `like`."""
    if gradient is None:
        return zeros_like(like)
    if not is_table(like) or not is_table(gradient):
        return gradient
    own = elements(like)
    pairs = zip(spread(gradient, len(own)), own, strict=True)
    return table([fill_gaps(part, element) for part, element in pairs])


def describe(value: Any) -> str:
    """In words for error messages: 'a torch.DoubleTensor of size 3x4'."""
    if isinstance(value, Tensor):
        return f"a {value.torch_typename or value.dtype} of size {size_text(value.shape)}"
    if is_table(value):
        return "a table of " + ", ".join(describe(element) for element in elements(value)[:4])
    if hasattr(value, "__array__"):
        name = type(value).__name__
        maker = "from_numpy" if name == "ndarray" else "from_dlpack"
        return f"a {name} (relume.{maker} makes it a tensor)"
    return f"a {type(value).__name__}"
