"""Layers of networks that play Atari games."""

import numpy as np
import pytest
from golden_cases import difference

import relume as rl
from relume import legacy_nn as nn
from relume.legacy_nn.models.image_scaling import scaled

DOUBLE = {"dtype": rl.float64}


def random(*shape):
    return rl.randn(*shape, **DOUBLE)


def test_rectifiers_show_what_a_network_looked_at():
    x, g = random(4, 5), random(4, 5)
    plain = (x > 0).double() * g
    rules = {"GuidedReLU": (g > 0).double() * plain, "DeconvnetReLU": (g > 0).double() * g}
    for name, expected in rules.items():
        layer = getattr(nn, name)()
        layer.forward(x)
        assert difference(layer.backward(x, g), plain) == 0
        layer.salientBackprop()
        assert difference(layer.backward(x, g), expected) == 0
        layer.normalBackprop()
        assert difference(layer.backward(x, g), plain) == 0
    layer = nn.Rectifier()
    assert difference(layer.forward(x), x.clamp(0)) == 0
    assert str(layer) == "nn.Rectifier"


@pytest.mark.parametrize("inplace", [None, True])
def test_gradients_are_rescaled(inplace):
    layer, x, g = nn.GradientRescale(0.5, inplace), random(3), random(3)
    expected = g * 0.5
    assert layer.forward(x) is x
    gradient = layer.backward(x, g)
    assert difference(gradient, expected) == 0
    assert (gradient is g) == bool(inplace)


def test_dimensions_are_added_where_there_are_too_few():
    layer = nn.MinDim(2, 3)
    assert layer.forward(random(4, 5)).shape == (4, 1, 5)
    assert layer.backward(random(4, 5), random(4, 1, 5)).shape == (4, 5)
    assert layer.forward(random(4, 5, 6)).shape == (4, 5, 6)


def test_huber():
    input, target = random(6) * 2, random(6)
    distance = np.abs((target - input).numpy())
    delta = 0.8
    values = np.where(distance < delta, distance**2 / 2, delta * (distance - delta / 2))
    criterion = nn.HuberCriterion(delta)
    assert criterion.forward(input, target) == pytest.approx(values.mean())
    expected = np.clip((target - input).numpy(), -delta, delta)
    np.testing.assert_allclose(criterion.backward(input, target).numpy(), expected)


def test_screens_become_small_and_grey():
    screen = rl.rand(1, 3, 210, 160, **DOUBLE)
    output = nn.Scale(84, 84).forward(screen)
    grey = np.tensordot([0.299, 0.587, 0.114], screen[0].numpy(), 1)
    assert output.shape == (1, 84, 84)
    assert output.mean().item() == pytest.approx(grey.mean())  # means of areas
    assert output[0, 0, 0].item() == pytest.approx(
        (grey[:2, 0].sum() + grey[2, 0] / 2 + (grey[:2, 1].sum() + grey[2, 1] / 2) * (160 / 84 - 1))
        / (2.5 * 160 / 84)
    )
    grown = scaled(rl.tensor([[0.0, 3.0], [6.0, 9.0]], **DOUBLE), 4, 3)
    assert grown[:, 0].tolist() == [0, 2, 4, 6]
    assert grown[0].tolist() == [0, 1.5, 3]
