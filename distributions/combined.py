"""Distributions made of others: independent dimensions, transformed values, mixtures."""

from __future__ import annotations

from collections.abc import Sequence

import relume as rl
from relume import Tensor
from relume.distributions import constraints
from relume.distributions.categorical import Categorical
from relume.distributions.constraints import Constraint
from relume.distributions.distribution import Distribution, Shape
from relume.distributions.parameters import sum_last
from relume.distributions.transforms import ComposeTransform, Transform


class Independent(Distribution):
    """A distribution whose last batch dimensions belong to one event.

    Args:
        base_distribution: what is drawn.
        reinterpreted_batch_ndims: how many of its batch dimensions.

    >>> from relume.distributions import Normal
    >>> Independent(Normal(rl.zeros(3), rl.ones(3)), 1).log_prob(rl.zeros(3)).shape
    ()
    """

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        count = reinterpreted_batch_ndims
        batch = base_distribution.batch_shape
        if not 0 <= count <= len(batch):
            raise ValueError(
                f"Independent: reinterpreted_batch_ndims must be from 0 to {len(batch)}, "
                f"got {count}"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, count
        kept = len(batch) - count
        super().__init__(
            batch[:kept], (*batch[kept:], *base_distribution.event_shape), validate_args
        )

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @property
    def support(self) -> Constraint:
        return constraints.independent(self.base_dist.support, self.reinterpreted_batch_ndims)

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_last(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def expand(self, batch_shape: Shape) -> Independent:
        count = self.reinterpreted_batch_ndims
        base_batch = self.base_dist.batch_shape
        inner = base_batch[len(base_batch) - count :]
        return Independent(self.base_dist.expand((*batch_shape, *inner)), count)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """The distribution of f(x) for an x that is drawn from another.

    Args:
        base_distribution: where x is drawn from.
        transforms: one invertible function, or several, the first one applied first.

    >>> from relume.distributions import ExpTransform, Normal
    >>> TransformedDistribution(Normal(0.0, 1.0), ExpTransform()).log_prob(1.0)
    tensor(-0.9189)
    """

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        self._transform = transform = ComposeTransform(self.transforms)
        missing = transform.event_dim - len(base_distribution.event_shape)
        if missing > 0:  # what is transformed together belongs to one event
            base_distribution = Independent(base_distribution, missing)
        self.base_dist = base_distribution
        event = transform.forward_shape(base_distribution.event_shape)
        super().__init__(base_distribution.batch_shape, event, validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @property
    def support(self) -> Constraint:
        codomain = self._transform.codomain if self.transforms else self.base_dist.support
        return constraints.independent(codomain, len(self.event_shape) - codomain.event_dim)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with rl.no_grad():
            return self._transform(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self._transform(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        y = self._checked(value, self.base_dist.sample().dtype)
        x = self._transform.inv(y)
        stretched = sum_last(
            self._transform.log_abs_det_jacobian(x, y),
            len(self.base_dist.event_shape) - self._transform.event_dim,
        )
        return self.base_dist.log_prob(x) - stretched

    def cdf(self, value: Tensor) -> Tensor:
        below = self.base_dist.cdf(self._transform.inv(rl.as_tensor(value)))
        return below if self._transform.sign > 0 else 1 - below

    def icdf(self, value: Tensor) -> Tensor:
        value = rl.as_tensor(value)
        return self._transform(
            self.base_dist.icdf(value if self._transform.sign > 0 else 1 - value)
        )

    def expand(self, batch_shape: Shape) -> TransformedDistribution:
        return TransformedDistribution(self.base_dist.expand(batch_shape), self.transforms)

    def __repr__(self) -> str:
        names = ", ".join(type(transform).__name__ for transform in self.transforms)
        return f"TransformedDistribution({self.base_dist}, [{names}])"


class MixtureSameFamily(Distribution):
    """One of several distributions of a batch, chosen at random for each draw.

    Args:
        mixture_distribution: a Categorical that chooses.
        component_distribution: its last batch dimension holds the distributions.
    """

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        batch = component_distribution.batch_shape
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError("MixtureSameFamily: the mixture must be a Categorical")
        if not batch or batch[-1] != mixture_distribution.category_count:
            raise ValueError(
                f"MixtureSameFamily: a mixture of {mixture_distribution.category_count} needs "
                f"that many components in the last batch dimension, got {tuple(batch)}"
            )
        self.mixture_distribution = mixture_distribution
        self.component_distribution = component_distribution
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args)

    @property
    def support(self) -> Constraint:
        return self.component_distribution.support

    def _weights(self) -> Tensor:
        """Probabilities of the components, with dimensions of size 1 for the event."""
        probs = self.mixture_distribution.probs
        return probs.reshape((*probs.shape, *(1 for _ in self.event_shape)))

    @property
    def mean(self) -> Tensor:
        return self._expectation(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        within = self._expectation(self.component_distribution.variance)
        center = self.mean.unsqueeze(self._component_dim)
        between = (self.component_distribution.mean - center).square()
        return within + self._expectation(between)

    @property
    def _component_dim(self) -> int:
        return -1 - len(self.event_shape)

    def _expectation(self, of_components: Tensor) -> Tensor:
        return (self._weights() * of_components).sum(self._component_dim)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with rl.no_grad():
            drawn = self.component_distribution.sample(sample_shape)
            chosen = self.mixture_distribution.expand(self.batch_shape).sample(sample_shape)
            dim = drawn.ndim + self._component_dim
            index = chosen.reshape((*chosen.shape, 1, *(1 for _ in self.event_shape)))
            index = index.expand((*chosen.shape, 1, *self.event_shape))
            return drawn.gather(dim, index).squeeze(dim)

    def log_prob(self, value: Tensor) -> Tensor:
        value = rl.as_tensor(value).unsqueeze(self._component_dim)
        of_components = self.component_distribution.log_prob(value)
        return rl.logsumexp(of_components + self.mixture_distribution.logits, -1)

    def cdf(self, value: Tensor) -> Tensor:
        value = rl.as_tensor(value).unsqueeze(self._component_dim)
        return (self.component_distribution.cdf(value) * self.mixture_distribution.probs).sum(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamily({self.mixture_distribution}, {self.component_distribution})"
