"""How often something happened: binomial, multinomial, Poisson, negative binomial."""

from __future__ import annotations

import math

import relume as rl
from relume import Tensor
from relume.distributions import constraints
from relume.distributions.bernoulli import ProbabilityDistribution
from relume.distributions.categorical import CategoryDistribution
from relume.distributions.constraints import Constraint
from relume.distributions.distribution import Distribution, Shape
from relume.distributions.gamma import Gamma
from relume.distributions.parameters import broadcast_parameters, exactly_one


def log_choose(total: Tensor, chosen: Tensor) -> Tensor:
    """The logarithm of how many ways there are to choose some of all."""
    return rl.lgamma(total + 1) - rl.lgamma(chosen + 1) - rl.lgamma(total - chosen + 1)


class Poisson(Distribution):
    """The number of events that come at a rate.

    Args:
        rate: how many are expected, >= 0.

    >>> Poisson(2.0).log_prob(0.0)
    tensor(-2.)
    """

    arg_constraints = {"rate": constraints.nonnegative}

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_parameters(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def support(self) -> Constraint:
        return constraints.nonnegative_integer

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with rl.no_grad():
            return rl.poisson(self.rate.expand(self._shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value, self.rate.dtype)
        return rl.xlogy(value, self.rate) - self.rate - rl.lgamma(value + 1)


class _Trials(ProbabilityDistribution):
    """Counts over `total_count` trials of one probability."""

    def __init__(
        self,
        total_count: Tensor | float,
        probs: Tensor | float | None,
        logits: Tensor | float | None,
        validate_args: bool | None,
    ) -> None:
        exactly_one(probs, logits, "probs and logits")
        parameter = logits if probs is None else probs
        self.total_count, parameter = broadcast_parameters(total_count, parameter)  # type: ignore[arg-type]
        given = {"logits" if probs is None else "probs": parameter}
        super().__init__(**given, validate_args=validate_args)

    def _parameters(self) -> dict[str, Tensor]:
        return {"total_count": self.total_count, self._given: self._parameter}


class Binomial(_Trials):
    """How many of `total_count` trials succeed.

    Args:
        total_count: whole numbers >= 0.
        probs: the probability of success, from 0 to 1.
        logits: log(probs / (1 - probs)); instead of probs.

    >>> Binomial(10, 0.5).mean
    tensor(5.)
    """

    has_enumerate_support = True
    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }

    def __init__(
        self,
        total_count: Tensor | float = 1,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(total_count, probs, logits, validate_args)

    @property
    def support(self) -> Constraint:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return rl.minimum(((self.total_count + 1) * self.probs).floor(), self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with rl.no_grad():
            shape = self._shape(sample_shape)
            return rl.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value, self._parameter.dtype)
        logits = self.logits
        weight = value * logits - self.total_count * rl.softplus(logits)
        return log_choose(self.total_count, value) + weight

    def entropy(self) -> Tensor:
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(rl.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        largest = int(self.total_count.max().item())
        if int(self.total_count.min().item()) != largest:
            raise NotImplementedError("Binomial: total_count differs within the batch")
        values = rl.arange(largest + 1, dtype=self._parameter.dtype)
        values = values.reshape((-1, *(1 for _ in self.batch_shape)))
        return values.expand((-1, *self.batch_shape)) if expand else values


class NegativeBinomial(_Trials):
    """The number of successes before `total_count` failures.

    Args:
        total_count: failures, > 0; need not be whole.
        probs: the probability of success, from 0 to below 1.
        logits: log(probs / (1 - probs)); instead of probs.
    """

    arg_constraints = {
        "total_count": constraints.positive,
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }

    def __init__(
        self,
        total_count: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(total_count, probs, logits, validate_args)

    @property
    def support(self) -> Constraint:
        return constraints.nonnegative_integer

    @property
    def mean(self) -> Tensor:
        return self.total_count * rl.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * rl.exp(self.logits)).floor().clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.mean / (1 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with rl.no_grad():
            rates = Gamma(self.total_count, rl.exp(-self.logits), validate_args=False)
            return rl.poisson(rates.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value, self._parameter.dtype)
        failures = self.total_count
        logits = self.logits
        weight = -failures * rl.softplus(logits) - value * rl.softplus(-logits)
        ways = rl.lgamma(failures + value) - rl.lgamma(1 + value) - rl.lgamma(failures)
        return weight + rl.where(failures + value == 0, 0.0, ways)


class Multinomial(CategoryDistribution):
    """How often each category comes in `total_count` draws.

    Args:
        total_count: one whole number >= 0.
        probs: of shape (..., categories), not negative; scaled to sum to 1.
        logits: their logarithms, up to a constant; instead of probs.

    >>> Multinomial(4, rl.tensor([1.0, 3.0])).mean
    tensor([1., 3.])
    """

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int) or total_count < 0:
            raise ValueError(f"Multinomial: total_count must be an int >= 0, got {total_count!r}")
        self.total_count = total_count
        parameter = rl.as_tensor(logits if probs is None else probs)
        super().__init__(probs, logits, validate_args, event_shape=parameter.shape[-1:])

    @property
    def support(self) -> Constraint:
        return constraints.Counts(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def expand(self, batch_shape: Shape) -> Multinomial:
        parameter = self._parameter.expand((*batch_shape, self.category_count))
        return Multinomial(self.total_count, **{self._given: parameter}, validate_args=False)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        shape = tuple(sample_shape)
        indices = self._draw_indices((self.total_count, *shape)).to(rl.int64)
        counts = rl.zeros((*shape, *self.batch_shape, self.category_count), dtype=rl.float64)
        along = (
            indices.movedim(0, -1) if self.total_count else indices.reshape((*counts.shape[:-1], 0))
        )
        ones = rl.ones(along.shape, dtype=rl.float64)
        return counts.scatter_add(-1, along, ones).to(self._parameter.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value, self._parameter.dtype)
        logits = rl.where((value == 0) & ~rl.isfinite(self.logits), 0.0, self.logits)
        ways = math.lgamma(self.total_count + 1) - rl.lgamma(value + 1).sum(-1)
        return ways + (value * logits).sum(-1)

    def entropy(self) -> Tensor:
        n = self.total_count
        counts = rl.arange(1, n + 1, dtype=self._parameter.dtype)
        shape = (-1, *(1 for _ in self._parameter.shape))
        weights = rl.exp(
            Binomial(n, self.probs, validate_args=False).log_prob(counts.reshape(shape))
        )
        expected = (weights * rl.lgamma(counts.reshape(shape) + 1)).sum((0, -1))
        return n * super().entropy() - math.lgamma(n + 1) + expected
