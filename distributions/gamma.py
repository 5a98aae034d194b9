"""The gamma distribution and those made of it."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.autograd import Function, once_differentiable
from relume.distributions import constraints
from relume.distributions.constraints import Constraint
from relume.distributions.distribution import Distribution, Shape
from relume.distributions.parameters import broadcast_parameters, tiny


class _StandardGamma(Function):
    """Draws with rate 1, differentiable in the shape parameter.

    The gradient is the implicit one of Figurnov, Mohamed and Mnih (2018): at a fixed value of the
    cumulative distribution F(x; a), dx/da is -(dF/da) / (dF/dx).
    """

    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:
        drawn = rl.standard_gamma(concentration).clamp(min=tiny(concentration.dtype))
        ctx.save_for_backward(concentration, drawn)
        return drawn

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        concentration, drawn = ctx.saved_tensors
        return gradient * implicit_gradient(concentration, drawn)


def implicit_gradient(concentration: Tensor, value: Tensor) -> Tensor:
    """dx/da of a gamma-distributed x with shape parameter a and rate 1.

    dF/da comes from a central difference of fourth order; where x is small, from the series of F.
    """
    a, x = concentration.to(rl.float64), value.to(rl.float64)
    step = 1e-3 * rl.minimum(a, rl.sqrt(a))
    near = rl.gammainc(a + step, x) - rl.gammainc(a - step, x)
    far = rl.gammainc(a + 2 * step, x) - rl.gammainc(a - 2 * step, x)
    slope = (8 * near - far) / (12 * step)
    density = rl.exp((a - 1) * rl.log(x) - x - rl.lgamma(a))
    result = rl.where(x < 0.1 * (1 + a), _gradient_by_series(a, x), -slope / density)
    return result.to(concentration.dtype)


def _gradient_by_series(a: Tensor, x: Tensor, terms: int = 12) -> Tensor:
    """dx/da from F = x**a exp(-x) / gamma(a) * sum of x**n / (a (a+1) ... (a+n))."""
    term = harmonic = a.reciprocal()
    total, derivative = term, -term * harmonic
    for n in range(1, terms):
        term = term * x / (a + n)
        harmonic = harmonic + (a + n).reciprocal()
        total, derivative = total + term, derivative - term * harmonic
    return -x * (total * (rl.log(x) - rl.digamma(a)) + derivative)


def standard_gamma(concentration: Tensor) -> Tensor:
    """Draws of the gamma distribution with rate 1, one for each shape parameter."""
    return _StandardGamma.apply(concentration)


class Gamma(Distribution):
    """The gamma distribution.

    Args:
        concentration: the shape parameter, > 0.
        rate: 1 / scale, > 0.

    >>> Gamma(3.0, 2.0).mean
    tensor(1.5)
    """

    has_rsample = True
    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}

    def __init__(
        self,
        concentration: Tensor | float,
        rate: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.concentration, self.rate = broadcast_parameters(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        return constraints.nonnegative

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.square()

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = standard_gamma(self.concentration.expand(self._shape(sample_shape)).contiguous())
        return drawn / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value, self.rate.dtype)
        a, rate = self.concentration, self.rate
        return a * rl.log(rate) + rl.xlogy(a - 1, value) - rate * value - rl.lgamma(a)

    def cdf(self, value: Tensor) -> Tensor:
        value = self._checked(value, self.rate.dtype)
        return rl.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - rl.log(self.rate) + rl.lgamma(a) + (1 - a) * rl.digamma(a)


class Chi2(Gamma):
    """The chi-squared distribution: the sum of the squares of `df` standard normal numbers.

    Args:
        df: degrees of freedom, > 0.
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        (self.df,) = broadcast_parameters(df)
        super().__init__(0.5 * self.df, rl.full_like(self.df, 0.5), validate_args)


class InverseGamma(Distribution):
    """The distribution of 1 / x for a gamma-distributed x.

    Args:
        concentration, rate: of x, > 0.
    """

    has_rsample = True
    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}

    def __init__(
        self,
        concentration: Tensor | float,
        rate: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.concentration, self.rate = broadcast_parameters(concentration, rate)
        self._inverse = Gamma(self.concentration, self.rate, validate_args=False)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        return constraints.positive

    @property
    def mean(self) -> Tensor:
        a = self.concentration
        return rl.where(a > 1, self.rate / (a - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        finite = self.rate.square() / ((a - 1).square() * (a - 2))
        return rl.where(a > 2, finite, math.inf)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self._inverse.rsample(sample_shape).reciprocal()

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value, self.rate.dtype)
        return self._inverse.log_prob(value.reciprocal()) - 2 * rl.log(value)

    def cdf(self, value: Tensor) -> Tensor:
        value = self._checked(value, self.rate.dtype)
        return rl.gammaincc(self.concentration, self.rate / value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + rl.log(self.rate) + rl.lgamma(a) - (1 + a) * rl.digamma(a)
