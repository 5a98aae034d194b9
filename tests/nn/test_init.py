"""First values: their distributions, from their definitions."""

import math

import numpy as np
import pytest
from scipy import stats

import relume as rl
from relume import nn
from relume.nn import init


@pytest.fixture(autouse=True)
def seeded():
    rl.manual_seed(123)


def ks(tensor, distribution):
    """Does a sample come from this distribution? (Kolmogorov and Smirnov)"""
    return stats.kstest(tensor.numpy().ravel(), distribution.cdf).pvalue > 1e-3


def uniform(bound):
    return stats.uniform(-bound, 2 * bound)


def test_plain_distributions():
    x = rl.empty(80, 60)
    assert ks(init.uniform_(x, -2, 3), stats.uniform(-2, 5))
    assert ks(init.normal_(x, 1.0, 0.5), stats.norm(1.0, 0.5))
    truncated = stats.truncnorm(-1.0, 3.0, 0.5, 0.5)
    assert ks(init.trunc_normal_(x, 0.5, 0.5, 0.0, 2.0), truncated)
    assert set(init.constant_(x, 0.25).numpy().ravel()) == {0.25}
    assert init.ones_(x).sum().item() == 4800 and init.zeros_(x).sum().item() == 0


@pytest.mark.parametrize("shape", [(80, 60), (40, 10, 3, 3)])
def test_fans(shape):
    x = rl.empty(shape)
    field = math.prod(shape[2:])
    fan_in, fan_out = shape[1] * field, shape[0] * field
    assert ks(init.xavier_uniform_(x, 2.0), uniform(2 * math.sqrt(6 / (fan_in + fan_out))))
    assert ks(init.xavier_normal_(x), stats.norm(0, math.sqrt(2 / (fan_in + fan_out))))
    assert ks(init.kaiming_uniform_(x), uniform(math.sqrt(6 / fan_in)))
    assert ks(init.kaiming_uniform_(x, a=2, mode="fan_out"), uniform(math.sqrt(6 / 5 / fan_out)))
    assert ks(init.kaiming_normal_(x, nonlinearity="relu"), stats.norm(0, math.sqrt(2 / fan_in)))


@pytest.mark.parametrize("shape", [(4, 7), (7, 4), (5, 5), (3, 2, 4)])
def test_orthogonal(shape):
    x = init.orthogonal_(rl.empty(shape), gain=2.0)
    matrix = x.numpy().reshape(shape[0], -1)
    small = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-5)


def test_sparse_eye_and_dirac():
    x = init.sparse_(rl.empty(20, 6), 0.25, std=1.0)
    assert ((x == 0).sum(0) == 5).all()
    np.testing.assert_array_equal(init.eye_(rl.empty(3, 5)).numpy(), np.eye(3, 5))
    for groups in (1, 2):
        layer = nn.Conv2d(4, 4, 3, padding=1, groups=groups, bias=False)
        init.dirac_(layer.weight, groups)
        image = rl.randn(2, 4, 5, 5)
        np.testing.assert_array_equal(layer(image).detach().numpy(), image.numpy())


def test_a_generator_of_ones_own():
    a, b = (init.normal_(rl.empty(5), generator=rl.Generator(3)) for _ in range(2))
    np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert not np.array_equal(a.numpy(), init.normal_(rl.empty(5)).numpy())


@pytest.mark.parametrize(
    "act, message",
    [
        (lambda: init.calculate_gain("step"), "known"),
        (lambda: init.xavier_uniform_(rl.empty(3)), "2 dimensions"),
        (lambda: init.kaiming_uniform_(rl.empty(3, 2), mode="fan"), "fan_in"),
        (lambda: init.eye_(rl.empty(3)), "matrix"),
        (lambda: init.dirac_(rl.empty(3, 2)), "dimensions"),
        (lambda: init.dirac_(rl.empty(3, 2, 1), 2), "groups"),
        (lambda: init.orthogonal_(rl.empty(3)), "dimensions"),
    ],
)
def test_mistakes_are_explained(act, message):
    with pytest.raises(ValueError, match=message):
        act()


def test_filling_leaves_the_tape_alone():
    parameter = nn.Parameter(rl.empty(3, 3))
    init.xavier_normal_(parameter)
    assert parameter.is_leaf and parameter.requires_grad
