"""kl_divergence against integration and sums of densities that SciPy knows."""

import math

import numpy as np
import pytest
from scipy import integrate

import relume as rl
from relume import distributions as d


def scalar(value):
    return rl.tensor(value, dtype=rl.float64)


def pair(kind, *parameters):
    return tuple(kind(*(scalar(p) for p in part)) for part in parameters)


CONTINUOUS = {
    "normal": (pair(d.Normal, (0.3, 1.2), (-0.4, 0.8)), (-15, 15)),
    "log_normal": (pair(d.LogNormal, (0.3, 0.5), (0.1, 0.8)), (1e-9, 60)),
    "half_normal": (pair(d.HalfNormal, (1.3,), (0.8,)), (0, 20)),
    "uniform": (pair(d.Uniform, (0.0, 1.0), (-1.0, 2.0)), (0, 1 - 1e-12)),
    "uniform_normal": ((d.Uniform(scalar(0.0), 2.0), d.Normal(scalar(0.3), 1.5)), (0, 2 - 1e-12)),
    "laplace": (pair(d.Laplace, (0.3, 1.2), (-0.4, 0.8)), (-30, 30)),
    "gumbel": (pair(d.Gumbel, (0.3, 1.2), (-0.4, 1.5)), (-8, 45)),
    "exponential": (pair(d.Exponential, (1.3,), (0.7,)), (0, 40)),
    "gamma": (pair(d.Gamma, (2.3, 1.2), (1.7, 0.8)), (1e-12, 50)),
    "exponential_gamma": ((d.Exponential(scalar(1.3)), d.Gamma(scalar(1.7), 0.9)), (1e-12, 40)),
    "gamma_exponential": ((d.Gamma(scalar(1.7), 0.9), d.Exponential(scalar(1.3))), (1e-12, 50)),
    "beta": (pair(d.Beta, (2.3, 1.2), (1.7, 1.8)), (1e-9, 1 - 1e-9)),
    "inverse_gamma": (pair(d.InverseGamma, (5.3, 1.2), (4.7, 0.8)), (1e-3, 60)),
    "weibull": (pair(d.Weibull, (1.3, 1.2), (0.8, 1.7)), (1e-9, 30)),
    "continuous_bernoulli": (pair(d.ContinuousBernoulli, (0.3,), (0.8,)), (0, 1)),
}
_FAMILIES = {
    "beta": (d.Beta(scalar(2.3), 1.2), (1e-9, 1 - 1e-9)),
    "continuous_bernoulli": (d.ContinuousBernoulli(scalar(0.3)), (0, 1)),
    "exponential": (d.Exponential(scalar(1.3)), (0, 40)),
    "gamma": (d.Gamma(scalar(2.3), 1.4), (1e-12, 50)),
    "gumbel": (d.Gumbel(scalar(0.3), 1.2), (-8, 45)),
    "laplace": (d.Laplace(scalar(0.3), 0.7), (-25, 25)),
    "normal": (d.Normal(scalar(0.3), 1.2), (-15, 15)),
    "pareto": (d.Pareto(scalar(0.7), 9.0), (0.7, 60)),
    "uniform": (d.Uniform(scalar(0.1), 0.9), (0.1, 0.9 - 1e-12)),
}
_WIDER = {
    "beta": d.Beta(scalar(1.4), 1.9),
    "continuous_bernoulli": d.ContinuousBernoulli(scalar(0.6)),
    "exponential": d.Exponential(scalar(0.8)),
    "gamma": d.Gamma(scalar(1.7), 0.9),
    "gumbel": d.Gumbel(scalar(-0.3), 1.5),
    "laplace": d.Laplace(scalar(-0.4), 1.1),
    "normal": d.Normal(scalar(-0.4), 1.5),
    "pareto": d.Pareto(scalar(0.05), 1.5),
    "uniform": d.Uniform(scalar(-0.2), 1.3),
}
_BETWEEN = {
    "beta": "continuous_bernoulli exponential gamma normal uniform",
    "continuous_bernoulli": "exponential normal uniform",
    "exponential": "gumbel normal",
    "gamma": "gumbel normal",
    "gumbel": "normal",
    "laplace": "normal",
    "normal": "gumbel laplace",
    "pareto": "exponential gamma normal",
    "uniform": "beta continuous_bernoulli exponential gamma gumbel normal pareto",
}
CONTINUOUS |= {
    f"{p} to {q}": ((_FAMILIES[p][0], _WIDER[q]), _FAMILIES[p][1])
    for p, others in _BETWEEN.items()
    for q in others.split()
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name):
    (p, q), (low, high) = CONTINUOUS[name]

    def integrand(x):
        log_p = p.log_prob(scalar(x)).item()
        return math.exp(log_p) * (log_p - q.log_prob(scalar(x)).item())

    middle = float(np.clip(p.mean.item(), low, high))
    expected = sum(
        integrate.quad(integrand, a, b, limit=200)[0] for a, b in ((low, middle), (middle, high))
    )
    assert d.kl_divergence(p, q).item() == pytest.approx(expected, rel=1e-5)


