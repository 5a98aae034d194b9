"""Kullback-Leibler divergences, a table by the types of the two distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import relume as rl
from relume import Tensor
from relume.distributions.bernoulli import Bernoulli, Geometric
from relume.distributions.beta import Beta, Dirichlet
from relume.distributions.categorical import Categorical, CategoryDistribution, OneHotCategorical
from relume.distributions.combined import Independent, TransformedDistribution
from relume.distributions.counts import Binomial, Poisson
from relume.distributions.distribution import Distribution
from relume.distributions.exponential import Exponential, Pareto, Weibull
from relume.distributions.gamma import Gamma, InverseGamma
from relume.distributions.location_scale import Cauchy, Gumbel, HalfCauchy, Laplace, Uniform
from relume.distributions.multivariate_normal import LowRankMultivariateNormal, MultivariateNormal
from relume.distributions.normal import HalfNormal, LogNormal, Normal
from relume.distributions.parameters import EULER, sum_last
from relume.distributions.random_matrices import Wishart

Divergence = Callable[[Any, Any], Tensor]
_TABLE: dict[tuple[type, type], Divergence] = {}


def register_kl(p_type: type, q_type: type) -> Callable[[Divergence], Divergence]:
    """A decorator: this function gives kl_divergence(p, q) for these types and their subclasses."""

    def register(function: Divergence) -> Divergence:
        _TABLE[p_type, q_type] = function
        return function

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence of q from p: the mean under p of log p(x) - log q(x).

    Returns:
        Tensor of shape batch_shape.

    Raises:
        NotImplementedError: no formula is registered for the two types.

    >>> from relume.distributions import Normal
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5)
    """
    for p_type in type(p).__mro__:
        for q_type in type(q).__mro__:
            function = _TABLE.get((p_type, q_type))
            if function:
                return function(p, q)
    raise NotImplementedError(
        f"no divergence is known between {type(p).__name__} and {type(q).__name__}; register one "
        "with register_kl, or average p.log_prob(x) - q.log_prob(x) over samples of p"
    )


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).square()
    distance = ((p.loc - q.loc) / q.scale).square()
    return 0.5 * (ratio + distance - 1 - rl.log(ratio))


@register_kl(LogNormal, LogNormal)
def _log_normal(p: LogNormal, q: LogNormal) -> Tensor:
    return _normal(p, q)


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    ratio = (p.scale / q.scale).square()
    return 0.5 * (ratio - 1 - rl.log(ratio))


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(f"the vectors differ in length: {p.event_shape} and {q.event_shape}")
    batch = rl.broadcast_shapes(p.batch_shape, q.batch_shape)
    size = p.event_shape[0]
    scales = [d.scale_tril.expand((*batch, size, size)) for d in (p, q)]
    trace = rl.linalg.solve_triangular(scales[1], scales[0], upper=False).square().sum((-2, -1))
    distance = q.squared_distance(p.loc - q.loc)
    return q.log_determinant() - p.log_determinant() + 0.5 * (trace + distance - size)


def _with_factor(p: Any) -> MultivariateNormal:
    return MultivariateNormal(p.loc, scale_tril=p.scale_tril, validate_args=False)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _low_rank_normal(p: Any, q: Any) -> Tensor:
    return _multivariate_normal(_with_factor(p), _with_factor(q))


@register_kl(Wishart, Wishart)
def _wishart(p: Wishart, q: Wishart) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(f"the matrices differ in size: {p.event_shape} and {q.event_shape}")
    size = p.event_shape[0]
    batch = rl.broadcast_shapes(p.batch_shape, q.batch_shape)
    scales = [d.scale_tril.expand((*batch, size, size)) for d in (p, q)]
    trace = rl.linalg.solve_triangular(scales[1], scales[0], upper=False).square().sum((-2, -1))
    logs = [rl.log(scale.diagonal(0, -2, -1)).sum(-1) for scale in scales]
    places = rl.arange(size, dtype=p.df.dtype)
    digammas = rl.digamma((p.df.unsqueeze(-1) - places) / 2).sum(-1)
    return (
        q.df * (logs[1] - logs[0])
        + 0.5 * p.df * (trace - size)
        + rl.mvlgamma(q.df / 2, size)
        - rl.mvlgamma(p.df / 2, size)
        + 0.5 * (p.df - q.df) * digammas
    )


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    inside = (q.low <= p.low) & (q.high >= p.high)
    return rl.where(inside, rl.log((q.high - q.low) / (p.high - p.low)), math.inf)


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio = p.scale / q.scale
    distance = rl.abs(p.loc - q.loc)
    return ratio * rl.exp(-distance / p.scale) + distance / q.scale - rl.log(ratio) - 1


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    wide = (p.scale + q.scale).square() + (p.loc - q.loc).square()
    return rl.log(wide) - rl.log(4 * p.scale * q.scale)


