"""Element-wise functions and reductions from a hundred to ten million elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..case import Arrays, Case, Names, Settings, Topic
from ..timing import timed

# Number of elements: a shape of three axes.
SHAPES = {
    "1e2": (4, 5, 5),
    "1e4": (20, 25, 20),
    "1e6": (100, 100, 100),
    "1e7": (200, 250, 200),
}

ELEMENTWISE = [
    "a + b",
    "a + 2.0",
    "a * b",
    "a / b",
    "a + double",
    "integers + integers",
    "a + row",
    "a + column",
    "swapped + b",
    "a.add_(b, alpha=0.0)",
    "a > b",
    "mask & mask",
    "lib.exp(a)",
    "lib.log(positive)",
    "lib.tanh(a)",
    "lib.sigmoid(a)",
    "lib.sqrt(positive)",
    "lib.sin(a)",
    "lib.erf(a)",
    "lib.relu(a)",
    "lib.abs(a)",
    "a ** 2",
    "positive ** 2.5",
    "positive ** a",
    "lib.maximum(a, b)",
    "lib.clamp(a, -1.0, 1.0)",
    "lib.where(mask, a, b)",
    "lib.addcmul(a, b, b, value=0.5)",
    "lib.lerp(a, b, 0.3)",
    "a.masked_fill(mask, 0.0)",
]

AXES = {"first": 0, "middle": 1, "last": 2}
BY_AXIS = {
    "sum": "a.sum({axis})",
    "mean": "a.mean({axis})",
    "prod": "a.prod({axis})",
    "amax": "a.amax({axis})",
    "argmax": "a.argmax({axis})",
    "var": "a.var({axis})",
    "logsumexp": "a.logsumexp({axis})",
    "cumsum": "a.cumsum({axis})",
    "softmax": "lib.softmax(a, {axis})",
    "log_softmax": "lib.log_softmax(a, {axis})",
}
WHOLE = {
    "sum": "a.sum()",
    "mean": "a.mean()",
    "prod": "a.prod()",
    "amax": "a.amax()",
    "argmax": "a.argmax()",
    "var": "a.var()",
    "norm": "a.norm()",
    "sum of float64": "double.sum()",
    "sum of int64": "integers.sum()",
    "any": "mask.any()",
    "all": "everywhere.all()",
}


def names(shape: tuple[int, int, int], lib: Any) -> Names:
    arrays = Arrays(lib)
    a = arrays.floats(*shape)
    return {
        "a": a,
        "b": arrays.floats(*shape),
        "positive": a.abs() + 0.1,
        "double": a.to(lib.float64),
        "integers": arrays.integers(100, *shape),
        "mask": arrays.mask(*shape),
        "everywhere": lib.ones(shape) > 0,
        "row": arrays.floats(shape[2]),
        "column": arrays.floats(shape[0], shape[1], 1),
        "swapped": arrays.floats(shape[0], shape[2], shape[1]).transpose(1, 2),
    }


def sized(make: Callable[..., Names], settings: Settings) -> Iterator[tuple[str, Any]]:
    """A label and the names for each number of elements."""
    for size, shape in SHAPES.items():
        if settings.quick and size not in ("1e2", "1e4"):
            continue
        yield size, partial(make, shape)


def elementwise(settings: Settings) -> Iterator[Case]:
    for statement in ELEMENTWISE:
        for size, made in sized(names, settings):
            yield Case(f"{statement}, {size}", statement, made)


def reductions(settings: Settings) -> Iterator[Case]:
    for size, made in sized(names, settings):
        for label, statement in WHOLE.items():
            yield Case(f"{label} of all, {size}", statement, made)
        for label, template in BY_AXIS.items():
            for axis, number in AXES.items():
                statement = template.format(axis=number)
                yield Case(f"{label} of the {axis} axis, {size}", statement, made)


ELEMENTWISE_TOPIC = Topic(
    "elementwise", "Element-wise functions", timed(elementwise), worst=1.0, mean=0.5
)
REDUCTIONS_TOPIC = Topic(
    "reductions", "Reductions and softmax", timed(reductions), worst=1.0, mean=0.5
)
