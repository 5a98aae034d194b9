"""Adam for tables of which a step uses a few rows."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.optim.adam import Betas
from relume.optim.optimizer import Optimizer, settings_of, states_of


class SparseAdam(Optimizer):
    """Adam that leaves rows without a gradient as they are, with their running averages.

    Gradients are dense here: a row (of the first dimension) has none if its gradient is 0.

    Args:
        lr: the learning rate.
        betas: how much of the averages of gradients and squares is kept.
        eps: is added to the root of the average square.
        maximize: go up instead of down.

    >>> import relume as rl
    >>> table = rl.ones(3, 2, requires_grad=True)
    >>> optimizer = SparseAdam([table], lr=0.5)
    >>> table[1].sum().backward()
    >>> optimizer.step()
    >>> table.detach().round(decimals=4)
    tensor([[1. , 1. ],
            [0.5, 0.5],
            [1. , 1. ]])
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, settings_of(locals()))

    def _update(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor]
    ) -> None:
        def start(parameter: Tensor) -> dict[str, Any]:
            averages = ("exp_avg", "exp_avg_sq")
            return {"step": 0, **{name: rl.zeros_like(parameter) for name in averages}}

        states = states_of(self, parameters, start)
        for parameter, gradient, state in zip(parameters, gradients, states, strict=True):
            state["step"] += 1
            if parameter.ndim == 0:
                parameter, gradient = parameter.unsqueeze(0), gradient.unsqueeze(0)
            rows = (gradient != 0).reshape(len(gradient), -1).any(1).nonzero().flatten()
            self._update_rows(group, parameter, gradient, state, rows)

    def _update_rows(
        self,
        group: dict[str, Any],
        parameter: Tensor,
        gradient: Tensor,
        state: dict[str, Any],
        rows: Tensor,
    ) -> None:
        (beta1, beta2), steps = group["betas"], state["step"]
        own = gradient[rows]
        average, square = (
            state[name].reshape(parameter.shape) for name in ("exp_avg", "exp_avg_sq")
        )
        average[rows] = mean = average[rows].lerp(own, 1 - beta1)
        square[rows] = variance = square[rows].lerp(own * own, 1 - beta2)
        rate = group["lr"] * (1 - beta2**steps) ** 0.5 / (1 - beta1**steps)
        change = rate * mean / (variance.sqrt() + group["eps"])
        parameter[rows] += change if group["maximize"] else -change
