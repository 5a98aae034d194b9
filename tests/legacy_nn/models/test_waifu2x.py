"""waifu2x's layers and criterions, against their definitions."""

import numpy as np
import pytest
from golden_cases import difference

import relume as rl
from relume import legacy_nn as nn

DOUBLE = {"dtype": rl.float64}


def random(*shape):
    return rl.randn(*shape, **DOUBLE)


def test_leaky_relu_has_a_third_by_default():
    layer = nn.w2nn.LeakyReLU()
    y = layer.forward(rl.tensor([-3.0, 3.0], **DOUBLE))
    assert y.tolist() == pytest.approx([-0.999, 3.0])


def test_clip_passes_gradients():
    layer, x, g = nn.w2nn.InplaceClip01(), rl.tensor([-1.0, 0.5, 2.0]), rl.ones(3)
    assert layer.forward(x).tolist() == [0.0, 0.5, 1.0]
    assert layer.backward(x, g).tolist() == [1.0, 1.0, 1.0]
    leaf = x.clone().requires_grad_()
    layer(leaf).sum().backward()
    assert leaf.grad.tolist() == [1.0, 1.0, 1.0]


def test_scale_table_multiplies_planes():
    x, scale = random(2, 3, 4, 4), random(2, 3, 1, 1)
    layer, g = nn.w2nn.ScaleTable(), random(2, 3, 4, 4)
    assert difference(layer.forward([x, scale]), x * scale) < 1e-15
    of_x, of_scale = layer.backward([x, scale], g).as_list()
    assert difference(of_x, g * scale) < 1e-12
    assert difference(of_scale, (g * x).sum((2, 3), keepdim=True)) < 1e-12


def test_auxiliary_outputs_in_both_modes():
    layer, outputs = nn.w2nn.AuxiliaryLossTable(2), [random(2), random(2)]
    assert difference(layer.forward(outputs), outputs) == 0
    layer.evaluate()
    assert difference(layer.forward(outputs), outputs[1]) == 0
    criterion = nn.w2nn.AuxiliaryLossCriterion(nn.MSECriterion)
    criterion.sizeAverage = True
    target = random(2)
    values = [nn.MSECriterion().forward(output, target) for output in outputs]
    assert criterion.forward(outputs, target) == pytest.approx(sum(values) / 2)
    gradient = criterion.backward(outputs, target)
    assert difference(gradient[1], (outputs[0] - target) / 2) < 1e-12


def test_shake_shake():
    layer, pair = nn.w2nn.ShakeShakeTable(), [random(3, 2), random(3, 2)]
    y = layer.forward(pair)
    a = layer.alpha
    assert difference(y, 2 * ((1 - a) * pair[0] + a * pair[1])) < 1e-12
    g = random(3, 2)
    first, second = layer.backward(pair, g).as_list()
    assert difference(first + second, g) < 1e-12
    layer.evaluate()
    assert difference(layer.forward(pair), pair[0] + pair[1]) < 1e-15


def test_depth_becomes_height_and_width():
    x = random(2, 8, 3, 4)
    y = nn.w2nn.DepthExpand2x().forward(x).numpy()
    expected = np.zeros((2, 2, 6, 8))
    for plane in range(8):
        a, rest = divmod(plane, 4)
        b, c = divmod(rest, 2)
        expected[:, c, a::2, b::2] = x.numpy()[:, plane]
    np.testing.assert_array_equal(y, expected)


def test_fixed_filters_learn_nothing():
    layer, x = nn.w2nn.EdgeFilter(2), random(1, 2, 5, 5)
    y = layer.forward(x)
    assert y.shape == (1, 16, 3, 3)
    # the first difference is with the upper left neighbour
    assert difference(y[0, 8], x[0, 1, 1:4, 1:4] - x[0, 1, 0:3, 0:3]) < 1e-12
    layer.backward(x, rl.ones_like(y))
    assert layer.gradWeight.abs().sum().item() == 0
    binary = nn.w2nn.RandomBinaryConvolution(2, 3, 3, 3)
    assert set(binary.weight.reshape(-1).tolist()) <= {-1.0, 0.0, 1.0}
    assert binary.bias is None


def test_grad_weight_scales_the_gradient():
    layer, x = nn.w2nn.GradWeight(0.5), random(3)
    assert difference(layer.forward(x), x) == 0
    assert difference(layer.backward(x, x), x / 2) == 0


def test_huber():
    weight = rl.tensor([1.0, 2.0], **DOUBLE)
    criterion = nn.w2nn.ClippedWeightedHuberCriterion(weight, 0.1, [0.0, 1.0])
    x = rl.tensor([[0.55, 3.0]], **DOUBLE)
    t = rl.tensor([[0.5, 0.5]], **DOUBLE)
    # differences 0.05 and 2 * 0.5
    expected = (0.05**2 / 2 + 0.1 * (1.0 - 0.05)) / 2
    assert criterion.forward(x, t) == pytest.approx(expected)
    assert criterion.backward(x, t).tolist() == [pytest.approx([0.05 / 2, 0.1 / 2])]


def test_other_criterions():
    x, t = rl.tensor([1.5, 0.25], **DOUBLE), rl.tensor([0.5, 0.75], **DOUBLE)
    clipped = nn.w2nn.ClippedMSECriterion(0, 1)
    assert clipped.forward(x, t) == pytest.approx((0.5**2 + 0.5**2) / 2)
    assert clipped.backward(x, t).tolist() == pytest.approx([0.25, -0.25])
    weighted = nn.w2nn.WeightedMSECriterion(rl.tensor([2.0, 1.0], **DOUBLE))
    assert weighted.forward(x, t) == pytest.approx((2.0**2 + 0.5**2) / 2)
    assert weighted.backward(x, t).tolist() == pytest.approx([2.0, -0.5])
    absolute = nn.w2nn.L1Criterion()
    assert absolute.forward(x, t) == pytest.approx(0.75)
    assert absolute.backward(x, t).tolist() == pytest.approx([0.5, -0.5])
    ratio = nn.w2nn.PSNRCriterion()
    assert ratio.forward(x, t) == pytest.approx(10 * np.log10(1 / 0.25))
    with pytest.raises(NotImplementedError):
        ratio.backward(x, t)
