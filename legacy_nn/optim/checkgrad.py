"""Is a hand-written gradient right?"""

from __future__ import annotations

import relume as rl
from relume import Tensor
from relume.legacy_nn.optim.settings import Function, number


def checkgrad(opfunc: Function, x: Tensor, eps: float = 1e-7) -> tuple[float, Tensor, Tensor]:
    """Compares a gradient with central differences.

    Args:
        opfunc: gives f and df/dx at x.
        x: where; it is changed and put back.
        eps: the distance of the differences.

    Returns:
        |given - estimated| / |given + estimated|, the given gradient and the estimate.

    >>> import relume as rl
    >>> x = rl.tensor([1.0, 2.0], dtype=rl.float64)
    >>> checkgrad(lambda x: (x.dot(x).item(), 2 * x), x)[0] < 1e-6
    True
    """
    given = opfunc(x)[1].clone()
    estimate = rl.zeros_like(given)
    flat, flat_estimate = x.view(-1), estimate.view(-1)
    for i in range(x.numel()):
        kept = flat[i].item()
        flat[i] = kept + eps
        above = number(opfunc(x)[0])
        flat[i] = kept - eps
        below = number(opfunc(x)[0])
        flat[i] = kept
        flat_estimate[i] = (above - below) / (2 * eps)
    return ((given - estimate).norm() / (given + estimate).norm()).item(), given, estimate
