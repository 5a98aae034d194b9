"""Distributions of angles, vectors and matrices, and the transforms that lead to them."""

import numpy as np
import pytest
from scipy import special, stats

import relume as rl
from relume import distributions as d
from relume.autograd.functional import jacobian

random = np.random.default_rng(8)
FACTOR = np.tril(random.normal(size=(3, 3)), -1) + np.diag([0.7, 1.2, 2.0])


def double(value):
    return rl.tensor(value, dtype=rl.float64)


def close(ours, expected, tolerance=1e-8):
    np.testing.assert_allclose(ours.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kappa", [0.01, 1.3, 200.0])
def test_von_mises(kappa):
    ours, scipys = d.VonMises(double(0.4), double(kappa)), stats.vonmises(kappa, loc=0.4)
    x = np.linspace(-3, 3, 13)
    close(ours.log_prob(double(x)), scipys.logpdf(x), 1e-6)
    close(ours.entropy(), scipys.entropy(), 1e-6)
    rl.manual_seed(1)
    drawn = ours.sample((4000,)).numpy()
    assert drawn.min() >= -np.pi and drawn.max() <= np.pi
    assert (
        stats.kstest((drawn - 0.4 + np.pi) % (2 * np.pi) - np.pi, stats.vonmises(kappa).cdf).pvalue
        > 1e-3
    )


@pytest.mark.parametrize("given", ["covariance_matrix", "precision_matrix", "scale_tril"])
def test_wishart(given):
    covariance = FACTOR @ FACTOR.T
    matrices = {"covariance_matrix": covariance, "scale_tril": FACTOR}
    matrices["precision_matrix"] = np.linalg.inv(covariance)
    ours = d.Wishart(double(5.3), **{given: double(matrices[given])})
    scipys = stats.wishart(5.3, covariance)
    x = scipys.rvs(4, random_state=1)
    close(ours.log_prob(double(x)), scipys.logpdf(np.moveaxis(x, 0, -1)))
    close(ours.entropy(), scipys.entropy())
    close(ours.mean, scipys.mean())
    close(ours.mode, scipys.mode())
    close(ours.variance, scipys.var())
    rl.manual_seed(2)
    drawn = ours.sample((20000,)).numpy()
    np.testing.assert_allclose(drawn.mean(0), scipys.mean(), rtol=0.05, atol=0.3)


def test_wishart_needs_enough_freedom():
    with pytest.raises(ValueError, match="df must be more than 2"):
        d.Wishart(2.0, rl.eye(3))


def test_a_covariance_of_low_rank_is_that_of_its_parts():
    loc, factor, diagonal = random.normal(size=4), random.normal(size=(4, 2)), [0.5, 1, 2, 3]
    ours = d.LowRankMultivariateNormal(double(loc), double(factor), double(diagonal))
    covariance = factor @ factor.T + np.diag(diagonal)
    scipys = stats.multivariate_normal(loc, covariance)
    x = random.normal(size=(5, 4))
    close(ours.log_prob(double(x)), scipys.logpdf(x))
    close(ours.entropy(), scipys.entropy())
    close(ours.covariance_matrix, covariance)
    close(ours.precision_matrix, np.linalg.inv(covariance))
    close(ours.scale_tril, np.linalg.cholesky(covariance))
    close(ours.variance, np.diag(covariance))
    rl.manual_seed(3)
    np.testing.assert_allclose(np.cov(ours.sample((40000,)).numpy().T), covariance, atol=0.15)


@pytest.mark.parametrize(("size", "concentration"), [(2, 0.7), (3, 1.0), (4, 1.7)])
def test_correlations_have_the_marginals_of_the_onion(size, concentration):
    """Every correlation is 2 B - 1 with B from Beta(a, a), a = concentration - 1 + size / 2."""
    ours = d.LKJCholesky(size, double(concentration))
    rl.manual_seed(4)
    factors = ours.sample((3000,))
    correlations = (factors @ factors.mT).numpy()
    a = concentration - 1 + size / 2
    for i in range(size):
        assert np.allclose(correlations[:, i, i], 1)
        for j in range(i):
            marginal = (correlations[:, i, j] + 1) / 2
            assert stats.kstest(marginal, stats.beta(a, a).cdf).pvalue > 1e-3


def test_the_density_of_factors_is_normalised():
    """Of size 2 the factor is the angle's: x = L[1, 0] with density of Beta(a, a) on [-1, 1]."""
    ours = d.LKJCholesky(2, double(1.7))
    x = np.linspace(-0.9, 0.9, 7)
    factors = np.zeros((7, 2, 2))
    factors[:, 0, 0], factors[:, 1, 0], factors[:, 1, 1] = 1, x, np.sqrt(1 - x**2)
    close(ours.log_prob(double(factors)), stats.beta(1.7, 1.7).logpdf((x + 1) / 2) - np.log(2))


CONTINUOUS = {
    "kumaraswamy": lambda: d.Kumaraswamy(double(2.3), double(1.7)),
    "kumaraswamy below 1": lambda: d.Kumaraswamy(double(0.8), double(3.0)),
    "continuous bernoulli": lambda: d.ContinuousBernoulli(double(0.3)),
    "continuous bernoulli logits": lambda: d.ContinuousBernoulli(logits=double(2.0)),
    "continuous bernoulli even": lambda: d.ContinuousBernoulli(double(0.5)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_moments_and_densities_follow_from_the_cumulative_distribution(name):
    ours = CONTINUOUS[name]()
    p = (np.arange(200_000) + 0.5) / 200_000
    x = ours.icdf(double(p))
    close(ours.cdf(x), p)
    close(ours.mean, x.numpy().mean(), 1e-5)
    close(ours.variance, x.numpy().var(), 1e-5)
    close(ours.entropy(), -ours.log_prob(x).numpy().mean(), 1e-4)
    inside = double(np.linspace(0.1, 0.9, 9)).requires_grad_()
    (slope,) = rl.grad(ours.cdf(inside).sum(), inside)
    close(ours.log_prob(inside).exp(), slope.numpy())
    rl.manual_seed(5)
    drawn = ours.sample((3000,))
    assert stats.kstest(ours.cdf(drawn).numpy(), "uniform").pvalue > 1e-3


@pytest.mark.parametrize("c", [0.0, 0.2, 0.7, -0.4])
def test_generalized_pareto(c):
    ours = d.GeneralizedPareto(double(0.3), double(1.7), double(c))
    scipys = stats.genpareto(c, loc=0.3, scale=1.7)
    p = np.linspace(0.01, 0.99, 11)
    x = scipys.ppf(p)
    close(ours.log_prob(double(x)), scipys.logpdf(x))
    close(ours.cdf(double(x)), p)
    close(ours.icdf(double(p)), x)
    close(ours.entropy(), scipys.entropy(), 1e-6)
    mean, variance = scipys.stats("mv")
    close(ours.mean, mean)
    close(ours.variance, variance if c < 0.5 else np.inf)  # SciPy gives NaN


def test_logistic_normal_sums_to_one():
    ours = d.LogisticNormal(double([0.3, -0.2]), double([0.5, 0.7]))
    assert ours.event_shape == (3,) and ours.expand((2,)).batch_shape == (2,)
    x = ours.sample((5,))
    close(x.sum(-1), np.ones(5))
    first, second, rest = x.numpy().T  # sticks: of the whole, and of what the first one leaves
    inner = special.logit([first, second / (1 - first)]) + np.log([[2.0], [1.0]])
    normal = stats.norm.logpdf(inner.T, [0.3, -0.2], [0.5, 0.7]).sum(-1)
    close(ours.log_prob(x), normal - np.log(first * second * rest))


# transform, an x, and which elements of y are free (the others follow from them)
BIJECTIONS = {
    "stick breaking": (d.StickBreakingTransform(), (3,), lambda y: y[:-1]),
    "correlations": (
        d.CorrCholeskyTransform(),
        (6,),
        lambda y: y[rl.tril_indices(4, 4, -1)[0], rl.tril_indices(4, 4, -1)[1]],
    ),
    "reshape": (d.ReshapeTransform((6,), (2, 3)), (6,), lambda y: y.reshape(-1)),
    "independent": (d.IndependentTransform(d.ExpTransform(), 1), (3,), lambda y: y),
    "composed": (
        d.ComposeTransform(
            [d.AffineTransform(double([1.0, 2, 3]), double(2.0)), d.StickBreakingTransform()]
        ),
        (3,),
        lambda y: y[:-1],
    ),
}


@pytest.mark.parametrize("name", BIJECTIONS)
def test_the_determinant_is_that_of_the_jacobian(name):
    transform, shape, free = BIJECTIONS[name]
    x = double(random.normal(size=shape))
    y = transform(x)
    close(transform.inv(y), x.numpy())
    assert transform.forward_shape(x.shape) == y.shape
    assert transform.inverse_shape(y.shape) == x.shape
    matrix = jacobian(lambda x: free(transform(x)), x)
    close(transform.log_abs_det_jacobian(x, y), rl.linalg.slogdet(matrix)[1].numpy(), 1e-6)


@pytest.mark.parametrize("name", ["CatTransform", "StackTransform"])
def test_parts_have_transforms_of_their_own(name):
    transform = getattr(d, name)([d.ExpTransform(), d.AffineTransform(1.0, 3.0)], 1)
    x = double(random.normal(size=(4, 2)))
    y = transform(x)
    close(y, np.stack([np.exp(x.numpy()[:, 0]), 1 + 3 * x.numpy()[:, 1]], 1))
    close(transform.inv(y), x.numpy())
    expected = np.stack([x.numpy()[:, 0], np.full(4, np.log(3))], 1)
    close(transform.log_abs_det_jacobian(x, y), expected)


def test_a_cumulative_distribution_is_a_transform():
    transform = d.CumulativeDistributionTransform(d.Normal(double(0.0), double(1.0)))
    x = double([-1.0, 0.5])
    y = transform(x)
    close(y, stats.norm.cdf([-1.0, 0.5]))
    close(transform.inv(y), x.numpy())
    close(transform.log_abs_det_jacobian(x, y), stats.norm.logpdf([-1.0, 0.5]))


CONSTRAINTS = {
    "positive": (3,),
    "unit_interval": (3,),
    "nonnegative": (3,),
    "simplex": (2, 3),
    "lower_cholesky": (2, 3, 3),
    "corr_cholesky": (2, 6),
    "positive_definite": (2, 3, 3),
    "real": (3,),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("registry", [d.biject_to, d.transform_to], ids=["biject", "transform"])
def test_all_numbers_lead_into_a_constraint(registry, name):
    constraint = getattr(d.constraints, name)
    x = double(random.normal(size=CONSTRAINTS[name]))
    transform = registry(constraint)
    y = transform(x)
    assert bool(constraint.check(y).all())
    close(transform(transform.inv(y)), y.numpy())


def test_intervals_lead_there_too():
    highest = double(np.linspace(1, 2, 20))
    for low, high in ((-1.0, 2.0), (None, 3.0), (2.0, None), (0, highest), (-highest, 1)):
        constraint = d.constraints.Interval(low, high)
        y = d.biject_to(constraint)(double(random.normal(size=20)))
        assert bool(constraint.check(y).all())
