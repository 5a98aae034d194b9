"""Schedules made of other schedules."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from relume.optim.lr_scheduler.plateau import ReduceLROnPlateau
from relume.optim.lr_scheduler.scheduler import LRScheduler
from relume.optim.optimizer import Optimizer


def _check_parts(optimizer: Optimizer, schedulers: Sequence[LRScheduler]) -> None:
    if not schedulers:
        raise ValueError("at least one schedule is needed")
    for position, scheduler in enumerate(schedulers):
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError("ReduceLROnPlateau needs a number in step() and cannot be a part")
        if scheduler.optimizer is not optimizer:
            raise ValueError(f"schedule {position} belongs to another optimizer")


class _Composed(LRScheduler):
    _schedulers: list[LRScheduler]

    def state_dict(self) -> dict[str, Any]:
        """All that it and its parts know, without the optimizer."""
        state = super().state_dict()
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes back what `state_dict` gave."""
        state = dict(state_dict)
        for scheduler, saved in zip(self._schedulers, state.pop("_schedulers"), strict=True):
            scheduler.load_state_dict(saved)
        super().load_state_dict(state)


class SequentialLR(_Composed):
    """One schedule after another.

    Args:
        schedulers: the schedules.
        milestones: the epochs at which the second, third, ... begin, each at its epoch 0.

    >>> import relume as rl
    >>> from relume import optim
    >>> from relume.optim.lr_scheduler import ConstantLR, ExponentialLR
    >>> sgd = optim.SGD([rl.ones(1, requires_grad=True)], lr=1.0)
    >>> parts = [ConstantLR(sgd, 0.1, total_iters=10), ExponentialLR(sgd, 0.5)]
    >>> scheduler = SequentialLR(sgd, parts, milestones=[2])
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> rates
    [0.1, 0.1, 1.0, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        _check_parts(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"{len(schedulers)} schedules need {len(schedulers) - 1} milestones, "
                f"not {len(milestones)}"
            )
        self._schedulers = list(schedulers)
        self._milestones = list(milestones)
        self.optimizer = optimizer
        self.last_epoch = last_epoch + 1
        # All made a first step when they were made: undo these, and let only the first one begin.
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for scheduler in self._schedulers:
            scheduler.last_epoch -= 1
        first = self._schedulers[0]
        first.step()
        self._last_lr = first.get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        """Goes on by one epoch."""
        self._refuse_epoch(epoch)
        self.last_epoch += 1
        position = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[position]
        if position and self._milestones[position - 1] == self.last_epoch:
            scheduler.step(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Composed):
    """Several schedules at the same time, one applied to the result of the other."""

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        schedulers = list(schedulers)
        if not schedulers:
            raise ValueError("at least one schedule is needed")
        self.optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        _check_parts(self.optimizer, schedulers)
        self._schedulers = schedulers
        self._last_lr = self.current_lrs()

    def step(self, epoch: int | None = None) -> None:
        """Goes on by one epoch."""
        self._refuse_epoch(epoch)
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self.current_lrs()
