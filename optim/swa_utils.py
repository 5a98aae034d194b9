"""Averages of a model's weights over training: stochastic weight averaging and moving averages."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from typing import Any

import relume as rl
from relume import Tensor
from relume.autograd import no_grad
from relume.nn.module import Module
from relume.nn.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d
from relume.optim.lr_scheduler.scheduler import LRScheduler, one_per_group
from relume.optim.optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Average = Callable[[Tensor, Tensor, Tensor], Tensor]


def get_swa_avg_fn() -> Average:
    """(average, value, count) -> the mean of count + 1 values."""

    def average(averaged: Tensor, current: Tensor, count: Tensor) -> Tensor:
        return averaged + (current - averaged) / (count + 1)

    return average


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """(average, value, count) -> decay * average + (1 - decay) * value."""
    if not 0 <= decay <= 1:
        raise ValueError(f"decay must be between 0 and 1, not {decay}")

    def average(averaged: Tensor, current: Tensor, count: Tensor) -> Tensor:
        return decay * averaged + (1 - decay) * current

    return average


def _of_lists(average: Average) -> Callable[..., None]:
    def averages(averaged: list[Tensor], current: list[Tensor], count: Tensor) -> None:
        for own, new in zip(averaged, current, strict=True):
            own.copy_(average(own, new, count))

    return averages


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """The same as get_swa_avg_fn for lists of tensors, in place."""
    return _of_lists(get_swa_avg_fn())


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """The same as get_ema_avg_fn for lists of tensors, in place."""
    return _of_lists(get_ema_avg_fn(decay))


class AveragedModel(Module):
    """A model whose weights are averages of another's; Izmailov et al., 2018.

    Args:
        model: whose weights are averaged; it is copied.
        avg_fn: (average, value, count) -> average; the mean of all values when left out.
        multi_avg_fn: the same for lists of tensors, in place; see `get_ema_multi_avg_fn`.
        use_buffers: average the floating buffers too; otherwise they are copied.

    >>> import relume as rl
    >>> from relume import nn
    >>> model = nn.Linear(1, 1, bias=False)
    >>> averaged = AveragedModel(model)
    >>> for value in (1.0, 2.0, 6.0):
    ...     _ = nn.init.constant_(model.weight, value)
    ...     averaged.update_parameters(model)
    >>> averaged.module.weight.item()
    3.0
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Callable[..., None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ValueError("give either avg_fn or multi_avg_fn, not both")
        self.module = copy.deepcopy(model)
        self.register_buffer("n_averaged", rl.tensor(0))
        self._average = multi_avg_fn or _of_lists(avg_fn or get_swa_avg_fn())
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def _averaged_members(self, model: Any) -> list[Tensor]:
        members = list(model.parameters())
        if self.use_buffers:
            members += [b for b in model.buffers() if b.dtype.is_floating_point]
        return [member.detach() for member in members]

    def update_parameters(self, model: Module) -> None:
        """Takes the model's weights, as they are now, into the average."""
        own, new = self._averaged_members(self.module), self._averaged_members(model)
        with no_grad():
            if self.n_averaged.item() == 0:
                for target, value in zip(own, new, strict=True):
                    target.copy_(value)
            else:
                self._average(own, new, self.n_averaged)
            for target, value in zip(self.module.buffers(), model.buffers(), strict=True):
                if not (self.use_buffers and target.dtype.is_floating_point):
                    target.copy_(value)
            self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Computes the running statistics of batch norms anew, from one pass over data.

    Args:
        loader: batches; of a list or tuple the first member is the input.
        model: goes through the data in training mode, and back to the mode that it was in.
    """
    norms = [m for m in model.modules() if isinstance(m, BatchNorm1d | BatchNorm2d | BatchNorm3d)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # all batches count the same
    try:
        with no_grad():
            for batch in loader:
                model(batch[0] if isinstance(batch, list | tuple) else batch)
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """Anneals the learning rates to those of weight averaging, and keeps them there.

    Args:
        swa_lr: the rate at last, or one per group.
        anneal_epochs: in how many epochs it is reached; 0 at once.
        anneal_strategy: "cos" or "linear".

    >>> import relume as rl
    >>> from relume import optim
    >>> optimizer = optim.SGD([rl.ones(1, requires_grad=True)], lr=1.0)
    >>> schedule = SWALR(optimizer, swa_lr=0.2, anneal_epochs=2, anneal_strategy="linear")
    >>> for _ in range(2):
    ...     schedule.step()
    ...     print(round(schedule.get_last_lr()[0], 4))
    0.6
    0.2
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be 'cos' or 'linear', not {anneal_strategy!r}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be at least 0, not {anneal_epochs}")
        for group, rate in zip(
            optimizer.param_groups, one_per_group(optimizer, swa_lr, "swa_lr"), strict=True
        ):
            group["swa_lr"] = rate
        self.anneal_epochs = anneal_epochs
        self.anneal_strategy = anneal_strategy
        super().__init__(optimizer, last_epoch)

    def _share(self, epoch: int) -> float:
        """How much of the way is behind in an epoch."""
        if self.anneal_epochs == 0:
            return 1.0
        share = min(1.0, max(0, epoch) / self.anneal_epochs)
        return share if self.anneal_strategy == "linear" else (1 - math.cos(math.pi * share)) / 2

    def get_lr(self) -> list[float]:
        before, now = self._share(self.last_epoch - 1), self._share(self.last_epoch)
        rates = []
        for group in self.optimizer.param_groups:
            if before >= 1:
                rates.append(group["swa_lr"])
                continue
            # Where the rate would have begun, seen from where it is: others may have changed it.
            start = (group["lr"] - before * group["swa_lr"]) / (1 - before)
            rates.append(now * group["swa_lr"] + (1 - now) * start)
        return rates
