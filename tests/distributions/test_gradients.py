"""Gradients through draws and densities."""

import numpy as np
import pytest
from scipy import special

import relume as rl
from relume import distributions as d
from relume.autograd import gradcheck


def leaf(*values):
    return rl.tensor(values, dtype=rl.float64, requires_grad=True)


REPARAMETERIZED = {
    "normal": lambda a, b: d.Normal(a, b),
    "log_normal": lambda a, b: d.LogNormal(a, b),
    "uniform": lambda a, b: d.Uniform(a, a + b),
    "laplace": lambda a, b: d.Laplace(a, b),
    "cauchy": lambda a, b: d.Cauchy(a, b),
    "gumbel": lambda a, b: d.Gumbel(a, b),
    "weibull": lambda a, b: d.Weibull(a, b),
    "pareto": lambda a, b: d.Pareto(a, b),
    "exponential": lambda a, b: d.Exponential(a * b),
    "half_normal": lambda a, b: d.HalfNormal(a * b),
    "relaxed": lambda a, b: d.RelaxedBernoulli(0.5, logits=a - b),
    "gumbel_softmax": lambda a, b: d.RelaxedOneHotCategorical(0.5, logits=rl.stack([a, b], -1)),
    "kumaraswamy": lambda a, b: d.Kumaraswamy(a, b),
    "continuous_bernoulli": lambda a, b: d.ContinuousBernoulli(logits=a - b),
    "generalized_pareto": lambda a, b: d.GeneralizedPareto(a, b, 0.2),
    "low_rank": lambda a, b: d.LowRankMultivariateNormal(a, b.unsqueeze(-1), b),
    "multivariate": lambda a, b: d.MultivariateNormal(a, scale_tril=b.diag_embed()),
}


@pytest.mark.parametrize("name", REPARAMETERIZED)
def test_draws_are_differentiable_in_the_parameters(name):
    def draw(a, b):
        rl.manual_seed(3)
        return REPARAMETERIZED[name](a, b).rsample((2,))

    assert gradcheck(draw, (leaf(0.4, 0.9), leaf(1.1, 0.6)))


@pytest.mark.parametrize("name", REPARAMETERIZED)
def test_densities_are_differentiable(name):
    rl.manual_seed(3)
    value = REPARAMETERIZED[name](leaf(0.4, 0.9), leaf(1.1, 0.6)).sample((2,))

    def density(a, b):
        return REPARAMETERIZED[name](a, b).log_prob(value)

    assert gradcheck(density, (leaf(0.4, 0.9), leaf(1.1, 0.6)))


@pytest.mark.parametrize("shape", [0.03, 0.4, 1.0, 3.0, 50.0, 2000.0])
def test_gamma_draws_move_along_a_quantile(shape):
    """dx/da at a fixed quantile, by a difference of SciPy's inverse."""
    a = rl.full((60,), shape, dtype=rl.float64).requires_grad_()
    rl.manual_seed(5)
    drawn = d.Gamma(a, rl.ones(60, dtype=rl.float64)).rsample()
    (gradient,) = rl.grad(drawn.sum(), a)
    x = drawn.detach().numpy()
    quantile = special.gammainc(shape, x)
    step = 1e-4 * shape
    inverse = special.gammaincinv
    moved = (inverse(shape + step, quantile) - inverse(shape - step, quantile)) / (2 * step)
    usable = (quantile > 1e-6) & (quantile < 1 - 1e-6) & (x > 1e-200)
    assert usable.sum() > 20
    np.testing.assert_allclose(gradient.numpy()[usable], moved[usable], rtol=2e-4)


def test_mean_of_a_beta_draw_has_the_gradient_of_the_mean():
    a, b = leaf(2.0), leaf(3.0)
    rl.manual_seed(5)
    mean = d.Beta(a, b).rsample((40_000,)).mean()
    da, db = rl.grad(mean, (a, b))
    assert da.item() == pytest.approx(3 / 25, abs=5e-3)
    assert db.item() == pytest.approx(-2 / 25, abs=5e-3)


def test_score_function_of_a_categorical():
    logits = leaf(0.1, 0.5, -0.3)
    index = d.Categorical(logits=logits).sample()
    (gradient,) = rl.grad(d.Categorical(logits=logits).log_prob(index), logits)
    expected = np.eye(3)[index.item()] - special.softmax(logits.detach().numpy())
    np.testing.assert_allclose(gradient.numpy(), expected, atol=1e-12)


def test_samples_are_off_the_tape():
    assert not d.Normal(leaf(0.0), leaf(1.0)).sample().requires_grad
