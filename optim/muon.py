"""Muon: momentum whose matrices are made orthogonal."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.optim.optimizer import Optimizer, settings_of, states_of

_ADJUSTMENTS = (None, "original", "match_rms_adamw")


class Muon(Optimizer):
    """Steps along the orthogonal matrix nearest to the momentum; Jordan, 2024.

    Args:
        params: matrices only; other parameters want another optimizer.
        lr: the learning rate.
        weight_decay: how much of the parameters is taken away in every step, times lr.
        momentum: how much of the last direction is kept.
        nesterov: look ahead along the momentum.
        ns_coefficients: of the polynomial a x + b x^3 + c x^5 that singular values go through.
        eps: the smallest norm that the direction is divided by.
        ns_steps: how often they do.
        adjust_lr_fn: for a matrix of m rows and n columns lr grows by sqrt(max(1, m / n))
            ("original", the default), or by 0.2 sqrt(max(m, n)) ("match_rms_adamw").

    >>> w = rl.zeros(2, 2, requires_grad=True)
    >>> optimizer = Muon([w], lr=1.0)
    >>> (w * rl.tensor([[3.0, 0.0], [0.0, -5.0]])).sum().backward()
    >>> optimizer.step()
    >>> bool((w[0, 0] < -0.6) & (w[1, 1] > 0.6))
    True
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if adjust_lr_fn not in _ADJUSTMENTS:
            raise ValueError(f"adjust_lr_fn must be in {_ADJUSTMENTS}, not {adjust_lr_fn!r}")
        super().__init__(params, settings_of(locals()))

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Another group of matrices, with settings of its own."""
        super().add_param_group(param_group)
        for parameter in self.param_groups[-1]["params"]:
            if parameter.ndim != 2:
                del self.param_groups[-1]
                raise ValueError(f"Muon is for matrices, not for shape {parameter.shape}")

    def _update(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor]
    ) -> None:
        def start(parameter: Tensor) -> dict[str, Any]:
            return {"momentum_buffer": rl.zeros_like(parameter)}

        lr, momentum = group["lr"], group["momentum"]
        states = states_of(self, parameters, start)
        for parameter, gradient, state in zip(parameters, gradients, states, strict=True):
            direction = state["momentum_buffer"].lerp_(gradient, 1 - momentum)
            if group["nesterov"]:
                direction = gradient.lerp(direction, momentum)
            step = _orthogonalized(
                direction, group["ns_coefficients"], group["ns_steps"], group["eps"]
            )
            parameter.mul_(1 - lr * group["weight_decay"])
            parameter.add_(step, alpha=-lr * _factor(parameter, group["adjust_lr_fn"]))


def _factor(parameter: Tensor, adjustment: str | None) -> float:
    rows, columns = parameter.shape
    if adjustment == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))


def _orthogonalized(
    matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Tensor:
    """The matrix with all singular values near 1, by Newton-Schulz iterations."""
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.mT if tall else matrix
    x = x / x.norm().clamp(eps)
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x.mT if tall else x