DISCRETE = {
    "bernoulli": pair(d.Bernoulli, (0.3,), (0.6,)),
    "geometric": pair(d.Geometric, (0.3,), (0.6,)),
    "poisson": pair(d.Poisson, (3.0,), (4.5,)),
    "binomial": (d.Binomial(6, scalar(0.3)), d.Binomial(6, scalar(0.6))),
    "categorical": (
        d.Categorical(rl.tensor([0.2, 0.3, 0.5], dtype=rl.float64)),
        d.Categorical(rl.tensor([0.4, 0.4, 0.2], dtype=rl.float64)),
    ),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name):
    p, q = DISCRETE[name]
    counts = {"bernoulli": 2, "categorical": 3, "binomial": 7}
    x = rl.arange(counts.get(name, 150)).to(rl.float64)
    log_p, log_q = p.log_prob(x).numpy(), q.log_prob(x).numpy()
    assert d.kl_divergence(p, q).item() == pytest.approx((np.exp(log_p) * (log_p - log_q)).sum())


def test_cauchy_of_its_own_shift():
    p, q = pair(d.Cauchy, (0.0, 1.0), (2.0, 1.0))
    assert d.kl_divergence(p, q).item() == pytest.approx(math.log(8 / 4))


def test_multivariate_normal_with_diagonal_is_a_sum_of_normals():
    loc = [rl.tensor([0.1, 0.4], dtype=rl.float64), rl.tensor([0.3, -0.2], dtype=rl.float64)]
    scale = [rl.tensor([1.1, 0.4], dtype=rl.float64), rl.tensor([0.9, 0.7], dtype=rl.float64)]
    p, q = (
        d.MultivariateNormal(m, scale_tril=rl.diag_embed(s))
        for m, s in zip(loc, scale, strict=True)
    )
    separate = d.kl_divergence(d.Normal(loc[0], scale[0]), d.Normal(loc[1], scale[1])).sum()
    assert d.kl_divergence(p, q).item() == pytest.approx(separate.item())


def test_dirichlet_of_two_is_beta():
    p, q = pair(d.Beta, (2.3, 1.2), (1.7, 1.8))
    x, y = (d.Dirichlet(rl.tensor(a, dtype=rl.float64)) for a in ([2.3, 1.2], [1.7, 1.8]))
    assert d.kl_divergence(x, y).item() == pytest.approx(d.kl_divergence(p, q).item())


def test_independent_sums():
    p, q = d.Normal(rl.zeros(3), 1.0), d.Normal(rl.ones(3), 1.0)
    joint = d.kl_divergence(d.Independent(p, 1), d.Independent(q, 1))
    assert joint.item() == pytest.approx(1.5)


