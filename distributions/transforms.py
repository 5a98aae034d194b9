"""Invertible functions of random values, with the determinants of their Jacobians."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import relume as rl
from relume import Tensor
from relume.distributions import constraints
from relume.distributions.constraints import Constraint
from relume.distributions.parameters import sum_last


class Transform:
    """A function y = f(x) with an inverse.

    Attributes:
        domain, codomain: where x and y are.
        event_dim: how many of the last dimensions are transformed together.
        codomain_event_dim: how many of the result belong together.
    """

    domain: Constraint = constraints.real
    codomain: Constraint = constraints.real
    event_dim: int = 0
    codomain_event_dim: int
    sign: int = 1  # of the derivative: does the function rise or fall?

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "event_dim" in vars(cls) and "codomain_event_dim" not in vars(cls):
            cls.codomain_event_dim = cls.event_dim

    def __call__(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def inv(self, y: Tensor) -> Tensor:
        """The x with f(x) = y."""
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |df/dx|, given x and y = f(x)."""
        raise NotImplementedError(f"{type(self).__name__} has no density to stretch")

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of y for an x of this shape."""
        return tuple(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of x for a y of this shape."""
        return tuple(shape)


Transform.codomain_event_dim = 0


class AbsTransform(Transform):
    """y = |x|: not invertible; its inverse gives the x that is not negative."""

    codomain = constraints.nonnegative

    def __call__(self, x: Tensor) -> Tensor:
        return rl.abs(x)

    def inv(self, y: Tensor) -> Tensor:
        return y


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
        self.event_dim = 0
        for part in reversed(self.parts):
            self.event_dim = max(
                part.event_dim, self.event_dim + part.event_dim - part.codomain_event_dim
            )
        self.codomain_event_dim = self.event_dim + sum(
            part.codomain_event_dim - part.event_dim for part in self.parts
        )
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
        event_dim = self.event_dim
        total = rl.zeros(x.shape[: x.ndim - event_dim], dtype=x.dtype)
        for part in self.parts:
            after = part(x)
            stretched = part.log_abs_det_jacobian(x, after)
            total = total + sum_last(stretched, event_dim - part.event_dim)
            event_dim += part.codomain_event_dim - part.event_dim
            x = after
        return total

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return tuple(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return tuple(shape)


identity_transform = ComposeTransform([])


def __getattr__(name: str) -> Any:
    """Transforms of whole vectors, which have a file of their own, by PyTorch's place for them."""
    if name.endswith("Transform"):
        from relume.distributions import transforms_of_vectors

        return getattr(transforms_of_vectors, name)
    raise AttributeError(f"module 'relume.distributions.transforms' has no attribute {name!r}")
