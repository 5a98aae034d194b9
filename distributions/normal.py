"""The normal distribution and those made of it."""

from __future__ import annotations

import math

import relume as rl
from relume import Tensor
from relume.distributions import constraints
from relume.distributions.constraints import Constraint
from relume.distributions.distribution import Distribution, Shape, standard_normal
from relume.distributions.parameters import broadcast_parameters

_LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)


class Normal(Distribution):
    """The normal (Gaussian) distribution.

    Args:
        loc: the mean.
        scale: the standard deviation, > 0.

    >>> Normal(0.0, 1.0).log_prob(0.0)
    tensor(-0.9189)
    """

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
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self.scale.square()

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = standard_normal(self._shape(sample_shape), self.loc.dtype)
        return self.loc + self.scale * drawn

    def log_prob(self, value: Tensor) -> Tensor:
        z = (self._checked(value, self.loc.dtype) - self.loc) / self.scale
        return -0.5 * z.square() - rl.log(self.scale) - _LOG_ROOT_2PI

    def cdf(self, value: Tensor) -> Tensor:
        z = (self._checked(value, self.loc.dtype) - self.loc) / self.scale
        return 0.5 * rl.erfc(z * -math.sqrt(0.5))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * math.sqrt(2) * rl.erfinv(2 * rl.as_tensor(value) - 1)

    def entropy(self) -> Tensor:
        return 0.5 + _LOG_ROOT_2PI + rl.log(self.scale)


class LogNormal(Distribution):
    """The distribution of exp(x) for a normal x.

    Args:
        loc, scale: mean and standard deviation of the logarithm.
    """

    has_rsample = True
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale = broadcast_parameters(loc, scale)
        self._logarithm = Normal(self.loc, self.scale, validate_args=False)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        return constraints.positive

    @property
    def mean(self) -> Tensor:
        return rl.exp(self.loc + 0.5 * self.scale.square())

    @property
    def mode(self) -> Tensor:
        return rl.exp(self.loc - self.scale.square())

    @property
    def variance(self) -> Tensor:
        return rl.expm1(self.scale.square()) * self.mean.square()

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return rl.exp(self._logarithm.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        logarithm = rl.log(self._checked(value, self.loc.dtype))
        return self._logarithm.log_prob(logarithm) - logarithm

    def cdf(self, value: Tensor) -> Tensor:
        return self._logarithm.cdf(rl.log(self._checked(value, self.loc.dtype)))

    def icdf(self, value: Tensor) -> Tensor:
        return rl.exp(self._logarithm.icdf(value))

    def entropy(self) -> Tensor:
        return self._logarithm.entropy() + self.loc


class HalfNormal(Distribution):
    """The distribution of abs(x) for a normal x with mean 0.

    Args:
        scale: the standard deviation of x, > 0.
    """

    has_rsample = True
    arg_constraints = {"scale": constraints.positive}

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        (self.scale,) = broadcast_parameters(scale)
        self._signed = Normal(rl.zeros_like(self.scale), self.scale, validate_args=False)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        return constraints.nonnegative

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        return rl.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.scale.square() * (1 - 2 / math.pi)

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
