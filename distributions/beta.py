"""Distributions on the simplex: Dirichlet, and beta for two categories."""

from __future__ import annotations

import relume as rl
from relume import Tensor
from relume.distributions import constraints
from relume.distributions.constraints import Constraint
from relume.distributions.distribution import Distribution, Shape
from relume.distributions.gamma import standard_gamma
from relume.distributions.parameters import broadcast_parameters

POSITIVE_VECTOR = constraints.independent(constraints.positive, 1)


class Dirichlet(Distribution):
    """The Dirichlet distribution: vectors of positive numbers that sum to 1.

    Args:
        concentration: of shape (..., categories), > 0.

    >>> Dirichlet(rl.tensor([1.0, 3.0])).mean
    tensor([0.25, 0.75])
    """

    has_rsample = True
    arg_constraints = {"concentration": POSITIVE_VECTOR}

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if rl.as_tensor(concentration).ndim < 1:
            raise ValueError("Dirichlet: concentration needs at least one dimension")
        (self.concentration,) = broadcast_parameters(concentration)
        shape = self.concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    @property
    def support(self) -> Constraint:
        return constraints.simplex

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def mode(self) -> Tensor:
        above_one = (self.concentration - 1).clamp(min=0)
        total = above_one.sum(-1, keepdim=True)
        largest = self.concentration == self.concentration.amax(-1, keepdim=True)
        corner = largest.to(above_one.dtype) / largest.sum(-1, keepdim=True)
        is_corner = (self.concentration < 1).all(-1, keepdim=True)
        return rl.where(is_corner, corner, above_one / rl.where(total > 0, total, 1.0))

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, keepdim=True)
        return self.mean * (1 - self.mean) / (total + 1)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._shape(sample_shape)
        drawn = standard_gamma(self.concentration.expand(shape).contiguous())
        return drawn / drawn.sum(-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value, self.concentration.dtype)
        a = self.concentration
        return rl.xlogy(a - 1, value).sum(-1) + rl.lgamma(a.sum(-1)) - rl.lgamma(a).sum(-1)

    def entropy(self) -> Tensor:
        a = self.concentration
        total = a.sum(-1)
        normalizer = rl.lgamma(a).sum(-1) - rl.lgamma(total)
        weights = (total - a.shape[-1]) * rl.digamma(total)
        return normalizer + weights - ((a - 1) * rl.digamma(a)).sum(-1)


class Beta(Distribution):
    """The beta distribution on [0, 1].

    Args:
        concentration1: > 0; larger ones pull towards 1.
        concentration0: > 0; larger ones pull towards 0.

    >>> Beta(2.0, 2.0).log_prob(0.5).exp()
    tensor(1.5)
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
        self.concentration1, self.concentration0 = broadcast_parameters(
            concentration1, concentration0
        )
        self._dirichlet = Dirichlet(
            rl.stack([self.concentration1, self.concentration0], -1), validate_args=False
        )
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        return constraints.unit_interval

    @property
    def mean(self) -> Tensor:
        return self._dirichlet.mean[..., 0]

    @property
    def mode(self) -> Tensor:
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        return self._dirichlet.variance[..., 0]

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self._dirichlet.rsample(sample_shape)[..., 0]

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value, self.concentration1.dtype)
        return self._dirichlet.log_prob(rl.stack([value, 1 - value], -1))

    def cdf(self, value: Tensor) -> Tensor:
        value = self._checked(value, self.concentration1.dtype)
        return rl.betainc(self.concentration1, self.concentration0, value)

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()
