"""Invertible functions of random values, with the determinants of their Jacobians."""

from __future__ import annotations

import math
from collections.abc import Sequence

import relume as rl
from relume import Tensor
from relume.distributions import constraints
from relume.distributions.constraints import Constraint


class Transform:
    """A function y = f(x) with an inverse.

    Attributes:
        domain, codomain: where x and y are.
        event_dim: how many of the last dimensions are transformed together.
    """

    domain: Constraint = constraints.real
    codomain: Constraint = constraints.real
    event_dim = 0
    sign: int = 1  # of the derivative: does the function rise or fall?

    def __call__(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def inv(self, y: Tensor) -> Tensor:
        """The x with f(x) = y."""
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |df/dx|, given x and y = f(x)."""
        raise NotImplementedError


class AffineTransform(Transform):
    """y = loc + scale * x."""

    def __init__(self, loc: Tensor | float, scale: Tensor | float) -> None:
        self.loc, self.scale = loc, rl.as_tensor(scale)
        self.sign = -1 if bool((self.scale < 0).all()) else 1

    def __call__(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def inv(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return rl.log(rl.abs(self.scale)) + rl.zeros_like(x)


class ExpTransform(Transform):
    """y = exp(x)."""

    codomain = constraints.positive

    def __call__(self, x: Tensor) -> Tensor:
        return rl.exp(x)

    def inv(self, y: Tensor) -> Tensor:
        return rl.log(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """y = x ** exponent, for positive x."""

    domain = codomain = constraints.positive

    def __init__(self, exponent: Tensor | float) -> None:
        self.exponent = rl.as_tensor(exponent)
        self.sign = -1 if bool((self.exponent < 0).all()) else 1

    def __call__(self, x: Tensor) -> Tensor:
        return x**self.exponent

    def inv(self, y: Tensor) -> Tensor:
        return y ** self.exponent.reciprocal()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return rl.log(rl.abs(self.exponent * y / x))


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x))."""

    codomain = constraints.unit_interval

    def __call__(self, x: Tensor) -> Tensor:
        return rl.sigmoid(x)

    def inv(self, y: Tensor) -> Tensor:
        return rl.log(y) - rl.log1p(-y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -rl.softplus(-x) - rl.softplus(x)


class TanhTransform(Transform):
    """y = tanh(x)."""

    codomain = constraints.interval(-1.0, 1.0)

    def __call__(self, x: Tensor) -> Tensor:
        return rl.tanh(x)

    def inv(self, y: Tensor) -> Tensor:
        return 0.5 * (rl.log1p(y) - rl.log1p(-y))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2 * (math.log(2) - x - rl.softplus(-2 * x))


class SoftplusTransform(Transform):
    """y = log(1 + exp(x))."""

    codomain = constraints.positive

    def __call__(self, x: Tensor) -> Tensor:
        return rl.softplus(x)

    def inv(self, y: Tensor) -> Tensor:
        return y + rl.log(-rl.expm1(-y))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -rl.softplus(-x)


class ComposeTransform(Transform):
    """Several functions, the first one applied first."""

    def __init__(self, parts: Sequence[Transform]) -> None:
        self.parts = list(parts)
        if self.parts:
            self.domain, self.codomain = self.parts[0].domain, self.parts[-1].codomain
        self.event_dim = max((part.event_dim for part in self.parts), default=0)
        self.sign = math.prod(part.sign for part in self.parts)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def inv(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part.inv(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        total = rl.zeros_like(x)
        for part in self.parts:
            after = part(x)
            total = total + part.log_abs_det_jacobian(x, after)
            x = after
        return total
