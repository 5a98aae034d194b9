"""Distributions with a place and a width: uniform, Laplace, Cauchy, Gumbel."""

from __future__ import annotations

import math

import relume as rl
from relume import Tensor
from relume.distributions import constraints
from relume.distributions.constraints import Constraint
from relume.distributions.distribution import Distribution, Shape, positive_uniform
from relume.distributions.parameters import EULER, broadcast_parameters, epsilon


class Uniform(Distribution):
    """Numbers spread evenly over [low, high).

    >>> Uniform(0.0, 4.0).log_prob(1.0).exp()
    tensor(0.25)
    """

    has_rsample = True
    arg_constraints = {"low": constraints.real, "high": constraints.real}

    def __init__(
        self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.low, self.high = broadcast_parameters(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)
        if self.validates and not bool((self.low < self.high).all()):
            raise ValueError(f"Uniform: low must be below high, got {self.low} and {self.high}")

    @property
    def support(self) -> Constraint:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        return (self.low + self.high) / 2

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).square() / 12

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = rl.rand(self._shape(sample_shape), dtype=self.low.dtype)
        return self.low + (self.high - self.low) * drawn

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value, self.low.dtype)
        inside = (value >= self.low) & (value < self.high)
        return rl.where(inside, -rl.log(self.high - self.low), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        return ((rl.as_tensor(value) - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        return self.low + (self.high - self.low) * rl.as_tensor(value)

    def entropy(self) -> Tensor:
        return rl.log(self.high - self.low)


class _LocationScale(Distribution):
    """`loc` is where, `scale` > 0 how wide."""

    has_rsample = True
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale = broadcast_parameters(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        return constraints.real

    @property
    def mode(self) -> Tensor:
        return self.loc

    def _standardized(self, value: Tensor) -> Tensor:
        return (self._checked(value, self.loc.dtype) - self.loc) / self.scale


class Laplace(_LocationScale):
    """The Laplace (double exponential) distribution.

    Args:
        loc: the mean.
        scale: the mean distance from it, > 0.

    >>> Laplace(0.0, 1.0).entropy()
    tensor(1.6931)
    """

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.square()

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        dtype = self.loc.dtype
        drawn = 2 * rl.rand(self._shape(sample_shape), dtype=dtype) - 1
        distance = rl.log1p(-rl.abs(drawn).clamp(max=1 - epsilon(dtype)))
        return self.loc - self.scale * rl.sign(drawn) * distance

    def log_prob(self, value: Tensor) -> Tensor:
        return -rl.abs(self._standardized(value)) - rl.log(2 * self.scale)

    def cdf(self, value: Tensor) -> Tensor:
        z = self._standardized(value)
        return 0.5 - 0.5 * rl.sign(z) * rl.expm1(-rl.abs(z))

    def icdf(self, value: Tensor) -> Tensor:
        centered = rl.as_tensor(value) - 0.5
        return self.loc - self.scale * rl.sign(centered) * rl.log1p(-2 * rl.abs(centered))

    def entropy(self) -> Tensor:
        return 1 + rl.log(2 * self.scale)


class Cauchy(_LocationScale):
    """The Cauchy (Lorentz) distribution, which has no mean.

    Args:
        loc: the median.
        scale: half of the width at half of the height, > 0.
    """

    @property
    def mean(self) -> Tensor:
        return rl.full_like(self.loc, math.nan)

    @property
    def variance(self) -> Tensor:
        return rl.full_like(self.loc, math.inf)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = rl.empty(self._shape(sample_shape), dtype=self.loc.dtype).cauchy_()
        return self.loc + self.scale * drawn

    def log_prob(self, value: Tensor) -> Tensor:
        z = self._standardized(value)
        return -math.log(math.pi) - rl.log(self.scale) - rl.log1p(z.square())

    def cdf(self, value: Tensor) -> Tensor:
        return rl.atan(self._standardized(value)) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * rl.tan(math.pi * (rl.as_tensor(value) - 0.5))

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + rl.log(self.scale)


class HalfCauchy(Distribution):
    """The distribution of abs(x) for a Cauchy-distributed x with median 0.

    Args:
        scale: the scale of x, > 0.
    """

    has_rsample = True
    arg_constraints = {"scale": constraints.positive}

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        (self.scale,) = broadcast_parameters(scale)
        self._signed = Cauchy(rl.zeros_like(self.scale), self.scale, validate_args=False)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        return constraints.nonnegative

    @property
    def mean(self) -> Tensor:
        return rl.full_like(self.scale, math.inf)

    @property
    def mode(self) -> Tensor:
        return rl.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return rl.full_like(self.scale, math.inf)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return rl.abs(self._signed.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        return self._signed.log_prob(self._checked(value, self.scale.dtype)) + math.log(2)

    def cdf(self, value: Tensor) -> Tensor:
        return 2 * self._signed.cdf(self._checked(value, self.scale.dtype)) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self._signed.icdf((rl.as_tensor(value) + 1) / 2)

    def entropy(self) -> Tensor:
        return self._signed.entropy() - math.log(2)


class Gumbel(_LocationScale):
    """The Gumbel distribution, of the largest of many draws.

    Args:
        loc: the mode.
        scale: > 0.
    """

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * EULER

    @property
    def variance(self) -> Tensor:
        return self.scale.square() * (math.pi**2 / 6)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = positive_uniform(self._shape(sample_shape), self.loc.dtype)
        exponential = -rl.log(drawn)
        return self.loc - self.scale * rl.log(exponential.clamp(min=epsilon(self.loc.dtype) ** 2))

    def log_prob(self, value: Tensor) -> Tensor:
        z = self._standardized(value)
        return -z - rl.exp(-z) - rl.log(self.scale)

    def cdf(self, value: Tensor) -> Tensor:
        return rl.exp(-rl.exp(-self._standardized(value)))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc - self.scale * rl.log(-rl.log(rl.as_tensor(value)))

    def entropy(self) -> Tensor:
        return rl.log(self.scale) + (1 + EULER)
