"""Shapes, checks and combinations."""

import math

import numpy as np
import pytest

import relume as rl
from relume import distributions as d

BATCHED = {
    "normal": d.Normal(rl.zeros(2, 3), 1.0),
    "gamma": d.Gamma(rl.ones(2, 3), 1.0),
    "beta": d.Beta(rl.ones(2, 3), 2.0),
    "bernoulli": d.Bernoulli(rl.full((2, 3), 0.5)),
    "bernoulli_logits": d.Bernoulli(logits=rl.zeros(2, 3)),
    "binomial": d.Binomial(5, rl.full((2, 3), 0.5)),
    "poisson": d.Poisson(rl.ones(2, 3)),
    "categorical": d.Categorical(rl.ones(2, 3, 4)),
    "one_hot": d.OneHotCategorical(logits=rl.zeros(2, 3, 4)),
    "multinomial": d.Multinomial(5, rl.ones(2, 3, 4)),
    "dirichlet": d.Dirichlet(rl.ones(2, 3, 4)),
    "multivariate": d.MultivariateNormal(rl.zeros(2, 3, 4), rl.eye(4)),
    "independent": d.Independent(d.Normal(rl.zeros(2, 3, 4), 1.0), 1),
    "transformed": d.TransformedDistribution(d.Normal(rl.zeros(2, 3), 1.0), d.ExpTransform()),
    "student": d.StudentT(rl.full((2, 3), 3.0)),
    "relaxed": d.RelaxedBernoulli(0.5, rl.full((2, 3), 0.5)),
    "gumbel_softmax": d.RelaxedOneHotCategorical(0.5, rl.ones(2, 3, 4)),
    "von_mises": d.VonMises(rl.zeros(2, 3), 1.0),
    "kumaraswamy": d.Kumaraswamy(rl.ones(2, 3), 2.0),
    "continuous_bernoulli": d.ContinuousBernoulli(rl.full((2, 3), 0.3)),
    "generalized_pareto": d.GeneralizedPareto(rl.zeros(2, 3), 1.0, 0.1),
    "low_rank": d.LowRankMultivariateNormal(rl.zeros(2, 3, 4), rl.ones(4, 2), rl.ones(4)),
    "wishart": d.Wishart(rl.full((2, 3), 4.0), rl.eye(3)),
    "lkj": d.LKJCholesky(3, rl.ones(2, 3)),
    "logistic_normal": d.LogisticNormal(rl.zeros(2, 3, 4), rl.ones(4)),
}


@pytest.mark.parametrize("name", BATCHED)
@pytest.mark.parametrize("sample_shape", [(), (5,), (5, 1)])
def test_shapes(name, sample_shape):
    distribution = BATCHED[name]
    assert distribution.batch_shape == (2, 3)
    drawn = distribution.sample(sample_shape)
    assert tuple(drawn.shape) == (*sample_shape, 2, 3, *distribution.event_shape)
    assert tuple(distribution.log_prob(drawn).shape) == (*sample_shape, 2, 3)


@pytest.mark.parametrize("name", BATCHED)
def test_expand(name):
    distribution = BATCHED[name].expand((7, 2, 3))
    assert type(distribution) is type(BATCHED[name])
    assert distribution.batch_shape == (7, 2, 3)
    drawn = BATCHED[name].sample()
    once = BATCHED[name].log_prob(drawn)
    np.testing.assert_allclose(
        distribution.log_prob(drawn).numpy(), np.broadcast_to(once.numpy(), (7, 2, 3)), rtol=1e-6
    )


@pytest.mark.parametrize("name", BATCHED)
def test_the_printed_form_names_the_class(name):
    assert type(BATCHED[name]).__name__ in repr(BATCHED[name])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: d.Normal(0.0, -1.0), r"scale must be in \(0.0, None\)"),
        (lambda: d.Normal(math.nan, 1.0), "loc must be in real"),
        (lambda: d.Bernoulli(1.5), r"probs must be in \[0.0, 1.0\]"),
        (lambda: d.Bernoulli(), "exactly one of probs and logits"),
        (lambda: d.Bernoulli(0.5, 0.0), "exactly one of probs and logits"),
        (lambda: d.Categorical(rl.tensor(0.5)), "at least one dimension"),
        (lambda: d.Uniform(1.0, 0.0), "low must be below high"),
        (lambda: d.MultivariateNormal(rl.zeros(2), rl.eye(3)), r"\(\.\.\., d, d\)"),
        (lambda: d.MultivariateNormal(rl.zeros(2), -rl.eye(2)), "covariance_matrix"),
        (lambda: d.Gamma(0.0, 1.0), "concentration"),
        (lambda: d.Independent(d.Normal(0.0, 1.0), 1), "from 0 to 0"),
        (lambda: d.Multinomial(-1, rl.ones(2)), "int >= 0"),
    ],
)
def test_parameters_without_meaning_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("distribution", "value"),
    [
        (d.Exponential(1.0), -1.0),
        (d.Bernoulli(0.5), 0.5),
        (d.Categorical(rl.ones(3)), 3),
        (d.Beta(1.0, 1.0), 1.5),
        (d.Poisson(1.0), 0.5),
        (d.Dirichlet(rl.ones(2)), rl.tensor([0.5, 0.6])),
        (d.Normal(0.0, 1.0), math.nan),
    ],
)
def test_values_outside_of_the_support_are_refused(distribution, value):
    with pytest.raises(ValueError, match="must be in the support"):
        distribution.log_prob(rl.as_tensor(value))


