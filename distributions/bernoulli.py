"""Yes or no, and how long until yes: Bernoulli, geometric."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.distributions import constraints
from relume.distributions.constraints import Constraint
from relume.distributions.distribution import Distribution, Shape, positive_uniform
from relume.distributions.parameters import (
    broadcast_parameters,
    clamped,
    exactly_one,
    logits_of,
)


class ProbabilityDistribution(Distribution):
    """A distribution with one probability, given as it is or as log(p / (1 - p)).

    Args:
        probs: the probability, from 0 to 1.
        logits: log(probs / (1 - probs)); instead of probs.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        exactly_one(probs, logits, "probs and logits")
        self._given = "logits" if probs is None else "probs"
        given: Any = logits if probs is None else probs
        (self._parameter,) = broadcast_parameters(given)
        super().__init__(self._parameter.shape, validate_args=validate_args)

    def _parameters(self) -> dict[str, Tensor]:
        return {self._given: self._parameter}

    @property
    def probs(self) -> Tensor:
        """The probability."""
        return self._parameter if self._given == "probs" else rl.sigmoid(self._parameter)

    @property
    def logits(self) -> Tensor:
        """log(probs / (1 - probs))."""
        return self._parameter if self._given == "logits" else logits_of(self._parameter)


class Bernoulli(ProbabilityDistribution):
    """1 with probability `probs`, otherwise 0.

    Args:
        probs: the probability of a 1, from 0 to 1.
        logits: log(probs / (1 - probs)); instead of probs.

    >>> Bernoulli(0.25).log_prob(1.0).exp()
    tensor(0.25)
    """

    has_enumerate_support = True

    @property
    def support(self) -> Constraint:
        return constraints.boolean

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    @property
    def mode(self) -> Tensor:
        likely = (self.probs >= 0.5).to(self.probs.dtype)
        return rl.where(self.probs == 0.5, math.nan, likely)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with rl.no_grad():
            probs = self.probs.expand(self._shape(sample_shape))
            return rl.empty(probs.shape, dtype=probs.dtype).bernoulli_(probs)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value, self._parameter.dtype)
        logits = self.logits
        return value * logits - rl.softplus(logits)

    def entropy(self) -> Tensor:
        logits = self.logits
        return rl.softplus(logits) - logits * self.probs

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = rl.arange(2, dtype=self._parameter.dtype)
        values = values.reshape((2, *(1 for _ in self.batch_shape)))
        return values.expand((2, *self.batch_shape)) if expand else values


class Geometric(ProbabilityDistribution):
    """The number of failures (0, 1, ...) before the first success.

    Args:
        probs: the probability of a 1, from 0 to 1.
        logits: log(probs / (1 - probs)); instead of probs.

    >>> Geometric(0.25).mean
    tensor(3.)
    """

    arg_constraints = {
        "probs": constraints.Interval(0.0, 1.0, open="]"),
        "logits": constraints.real,
    }

    @property
    def support(self) -> Constraint:
        return constraints.nonnegative_integer

    @property
    def mean(self) -> Tensor:
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        return rl.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1 / self.probs - 1) / self.probs

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with rl.no_grad():
            drawn = positive_uniform(self._shape(sample_shape), self._parameter.dtype)
            return rl.floor(rl.log(drawn) / rl.log1p(-clamped(self.probs)))

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value, self._parameter.dtype)
        return rl.xlogy(value, 1 - self.probs) + rl.log(self.probs)

    def entropy(self) -> Tensor:
        failure = 1 - self.probs
        return -(rl.xlogy(failure, failure) + rl.xlogy(self.probs, self.probs)) / self.probs
