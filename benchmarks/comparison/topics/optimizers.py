"""Steps of optimizers: over the many small parameters of a perceptron and over one large one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from ..case import Arrays, Case, Names, Settings, Topic
from ..timing import timed

OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 1e-4},
    "SGD, momentum": {"lr": 1e-4, "momentum": 0.9},
    "Adam": {"lr": 1e-4},
    "AdamW": {"lr": 1e-4},
    "RMSprop": {"lr": 1e-4},
    "Adagrad": {"lr": 1e-4},
    "NAdam": {"lr": 1e-4},
    "Adadelta": {"lr": 1e-4},
}
SMALL = ((64, 64), (64,)) * 3
LARGE = ((2_000_000,),)


def optimizer(lib: Any, name: str, parameters: Any) -> Any:
    kind = getattr(lib.optim, name.split(",")[0])
    return kind(parameters, **OPTIMIZERS[name])


def step_only(name: str, shapes: tuple[tuple[int, ...], ...], lib: Any) -> Names:
    arrays = Arrays(lib)
    parameters = [arrays.parameter(*shape) for shape in shapes]
    for parameter, shape in zip(parameters, shapes, strict=True):
        parameter.grad = arrays.floats(*shape)
    return {"optimizer": optimizer(lib, name, parameters)}


def whole_step(name: str, lib: Any) -> Names:
    """A training step as users write it, with modules and a loss."""
    nn, arrays = lib.nn, Arrays(lib)
    layers = [nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)]
    model, loss = nn.Sequential(*layers), nn.CrossEntropyLoss()
    own = optimizer(lib, name, model.parameters())
    x, targets = arrays.floats(32, 64), arrays.integers(64, 32)

    def step() -> None:
        own.zero_grad()
        loss(model(x), targets).backward()
        own.step()

    return {"step": step}


def cases(settings: Settings) -> Iterator[Case]:
    for name in OPTIMIZERS:
        made = partial(step_only, name, SMALL)
        yield Case(f"{name}, 3 layers of 64", "optimizer.step()", made, recorded=True, aim=0.4)
        made = partial(step_only, name, LARGE)
        yield Case(f"{name}, 2e6 elements", "optimizer.step()", made, recorded=True)
    for name in ("SGD", "Adam"):
        made = partial(whole_step, name)
        label = f"modules 3x64, batch 32, training by {name}"
        yield Case(label, "step()", made, recorded=True, aim=0.4)


TOPIC = Topic("optimizers", "Steps of optimizers", timed(cases), worst=1.0, mean=0.5)
