"""Inputs and targets of the wrong shape or kind, and what an error must say of them."""

import contextlib
import math

import relume as rl
from relume.legacy_nn import nested

WHAT_CAME = ("got", "input was", "cannot take", "of size", "is not a class")


def wrong_forms(value):
    """Other shapes and kinds of a right input."""
    yield "none", None
    yield "text", "abc"
    yield "a number", 3
    if isinstance(value, rl.Tensor):
        yield "four more dimensions", value.reshape((1,) * 4 + tuple(value.shape))
        yield "one more dimension", value.unsqueeze(0)
        yield "a table", [value, value]
        yield "a table of a table", [[value], [[value]]]
        yield "no dimension", rl.tensor(1.0, dtype=value.dtype)
        yield "integers", value.to(rl.int64)
        yield "nothing", value.reshape((-1,))[:0]
        if value.ndim:
            yield "flat", value.flatten()
            yield "empty", value[:0]
            yield "one less", value[0]
            yield "wider", rl.cat([value, value], value.ndim - 1)
        if value.ndim > 1:
            yield "taller", rl.cat([value, value], value.ndim - 2)
            yield "turned", value.transpose(0, value.ndim - 1)
    elif nested.is_table(value):
        elements = nested.elements(value)
        yield "a tensor", rl.ones(3, dtype=rl.float64)
        yield "one element less", elements[:-1]
        yield "one element more", [*elements, elements[-1]]
        yield "empty table", []
        yield "tables inside", [[element] for element in elements]
        yield "texts inside", ["abc" for _ in elements]
        for place, element in enumerate(elements):
            for kind, wrong in wrong_forms(element):
                yield (
                    f"element {place + 1}: {kind}",
                    [*elements[:place], wrong, *elements[place + 1 :]],
                )


def wrong_targets(value):
    """Other targets than the right one; labels that are none."""
    if value is None:
        return
    yield from wrong_forms(value)
    if isinstance(value, rl.Tensor):
        for label in (0, -1, 99):
            yield f"labels {label}", rl.full_like(value, label)
        if value.dtype.is_floating_point:
            yield "labels NaN", rl.full_like(value, math.nan)
            yield "labels 1.5", rl.full_like(value, 1.5)


@contextlib.contextmanager
def named_errors(layer, kind):
    """Whatever goes wrong is told with the layer (or its path) and what it got."""
    try:
        yield layer
    except (ValueError, IndexError, TypeError, RuntimeError, NotImplementedError) as error:
        message = str(error)
        is_inside = "in root.modules[" in message
        is_named = layer.torch_typename in message or str(layer) in message
        assert is_inside or is_named, f"{kind}: {message}"
        assert any(word in message for word in WHAT_CAME), f"{kind}: {message}"