@register_kl(HalfCauchy, HalfCauchy)
def _half_cauchy(p: HalfCauchy, q: HalfCauchy) -> Tensor:
    return 2 * rl.log(p.scale + q.scale) - rl.log(4 * p.scale * q.scale)


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio = p.scale / q.scale
    shift = (q.loc - p.loc) / q.scale
    return -rl.log(ratio) - shift + ratio * EULER + rl.exp(shift + rl.lgamma(1 + ratio)) - 1 - EULER


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - rl.log(ratio)


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Exponential, q: Gamma) -> Tensor:
    return _gamma(Gamma(rl.ones_like(p.rate), p.rate, validate_args=False), q)


@register_kl(Gamma, Exponential)
def _gamma_exponential(p: Gamma, q: Exponential) -> Tensor:
    return _gamma(p, Gamma(rl.ones_like(q.rate), q.rate, validate_args=False))


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    shapes = (a - b) * rl.digamma(a) + rl.lgamma(b) - rl.lgamma(a)
    return shapes + b * rl.log(p.rate / q.rate) + a * (q.rate / p.rate - 1)


@register_kl(InverseGamma, InverseGamma)
def _inverse_gamma(p: InverseGamma, q: InverseGamma) -> Tensor:
    return _gamma(p._inverse, q._inverse)


@register_kl(Weibull, Weibull)
def _weibull(p: Weibull, q: Weibull) -> Tensor:
    """Bauckhage (2013)."""
    k, j = p.concentration, q.concentration
    mean_log = rl.log(p.scale) - EULER / k
    power = rl.exp(j * rl.log(p.scale / q.scale) + rl.lgamma(j / k + 1))
    constants = rl.log(k / j) - k * rl.log(p.scale) + j * rl.log(q.scale)
    return constants + (k - j) * mean_log + power - 1


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    finite = q.alpha * rl.log(p.scale / q.scale) - rl.log(ratio) + ratio - 1
    return rl.where(p.scale >= q.scale, finite, math.inf)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    normalizers = rl.lgamma(total) - rl.lgamma(b.sum(-1)) - (rl.lgamma(a) - rl.lgamma(b)).sum(-1)
    weights = (a - b) * (rl.digamma(a) - rl.digamma(total).unsqueeze(-1))
    return normalizers + weights.sum(-1)


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    one, zero = p.probs, 1 - p.probs
    yes = rl.xlogy(one, one) + one * rl.softplus(-q.logits)
    no = rl.xlogy(zero, zero) + zero * rl.softplus(q.logits)
    return yes + no


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - rl.log1p(-q.probs) / p.probs - q.logits


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    one = rl.where(p.probs > 0, p.probs * (p.logits - q.logits), 0.0)
    each = one + rl.softplus(q.logits) - rl.softplus(p.logits)
    impossible = math.inf
    same = rl.where(p.total_count == q.total_count, p.total_count * each, math.nan)
    return rl.where(p.total_count > q.total_count, impossible, same)


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return rl.xlogy(p.rate, p.rate) - rl.xlogy(p.rate, q.rate) - (p.rate - q.rate)


def _categories(p: CategoryDistribution, q: CategoryDistribution) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = rl.where(p.probs == 0, 0.0, rl.where(q.probs == 0, math.inf, terms))
    return terms.sum(-1)


register_kl(Categorical, Categorical)(_categories)
register_kl(OneHotCategorical, OneHotCategorical)(_categories)


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("the two have different numbers of event dimensions")
    return sum_last(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if [type(t) for t in p.transforms] != [type(t) for t in q.transforms]:
        raise NotImplementedError("the two have different transforms")
    return kl_divergence(p.base_dist, q.base_dist)
