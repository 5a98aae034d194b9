"""What one small operation costs: tensors of 4 floats, so that the time is all overhead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..case import Case, Names, Settings, Topic
from ..timing import timed

CHAIN = 20  # operations per recorded graph

FORWARD = [
    "a + b",
    "a + 1.0",
    "a * b",
    "a > b",
    "-a",
    "a.sum()",
    "a.sum(0)",
    "a[2]",
    "a[1:3]",
    "a[None]",
    "a.reshape(2, 2)",
    "a.view(2, 2)",
    "lib.exp(a)",
    "lib.tanh(a)",
    "m @ m",
    "a.__iadd__(b)",
    "a.mul_(1.0)",
    "lib.zeros(4)",
    "lib.cat([a, b])",
    "a.clone()",
    "lib.relu(a)",
    "m.t()",
    "lib.softmax(a, 0)",
]
RECORDED = ["x + w", "x * w", "x.tanh()", "x[2]", "x.sum()", "x.reshape(2, 2)"]
CHAINS = {"mul": "x * w", "add": "x + w", "tanh": "x.tanh()", "sigmoid": "x.sigmoid()"}


def names(lib: Any) -> Names:
    values = [0.1, 0.2, 0.3, 0.4]
    return {
        "a": lib.tensor(values, dtype=lib.float32),
        "b": lib.tensor([0.5, 0.6, 0.7, 0.8], dtype=lib.float32),
        "m": lib.tensor([[0.1, 0.2], [0.3, 0.4]], dtype=lib.float32),
        "x": lib.tensor(values, dtype=lib.float32, requires_grad=True),
        "w": lib.tensor(values, dtype=lib.float32, requires_grad=True),
        "seed": lib.ones(4),
    }


def chain_names(step: str) -> Any:
    """Names with two functions: a recorded chain of `step`, and its end."""
    source = f"def chain(x, w):\n    for _ in range({CHAIN}):\n        x = {step}\n    return x"

    def make(lib: Any) -> Names:
        made = names(lib)
        exec(source, made)
        made["end"] = made["chain"](made["x"], made["w"])
        made["grad"] = lib.autograd.grad
        return made

    return make


def cases(settings: Settings) -> Iterator[Case]:
    for statement in FORWARD:
        yield Case(statement, statement, names)
    for statement in RECORDED:
        yield Case(f"{statement}, recorded", statement, names, recorded=True)
    for label, step in CHAINS.items():
        made = chain_names(step)
        yield Case(f"{label} chain, forward", "chain(x, w)", made, CHAIN, recorded=True)
        backward = "grad(end, x, seed, retain_graph=True)"
        yield Case(f"{label} chain, backward", backward, made, CHAIN, recorded=True)


TOPIC = Topic("small_ops", "Small operations, 4 elements", timed(cases), worst=0.10)