def test_outside_of_the_support_is_infinite():
    assert d.kl_divergence(d.Uniform(0.0, 2.0), d.Uniform(0.0, 1.0)).item() == math.inf

    assert d.kl_divergence(d.Uniform(-1.0, 2.0), d.Exponential(1.0)).item() == math.inf
    assert d.kl_divergence(d.Uniform(0.1, 2.0), d.Pareto(0.5, 1.0)).item() == math.inf
    wide = d.kl_divergence(d.Normal(rl.zeros(3, 1), 1.0), d.Gamma(rl.ones(2), 1.0))
    assert wide.shape == (3, 2)
    assert (wide == math.inf).all()
    assert d.kl_divergence(d.Poisson(1.0), d.Bernoulli(0.5)).item() == math.inf


def test_bernoulli_to_poisson_is_a_sum_of_two():
    p, q = d.Bernoulli(scalar(0.3)), d.Poisson(scalar(0.8))
    x = rl.tensor([0.0, 1.0], dtype=rl.float64)
    expected = (p.log_prob(x).exp() * (p.log_prob(x) - q.log_prob(x))).sum()
    assert d.kl_divergence(p, q).item() == pytest.approx(expected.item())


def test_half_cauchy_is_a_folded_cauchy():
    p, q = (d.Cauchy(scalar(0.0), scalar(s)) for s in (1.0, 3.0))
    folded = (d.HalfCauchy(scalar(s)) for s in (1.0, 3.0))
    assert d.kl_divergence(*folded).item() == pytest.approx(d.kl_divergence(p, q).item())


def test_low_rank_normal_is_a_multivariate_normal():
    wide = rl.tensor([[1.0], [0.5], [-2.0]], dtype=rl.float64)
    low = d.LowRankMultivariateNormal(rl.zeros(3, dtype=rl.float64), wide, rl.ones(3).double())
    same = d.MultivariateNormal(low.loc, low.covariance_matrix)
    other = d.MultivariateNormal(rl.ones(3, dtype=rl.float64), rl.eye(3).double() * 2)
    expected = d.kl_divergence(same, other).item()
    assert d.kl_divergence(low, other).item() == pytest.approx(expected)
    assert d.kl_divergence(low, same).item() == pytest.approx(0, abs=1e-12)
    assert d.kl_divergence(other, low).item() == pytest.approx(d.kl_divergence(other, same).item())


def test_wishart_of_one_dimension_is_gamma():
    """A 1 x 1 matrix of variance s and df degrees of freedom: Gamma(df / 2, 1 / (2 s))."""
    parts = [(4.0, 1.5), (6.5, 0.7)]
    p, q = (d.Wishart(scalar(df), rl.tensor([[s]], dtype=rl.float64)) for df, s in parts)
    x, y = (d.Gamma(scalar(df / 2), 1 / (2 * s)) for df, s in parts)
    assert d.kl_divergence(p, q).item() == pytest.approx(d.kl_divergence(x, y).item())


def test_wishart_of_a_diagonal_with_the_same_freedom():
    """df / 2 * (tr(V) - log|V| - size) against the identity."""
    p = d.Wishart(scalar(5.0), rl.diag(rl.tensor([2.0, 0.5, 3.0], dtype=rl.float64)))
    q = d.Wishart(scalar(5.0), rl.eye(3, dtype=rl.float64))
    expected = 5 / 2 * (5.5 - math.log(3.0) - 3)
    assert d.kl_divergence(p, q).item() == pytest.approx(expected)


def test_unknown_pairs_say_what_to_do():
    with pytest.raises(NotImplementedError, match="register_kl"):
        d.kl_divergence(d.Cauchy(0.0, 1.0), d.Gamma(1.0, 1.0))


def test_own_divergences_can_be_registered():
    class Point(d.Normal):
        pass

    d.register_kl(Point, Point)(lambda p, q: rl.tensor(42.0))
    assert d.kl_divergence(Point(0.0, 1.0), Point(0.0, 1.0)).item() == 42.0
