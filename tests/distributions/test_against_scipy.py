"""Densities, moments and samples against the same distributions of SciPy."""

import numpy as np
import pytest
from scipy import stats

import relume as rl
from relume import distributions as d


def scalar(value):
    return rl.tensor(value, dtype=rl.float64)


# name: (ours, SciPy's); parameters as double tensors.
CONTINUOUS = {
    "normal": (d.Normal(scalar(0.3), scalar(1.7)), stats.norm(0.3, 1.7)),
    "log_normal": (d.LogNormal(scalar(0.3), scalar(0.7)), stats.lognorm(0.7, scale=np.exp(0.3))),
    "half_normal": (d.HalfNormal(scalar(1.3)), stats.halfnorm(scale=1.3)),
    "uniform": (d.Uniform(scalar(-1.0), scalar(2.5)), stats.uniform(-1.0, 3.5)),
    "laplace": (d.Laplace(scalar(0.3), scalar(1.7)), stats.laplace(0.3, 1.7)),
    "cauchy": (d.Cauchy(scalar(0.3), scalar(1.7)), stats.cauchy(0.3, 1.7)),
    "half_cauchy": (d.HalfCauchy(scalar(1.3)), stats.halfcauchy(scale=1.3)),
    "gumbel": (d.Gumbel(scalar(0.3), scalar(1.7)), stats.gumbel_r(0.3, 1.7)),
    "exponential": (d.Exponential(scalar(2.5)), stats.expon(scale=1 / 2.5)),
    "weibull": (d.Weibull(scalar(1.3), scalar(2.2)), stats.weibull_min(2.2, scale=1.3)),
    "pareto": (d.Pareto(scalar(1.3), scalar(5.2)), stats.pareto(5.2, scale=1.3)),
    "gamma": (d.Gamma(scalar(2.3), scalar(1.7)), stats.gamma(2.3, scale=1 / 1.7)),
    "gamma_small": (d.Gamma(scalar(0.3), scalar(1.7)), stats.gamma(0.3, scale=1 / 1.7)),
    "chi2": (d.Chi2(scalar(3.5)), stats.chi2(3.5)),
    "inverse_gamma": (d.InverseGamma(scalar(5.3), scalar(1.7)), stats.invgamma(5.3, scale=1.7)),
    "beta": (d.Beta(scalar(2.3), scalar(0.7)), stats.beta(2.3, 0.7)),
    "student_t": (d.StudentT(scalar(4.5), scalar(0.3), scalar(1.7)), stats.t(4.5, 0.3, 1.7)),
    "fisher_snedecor": (d.FisherSnedecor(scalar(3.5), scalar(7.5)), stats.f(3.5, 7.5)),
}
DISCRETE = {
    "bernoulli": (d.Bernoulli(scalar(0.3)), stats.bernoulli(0.3)),
    "bernoulli_logits": (d.Bernoulli(logits=scalar(0.4)), stats.bernoulli(1 / (1 + np.exp(-0.4)))),
    "geometric": (d.Geometric(scalar(0.3)), stats.geom(0.3, loc=-1)),
    "binomial": (d.Binomial(7, scalar(0.3)), stats.binom(7, 0.3)),
    "poisson": (d.Poisson(scalar(3.3)), stats.poisson(3.3)),
    "negative_binomial": (d.NegativeBinomial(scalar(4.5), scalar(0.3)), stats.nbinom(4.5, 0.7)),
    "categorical": (
        d.Categorical(rl.tensor([1.0, 2.0, 5.0], dtype=rl.float64)),
        stats.rv_discrete(values=([0, 1, 2], [0.125, 0.25, 0.625])),
    ),
}
WITHOUT_CDF = {"student_t", "fisher_snedecor"}
WITHOUT_ENTROPY = {"fisher_snedecor", "poisson", "negative_binomial"}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_density(name):
    ours, scipys = CONTINUOUS[name]
    x = scipys.ppf(np.linspace(0.01, 0.99, 17))
    np.testing.assert_allclose(ours.log_prob(rl.tensor(x)).numpy(), scipys.logpdf(x), rtol=1e-9)


@pytest.mark.parametrize("name", DISCRETE)
def test_probability(name):
    ours, scipys = DISCRETE[name]
    x = np.arange(ours.support.upper + 1 if name == "categorical" else 2, dtype=np.float64)
    np.testing.assert_allclose(ours.log_prob(rl.tensor(x)).numpy(), scipys.logpmf(x), rtol=1e-9)


