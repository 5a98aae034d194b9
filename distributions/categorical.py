"""One of several categories."""

from __future__ import annotations

import math

import relume as rl
from relume import Tensor
from relume.distributions import constraints
from relume.distributions.constraints import Constraint
from relume.distributions.distribution import Distribution, Shape
from relume.distributions.parameters import broadcast_parameters, clamped, exactly_one

_WEIGHTS = constraints.independent(constraints.nonnegative, 1)


class CategoryDistribution(Distribution):
    """A distribution with a vector of probabilities, given as it is or as logarithms.

    Args:
        probs: of shape (..., categories), not negative; scaled to sum to 1.
        logits: their logarithms, up to a constant; instead of probs.
    """

    arg_constraints = {"probs": _WEIGHTS, "logits": constraints.real_vector}

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
        *,
        event_shape: Shape = (),
    ) -> None:
        exactly_one(probs, logits, "probs and logits")
        self._given = "logits" if probs is None else "probs"
        (given,) = broadcast_parameters(logits if probs is None else probs)  # type: ignore[arg-type]
        if given.ndim < 1:
            raise ValueError(f"{type(self).__name__}: {self._given} needs at least one dimension")
        if self._given == "probs":
            self._parameter = given / given.sum(-1, keepdim=True)
        else:
            self._parameter = rl.log_softmax(given, -1)
        super().__init__(given.shape[:-1], event_shape, validate_args)

    def _parameters(self) -> dict[str, Tensor]:
        return {self._given: self._parameter}

    @property
    def probs(self) -> Tensor:
        """The probabilities, which sum to 1."""
        return self._parameter if self._given == "probs" else rl.exp(self._parameter)

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._parameter if self._given == "logits" else rl.log(clamped(self._parameter))

    @property
    def category_count(self) -> int:
        """How many categories there are."""
        return self._parameter.shape[-1]

    def entropy(self) -> Tensor:
        logits = self.logits
        return -(rl.where(rl.isfinite(logits), logits, 0.0) * self.probs).sum(-1)

    def _draw_indices(self, sample_shape: Shape) -> Tensor:
        """Indices of shape sample_shape + batch_shape."""
        with rl.no_grad():
            count = math.prod(sample_shape)
            shape = (*sample_shape, *self.batch_shape)
            if 0 in shape:
                return rl.zeros(shape, dtype=rl.int64)
            rows = self.probs.detach().reshape(-1, self.category_count)
            return rl.multinomial(rows, count, True).t().reshape(shape)


class Categorical(CategoryDistribution):
    """The index (0-based) of one of several categories.

    Args:
        probs: of shape (..., categories), not negative; scaled to sum to 1.
        logits: their logarithms, up to a constant; instead of probs.

    >>> Categorical(rl.tensor([1.0, 3.0])).log_prob(rl.tensor(1)).exp()
    tensor(0.75)
    """

    has_enumerate_support = True

    @property
    def support(self) -> Constraint:
        return constraints.integer_interval(0, self.category_count - 1)

    @property
    def mean(self) -> Tensor:
        return rl.full(self.batch_shape, math.nan, dtype=self._parameter.dtype)

    @property
    def variance(self) -> Tensor:
        return rl.full(self.batch_shape, math.nan, dtype=self._parameter.dtype)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        return self._draw_indices(tuple(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        indices = self._checked(value, rl.int64)
        logits = self.logits
        shape = rl.broadcast_shapes(logits.shape[:-1], indices.shape)
        logits = logits.expand((*shape, self.category_count))
        return logits.gather(-1, indices.expand(shape).unsqueeze(-1)).squeeze(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = rl.arange(self.category_count)
        values = values.reshape((-1, *(1 for _ in self.batch_shape)))
        return values.expand((-1, *self.batch_shape)) if expand else values


class OneHotCategorical(CategoryDistribution):
    """A vector with a 1 at one of several categories, and zeros.

    Args:
        probs: of shape (..., categories), not negative; scaled to sum to 1.
        logits: their logarithms, up to a constant; instead of probs.

    >>> OneHotCategorical(rl.tensor([0.0, 1.0])).sample()
    tensor([0., 1.])
    """

    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        parameter = rl.as_tensor(logits if probs is None else probs)
        super().__init__(probs, logits, validate_args, event_shape=parameter.shape[-1:])

    @property
    def support(self) -> Constraint:
        return constraints.one_hot

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    @property
    def mode(self) -> Tensor:
        return self._one_hot(self.probs.argmax(-1))

    def _one_hot(self, indices: Tensor) -> Tensor:
        return rl.eye(self.category_count, dtype=self._parameter.dtype)[indices]

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        return self._one_hot(self._draw_indices(tuple(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._checked(value, self._parameter.dtype)
        return rl.where(value == 0, 0.0, value * self.logits).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self.category_count
        values = rl.eye(count, dtype=self._parameter.dtype)
        values = values.reshape((count, *(1 for _ in self.batch_shape), count))
        return values.expand((count, *self.batch_shape, count)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose gradient is that of its probabilities (Bengio et al., 2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        probs = self.probs
        return self.sample(sample_shape) + (probs - probs.detach())
