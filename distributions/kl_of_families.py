"""Kullback-Leibler divergences between distributions of different families.

KL(p, q) is -entropy(p) - E[log q(x)], x drawn from p. The logarithm of each density here is made of
few functions of x, so that a table of their means under p serves all pairs. Where p reaches outside
of the support of q the divergence is infinite.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import relume as rl
from relume import Tensor
from relume.distributions.bernoulli import Bernoulli
from relume.distributions.beta import Beta
from relume.distributions.counts import Binomial, Poisson
from relume.distributions.distribution import Distribution
from relume.distributions.exponential import Exponential, Pareto
from relume.distributions.gamma import Gamma
from relume.distributions.kl import register_kl
from relume.distributions.location_scale import Gumbel, Laplace, Uniform
from relume.distributions.normal import Normal
from relume.distributions.unit_interval import ContinuousBernoulli

Bound = Tensor | float

_LINE = (-math.inf, math.inf)
_BOUNDS: dict[type, Callable[[Any], tuple[Bound, Bound]]] = {
    Beta: lambda p: (0.0, 1.0),
    ContinuousBernoulli: lambda p: (0.0, 1.0),
    Exponential: lambda p: (0.0, math.inf),
    Gamma: lambda p: (0.0, math.inf),
    Gumbel: lambda p: _LINE,
    Laplace: lambda p: _LINE,
    Normal: lambda p: _LINE,
    Pareto: lambda p: (p.scale, math.inf),
    Uniform: lambda p: (p.low, p.high),
}

# The mean of log(x).
_MEAN_LOG: dict[type, Callable[[Any], Tensor]] = {
    Beta: lambda p: rl.digamma(p.concentration1) - rl.digamma(p.concentration1 + p.concentration0),
    Pareto: lambda p: rl.log(p.scale) + p.alpha.reciprocal(),
    Uniform: lambda p: _mean_log_up_to(p.low, p.high),
}

# The mean of exp(-x / scale).
_MEAN_DECAY: dict[type, Callable[[Any, Tensor], Tensor]] = {
    Exponential: lambda p, scale: p.rate / (p.rate + 1 / scale),
    Gamma: lambda p, scale: (p.rate / (p.rate + 1 / scale)) ** p.concentration,
    Normal: lambda p, scale: rl.exp((p.scale / scale).square() / 2 - p.loc / scale),
    Uniform: lambda p, scale: (
        scale * (rl.exp(-p.low / scale) - rl.exp(-p.high / scale)) / (p.high - p.low)
    ),
}


def _mean_log_up_to(low: Tensor, high: Tensor) -> Tensor:
    """The mean of log(x) between two bounds of at least 0."""
    return (rl.xlogy(high, high) - rl.xlogy(low, low)) / (high - low) - 1


def _under_normal(p: Any, q: Normal) -> Tensor:
    squares = (p.variance + (p.mean - q.loc).square()) / q.variance
    return -0.5 * (squares + math.log(2 * math.pi)) - rl.log(q.scale)


def _under_exponential(p: Any, q: Exponential) -> Tensor:
    return rl.log(q.rate) - q.rate * p.mean


def _under_gamma(p: Any, q: Gamma) -> Tensor:
    a = q.concentration
    constant = a * rl.log(q.rate) - rl.lgamma(a)
    return constant + (a - 1) * _MEAN_LOG[type(p)](p) - q.rate * p.mean


def _under_beta(p: Uniform, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    constant = rl.lgamma(a + b) - rl.lgamma(a) - rl.lgamma(b)
    near_one = _mean_log_up_to(1 - p.high, 1 - p.low)
    return constant + (a - 1) * _mean_log_up_to(p.low, p.high) + (b - 1) * near_one


def _under_continuous_bernoulli(p: Any, q: ContinuousBernoulli) -> Tensor:
    return q.log_prob(rl.zeros_like(q.logits)) + p.mean * q.logits


def _under_pareto(p: Any, q: Pareto) -> Tensor:
    constant = rl.log(q.alpha) + q.alpha * rl.log(q.scale)
    return constant - (q.alpha + 1) * _MEAN_LOG[type(p)](p)


def _under_uniform(p: Any, q: Uniform) -> Tensor:
    return -rl.log(q.high - q.low)


def _under_gumbel(p: Any, q: Gumbel) -> Tensor:
    kind = Gamma if isinstance(p, Gamma) else type(p)
    decay = rl.exp(q.loc / q.scale) * _MEAN_DECAY[kind](p, q.scale)
    return -(p.mean - q.loc) / q.scale - rl.log(q.scale) - decay


def _under_laplace(p: Normal, q: Laplace) -> Tensor:
    shift = (p.loc - q.loc) / p.scale
    inside = rl.erf(shift / math.sqrt(2)) * shift
    distance = inside + math.sqrt(2 / math.pi) * rl.exp(-shift.square() / 2)
    return -p.scale * distance / q.scale - rl.log(2 * q.scale)


_UNDER: dict[type, tuple[Callable[[Any, Any], Tensor], tuple[type, ...]]] = {
    Beta: (_under_beta, (Uniform,)),
    ContinuousBernoulli: (_under_continuous_bernoulli, (Beta, ContinuousBernoulli, Uniform)),
    Exponential: (_under_exponential, (Beta, ContinuousBernoulli, Pareto, Uniform)),
    Gamma: (_under_gamma, (Beta, Pareto, Uniform)),
    Gumbel: (_under_gumbel, (Exponential, Gamma, Normal, Uniform)),
    Laplace: (_under_laplace, (Normal,)),
    Normal: (
        _under_normal,
        (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform),
    ),
    Pareto: (_under_pareto, (Uniform,)),
    Uniform: (_under_uniform, (Beta, ContinuousBernoulli)),
}

_ON_THE_LINE = (Gumbel, Laplace, Normal)
_FROM_0 = (Exponential, Gamma)
_UP_TO_1 = (Beta, ContinuousBernoulli)

# The support of the first ones is never inside of that of the second ones.
_OUTSIDE: list[tuple[tuple[type, ...], tuple[type, ...]]] = [
    (_ON_THE_LINE, (*_FROM_0, *_UP_TO_1, Pareto, Uniform)),
    (_FROM_0, (*_UP_TO_1, Pareto, Uniform)),
    (_UP_TO_1, (Pareto,)),
    ((Pareto,), (*_UP_TO_1, Uniform)),
    ((Poisson,), (Bernoulli, Binomial)),
]


def _finite_inside(p_type: type, q_type: type) -> Callable[[Any, Any], Tensor]:
    expected = _UNDER[q_type][0]

    def divergence(p: Any, q: Any) -> Tensor:
        (low, high), (q_low, q_high) = _BOUNDS[p_type](p), _BOUNDS[q_type](q)
        inside = rl.as_tensor(low >= q_low) & rl.as_tensor(high <= q_high)
        return rl.where(inside, -p.entropy() - expected(p, q), math.inf)

    return divergence


def _infinite(p: Distribution, q: Distribution) -> Tensor:
    return rl.full(rl.broadcast_shapes(p.batch_shape, q.batch_shape), math.inf).to(p.mean.dtype)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return q.rate - p.probs * rl.log(q.rate) - p.entropy()


def install() -> None:
    """Puts the divergences between families into the table of all."""
    for q, (_, families) in _UNDER.items():
        for p in families:
            register_kl(p, q)(_finite_inside(p, q))
    for first, second in _OUTSIDE:
        for pair in itertools.product(first, second):
            register_kl(*pair)(_infinite)
