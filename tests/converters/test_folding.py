"""Batch normalisation taken into the layer before it computes the same in evaluate mode."""

import numpy as np
import pytest

import relume as rl
from relume import legacy_nn as nn
from relume.converters.folding import folded


def with_statistics(layer):
    rl.manual_seed(1)
    layer.running_mean.uniform_(-1, 1)
    layer.running_var.uniform_(0.5, 2)
    if layer.weight is not None:
        layer.weight.uniform_(0.5, 2)
        layer.bias.uniform_(-1, 1)
    return layer


def check(net, shape, left):
    x = rl.tensor(np.random.default_rng(0).normal(size=shape))
    expected = net.evaluate().forward(x).numpy()
    result = folded(net)
    assert result.evaluate().forward(x).numpy() == pytest.approx(expected, abs=1e-12)
    kinds = [layer.torch_typename for layer in result.listModules()]
    assert sum("BatchNormalization" in kind for kind in kinds) == left
    assert net.forward(x).numpy() == pytest.approx(expected, abs=0)  # which is as it was


PAIRS = {
    "linear": (lambda: nn.Linear(3, 4), lambda: nn.BatchNormalization(4), (2, 3)),
    "without bias": (
        lambda: nn.Linear(3, 4, False),
        lambda: nn.BatchNormalization(4, 1e-2, 0.1, False),
        (2, 3),
    ),
    "planes": (
        lambda: nn.SpatialConvolution(3, 4, 3, 3).noBias(),
        lambda: nn.SpatialBatchNormalization(4),
        (2, 3, 5, 5),
    ),
    "flat weight": (
        lambda: nn.SpatialConvolutionMM(3, 4, 3, 3),
        lambda: nn.SpatialBatchNormalization(4),
        (2, 3, 5, 5),
    ),
    "transposed": (
        lambda: nn.SpatialFullConvolution(3, 4, 3, 3),
        lambda: nn.SpatialBatchNormalization(4),
        (2, 3, 5, 5),
    ),
    "volumes": (
        lambda: nn.VolumetricFullConvolution(3, 4, 2, 2, 2),
        lambda: nn.VolumetricBatchNormalization(4),
        (2, 3, 4, 4, 4),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name):
    layer, normalization, shape = PAIRS[name]
    net = nn.Sequential().add(layer()).add(with_statistics(normalization())).add(nn.Tanh())
    check(net, shape, left=0)


BEHIND = {
    "linear": (lambda: nn.Linear(3, 4), lambda: nn.BatchNormalization(3), (2, 3)),
    "without bias": (
        lambda: nn.Linear(3, 4, False),
        lambda: nn.BatchNormalization(3, 1e-2, 0.1, False),
        (2, 3),
    ),
    "planes": (
        lambda: nn.SpatialConvolution(3, 4, 3, 2, 2, 1),
        lambda: nn.SpatialBatchNormalization(3),
        (2, 3, 5, 6),
    ),
    "flat weight": (
        lambda: nn.SpatialConvolutionMM(3, 4, 3, 3),
        lambda: nn.SpatialBatchNormalization(3),
        (2, 3, 5, 5),
    ),
    "dilated": (
        lambda: nn.SpatialDilatedConvolution(3, 4, 3, 3, 1, 1, 0, 0, 2, 2),
        lambda: nn.SpatialBatchNormalization(3),
        (2, 3, 7, 7),
    ),
    "volumes": (
        lambda: nn.VolumetricConvolution(3, 4, 2, 3, 2),
        lambda: nn.VolumetricBatchNormalization(3),
        (2, 3, 4, 4, 4),
    ),
}


@pytest.mark.parametrize("name", BEHIND)
def test_normalisation_before_a_layer(name):
    layer, normalization, shape = BEHIND[name]
    net = nn.Sequential().add(with_statistics(normalization())).add(layer()).add(nn.Tanh())
    check(net, shape, left=0)


def test_normalisation_on_both_sides():
    net = nn.Sequential().add(with_statistics(nn.SpatialBatchNormalization(3)))
    net.add(nn.SpatialConvolution(3, 4, 3, 3)).add(with_statistics(nn.SpatialBatchNormalization(4)))
    net.add(nn.SpatialConvolution(4, 2, 3, 3))
    check(net, (2, 3, 8, 8), left=0)


NOT_BEHIND = {
    "padded": (lambda: nn.SpatialConvolution(3, 4, 3, 3, 1, 1, 1, 1), (2, 3, 5, 5)),
    "transposed": (lambda: nn.SpatialFullConvolution(3, 4, 3, 3), (2, 3, 5, 5)),
    "of the whole image": (
        lambda: nn.Sequential().add(nn.View(75).setNumInputDims(3)).add(nn.Linear(75, 2)),
        (2, 3, 5, 5),
    ),
}


@pytest.mark.parametrize("name", NOT_BEHIND)
def test_normalisation_stays_before_what_cannot_take_it(name):
    layer, shape = NOT_BEHIND[name]
    net = nn.Sequential().add(with_statistics(nn.SpatialBatchNormalization(3))).add(layer())
    check(net, shape, left=1)


@pytest.mark.parametrize(
    "layer", [lambda: nn.LinearNoBias(3, 3), lambda: nn.fbnn.NormalizedLinearNoBias(3, 3)]
)
def test_layers_that_compute_otherwise_take_nothing(layer):
    both = nn.Sequential().add(with_statistics(nn.BatchNormalization(3))).add(layer())
    check(both.add(with_statistics(nn.BatchNormalization(3))), (2, 3), left=2)


def test_graphs():
    x = nn.Identity()()
    branch = with_statistics(nn.BatchNormalization(3))(nn.Linear(3, 3)(x))
    shared = nn.Linear(3, 3)(x)
    normalized = with_statistics(nn.BatchNormalization(3))(shared)
    net = nn.gModule([x], [nn.CAddTable()([branch, normalized, shared])])
    check(net, (2, 3), left=1)  # the shared one is needed as it is


def test_what_cannot_be_folded_stays():
    activation_between = nn.Sequential().add(nn.Linear(3, 3)).add(nn.Tanh())
    activation_between.add(with_statistics(nn.BatchNormalization(3)))
    check(activation_between, (2, 3), left=1)
    twice = nn.Linear(3, 3)
    used_twice = (
        nn.Sequential().add(twice).add(with_statistics(nn.BatchNormalization(3))).add(twice)
    )
    check(used_twice, (2, 3), left=1)
    tied = nn.Sequential().add(nn.Linear(3, 3)).add(with_statistics(nn.BatchNormalization(3)))
    tied.add(nn.Linear(3, 3))
    tied.get(3).share(tied.get(1), "weight", "bias")
    check(tied, (2, 3), left=1)


def test_conversion_proves_it_against_the_original(tmp_path):
    net = nn.Sequential().add(nn.SpatialConvolution(3, 4, 3, 3))
    net.add(with_statistics(nn.SpatialBatchNormalization(4)))
    report = rl.convert(net, tmp_path / "n.t7", fold_bn=True)
    assert report.verified and report.proofs[0].relative < 1e-12
    assert rl.load(tmp_path / "n.t7").get(2).torch_typename == "nn.Identity"


def test_layers_of_a_folded_file_agree_with_the_folded_network(tmp_path):
    net = nn.Sequential().add(nn.Linear(3, 4)).add(nn.BatchNormalization(4)).add(nn.Tanh())
    net.get(2).running_mean.uniform_()
    report = rl.convert(net, tmp_path / "n.onnx", fold_bn=True, layers=True)
    (proof,) = report.proofs
    assert proof.layers
    assert proof.first_difference is None
