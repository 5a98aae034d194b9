"""nn.Kmeans: where it begins, and that its steps are those of the k-means algorithm."""

import numpy as np
import pytest
from golden_cases import difference, load_cases

import relume as rl
from relume import legacy_nn as nn


def golden(name):
    return next(case for case in load_cases("nn", "Kmeans") if case.name == name)


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("initRandom", lambda layer, x: layer.initRandom(x)),
        ("initKmeansPlus", lambda layer, x: layer.initKmeansPlus(x, 0.8)),
    ],
)
def test_begins_with_the_rows_that_torch7_chooses(name, begin):
    case = golden(name)
    rl.manual_seed(int(case.ctor_seed))
    x = rl.randn(10, 4, dtype=rl.float64)
    layer = nn.Kmeans(3, 4)
    begin(layer, x)
    assert difference(layer.weight, case.params[1]) == 0


def test_a_step_of_length_one_is_a_step_of_the_algorithm():
    rl.manual_seed(1)
    rows = np.random.default_rng(0).standard_normal((40, 2))
    layer = nn.Kmeans(4, 2)
    layer.initKmeansPlus(rl.tensor(rows))
    centres = layer.weight.numpy().copy()
    losses = []
    for _ in range(5):
        layer.zeroGradParameters()
        layer.forward(rl.tensor(rows))
        layer.backward(rl.tensor(rows), None)
        layer.updateParameters(1)
        distances = ((rows[:, None] - centres) ** 2).sum(2)
        nearest = distances.argmin(1)
        assert layer.loss == pytest.approx(distances.min(1).sum(), rel=1e-6)
        losses.append(layer.loss)
        for k in set(nearest):
            centres[k] = rows[nearest == k].mean(0)
        assert np.abs(layer.weight.numpy() - centres).max() < 1e-5
    assert losses == sorted(losses, reverse=True)


def test_wrong_rows_are_refused():
    with pytest.raises(ValueError, match="expected a batch Nx3"):
        nn.Kmeans(2, 3).forward(rl.zeros(4, 2))
    with pytest.raises(ValueError, match="must be positive"):
        nn.Kmeans(0, 3)
