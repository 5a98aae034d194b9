"""Continuous relaxations of discrete distributions (Maddison et al., 2017; Jang et al., 2017)."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.distributions import constraints
from relume.distributions.bernoulli import ProbabilityDistribution
from relume.distributions.categorical import CategoryDistribution
from relume.distributions.constraints import Constraint
from relume.distributions.distribution import Shape, positive_uniform
from relume.distributions.parameters import clamped


class RelaxedBernoulli(ProbabilityDistribution):
    """Numbers between 0 and 1 that approach a Bernoulli draw as the temperature falls.

    Args:
        temperature: > 0.
        probs: the probability of values near 1.
        logits: log(probs / (1 - probs)); instead of probs.
    """

    has_rsample = True

    def __init__(self, temperature: Tensor | float, *arguments: Any, **keywords: Any) -> None:
        self.temperature = rl.as_tensor(temperature)
        super().__init__(*arguments, **keywords)

    @property
    def support(self) -> Constraint:
        return constraints.unit_interval

    def expand(self, batch_shape: Shape) -> RelaxedBernoulli:
        given = {self._given: self._parameter.expand(batch_shape)}
        return RelaxedBernoulli(self.temperature, **given, validate_args=False)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = clamped(positive_uniform(self._shape(sample_shape), self._parameter.dtype))
        noise = rl.log(drawn) - rl.log1p(-drawn)
        return clamped(rl.sigmoid((self.logits + noise) / self.temperature))

    def log_prob(self, value: Tensor) -> Tensor:
        value = clamped(self._checked(value, self._parameter.dtype))
        x = rl.log(value) - rl.log1p(-value)
        difference = self.logits - x * self.temperature
        density = rl.log(self.temperature) + difference - 2 * rl.softplus(difference)
        return density - rl.log(value) - rl.log1p(-value)


class RelaxedOneHotCategorical(CategoryDistribution):
    """Vectors that sum to 1 and approach a one-hot draw as the temperature falls (Gumbel-softmax).

    Args:
        temperature: > 0.
        probs: of shape (..., categories), not negative; scaled to sum to 1.
        logits: their logarithms, up to a constant; instead of probs.
    """

    has_rsample = True

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = rl.as_tensor(temperature)
        parameter = rl.as_tensor(logits if probs is None else probs)
        super().__init__(probs, logits, validate_args, event_shape=parameter.shape[-1:])

    @property
    def support(self) -> Constraint:
        return constraints.simplex

    def expand(self, batch_shape: Shape) -> RelaxedOneHotCategorical:
        given = {self._given: self._parameter.expand((*batch_shape, self.category_count))}
        return RelaxedOneHotCategorical(self.temperature, **given, validate_args=False)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = clamped(positive_uniform(self._shape(sample_shape), self._parameter.dtype))
        gumbel = -rl.log(-rl.log(drawn))
        return rl.softmax((self.logits + gumbel) / self.temperature, -1)

    def log_prob(self, value: Tensor) -> Tensor:
        value = clamped(self._checked(value, self._parameter.dtype))
        count = self.category_count
        scores = self.logits - self.temperature * rl.log(value)
        density = scores.sum(-1) - count * rl.logsumexp(scores, -1) - rl.log(value).sum(-1)
        return density + math.lgamma(count) + (count - 1) * rl.log(self.temperature)