def test_checks_can_be_turned_off():
    assert d.Normal(0.0, -1.0, validate_args=False).mean.item() == 0
    d.Distribution.set_default_validate_args(False)
    try:
        d.Normal(0.0, -1.0)
    finally:
        d.Distribution.set_default_validate_args(True)


def test_mixture_against_the_sum_of_densities():
    means = rl.tensor([-2.0, 1.0, 4.0])
    mixture = d.MixtureSameFamily(
        d.Categorical(rl.tensor([0.2, 0.5, 0.3])), d.Normal(means, rl.ones(3))
    )
    x = np.linspace(-3, 5, 9)
    density = sum(
        w * np.exp(-0.5 * (x - m) ** 2) / math.sqrt(2 * math.pi)
        for w, m in zip([0.2, 0.5, 0.3], [-2, 1, 4], strict=True)
    )
    got = mixture.log_prob(rl.tensor(x, dtype=rl.float32)).numpy()
    np.testing.assert_allclose(got, np.log(density), rtol=1e-4)
    assert mixture.mean.item() == pytest.approx(1.3)
    rl.manual_seed(0)
    drawn = mixture.sample((20000,))
    assert drawn.mean().item() == pytest.approx(1.3, abs=0.05)
    assert drawn.var().item() == pytest.approx(mixture.variance.item(), rel=0.03)


@pytest.mark.parametrize(
    "transform",
    [
        d.AffineTransform(1.0, -2.0),
        d.ExpTransform(),
        d.SigmoidTransform(),
        d.TanhTransform(),
        d.SoftplusTransform(),
        d.ComposeTransform([d.ExpTransform(), d.PowerTransform(0.5)]),
    ],
    ids=lambda transform: type(transform).__name__,
)
def test_transforms_and_their_jacobians(transform):
    x = rl.tensor([-1.2, -0.1, 0.7], dtype=rl.float64, requires_grad=True)
    y = transform(x)
    np.testing.assert_allclose(transform.inv(y).detach().numpy(), x.detach().numpy(), rtol=1e-9)
    (slope,) = rl.grad(y.sum(), x, create_graph=True)
    expected = np.log(np.abs(slope.detach().numpy()))
    np.testing.assert_allclose(
        transform.log_abs_det_jacobian(x, y).detach().numpy(), expected, rtol=1e-7, atol=1e-12
    )


def test_log_normal_as_a_transformed_normal():
    ours = d.TransformedDistribution(d.Normal(0.3, 0.7), d.ExpTransform())
    x = rl.tensor([0.5, 1.5])
    expected = d.LogNormal(0.3, 0.7)
    np.testing.assert_allclose(ours.log_prob(x).numpy(), expected.log_prob(x).numpy(), rtol=1e-5)
    np.testing.assert_allclose(ours.cdf(x).numpy(), expected.cdf(x).numpy(), rtol=1e-5)


def test_the_support_can_be_enumerated():
    assert d.Bernoulli(rl.full((2,), 0.3)).enumerate_support().tolist() == [[0, 0], [1, 1]]
    assert d.Categorical(rl.ones(3)).enumerate_support().tolist() == [0, 1, 2]
    assert d.Binomial(2, 0.5).enumerate_support(expand=False).tolist() == [0, 1, 2]
    assert d.OneHotCategorical(rl.ones(2)).enumerate_support().tolist() == [[1, 0], [0, 1]]


def test_the_seed_decides():
    draws = []
    for _ in range(2):
        rl.manual_seed(11)
        draws.append(d.Gamma(rl.ones(4), 2.0).sample((3,)).tolist())
    assert draws[0] == draws[1]


@pytest.mark.parametrize(
    "name, inside, outside",
    [
        ("less_than", -1.0, 2.0),
        ("positive_integer", 3.0, 0.0),
        ("square", [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0]]),
        ("symmetric", [[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]),
        ("positive_semidefinite", [[1.0, 1.0], [1.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]]),
        ("positive_definite", [[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0, 0.0]]),
        ("lower_triangular", [[1.0, 0.0], [3.0, -1.0]], [[1.0, 2.0], [0.0, 1.0]]),
    ],
)
def test_constraints_know_their_values(name, inside, outside):
    constraint = getattr(d.constraints, name)
    constraint = constraint(1.0) if name == "less_than" else constraint
    assert constraint.check(rl.tensor(inside)).item() is True
    assert constraint.check(rl.tensor(outside)).item() is False


def test_all_transforms_are_in_one_module():
    from relume.distributions.transforms import ExpTransform, StickBreakingTransform

    assert d.StickBreakingTransform is StickBreakingTransform
    assert d.ExpTransform is ExpTransform
