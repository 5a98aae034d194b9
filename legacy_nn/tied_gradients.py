"""A parameter's `grad` and the layer's `gradWeight`: one tensor under two names."""

from __future__ import annotations

import relume as rl
from relume import Tensor


def tie_gradient(parameter: Tensor, gradient: Tensor, from_file: bool = False) -> None:
    """Makes a parameter a leaf of the tape whose `grad` is Torch7's gradient.

    A leaf without `grad` had one that was let go (`zero_grad()` of an optimizer sets it to
    None), which means that the sum begins anew. So do gradients that a file brought along:
    often memory that nobody had set. Other gradients of Torch7's protocol stay: they are added
    to until `zeroGradParameters()`.

    >>> import relume as rl
    >>> weight, grad_weight = rl.ones(2), rl.ones(2)
    >>> tie_gradient(weight, grad_weight)
    >>> (weight * 3).sum().backward()
    >>> grad_weight.tolist()
    [4.0, 4.0]
    >>> weight.grad = None
    >>> tie_gradient(weight, grad_weight)
    >>> grad_weight.tolist()
    [0.0, 0.0]
    """
    if parameter.requires_grad or from_file:
        gradient.zero_()
    parameter.requires_grad_()
    parameter.grad = gradient


def add_all(sums: list, gradients: list, scale: float) -> None:
    """Adds scale times gradients to sums: the last ones to all of them; None adds nothing.

    >>> import relume as rl
    >>> total = rl.ones(2)
    >>> add_all([total], [None, rl.ones(2)], 3)
    >>> total.tolist()
    [4.0, 4.0]
    """
    with rl.no_grad():
        for total, gradient in zip(sums, gradients[len(gradients) - len(sums) :], strict=True):
            if gradient is not None:
                total.add_(gradient, alpha=scale)
