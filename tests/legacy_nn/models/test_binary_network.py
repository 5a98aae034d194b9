"""Layers of BinaryNet, by their definitions."""

import numpy as np
import pytest
from golden_cases import difference

import relume as rl
from relume import legacy_nn as nn

DOUBLE = {"dtype": rl.float64}


def random(*shape):
    return rl.randn(*shape, **DOUBLE)


def power(x):
    x = np.asarray(x)
    return np.sign(x) * 2.0 ** np.round(np.log2(np.abs(x)))


def test_weights_count_by_their_signs():
    layer = nn.lookup("BinaryLinear")(4, 3)
    x, g = random(5, 4), random(5, 3)
    signs = np.sign(layer.weight.numpy())
    expected = x.numpy() @ signs.T + layer.bias.numpy()
    np.testing.assert_allclose(layer.forward(x).numpy(), expected, rtol=1e-12)
    layer.zeroGradParameters()
    np.testing.assert_allclose(layer.backward(x, g).numpy(), g.numpy() @ signs, rtol=1e-12)
    np.testing.assert_allclose(layer.gradWeight.numpy(), g.numpy().T @ x.numpy(), rtol=1e-12)
    assert layer.weight.abs().amax().item() < 1
    convolution = nn.lookup("BinarySpatialConvolution")(2, 3, 3, 3, 1, 1, 1, 1)
    image = random(1, 2, 5, 5)
    plain = rl.conv2d(image, convolution.weight.sign(), convolution.bias, (1, 1), (1, 1))
    assert difference(convolution.forward(image), plain) < 1e-12
    convolution.stcWeights = True
    drawn = convolution.forward(image)
    assert difference(convolution.forward(image), drawn) > 0
    convolution.evaluate()
    assert difference(convolution.forward(image), plain) < 1e-12


@pytest.mark.parametrize("shape", [(6, 3), (2, 3, 4, 5)])
def test_normalisation_by_powers_of_two(shape):
    name = ("" if len(shape) == 2 else "Spatial") + "BatchNormalizationShiftPow2"
    layer, x, g = nn.lookup(name)(3), random(*shape), random(*shape)
    layer.weight.copy_(rl.tensor([0.7, -1.6, 3.0]))
    layer.bias.copy_(rl.tensor([0.1, 0.2, 0.3]))
    over = (0,) if len(shape) == 2 else (0, 2, 3)
    each = (1, 3, *[1] * (len(shape) - 2))
    centred = x.numpy() - x.numpy().mean(over, keepdims=True)
    variance = (power(centred) * centred).mean(over, keepdims=True)
    inverse = 1 / np.sqrt(variance + 1e-5)
    normal = centred * power(inverse)
    weight, bias = power(layer.weight.numpy()).reshape(each), layer.bias.numpy().reshape(each)
    np.testing.assert_allclose(layer.forward(x).numpy(), normal * weight + bias, rtol=1e-10)
    expected = 0.875 + 0.125 * inverse.reshape(-1)
    np.testing.assert_allclose(layer.running_std.numpy(), expected, rtol=1e-10)
    layer.zeroGradParameters()
    gradient = layer.backward(x, g).numpy()
    step, share = power(inverse), (power(centred) * g.numpy()).mean(over, keepdims=True)
    inner = g.numpy() - power(centred) * share * step**2
    inner = (inner - g.numpy().mean(over, keepdims=True)) * step * weight
    np.testing.assert_allclose(gradient, inner, rtol=1e-10)
    own = (power(normal) * g.numpy()).sum(over)
    np.testing.assert_allclose(layer.gradWeight.numpy(), own, rtol=1e-10)
    layer.evaluate()
    means, deviations = (
        value.numpy().reshape(each) for value in (layer.running_mean, layer.running_std)
    )
    expected = (x.numpy() - means) * power(deviations) * weight + bias
    np.testing.assert_allclose(layer.forward(x).numpy(), expected, rtol=1e-10)
    with pytest.raises(RuntimeError, match="training only"):
        layer.backward(x, g)


def test_squared_hinge():
    x, y = random(6), rl.tensor([1.0, -1, 1, 1, -1, -1], **DOUBLE)
    expected = (np.maximum(0, 1 - x.numpy() * y.numpy()) ** 2).mean()
    assert nn.lookup("SqrtHingeEmbeddingCriterion")().forward(x, y) == pytest.approx(expected)


def test_triplets():
    a, p, n = random(4, 3), random(4, 3), random(4, 3)
    near, far = (((a - other).numpy() ** 2).sum(1) for other in (p, n))
    expected = np.maximum(0, 1.5 * near - far + 0.3).mean()
    criterion = nn.TripletEmbeddingCriterion(0.3, 1.5)
    assert criterion.forward([a, p, n]) == pytest.approx(expected)
    gradient = criterion.backward([a, p, n])
    counted = (1.5 * near - far + 0.3 > 0)[:, None]
    np.testing.assert_allclose(gradient[3].numpy(), counted * 2 * (a - n).numpy() / 4, atol=1e-12)
