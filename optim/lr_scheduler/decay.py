"""Schedules that multiply the rate by something, epoch by epoch."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from relume.optim.lr_scheduler.scheduler import LRScheduler, one_per_group
from relume.optim.optimizer import Optimizer

Factor = Callable[[int], float]


class _ByFunction(LRScheduler):
    def __init__(
        self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1
    ) -> None:
        self.lr_lambdas = one_per_group(optimizer, lr_lambda, "lr_lambda")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """All that it knows; functions only when they are objects with a state."""
        state = super().state_dict()
        state["lr_lambdas"] = [
            None if not hasattr(f, "__dict__") or hasattr(f, "__code__") else dict(f.__dict__)
            for f in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes back what `state_dict` gave; functions stay."""
        state = dict(state_dict)
        for function, saved in zip(self.lr_lambdas, state.pop("lr_lambdas"), strict=True):
            if saved is not None:
                function.__dict__.update(saved)
        super().load_state_dict(state)


class LambdaLR(_ByFunction):
    """The rate at first times a function of the epoch.

    Args:
        lr_lambda: the function, or one per group.

    >>> import relume as rl
    >>> from relume import optim
    >>> sgd = optim.SGD([rl.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = LambdaLR(sgd, lambda epoch: 0.5**epoch)
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def get_lr(self) -> list[float]:
        pairs = zip(self.lr_lambdas, self.base_lrs, strict=True)
        return [base * function(self.last_epoch) for function, base in pairs]


class MultiplicativeLR(_ByFunction):
    """The rate before times a function of the epoch."""

    def get_lr(self) -> list[float]:
        if self.last_epoch <= 0:
            return self.current_lrs()
        pairs = zip(self.lr_lambdas, self.current_lrs(), strict=True)
        return [lr * function(self.last_epoch) for function, lr in pairs]


class StepLR(LRScheduler):
    """Times gamma every step_size epochs.

    >>> import relume as rl
    >>> from relume import optim
    >>> sgd = optim.SGD([rl.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = StepLR(sgd, step_size=2, gamma=0.5)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     scheduler.step()
    >>> rates
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        due = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return [lr * self.gamma if due else lr for lr in self.current_lrs()]

    def closed_form_lr(self) -> list[float]:
        factor = self.gamma ** (self.last_epoch // self.step_size)
        return [base * factor for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Times gamma at every milestone."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        factor = self.gamma ** self.milestones[self.last_epoch]
        return [lr * factor for lr in self.current_lrs()]

    def closed_form_lr(self) -> list[float]:
        passed = sum(n for epoch, n in self.milestones.items() if epoch <= self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """Times factor until total_iters epochs have passed."""

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(f"factor must be between 0 and 1, it is {factor}")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return [lr * self.factor for lr in self.current_lrs()]
        if self.last_epoch != self.total_iters:
            return self.current_lrs()
        return [lr / self.factor for lr in self.current_lrs()]

    def closed_form_lr(self) -> list[float]:
        factor = self.factor if self.last_epoch < self.total_iters else 1.0
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """Times a factor that goes from start_factor to end_factor in total_iters epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(f"start_factor must be above 0 and at most 1, it is {start_factor}")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"end_factor must be between 0 and 1, it is {end_factor}")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        done = min(self.total_iters, epoch) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * done

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return [lr * self.start_factor for lr in self.current_lrs()]
        if self.last_epoch > self.total_iters:
            return self.current_lrs()
        change = self._factor(self.last_epoch) / self._factor(self.last_epoch - 1)
        return [lr * change for lr in self.current_lrs()]

    def closed_form_lr(self) -> list[float]:
        return [base * self._factor(self.last_epoch) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Times gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        factor = self.gamma if self.last_epoch > 0 else 1.0
        return [lr * factor for lr in self.current_lrs()]

    def closed_form_lr(self) -> list[float]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Falls to 0 in total_iters epochs, as a power of what is left."""

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0 or self.last_epoch > self.total_iters:
            return self.current_lrs()
        left = self.total_iters - self.last_epoch
        factor = (left / (left + 1)) ** self.power
        return [lr * factor for lr in self.current_lrs()]

    def closed_form_lr(self) -> list[float]:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (1 - done) ** self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Half a wave of a cosine down to eta_min in T_max epochs; Loshchilov and Hutter, 2017.

    >>> import relume as rl
    >>> from relume import optim
    >>> sgd = optim.SGD([rl.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = CosineAnnealingLR(sgd, T_max=2)
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, epoch: float) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return self.current_lrs()
        if self._step_count == 1 and self.last_epoch > 0:
            return self.closed_form_lr()
        pairs = zip(self.base_lrs, self.current_lrs(), strict=True)
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # from the lowest point
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [lr + (base - self.eta_min) * rise for base, lr in pairs]
        change = self._height(self.last_epoch) / self._height(self.last_epoch - 1)
        return [change * (lr - self.eta_min) + self.eta_min for _, lr in pairs]

    def closed_form_lr(self) -> list[float]:
        height = self._height(self.last_epoch) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]
