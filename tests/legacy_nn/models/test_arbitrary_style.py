"""Layers of AdaIN-style, UniversalStyleTransfer, MSG-Net, texture_nets and CycleGAN."""

import numpy as np
import pytest
from golden_cases import difference
from layer_checks import check_gradients

import relume as rl
from relume import legacy_nn as nn

DOUBLE = {"dtype": rl.float64}
pytestmark = pytest.mark.filterwarnings("ignore:.*left over from training")


def random(*shape):
    return rl.randn(*shape, **DOUBLE)


def test_content_takes_the_statistics_of_a_style():
    content, style = random(2, 3, 4, 5), random(2, 3, 6, 3) * 2 + 1
    layer = nn.AdaptiveInstanceNormalization(3, None, 1e-12)
    output = layer.forward([content, style]).numpy().reshape(2, 3, -1)
    flat = style.numpy().reshape(2, 3, -1)
    np.testing.assert_allclose(output.mean(2), flat.mean(2), atol=1e-8)
    np.testing.assert_allclose(output.std(2), flat.std(2, ddof=1), rtol=1e-8)
    single = layer.forward([content[1], style[1]])
    assert difference(single, layer.forward([content, style])[1]) < 1e-10
    check_gradients(layer, content, style)
    layer.disabled = True
    assert difference(layer.forward([content, style]), content) == 0


@pytest.mark.parametrize("inplace", [False, True])
def test_marks_of_the_largest_planes(inplace):
    x = random(2, 3, 4, 5)
    largest = x.numpy().argmax(1)
    marks = nn.MaxCoord(inplace).forward(x)
    np.testing.assert_array_equal(marks.numpy(), np.moveaxis(np.eye(3)[largest], -1, 1))
    assert (marks is x) == inplace or difference(marks, x) == 0


def finite_difference(value, x, place):
    step = rl.zeros_like(x)
    step[place] = 1e-6
    return (value(x + step) - value(x - step)) / 2e-6


@pytest.mark.parametrize("make", [nn.ContentLossModule, nn.StyleINLossModule])
def test_losses_act_once_they_have_a_target(make):
    layer = make(0.7)
    x, g = random(2, 3, 4, 5), random(2, 3, 4, 5)
    assert layer.forward(x) is x
    assert difference(layer.backward(x, g), g) == 0
    layer.setTarget(random(2, 3, 4, 5))

    def value(x):
        layer.forward(x)
        return layer.loss

    value(x)
    own = layer.backward(x, g) - g
    place = (1, 2, 3, 0)
    assert finite_difference(value, x, place) == pytest.approx(own[place].item(), rel=1e-5)
    layer.normalize = True
    own = layer.backward(x, g) - g
    assert own.abs().sum().item() == pytest.approx(0.7)
    layer.unsetTarget()
    assert difference(layer.backward(x, g), g) == 0


def test_variation_counts_all_neighbours():
    x = random(2, 3, 4, 5)
    array = x.numpy()
    expected = (np.diff(array, axis=2) ** 2).sum() + (np.diff(array, axis=3) ** 2).sum()
    assert nn.TVLossCriterion().forward(x) == pytest.approx(expected)
    layer, g = nn.TVLossModule(0.5), random(2, 3, 4, 5)
    layer.forward(x)
    assert layer.loss == pytest.approx(0.5 * expected)
    criterion = nn.TVLossCriterion()
    criterion.forward(x)
    assert difference(layer.backward(x, g), criterion.backward(x) * 0.5 + g) < 1e-12


def test_inspiration_mixes_planes():
    layer = nn.Inspiration(3)
    gram = random(3, 3)
    layer.setTarget(gram)
    x = random(2, 3, 4, 5)
    mixing = layer.Weight.numpy() @ gram.numpy()
    expected = np.einsum("ji,njhw->nihw", mixing, x.numpy())
    np.testing.assert_allclose(layer.forward(x).numpy(), expected, rtol=1e-10)
    assert difference(layer.forward(x[0]), layer.forward(x)[0]) < 1e-12
    assert str(layer) == "nn.Inspiration(3xHxW, -> 3xHxW)"
    assert layer.parameters() == ([], [])
    style = nn.Calibrate()
    style.forward(x[0])
    assert style.getGram().shape == (3, 3)


# ---- texture_nets, CycleGAN ----


def test_noise_fills_the_last_planes():
    x = random(2, 5, 4, 4)
    layer = nn.NoiseFill(2)
    layer.mult = 0.5
    y = layer.forward(x)
    assert y.shape == x.shape
    assert difference(y[:, :3], x[:, :3]) == 0
    assert y[:, 3:].amin().item() >= 0
    assert y[:, 3:].amax().item() <= 0.5
    assert difference(layer.backward(x, x), x) == 0
    with pytest.raises(ValueError, match="at least 2 planes"):
        layer.forward(x[:, :1])
    layer = nn.GenNoise(4)
    assert layer.forward(x).shape == (2, 4, 4, 4)
    assert layer.backward(x, rl.ones(2, 4, 4, 4, **DOUBLE)).abs().sum().item() == 0


@pytest.mark.parametrize("pads", [(1, 2, 2, 3), (0, 0, 1, 0), (3, 0, 0, 0)])
def test_planes_go_on_at_the_other_side(pads):
    left, right, top, bottom = pads
    x = random(2, 3, 4, 5)
    layer = nn.SpatialCircularPadding(*pads)
    expected = np.pad(x.numpy(), [(0, 0), (0, 0), (top, bottom), (left, right)], "wrap")
    np.testing.assert_array_equal(layer.forward(x).numpy(), expected)
    g = random(*expected.shape)
    g[:, :, :top, :left] = 0  # corners do not count
    g[:, :, :top, 5 + left :] = 0
    g[:, :, 4 + top :, :left] = 0
    g[:, :, 4 + top :, 5 + left :] = 0
    leaf = x.clone().requires_grad_()
    (layer.compute(leaf) * g).sum().backward()
    assert difference(layer.backward(x, g), leaf.grad) < 1e-12
    g[:, :, :top, :left] = 1
    assert difference(layer.backward(x, g), leaf.grad) < 1e-12
    assert str(nn.SpatialCircularPadding(1)) == "nn.SpatialCircularPadding(l=1,r=1,t=1,b=1)"
    with pytest.raises(ValueError, match="larger than the input"):
        nn.SpatialCircularPadding(9, 0, 0, 0).forward(x)


def test_images_for_vgg():
    x = random(1, 3, 2, 2)
    mean = np.array([103.939, 116.779, 123.68]).reshape(1, 3, 1, 1)
    layer = nn.VGG_postprocess()
    np.testing.assert_allclose(layer.forward(x).numpy(), (x.numpy() + 1) * 127.5 - mean)
    assert difference(layer.backward(x, x), x / 127.5) < 1e-12
