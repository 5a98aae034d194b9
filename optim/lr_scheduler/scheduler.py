"""The base class of learning-rate schedules."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from relume.optim.optimizer import Optimizer


class LRScheduler:
    """Sets the learning rates of an optimizer's groups, once per call of `step`.

    Subclasses define `get_lr`. Where the rate follows from its value before, schedules can be
    used together; `closed_form_lr` gives it for any epoch.

    Args:
        optimizer: whose groups are changed; their rates at first are kept as "initial_lr".
        last_epoch: the epoch before the first; -1 begins anew.

    Attributes:
        last_epoch: how often it stepped since.
        base_lrs: the rates at first, one per group.
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{optimizer!r} is no optimizer")
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError("to go on after last_epoch, all groups need an 'initial_lr'")
        self.base_lrs: list[float] = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self._last_lr: list[float] = []
        self.step()

    def get_lr(self) -> list[float]:
        """The rates of all groups in the epoch that begins; to be defined by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr()")

    def closed_form_lr(self) -> list[float]:
        """The rates in epoch `last_epoch`, whatever they were before."""
        return self.get_lr()

    def get_last_lr(self) -> list[float]:
        """The rates that the last step set."""
        return self._last_lr

    def current_lrs(self) -> list[float]:
        """The rates as they are."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def step(self, epoch: int | None = None) -> None:
        """Goes on by one epoch, or to a given one."""
        self._step_count += 1
        if epoch is None:
            self.last_epoch += 1
            values = self.get_lr()
        else:
            self.last_epoch = epoch
            values = self.closed_form_lr()
        self._set_lrs(values)

    def _set_lrs(self, values: Iterable[float]) -> None:
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            group["lr"] = lr
        self._last_lr = self.current_lrs()

    def state_dict(self) -> dict[str, Any]:
        """All that it knows, without the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes back what `state_dict` gave."""
        self.__dict__.update(state_dict)

    def _refuse_epoch(self, epoch: int | None) -> None:
        if epoch is not None:
            warnings.warn(f"{type(self).__name__}.step() takes no epoch", stacklevel=3)


def one_per_group(optimizer: Optimizer, value: Any, name: str) -> list[Any]:
    """A list with one value per group, from one value or a list."""
    count = len(optimizer.param_groups)
    if not isinstance(value, list | tuple):
        return [value] * count
    if len(value) != count:
        raise ValueError(f"{name} has {len(value)} values for {count} groups of parameters")
    return list(value)
