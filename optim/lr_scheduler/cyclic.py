"""Schedules that go up and down: warm restarts, cycles, one cycle."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from relume.optim.lr_scheduler.scheduler import LRScheduler, one_per_group
from relume.optim.optimizer import Optimizer


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosines down to eta_min, begun anew again and again; Loshchilov and Hutter, 2017.

    Args:
        T_0: epochs of the first.
        T_mult: how many times longer every next one is.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"T_0 must be a positive integer, it is {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"T_mult must be an integer of at least 1, it is {T_mult}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Goes on by one epoch, or to a given one, which may be a fraction."""
        self._step_count += 1
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            self._place(epoch)
        self.last_epoch = math.floor(epoch)
        self._set_lrs(self.get_lr())

    def _place(self, epoch: float) -> None:
        """Finds the cosine that an epoch is in."""
        if epoch < 0:
            raise ValueError(f"the epoch must not be negative, it is {epoch}")
        self.T_i, self.T_cur = self.T_0, epoch
        if self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        while self.T_cur >= self.T_i:
            self.T_cur -= self.T_i
            self.T_i *= self.T_mult


def _momentum_name(optimizer: Optimizer) -> str:
    """Which setting of an optimizer is its momentum."""
    for name in ("momentum", "betas"):
        if name in optimizer.defaults:
            return name
    raise ValueError(
        f"{type(optimizer).__name__} has no momentum that could cycle; use cycle_momentum=False"
    )


def _set_momentum(group: dict[str, Any], name: str, value: float) -> None:
    group[name] = (value, *group[name][1:]) if name == "betas" else value


def _momentum_of(group: dict[str, Any], name: str) -> float:
    return group[name][0] if name == "betas" else group[name]


class CyclicLR(LRScheduler):
    """Up and down between two rates; Smith, 2017. Step it after every batch.

    Args:
        base_lr, max_lr: the lowest and the highest rate, or one per group.
        step_size_up, step_size_down: batches of the rising and the falling half.
        mode: "triangular", "triangular2" (half as high every cycle) or "exp_range" (gamma^batch).
        scale_fn, scale_mode: a height of one's own by "cycle" or by "iterations".
        cycle_momentum: move the momentum the other way, between base_momentum and max_momentum.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(
                f"mode must be 'triangular', 'triangular2' or 'exp_range', not {mode!r}"
            )
        base_lrs = one_per_group(optimizer, base_lr, "base_lr")
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs, strict=True):
                group["lr"] = group["initial_lr"] = lr
        self.max_lrs = one_per_group(optimizer, max_lr, "max_lr")
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._custom_scale = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else self._scale_mode_of(mode)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._momentum = _momentum_name(optimizer)
            self.base_momentums = one_per_group(optimizer, base_momentum, "base_momentum")
            self.max_momentums = one_per_group(optimizer, max_momentum, "max_momentum")
            if last_epoch == -1:
                for group, value in zip(optimizer.param_groups, self.max_momentums, strict=True):
                    _set_momentum(group, self._momentum, value)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    @staticmethod
    def _scale_mode_of(mode: str) -> str:
        return "iterations" if mode == "exp_range" else "cycle"

    def scale_fn(self, x: float) -> float:
        """The height of a cycle (or iteration) x as a part of the full one."""
        if self._custom_scale is not None:
            return self._custom_scale(x)
        return {"triangular": 1.0, "triangular2": 1 / 2.0 ** (x - 1), "exp_range": self.gamma**x}[
            self.mode
        ]

    def get_lr(self) -> list[float]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(
                self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
            ):
                _set_momentum(group, self._momentum, high - (high - low) * height)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * height for low, high in pairs]


class OneCycleLR(LRScheduler):
    """One rise and a long fall of the rate; Smith and Topin, 2019. Step it after every batch.

    Args:
        max_lr: the highest rate, or one per group.
        total_steps: all batches; or epochs and steps_per_epoch.
        pct_start: the part of them in which the rate rises.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: move the momentum the other way, between base_momentum and max_momentum.
        div_factor: max_lr / the first rate.
        final_div_factor: the first rate / the last.
        three_phase: fall as far as it rose, then to the last rate.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("give total_steps, or epochs and steps_per_epoch")
            total_steps = epochs * steps_per_epoch
        if total_steps <= 0:
            raise ValueError(f"total_steps must be positive, it is {total_steps}")
        if not 0 <= pct_start <= 1:
            raise ValueError(f"pct_start must be between 0 and 1, it is {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be 'cos' or 'linear', not {anneal_strategy!r}")
        self.total_steps = total_steps
        self._anneal_func_type = anneal_strategy
        self._phases = _phases(total_steps, pct_start, three_phase)
        self.cycle_momentum = cycle_momentum
        if last_epoch == -1:
            for group, highest in zip(
                optimizer.param_groups, one_per_group(optimizer, max_lr, "max_lr"), strict=True
            ):
                group["initial_lr"] = highest / div_factor
                group["max_lr"] = highest
                group["min_lr"] = group["initial_lr"] / final_div_factor
        if cycle_momentum:
            self._momentum = _momentum_name(optimizer)
            if last_epoch == -1:
                lows = one_per_group(optimizer, base_momentum, "base_momentum")
                highs = one_per_group(optimizer, max_momentum, "max_momentum")
                for group, low, high in zip(optimizer.param_groups, lows, highs, strict=True):
                    _set_momentum(group, self._momentum, high)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, part: float) -> float:
        if self._anneal_func_type == "linear":
            return start + (end - start) * part
        return end + (start - end) / 2 * (1 + math.cos(math.pi * part))

    def get_lr(self) -> list[float]:
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"step {step} of a cycle that has {self.total_steps} steps")
        start = 0.0
        for position, phase in enumerate(self._phases):
            if step <= phase["end"] or position == len(self._phases) - 1:
                break
            start = phase["end"]
        part = (step - start) / (phase["end"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["from"]], group[phase["to"]], part))
            if self.cycle_momentum:
                low, high = group[phase["momentum_from"]], group[phase["momentum_to"]]
                _set_momentum(group, self._momentum, self._between(low, high, part))
        return rates


def _phases(total_steps: int, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
    """The parts of the cycle: when each ends, and between which settings of a group it goes."""

    def phase(end: float, start: str, to: str, momentum_from: str, momentum_to: str) -> Any:
        return {
            "end": end,
            "from": start,
            "to": to,
            "momentum_from": momentum_from,
            "momentum_to": momentum_to,
        }

    rise = phase(
        pct_start * total_steps - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum"
    )
    if not three_phase:
        fall = phase(total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")
        return [rise, fall]
    return [
        rise,
        phase(
            2 * pct_start * total_steps - 2,
            "max_lr",
            "initial_lr",
            "base_momentum",
            "max_momentum",
        ),
        phase(total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
    ]
