"""The direction of L-BFGS from the steps that are remembered; Nocedal, 1980."""

from __future__ import annotations

from collections.abc import Sequence

from relume import Tensor


def quasi_newton_direction(
    gradient: Tensor,
    steps: Sequence[Tensor],
    changes: Sequence[Tensor],
    inverses: Sequence[float],
    scale: float,
) -> Tensor:
    """Minus the gradient times the approximate inverse of the Hessian.

    Args:
        gradient: at the present place, a vector.
        steps: the last moves, the oldest first.
        changes: of the gradient by each of them.
        inverses: 1 / (change . step) of each.
        scale: what the inverse is taken for before any step counts, times the identity.

    >>> import relume as rl
    >>> quasi_newton_direction(rl.tensor([4.0]), [rl.tensor([1.0])], [rl.tensor([2.0])], [0.5], 1.0)
    tensor([-2.])
    """
    direction = -gradient
    weights = []
    pairs = list(zip(steps, changes, inverses, strict=True))
    for step, change, inverse in reversed(pairs):
        weights.append(step.dot(direction).item() * inverse)
        direction.add_(change, alpha=-weights[-1])
    direction.mul_(scale)
    for step, change, inverse in pairs:
        direction.add_(step, alpha=weights.pop() - change.dot(direction).item() * inverse)
    return direction
