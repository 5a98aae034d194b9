"""Layers of Torch7's packages against the functions that PyTorch has for the same."""

import numpy as np
import pytest

import relume as rl
from relume import legacy_nn as nn
from relume.legacy_nn import inn

torch = pytest.importorskip("torch")
functional = torch.nn.functional


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def close(ours, theirs):
    return np.abs(ours.detach().numpy() - theirs.detach().numpy()).max() < 1e-10


def test_spatial_transformer():
    matrices, images = random(2, 2, 3) * 0.6, random(2, 5, 6, 3)
    theta = torch.tensor(matrices[:, ::-1][:, :, [1, 0, 2]].copy(), requires_grad=True)
    grid = functional.affine_grid(theta, (2, 3, 4, 7), align_corners=True)
    planes = torch.tensor(images).permute(0, 3, 1, 2)
    expected = functional.grid_sample(planes, grid, align_corners=True).permute(0, 2, 3, 1)

    make_grid, sample = nn.AffineGridGeneratorBHWD(4, 7), nn.BilinearSamplerBHWD()
    given = rl.tensor(matrices)
    places = make_grid.forward(given)
    found = sample.forward([rl.tensor(images), places])
    assert close(found, expected)

    gradient = random(2, 4, 7, 3, seed=1)
    (expected * torch.tensor(gradient)).sum().backward()
    of_places = sample.backward([rl.tensor(images), places], rl.tensor(gradient))[2]
    own = make_grid.backward(given, of_places).numpy()
    assert np.abs(own[:, ::-1][:, :, [1, 0, 2]] - theta.grad.numpy()).max() < 1e-10


def test_connectionist_temporal_classification():
    scores = random(12, 3, 5)
    labels, lengths = [[1, 2, 2], [4], [3, 1]], [12, 7, 9]
    leaf = torch.tensor(scores, requires_grad=True)
    flat = torch.tensor([n for sequence in labels for n in sequence])
    expected = functional.ctc_loss(leaf.log_softmax(2), flat, lengths, [3, 1, 2], reduction="sum")
    expected.backward()
    criterion, given = nn.CTCCriterion(), rl.tensor(scores)
    sizes = rl.tensor(lengths)
    assert criterion.forward(given, labels, sizes) == pytest.approx(expected.item(), rel=1e-10)
    assert close(criterion.backward(given, labels, sizes), leaf.grad)


def test_pyramid_pooling():
    x = random(2, 3, 7, 9)
    layer = inn.SpatialPyramidPooling([2, 3], [4, 1])
    grids = [
        functional.adaptive_max_pool2d(torch.tensor(x), size).flatten(1)
        for size in ((3, 2), (1, 4))
    ]
    assert close(layer.forward(rl.tensor(x)), torch.cat(grids, 1))


def test_weight_normalisation():
    x = random(5, 4)
    layer = nn.LinearWeightNorm(4, 3)
    theirs = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 3).double())
    originals = theirs.parametrizations.weight
    with torch.no_grad():
        originals.original0.copy_(torch.tensor(layer.g.numpy()))
        originals.original1.copy_(torch.tensor(layer.v.numpy()))
        theirs.bias.copy_(torch.tensor(layer.bias.numpy()))
    expected = theirs(torch.tensor(x))
    gradient = random(5, 3, seed=1)
    (expected * torch.tensor(gradient)).sum().backward()
    layer.zeroGradParameters()
    assert close(layer.forward(rl.tensor(x)), expected)
    layer.backward(rl.tensor(x), rl.tensor(gradient))
    assert close(layer.gradG, originals.original0.grad)
    assert close(layer.gradV, originals.original1.grad)


def test_local_response_normalisation():
    x = random(2, 6, 3, 4)
    expected = functional.local_response_norm(torch.tensor(x), 5, 0.3, 0.75, 1.0)
    assert close(nn.CrossMapNormalization(5, 0.3, 0.75).forward(rl.tensor(x)), expected)
