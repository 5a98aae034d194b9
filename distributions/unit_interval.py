"""Distributions between 0 and 1 beside the beta: Kumaraswamy's and the continuous Bernoulli."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import relume as rl
from relume import Tensor
from relume.distributions import constraints
from relume.distributions.bernoulli import ProbabilityDistribution
from relume.distributions.constraints import Constraint
from relume.distributions.distribution import Distribution, Shape, positive_uniform
from relume.distributions.parameters import EULER, broadcast_parameters, clamped


class Kumaraswamy(Distribution):
    """Kumaraswamy's distribution (1980): P(x <= t) = 1 - (1 - t ** a) ** b.

    Args:
        concentration1: a, > 0.
        concentration0: b, > 0.

    >>> Kumaraswamy(1.0, 1.0).mean
    tensor(0.5)
    """

    has_rsample = True
    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }

    def __init__(
        self,
        concentration1: Tensor | float,
        concentration0: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        a, b = broadcast_parameters(concentration1, concentration0)
        self.concentration1, self.concentration0 = a, b
        super().__init__(a.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        return constraints.unit_interval

    def _moment(self, power: int) -> Tensor:
        """The mean of x ** power."""
        a, b = self.concentration1, self.concentration0
        first = 1 + power / a
        return rl.exp(rl.log(b) + rl.lgamma(first) + rl.lgamma(b) - rl.lgamma(first + b))

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self.mean.square()

    @property
    def mode(self) -> Tensor:
        """The most probable value; NaN where the density is highest at an end."""
        a, b = self.concentration1, self.concentration0
        inside = (a >= 1) & (b >= 1) & (a * b > 1)
        place = ((a - 1) / (a * b - 1)) ** a.reciprocal()
        return rl.where(inside, place, rl.nan)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = positive_uniform(self._shape(sample_shape), self.concentration1.dtype)
        return clamped(self.icdf(clamped(drawn)))

    def log_prob(self, value: Tensor) -> Tensor:
        a, b = self.concentration1, self.concentration0
        x = self._checked(value, a.dtype)
        return rl.log(a * b) + rl.xlogy(a - 1, x) + rl.xlog1py(b - 1, -(x**a))

    def cdf(self, value: Tensor) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return -rl.expm1(b * rl.log1p(-(self._checked(value, a.dtype) ** a)))

    def icdf(self, value: Tensor) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return (-rl.expm1(rl.log1p(-rl.as_tensor(value)) / b)) ** a.reciprocal()

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = rl.digamma(b + 1) + EULER
        return 1 - b.reciprocal() + (1 - a.reciprocal()) * harmonic - rl.log(a * b)


class ContinuousBernoulli(ProbabilityDistribution):
    """Numbers from 0 to 1 with density in proportion to p ** x * (1 - p) ** (1 - x).

    Loaiza-Ganem and Cunningham, 2019.

    Args:
        probs: p, in (0, 1).
        logits: log(p / (1 - p)); instead of probs.
        lims: between these a series around p = 0.5 is used, where the formulas are 0 / 0.

    >>> ContinuousBernoulli(0.5).log_prob(0.3)
    tensor(0.)
    """

    has_rsample = True

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._lims = lims
        super().__init__(probs, logits, validate_args)

    @property
    def support(self) -> Constraint:
        return constraints.unit_interval

    def expand(self, batch_shape: Shape) -> ContinuousBernoulli:
        given: Any = {self._given: self._parameter.expand(batch_shape)}
        return ContinuousBernoulli(**given, lims=self._lims, validate_args=False)

    def _by_place(
        self, formula: Callable[[Tensor], Tensor], series: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """A formula of p, and near 0.5 its series in p - 0.5."""
        p = clamped(self.probs)
        near = (p > self._lims[0]) & (p < self._lims[1])
        away = formula(rl.where(near, self._lims[0], p))
        return rl.where(near, series(p - 0.5), away)

    def _log_constant(self) -> Tensor:
        def formula(p: Tensor) -> Tensor:
            gap = 1 - 2 * p
            return rl.log(2 * rl.atanh(gap) / gap)

        def series(x: Tensor) -> Tensor:
            square = x.square()
            return rl.log(rl.full_like(x, 2.0)) + (4 / 3 + 104 / 45 * square) * square

        return self._by_place(formula, series)

    @property
    def mean(self) -> Tensor:
        return self._by_place(
            lambda p: p / (2 * p - 1) + (2 * rl.atanh(1 - 2 * p)).reciprocal(),
            lambda x: 0.5 + (1 / 3 + 16 / 45 * x.square()) * x,
        )

    @property
    def variance(self) -> Tensor:
        return self._by_place(
            lambda p: (
                p * (p - 1) / (1 - 2 * p).square() + (2 * rl.atanh(1 - 2 * p)).square().reciprocal()
            ),
            lambda x: 1 / 12 - (1 / 15 - 128 / 945 * x.square()) * x.square(),
        )

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.icdf(positive_uniform(self._shape(sample_shape), self._parameter.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        x = self._checked(value, self._parameter.dtype)
        p = clamped(self.probs)
        return x * rl.log(p) + (1 - x) * rl.log1p(-p) + self._log_constant()

    def cdf(self, value: Tensor) -> Tensor:
        x = self._checked(value, self._parameter.dtype)
        return self._by_place(
            lambda p: (p**x * (1 - p) ** (1 - x) + p - 1) / (2 * p - 1), lambda _: x
        )

    def icdf(self, value: Tensor) -> Tensor:
        u = rl.as_tensor(value)
        return self._by_place(
            lambda p: (rl.log1p(-p + u * (2 * p - 1)) - rl.log1p(-p)) / (rl.log(p) - rl.log1p(-p)),
            lambda _: u,
        )

    def entropy(self) -> Tensor:
        p = clamped(self.probs)
        mean = self.mean
        return -(mean * rl.log(p) + (1 - mean) * rl.log1p(-p) + self._log_constant())
