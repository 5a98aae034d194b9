"""What every optimiser does with its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relume import Tensor
from relume.converters import Table

# Gives the value of the function at x, and its gradient: `f, df = feval(x)`.
Function = Callable[[Tensor], tuple[Any, Tensor]]
Settings = dict[str, Any] | Table


def prepare(config: Settings | None, state: Settings | None) -> tuple[Settings, Settings]:
    """The settings to read and those to keep the state in: the same unless a state is given."""
    config = {} if config is None else config
    return config, (config if state is None else state)


def kept(state: Settings, name: str, make: Callable[[], Tensor]) -> Tensor:
    """A tensor of the state, made on the first call."""
    if state.get(name) is None:
        state[name] = make()
    return state[name]


def number(value: Any) -> float:
    """A function value as a Python number."""
    return value.item() if isinstance(value, Tensor) else value


def add_decay(gradient: Tensor, x: Tensor, weight_decay: float) -> None:
    """Adds the gradient of weight_decay / 2 * |x|^2."""
    if weight_decay != 0:
        gradient.add_(x, alpha=weight_decay)
