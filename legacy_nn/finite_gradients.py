"""Roots and powers whose gradients stay finite at zero: Torch7 adds a small number on the way back.

The gradients are written with differentiable operations, so they can be differentiated again.
"""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor


class Root(rl.autograd.Function):
    """sums ** (1 / p); its derivative is taken at the root plus `eps`."""

    @staticmethod
    def forward(ctx: Any, sums: Tensor, p: float, eps: float) -> Tensor:
        ctx.save_for_backward(sums)
        ctx.p, ctx.eps = p, eps
        return sums ** (1 / p)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        (sums,) = ctx.saved_tensors
        value = sums ** (1 / ctx.p)
        return gradient / (ctx.p * (value + ctx.eps) ** (ctx.p - 1)), None, None


class SumOfPowers(rl.autograd.Function):
    """The sum of |x| ** p of every row; its derivative is taken at |x| plus `eps`."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, p: float, eps: float) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.p, ctx.eps = p, eps
        return (rows.abs() ** p).sum(1, keepdim=True)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        (rows,) = ctx.saved_tensors
        slopes = rows * (rows.abs() + ctx.eps) ** (ctx.p - 2)
        return gradient * slopes * ctx.p, None, None


def root(sums: Tensor, p: float, eps: float) -> Tensor:
    """sums ** (1 / p) with a gradient that stays finite at zero.

    >>> import relume as rl
    >>> from relume.legacy_nn.finite_gradients import root
    >>> x = rl.zeros(1, dtype=rl.float64, requires_grad=True)
    >>> root(x, 2, 0.5).backward()
    >>> x.grad.tolist()
    [1.0]
    """
    return Root.apply(sums, p, eps)


def sum_of_powers(rows: Tensor, p: float, eps: float) -> Tensor:
    """Row sums of |x| ** p (N x 1) with a gradient that stays finite at zero.

    >>> import relume as rl
    >>> from relume.legacy_nn.finite_gradients import sum_of_powers
    >>> sum_of_powers(rl.tensor([[3.0, -4.0]]), 2, 1e-10).tolist()
    [[25.0]]
    """
    return SumOfPowers.apply(rows, p, eps)
