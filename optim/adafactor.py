"""Adafactor: running averages of squares that take little memory."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.optim.optimizer import Optimizer, settings_of, states_of


class Adafactor(Optimizer):
    """Squares of matrices are kept as one average per row and column; Shazeer and Stern, 2018.

    Args:
        lr: the largest relative step.
        beta2_decay: the share of new squares in step t is t ** beta2_decay.
        eps: the smallest average square (the type's precision when None), and the smallest root
            mean square of a parameter that steps are in proportion to.
        d: the largest root mean square of a step before the rate.
        weight_decay: how much of the parameters is taken away in every step, times lr.
        foreach: taken for PyTorch's sake, without effect.
        maximize: go up instead of down.

    >>> w = rl.tensor([[1.0]], requires_grad=True)
    >>> optimizer = Adafactor([w])
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 4)
    0.99
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        settings = settings_of(locals())
        if beta2_decay > 0:
            raise ValueError(f"beta2_decay must not be positive, it is {beta2_decay}")
        if d < 1:
            raise ValueError(f"d must be at least 1, it is {d}")
        super().__init__(params, settings)

    @staticmethod
    def _start(parameter: Tensor) -> dict[str, Any]:
        if parameter.ndim < 2:
            return {"step": 0, "variance": rl.zeros_like(parameter)}
        return {
            "step": 0,
            "row_var": parameter.new_zeros((*parameter.shape[:-1], 1)),
            "col_var": parameter.new_zeros((*parameter.shape[:-2], 1, parameter.shape[-1])),
        }

    def _update(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor]
    ) -> None:
        states = states_of(self, parameters, self._start)
        for parameter, gradient, state in zip(parameters, gradients, states, strict=True):
            state["step"] += 1
            self._update_one(group, parameter, -gradient if group["maximize"] else gradient, state)

    def _update_one(
        self, group: dict[str, Any], parameter: Tensor, gradient: Tensor, state: dict[str, Any]
    ) -> None:
        step, lr = state["step"], group["lr"]
        smallest, smallest_size = group["eps"]
        if smallest is None:
            smallest = rl.finfo(parameter.dtype).eps
        size = math.sqrt(parameter.numel())
        rate = max(smallest_size, parameter.norm().item() / size) * min(lr, 1 / math.sqrt(step))
        if group["weight_decay"]:
            parameter.mul_(1 - lr * group["weight_decay"])
        variance = self._variance(gradient, state, step ** group["beta2_decay"], smallest)
        update = variance.clamp(smallest * smallest).rsqrt() * gradient
        shorter = max(1.0, update.norm().item() / (size * group["d"]))
        parameter.add_(update, alpha=-rate / shorter)

    @staticmethod
    def _variance(gradient: Tensor, state: dict[str, Any], share: float, smallest: float) -> Tensor:
        """The average square of every element, of matrices from those of rows and columns."""
        squares = gradient.square()
        if "variance" in state:
            return state["variance"].lerp_(squares, share)
        rows = state["row_var"].lerp_(squares.mean(-1, True), share)
        columns = state["col_var"].lerp_(squares.mean(-2, True), share)
        return (rows @ columns) / rows.mean(-2, True).clamp(smallest)
