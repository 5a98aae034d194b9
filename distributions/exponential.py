"""The exponential distribution and powers of it."""

from __future__ import annotations

import math

import relume as rl
from relume import Tensor
from relume.distributions import constraints
from relume.distributions.constraints import Constraint
from relume.distributions.distribution import Distribution, Shape, positive_uniform
from relume.distributions.parameters import EULER, broadcast_parameters


def standard_exponential(shape: Shape, dtype: object) -> Tensor:
    """Draws of the exponential distribution with rate 1."""
    return -rl.log(positive_uniform(shape, dtype))


class Exponential(Distribution):
    """The exponential distribution: waiting times of events that come at a rate.

    Args:
        rate: 1 / mean, > 0.

    >>> Exponential(2.0).mean
    tensor(0.5)
    """

    has_rsample = True
    arg_constraints = {"rate": constraints.positive}

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_parameters(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        return constraints.nonnegative

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        return rl.zeros_like(self.rate)

    @property
    def variance(self) -> Tensor:
        return self.rate.square().reciprocal()

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return standard_exponential(self._shape(sample_shape), self.rate.dtype) / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        return rl.log(self.rate) - self.rate * self._checked(value, self.rate.dtype)

    def cdf(self, value: Tensor) -> Tensor:
        return -rl.expm1(-self.rate * self._checked(value, self.rate.dtype))

    def icdf(self, value: Tensor) -> Tensor:
        return -rl.log1p(-rl.as_tensor(value)) / self.rate

    def entropy(self) -> Tensor:
        return 1 - rl.log(self.rate)


class GeneralizedPareto(Distribution):
    """What is beyond a threshold: P(x > t) = (1 + c z) ** (-1 / c) with z = (t - loc) / scale.

    Args:
        loc: the threshold.
        scale: > 0.
        concentration: c; of 0 the exponential distribution, below 0 one with an upper end.

    >>> GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    has_rsample = True
    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_parameters(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        c = self.concentration.detach()
        highest = self.loc - self.scale / rl.where(c < 0, c, -1.0)
        return constraints.interval(self.loc, rl.where(c < 0, highest, math.inf))

    def _log_survival(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / self.scale
        c = self.concentration
        flat = c.abs() < 1e-6
        safe = rl.where(flat, 1.0, c)
        return rl.where(flat, -z, -rl.log1p(safe * rl.where(flat, 0.0, z)) / safe)

    @property
    def mean(self) -> Tensor:
        c = self.concentration
        mean = self.loc + self.scale / rl.where(c < 1, 1 - c, 1.0)
        return rl.where(c < 1, mean, math.inf)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        c = self.concentration
        safe = rl.where(c < 0.5, c, 0.0)
        variance = self.scale.square() / ((1 - safe).square() * (1 - 2 * safe))
        return rl.where(c < 0.5, variance, math.inf)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.icdf(1 - positive_uniform(self._shape(sample_shape), self.loc.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value, self.loc.dtype)
        return (1 + self.concentration) * self._log_survival(value) - rl.log(self.scale)

    def cdf(self, value: Tensor) -> Tensor:
        return -rl.expm1(self._log_survival(self._checked(value, self.loc.dtype)))

    def icdf(self, value: Tensor) -> Tensor:
        c = self.concentration
        flat = c.abs() < 1e-6
        safe = rl.where(flat, 1.0, c)
        log_survival = rl.log1p(-rl.as_tensor(value))
        z = rl.where(flat, -log_survival, rl.expm1(-safe * log_survival) / safe)
        return self.loc + self.scale * z

    def entropy(self) -> Tensor:
        return rl.log(self.scale) + self.concentration + 1


class Weibull(Distribution):
    """The Weibull distribution: scale * x ** (1 / concentration) for an exponential x with rate 1.

    Args:
        scale, concentration: > 0.
    """

    has_rsample = True
    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}

    def __init__(
        self,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.scale, self.concentration = broadcast_parameters(scale, concentration)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        return constraints.positive

    def _moment(self, order: int) -> Tensor:
        return rl.exp(rl.lgamma(1 + order / self.concentration)) * self.scale**order

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self._moment(1).square()

    @property
    def mode(self) -> Tensor:
        k = self.concentration
        at = rl.where(k > 1, (k - 1) / k, 0.0)
        return self.scale * at ** k.reciprocal()

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = standard_exponential(self._shape(sample_shape), self.scale.dtype)
        return self.scale * drawn ** self.concentration.reciprocal()

    def log_prob(self, value: Tensor) -> Tensor:
        ratio = self._checked(value, self.scale.dtype) / self.scale
        k = self.concentration
        return rl.log(k / self.scale) + (k - 1) * rl.log(ratio) - ratio**k

    def cdf(self, value: Tensor) -> Tensor:
        ratio = self._checked(value, self.scale.dtype) / self.scale
        return -rl.expm1(-(ratio**self.concentration))

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * (-rl.log1p(-rl.as_tensor(value))) ** self.concentration.reciprocal()

    def entropy(self) -> Tensor:
        k = self.concentration
        return EULER * (1 - k.reciprocal()) + rl.log(self.scale / k) + 1


class Pareto(Distribution):
    """The Pareto distribution: scale * exp(x / alpha) for an exponential x with rate 1.

    Args:
        scale: the smallest value, > 0.
        alpha: how fast the tail falls, > 0.
    """

    has_rsample = True
    arg_constraints = {"scale": constraints.positive, "alpha": constraints.positive}

    def __init__(
        self, scale: Tensor | float, alpha: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.scale, self.alpha = broadcast_parameters(scale, alpha)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        return rl.where(self.alpha > 1, self.alpha * self.scale / (self.alpha - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        a = self.alpha
        finite = self.scale.square() * a / ((a - 1).square() * (a - 2))
        return rl.where(a > 2, finite, math.inf)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = standard_exponential(self._shape(sample_shape), self.scale.dtype)
        return self.scale * rl.exp(drawn / self.alpha)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value, self.scale.dtype)
        a = self.alpha
        return rl.log(a) + a * rl.log(self.scale) - (a + 1) * rl.log(value)

    def cdf(self, value: Tensor) -> Tensor:
        value = self._checked(value, self.scale.dtype)
        return 1 - (self.scale / value) ** self.alpha

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * rl.exp(-rl.log1p(-rl.as_tensor(value)) / self.alpha)

    def entropy(self) -> Tensor:
        return rl.log(self.scale / self.alpha) + 1 + self.alpha.reciprocal()