@pytest.mark.parametrize("name", sorted(CONTINUOUS.keys() - WITHOUT_CDF))
def test_cumulative_distribution(name):
    ours, scipys = CONTINUOUS[name]
    p = np.linspace(0.01, 0.99, 17)
    x = scipys.ppf(p)
    np.testing.assert_allclose(ours.cdf(rl.tensor(x)).numpy(), p, rtol=1e-8)
    try:
        quantiles = ours.icdf(rl.tensor(p))
    except NotImplementedError:
        return
    np.testing.assert_allclose(quantiles.numpy(), x, rtol=1e-8, atol=1e-12)


BOTH = {**CONTINUOUS, **DISCRETE}


@pytest.mark.parametrize("name", sorted(BOTH.keys() - {"categorical"}))
def test_moments(name):
    ours, scipys = BOTH[name]
    mean, variance = scipys.stats("mv")
    for got, expected in ((ours.mean, mean), (ours.variance, variance)):
        if np.isfinite(expected):
            np.testing.assert_allclose(got.item(), expected, rtol=1e-9)
        else:
            assert not np.isfinite(got.item())


@pytest.mark.parametrize("name", sorted(BOTH.keys() - WITHOUT_ENTROPY))
def test_entropy(name):
    ours, scipys = BOTH[name]
    np.testing.assert_allclose(ours.entropy().item(), scipys.entropy(), rtol=1e-9)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_samples_of_continuous_distributions(name):
    ours, scipys = CONTINUOUS[name]
    rl.manual_seed(7)
    drawn = ours.sample((4000,))
    assert drawn.shape == (4000,)
    assert stats.kstest(drawn.numpy(), scipys.cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", DISCRETE)
def test_samples_of_discrete_distributions(name):
    ours, scipys = DISCRETE[name]
    rl.manual_seed(7)
    drawn = ours.sample((4000,)).numpy()
    for value in np.unique(drawn)[:4]:
        p = scipys.pmf(value)
        spread = np.sqrt(4000 * p * (1 - p))
        assert abs((drawn == value).sum() - 4000 * p) < 4 * spread + 1


def test_dirichlet():
    alpha = np.array([0.7, 2.0, 3.5])
    ours, scipys = d.Dirichlet(rl.tensor(alpha)), stats.dirichlet(alpha)
    x = np.array([0.2, 0.5, 0.3])
    assert ours.log_prob(rl.tensor(x)).item() == pytest.approx(scipys.logpdf(x), rel=1e-9)
    assert ours.entropy().item() == pytest.approx(scipys.entropy(), rel=1e-9)
    np.testing.assert_allclose(ours.mean.numpy(), scipys.mean())
    np.testing.assert_allclose(ours.variance.numpy(), scipys.var())
    rl.manual_seed(1)
    drawn = ours.sample((5000,)).numpy()
    np.testing.assert_allclose(drawn.sum(1), 1)
    np.testing.assert_allclose(drawn.mean(0), scipys.mean(), atol=0.02)


def test_multinomial():
    p = np.array([0.2, 0.3, 0.5])
    ours, scipys = d.Multinomial(5, rl.tensor(p)), stats.multinomial(5, p)
    x = np.array([1.0, 1.0, 3.0])
    assert ours.log_prob(rl.tensor(x)).item() == pytest.approx(scipys.logpmf(x), rel=1e-9)
    assert ours.entropy().item() == pytest.approx(float(scipys.entropy()), rel=1e-9)
    rl.manual_seed(1)
    drawn = ours.sample((2000,))
    assert drawn.sum(-1).tolist() == [5.0] * 2000
    np.testing.assert_allclose(drawn.mean(0).numpy(), 5 * p, atol=0.1)


COVARIANCE = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.5]])


@pytest.mark.parametrize("given", ["covariance_matrix", "precision_matrix", "scale_tril"])
def test_multivariate_normal(given):
    loc = np.array([0.1, -0.2, 0.3])
    matrices = {
        "covariance_matrix": COVARIANCE,
        "precision_matrix": np.linalg.inv(COVARIANCE),
        "scale_tril": np.linalg.cholesky(COVARIANCE),
    }
    ours = d.MultivariateNormal(rl.tensor(loc), **{given: rl.tensor(matrices[given])})
    scipys = stats.multivariate_normal(loc, COVARIANCE)
    x = np.array([[0.0, 0.0, 0.0], [1.0, -1.0, 0.5]])
    np.testing.assert_allclose(ours.log_prob(rl.tensor(x)).numpy(), scipys.logpdf(x), rtol=1e-9)
    assert ours.entropy().item() == pytest.approx(scipys.entropy(), rel=1e-9)
    np.testing.assert_allclose(ours.covariance_matrix.numpy(), COVARIANCE, rtol=1e-9, atol=1e-12)
    rl.manual_seed(1)
    drawn = ours.sample((20000,)).numpy()
    np.testing.assert_allclose(np.cov(drawn.T), COVARIANCE, atol=0.06)
