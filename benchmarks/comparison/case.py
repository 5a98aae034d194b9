"""What is compared: one statement, run with the names of either library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Names = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A statement in terms of `lib` (relume or torch) and of what `names(lib)` makes."""

    label: str
    statement: str
    names: Callable[[Any], Names]
    per: int = 1  # operations in the statement: times are given per operation
    recorded: bool = False  # on the tape
    aim: float | None = None  # of its ratio, where it is not the topic's


@dataclass(frozen=True)
class Result:
    """What a case cost in either library."""

    topic: str
    label: str
    unit: str
    relume: float
    torch: float
    aim: float | None = None  # of the ratio

    @property
    def ratio(self) -> float:
        return self.relume / self.torch


@dataclass(frozen=True)
class Settings:
    """How thoroughly to measure."""

    quick: bool = False
    threads: int = 1
    seconds: float = 0.4  # per case
    words: tuple[str, ...] = ()  # only labels that contain one of them

    def wants(self, label: str) -> bool:
        return not self.words or any(word in label for word in self.words)


@dataclass(frozen=True)
class Topic:
    """Measurements that belong together, and the ratios to PyTorch that they aim at."""

    name: str
    title: str
    measure: Callable[[Topic, Settings], Iterator[Result]]
    worst: float | None = None  # aim of every ratio
    mean: float | None = None  # aim of the geometric mean


class Arrays:
    """The same random tensors in whichever library asks."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.random = np.random.default_rng(0)

    def floats(self, *shape: int, dtype: str = "float32") -> Any:
        values = self.random.standard_normal(shape, dtype="float32")
        return self.lib.from_numpy(values.astype(dtype))

    def integers(self, high: int, *shape: int) -> Any:
        return self.lib.from_numpy(self.random.integers(0, high, shape))

    def mask(self, *shape: int, share: float = 0.5) -> Any:
        return self.lib.from_numpy(self.random.random(shape) < share)

    def parameter(self, *shape: int, scale: float = 0.1) -> Any:
        return (self.floats(*shape) * scale).requires_grad_()
