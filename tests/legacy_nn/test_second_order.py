"""Layers of nn and dpnn that the golden cases do not differentiate twice."""

import numpy as np
import pytest
from layer_checks import check_gradients, random, tensor

import relume as rl
from relume import legacy_nn as nn


def away_from_zero(*shape):
    x = random(*shape)
    return x + np.sign(x) * 0.1


LAYERS = {
    "LinearWeightNorm": (lambda: nn.LinearWeightNorm(3, 2), (4, 3)),
    "WeightNorm": (lambda: nn.WeightNorm(nn.Linear(3, 2)), (4, 3)),
    "WeightNorm of planes": (
        lambda: nn.WeightNorm(nn.SpatialConvolution(1, 2, 2, 2)),
        (1, 1, 3, 3),
    ),
    "PartialLinear": (lambda: nn.PartialLinear(3, 4), (2, 3)),
    "Convert": (lambda: nn.Convert("bchw", "bf"), (2, 2, 1, 2)),
    "Convert by order": (lambda: nn.Convert("chw", "hwc"), (2, 2, 1, 3)),
    "DontCast": (lambda: nn.DontCast(nn.Linear(3, 2), True), (2, 3)),
    "NaN": (lambda: nn.NaN(nn.Tanh()), (2, 3)),
    "Profile": (lambda: nn.Profile(nn.Tanh()), (2, 3)),
    "GPU": (lambda: nn.GPU(nn.Linear(3, 2), 1), (2, 3)),
    "Clip": (lambda: nn.Clip(-5, 5), (2, 3)),
    "FireModule": (lambda: nn.FireModule(1, 1, 1, 1, "Tanh"), (1, 1, 3, 3)),
    "Inception": (
        lambda: nn.Inception(
            inputSize=1,
            outputSize=[1],
            reduceSize=[1, 1],
            kernelSize=[3],
            transfer=nn.Tanh(),
            pool=nn.SpatialAveragePooling(3, 3, 1, 1),
        ),
        (1, 1, 4, 4),
    ),
    "Serial": (lambda: nn.Serial(nn.Linear(3, 2)), (2, 3)),
    "SpatialFeatNormalization": (
        lambda: nn.SpatialFeatNormalization(tensor(np.array([0.5, 1.0]))),
        (2, 2, 2, 2),
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_can_be_differentiated_twice(name):
    rl.manual_seed(3)
    make, shape = LAYERS[name]
    check_gradients(make(), tensor(away_from_zero(*shape)))


def test_parameters_of_weight_norm_have_the_gradient_of_the_mathematics():
    layer = nn.WeightNorm(nn.Linear(3, 2))
    x = tensor(random(4, 3))
    v, g, bias = layer.parameters()[0]

    def by_hand(v, g, bias):
        weight = v * g / (v.square().sum(1, keepdim=True) + 1e-4).sqrt()
        return rl.linear(x, weight, bias).tanh().sum()

    leaves = [p.detach().clone().requires_grad_() for p in (v, g, bias)]
    by_hand(*leaves).backward()
    layer.zeroGradParameters()
    layer(x).tanh().sum().backward()
    for gradient, leaf in zip(layer.parameters()[1], leaves, strict=True):
        assert np.abs(gradient.numpy() - leaf.grad.numpy()).max() < 1e-12
    layer.zeroGradParameters()
    y = layer.forward(x)
    layer.backward(x, 1 - y.tanh().square())
    for gradient, leaf in zip(layer.parameters()[1], leaves, strict=True):
        assert np.abs(gradient.numpy() - leaf.grad.numpy()).max() < 1e-12


def test_sparse_layers_differentiate_their_values():
    layer = nn.SparseLinear(6, 2)
    columns = rl.tensor([[2.0], [5.0]], dtype=rl.float64)

    def of_values(values):
        return layer(rl.cat([columns, values], 1))

    values = tensor(random(2, 1)).requires_grad_()
    assert rl.autograd.gradcheck(of_values, [values])
    index = nn.IndexLinear(6, 2)
    index.reset()
    keys = rl.tensor([2, 5])
    assert rl.autograd.gradcheck(lambda v: index([keys, v.reshape((-1,))]), [values])
    layer.zeroGradParameters()
    of_values(values).sum().backward()
    expected = np.zeros((2, 6))
    expected[:, [1, 4]] = values.detach().numpy()[:, 0]
    assert np.abs(layer.gradWeight.numpy() - expected).max() < 1e-12
