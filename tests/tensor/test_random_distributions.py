"""Samplers whose parameters are tensors, against the distributions of SciPy."""

import numpy as np
import pytest
from scipy import stats

import relume as rl

COUNT = 20_000


def draws(name, *parameters):
    rl.manual_seed(2016)
    tensors = [rl.full((COUNT,), p, dtype=rl.float64) for p in parameters]
    return getattr(rl, name)(*tensors).numpy()


@pytest.mark.parametrize("shape", [0.05, 0.7, 1.0, 4.5, 300.0])
def test_gamma(shape):
    assert stats.kstest(draws("standard_gamma", shape), stats.gamma(shape).cdf).pvalue > 1e-3


def assert_has_frequencies(drawn, distribution):
    """A chi-squared test over the values that are expected at least ten times."""
    values, counts = np.unique(drawn, return_counts=True)
    assert (values == np.floor(values)).all()
    expected = distribution.pmf(values) * COUNT
    common = expected >= 10
    observed = [*counts[common], COUNT - counts[common].sum()]
    probable = [*expected[common], COUNT - expected[common].sum()]
    if probable[-1] < 5:  # too few for the test: they join the last common value
        observed[-2:], probable[-2:] = [sum(observed[-2:])], [sum(probable[-2:])]
    assert stats.chisquare(observed, probable).pvalue > 1e-3


@pytest.mark.parametrize("rate", [0.1, 3.0, 9.99, 10.0, 250.0])
def test_poisson(rate):
    assert_has_frequencies(draws("poisson", rate), stats.poisson(rate))


@pytest.mark.parametrize(
    ("count", "p"), [(10, 0.3), (10, 0.9), (1000, 0.002), (1000, 0.4), (50, 0.75)]
)
def test_binomial(count, p):
    assert_has_frequencies(draws("binomial", count, p), stats.binom(count, p))


def test_ends_of_the_parameters():
    assert draws("poisson", 0.0).max() == 0
    assert draws("binomial", 5.0, 0.0).max() == 0
    assert draws("binomial", 5.0, 1.0).min() == 5


def test_count_and_probability_broadcast():
    sample = rl.binomial(rl.tensor([[5.0], [9.0]]), rl.tensor([0.0, 1.0, 0.5]))
    assert sample.shape == (2, 3)
    assert sample[:, 1].tolist() == [5.0, 9.0]


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("standard_gamma", [0.0], "> 0"),
        ("standard_gamma", [float("inf")], "finite"),
        ("standard_gamma", [float("nan")], "> 0"),
        ("poisson", [-1.0], ">= 0"),
        ("binomial", [2.5, 0.5], "whole numbers"),
        ("binomial", [2.0, 1.5], "between 0 and 1"),
    ],
)
def test_parameters_without_meaning_are_refused(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        getattr(rl, name)(*(rl.tensor([p]) for p in parameters))


@pytest.mark.parametrize("name", ["rand_like", "randn_like"])
def test_numbers_like_a_tensor_are_those_of_its_shape_and_type(name):
    like = rl.zeros(2, 3, dtype=rl.float64)
    rl.manual_seed(4)
    drawn = getattr(rl, name)(like)
    rl.manual_seed(4)
    assert rl.equal(drawn, getattr(rl, name.removesuffix("_like"))(2, 3, dtype=rl.float64))


def test_cauchy_numbers_have_its_quantiles():
    """The quartiles of the Cauchy distribution are one scale from the median."""
    rl.manual_seed(5)
    x = rl.empty(100_000, dtype=rl.float64).cauchy_(2.0, 3.0).numpy()
    np.testing.assert_allclose(np.quantile(x, [0.25, 0.5, 0.75]), [-1, 2, 5], atol=0.1)
