"""relume.compare: any two of a network, a file, a function, what layers once gave."""

import numpy as np
import pytest

import relume as rl
from relume import legacy_nn as nn

X = np.random.default_rng(0).normal(size=(4, 3))


def network():
    return nn.Sequential().add(nn.Linear(3, 4)).add(nn.Tanh()).add(nn.Linear(4, 2))


def test_files_of_two_formats(tmp_path):
    net = network()
    rl.save(net, tmp_path / "a.t7")
    rl.convert(net, tmp_path / "b.safetensors", dtype="float32")
    report = rl.compare(tmp_path / "a.t7", tmp_path / "b.safetensors", X)
    assert report.agrees and 0 < report.proofs[0].relative < 1e-6
    strict = rl.compare(tmp_path / "a.t7", tmp_path / "b.safetensors", X, tolerance=1e-12)
    assert not strict.agrees and strict.proofs[0].first_difference == "modules.1"


def test_a_function_of_arrays():
    net = network()
    first, last = net.get(1), net.get(3)

    def by_numpy(x):
        hidden = np.tanh(x @ first.weight.numpy().T + first.bias.numpy())
        return hidden @ last.weight.numpy().T + last.bias.numpy()

    assert rl.compare(net, by_numpy, X).agrees
    assert not rl.compare(net, lambda x: by_numpy(x)[:, :1], X).agrees  # another shape


def test_what_layers_once_gave(tmp_path):
    net = network()
    net.evaluate().forward(rl.tensor(X), trace=True).save(tmp_path / "layers.npz")
    assert rl.compare(net, tmp_path / "layers.npz", X).agrees
    net.get(3).bias[0] += 1
    report = rl.compare(net, tmp_path / "layers.npz", X)
    assert report.proofs[0].first_difference == "modules.3"


def test_tables_of_inputs_and_outputs():
    net = nn.ParallelTable().add(nn.Linear(3, 2)).add(nn.Tanh())
    report = rl.compare(net, net.clone(), [X, X])
    assert [difference.name for difference in report.proofs[0].outputs] == [
        "output[1]",
        "output[2]",
    ]
    other = net.clone()
    other.get(1).weight.zero_()
    differences = rl.compare(net, other, rl.Table([rl.tensor(X), rl.tensor(X)])).proofs[0].outputs
    assert [difference.differs for difference in differences] == [True, False]


def test_gradients():
    net, other = network(), network()
    for mine, theirs in zip(other.parameters()[0], net.parameters()[0], strict=True):
        mine.copy_(theirs)
    assert rl.compare(net, other, X, gradients=True).agrees
    other.modules[1] = nn.HardTanh(-1e9, 1e9)
    report = rl.compare(net, other, X, gradients=True)
    assert {d.name for d in report.proofs[0].gradients if d.differs} >= {
        "gradient of input",
        "gradient of modules.1.weight",
    }


def test_networks_that_draw_numbers_draw_the_same():
    net = nn.Sequential().add(nn.Linear(3, 4)).add(nn.Dropout(0.5, False, False, True))
    assert rl.compare(net, net.clone(), X).agrees


def test_nothing_to_run():
    with pytest.raises(ValueError, match="neither side tells what it takes"):
        rl.compare(lambda x: x, lambda x: x)
    with pytest.raises(ValueError, match="no network to run"):
        rl.compare(rl.Table({"a": 1}), network(), X)
