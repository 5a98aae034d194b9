"""A schedule that looks at how training goes."""

from __future__ import annotations

import math
from typing import Any

from relume.optim.lr_scheduler.scheduler import LRScheduler, one_per_group
from relume.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """Times factor when a number has not got better for more than `patience` epochs.

    Args:
        mode: is a smaller ("min") or larger ("max") number better?
        threshold: by how much it must be better, relative ("rel") or absolute ("abs") as
            threshold_mode says.
        cooldown: epochs after a reduction in which nothing is counted.
        min_lr: the smallest rate, or one per group.
        eps: smaller changes of the rate are not made.

    >>> import relume as rl
    >>> from relume import optim
    >>> sgd = optim.SGD([rl.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ReduceLROnPlateau(sgd, patience=1, factor=0.5)
    >>> for loss in (3.0, 2.0, 2.0, 2.0):
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1:
            raise ValueError(f"factor must be less than 1, it is {factor}")
        if mode not in ("min", "max"):
            raise ValueError(f"mode must be 'min' or 'max', not {mode!r}")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold_mode must be 'rel' or 'abs', not {threshold_mode!r}")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{optimizer!r} is no optimizer")
        self.optimizer = optimizer
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        self.min_lrs = one_per_group(optimizer, min_lr, "min_lr")
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self.current_lrs()
        self._reset()

    def _reset(self) -> None:
        self.best = math.inf if self.mode == "min" else -math.inf
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        """Is nothing counted now?"""
        return self.cooldown_counter > 0

    def is_better(self, a: float, best: float) -> bool:
        """Is a better than the best by more than the threshold?"""
        if self.threshold_mode == "rel":
            margin = best * self.threshold
        else:
            margin = self.threshold
        if self.mode == "min":
            return a < best - margin if math.isfinite(best) else a < best
        return a > best + margin if math.isfinite(best) else a > best

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Takes the number of an epoch and reduces the rate when it is time."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self.current_lrs()

    def _reduce(self) -> None:
        for group, lowest in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            lr = max(group["lr"] * self.factor, lowest)
            if group["lr"] - lr > self.eps:
                group["lr"] = lr
