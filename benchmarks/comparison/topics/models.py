"""Training steps and inference of whole models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..case import Arrays, Case, Names, Settings, Topic
from ..models import CharacterRnn, LeNet, Model, Perceptron, ResNet18
from ..timing import timed


@dataclass(frozen=True)
class Row:
    """A model, its input and what is timed."""

    label: str
    model: Callable[[Any], Model]
    shape: tuple[int, ...]
    targets: tuple[int, int]  # classes, count
    statement: str = "model.step(x, targets)"
    aim: float = 0.9
    characters: bool = False  # the input holds indices


ROWS = [
    Row("perceptron 3x64, batch 32, training", Perceptron, (32, 64), (64, 32), aim=0.4),
    Row(
        "LSTM 2x128, 50 steps, batch 50, training",
        CharacterRnn,
        (50, 50),
        (65, 2500),
        aim=0.4,
        characters=True,
    ),
    Row("LeNet, batch 32, training", LeNet, (32, 1, 28, 28), (10, 32), aim=0.6),
    Row("ResNet-18, batch 16, training", ResNet18, (16, 3, 224, 224), (1000, 16)),
    Row(
        "ResNet-18, batch 1, inference",
        partial(ResNet18, training=False),
        (1, 3, 224, 224),
        (1000, 1),
        "model.infer(x)",
        0.8,
    ),
    Row(
        "ResNet-18, batch 16, inference",
        partial(ResNet18, training=False),
        (16, 3, 224, 224),
        (1000, 16),
        "model.infer(x)",
        0.8,
    ),
]


def names(row: Row, lib: Any) -> Names:
    arrays = Arrays(lib)
    x = arrays.integers(65, *row.shape) if row.characters else arrays.floats(*row.shape)
    return {"model": row.model(lib), "x": x, "targets": arrays.integers(*row.targets)}


def cases(settings: Settings) -> Iterator[Case]:
    for row in ROWS:
        if settings.quick and row.label.startswith("ResNet"):
            row = replace(row, shape=(2, 3, 64, 64), targets=(1000, 2))
        made = partial(names, row)
        yield Case(row.label, row.statement, made, recorded=True, aim=row.aim)


TOPIC = Topic("models", "Training steps and inference", timed(cases))
