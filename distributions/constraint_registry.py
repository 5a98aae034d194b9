"""Transforms from all real numbers to what a constraint allows.

>>> from relume.distributions import biject_to, constraints
>>> biject_to(constraints.positive)(rl.tensor([-1.0, 0.0])).exp().isfinite()
tensor([ True,  True])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import relume as rl
from relume.distributions import constraints
from relume.distributions.constraints import Constraint
from relume.distributions.transforms import (
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    SigmoidTransform,
    Transform,
    identity_transform,
)
from relume.distributions.transforms_of_vectors import (
    CorrCholeskyTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)

Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """A table of transforms by constraint; calling it gives the transform to a constraint."""

    def __init__(self) -> None:
        self._factories: dict[type[Constraint], Factory] = {}

    def register(
        self, constraint: type[Constraint] | Constraint, factory: Factory | None = None
    ) -> Any:
        """Adds `factory(constraint)` for a kind of constraints; without it, as a decorator."""
        kind = constraint if isinstance(constraint, type) else type(constraint)
        if factory is None:
            return lambda function: self.register(kind, function)
        self._factories[kind] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        for kind in type(constraint).__mro__:
            if kind in self._factories:
                return self._factories[kind](constraint)
        raise NotImplementedError(f"no transform to {constraint!r} is registered")


biject_to = ConstraintRegistry()  # invertible transforms
transform_to = ConstraintRegistry()  # simpler ones, where there are any


def _to_interval(constraint: Any) -> Transform:
    lower, upper = constraint.lower, constraint.upper
    if lower is None and upper is None:
        return identity_transform
    if upper is None or lower is None:
        start, sign = (lower, 1.0) if upper is None else (upper, -1.0)
        is_zero = not isinstance(start, rl.Tensor) and start == 0
        if is_zero and sign > 0:
            return ExpTransform()
        return ComposeTransform([ExpTransform(), AffineTransform(start, sign)])
    are_numbers = not any(isinstance(end, rl.Tensor) for end in (lower, upper))
    if are_numbers and (lower, upper) == (0, 1):
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(lower, upper - lower)])


_INVERTIBLE: dict[Constraint | type[Constraint], Factory] = {
    constraints.real: lambda constraint: identity_transform,
    constraints.real_vector: lambda constraint: identity_transform,
    constraints.Interval: _to_interval,
    constraints.simplex: lambda constraint: StickBreakingTransform(),
    constraints.lower_cholesky: lambda constraint: LowerCholeskyTransform(),
    constraints.corr_cholesky: lambda constraint: CorrCholeskyTransform(),
    constraints.positive_definite: lambda constraint: PositiveDefiniteTransform(),
}
for _constraint, _factory in _INVERTIBLE.items():
    for _registry in (biject_to, transform_to):
        _registry.register(_constraint, _factory)
transform_to.register(constraints.simplex, lambda constraint: SoftmaxTransform())


def _independent_by(registry: ConstraintRegistry) -> Factory:
    def factory(constraint: Any) -> Transform:
        return IndependentTransform(registry(constraint.base), constraint.count)

    return factory


for _registry in (biject_to, transform_to):
    _registry.register(constraints.Independent, _independent_by(_registry))
