"""Distributions of ratios: Student's t, Fisher-Snedecor."""

from __future__ import annotations

import math

import relume as rl
from relume import Tensor
from relume.distributions import constraints
from relume.distributions.constraints import Constraint
from relume.distributions.distribution import Distribution, Shape, standard_normal
from relume.distributions.gamma import Gamma, standard_gamma
from relume.distributions.parameters import broadcast_parameters


class StudentT(Distribution):
    """Student's t distribution.

    Args:
        df: degrees of freedom, > 0.
        loc: where its middle is.
        scale: how wide it is, > 0.

    >>> StudentT(4.0).variance
    tensor(2.)
    """

    has_rsample = True
    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.df, self.loc, self.scale = broadcast_parameters(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        return constraints.real

    @property
    def mean(self) -> Tensor:
        return rl.where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        finite = self.scale.square() * self.df / (self.df - 2)
        heavy = rl.where(self.df > 1, math.inf, rl.full_like(self.df, math.nan))
        return rl.where(self.df > 2, finite, heavy)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._shape(sample_shape)
        normal = standard_normal(shape, self.loc.dtype)
        half_chi2 = standard_gamma((0.5 * self.df).expand(shape).contiguous())
        return self.loc + self.scale * normal * rl.rsqrt(2 * half_chi2 / self.df)

    def log_prob(self, value: Tensor) -> Tensor:
        df = self.df
        z = (self._checked(value, df.dtype) - self.loc) / self.scale
        height = rl.lgamma(0.5 * (df + 1)) - rl.lgamma(0.5 * df)
        width = 0.5 * rl.log(math.pi * df) + rl.log(self.scale)
        return height - width - 0.5 * (df + 1) * rl.log1p(z.square() / df)

    def entropy(self) -> Tensor:
        half, half_more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = rl.lgamma(half) + math.lgamma(0.5) - rl.lgamma(half_more)
        tail = half_more * (rl.digamma(half_more) - rl.digamma(half))
        return rl.log(self.scale) + tail + 0.5 * rl.log(self.df) + log_beta


class FisherSnedecor(Distribution):
    """The F distribution: the ratio of two chi-squared numbers, each divided by its df.

    Args:
        df1, df2: degrees of freedom above and below, > 0.
    """

    has_rsample = True
    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}

    def __init__(
        self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.df1, self.df2 = broadcast_parameters(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        return constraints.nonnegative

    @property
    def mean(self) -> Tensor:
        return rl.where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)

    @property
    def mode(self) -> Tensor:
        inside = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return rl.where(self.df1 > 2, inside, math.nan)

    @property
    def variance(self) -> Tensor:
        a, b = self.df1, self.df2
        finite = 2 * b.square() * (a + b - 2) / (a * (b - 2).square() * (b - 4))
        return rl.where(b > 4, finite, math.nan)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        above = Gamma(0.5 * self.df1, 0.5 * self.df1, validate_args=False).rsample(sample_shape)
        below = Gamma(0.5 * self.df2, 0.5 * self.df2, validate_args=False).rsample(sample_shape)
        return above / below

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value, self.df1.dtype)
        a, b = 0.5 * self.df1, 0.5 * self.df2
        ratio = self.df1 / self.df2
        normalizer = rl.lgamma(a + b) - rl.lgamma(a) - rl.lgamma(b)
        powers = a * rl.log(ratio) + rl.xlogy(a - 1, value)
        return normalizer + powers - (a + b) * rl.log1p(ratio * value)
