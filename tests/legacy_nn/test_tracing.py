"""Traces: what every layer gave, where NaN begins, where two runs part."""

import math

import numpy as np
import pytest

import relume as rl
from relume import legacy_nn as nn


def network():
    rl.manual_seed(1)
    branches = nn.ConcatTable().add(nn.Tanh()).add(nn.ReLU(True))
    return nn.Sequential().add(nn.Linear(3, 4)).add(branches).add(nn.JoinTable(2))


def batch():
    return rl.tensor([[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]], dtype=rl.float64)


def test_every_layer_by_path_with_statistics():
    net, x = network(), batch()
    seen = net.forward(x, trace=True)
    assert [layer.name for layer in seen] == [
        "root.modules[1]",
        "root.modules[2].modules[1]",
        "root.modules[2].modules[2]",
        "root.modules[2]",
        "root.modules[3]",
        "root",
    ]
    linear = x.numpy() @ net.get(1).weight.numpy().T + net.get(1).bias.numpy()
    found = seen["root.modules[1]"].statistics["root.modules[1]"]
    assert found.shape == (2, 4) and found.dtype == "float64"
    for name in ("min", "max", "mean", "std"):
        assert getattr(found, name) == pytest.approx(getattr(np, name)(linear))
    # The ReLU after it works in place: what was kept is what the layer gave.
    np.testing.assert_allclose(seen.outputs()["root.modules[1]"].numpy(), linear)
    assert seen.outputs()["root.modules[2][2]"].numpy() == pytest.approx(np.maximum(linear, 0))
    assert seen.output.tolist() == net.forward(x).tolist()
    assert "root.modules[2].modules[2]" in str(seen) and "nn.Linear(3 -> 4)" in str(seen)


def test_nothing_is_left_behind_and_backward_works():
    net, x = network(), batch()
    plain = net.clone()
    net.forward(x, trace=True)
    g = rl.ones(2, 8, dtype=rl.float64)
    plain.forward(x)
    assert net.backward(x, g).tolist() == plain.backward(x, g).tolist()
    assert all("updateOutput" not in vars(module) for module in net.walk())


def test_where_nan_begins():
    net = nn.Sequential().add(nn.MulConstant(2)).add(nn.Log()).add(nn.Tanh())
    seen = nn.trace(net, rl.tensor([-1.0, 0.0, 0.5]))
    assert seen.first_not_finite().name == "root.modules[2]"
    found = seen["root.modules[2]"].statistics["root.modules[2]"]
    assert (found.nan, found.inf) == (1, 1)
    assert found.min == found.max == 0.0


def test_a_layer_that_runs_twice_has_two_names():
    layer = nn.MulConstant(3)
    seen = nn.trace(nn.Sequential().add(layer).add(nn.Identity()).add(layer), rl.ones(1))
    assert seen["root.modules[1]"].outputs["root.modules[1]"].tolist() == [3.0]
    assert seen["root.modules[1]#2"].outputs["root.modules[1]#2"].tolist() == [9.0]


def test_clones_made_while_it_runs_are_traced_too():
    net = nn.MapTable(nn.Linear(2, 1))
    seen = nn.trace(net, [rl.ones(2, dtype=rl.float64), rl.zeros(2, dtype=rl.float64)])
    assert [layer.name for layer in seen][:2] == ["root.modules[1]", "root.modules[1]#2"]
    assert all("updateOutput" not in vars(module) for module in net.walk())


def test_graphs_criterions_and_users_classes():
    class Twice(nn.Module):
        def updateOutput(self, input):
            self.output = input * 2
            return self.output

    x = nn.Identity()()
    graph = nn.gModule([x], [Twice()(x), nn.Abs()(x)])
    seen = nn.trace(graph, rl.tensor([-1.0]))
    names = {layer.name: layer.module.torch_typename for layer in seen}
    assert sorted(names.values()) == ["nn.Abs", "nn.Identity", "nn.Twice", "nn.gModule"]
    assert seen.outputs()["root[1]"].tolist() == [-2.0]
    seen = nn.trace(nn.MSECriterion(), rl.ones(2), rl.zeros(2))
    assert seen.output == 1.0 and seen["root"].statistics["root"].mean == 1.0


def test_comparison_marks_the_first_layer_that_differs(tmp_path):
    net, x = network(), batch()
    before = nn.trace(net, x)
    before.save(tmp_path / "layers.npz")
    assert nn.trace(net, x).first_difference(tmp_path / "layers.npz") is None
    other = net.clone()
    other.modules[1].modules[0] = nn.Sigmoid()
    found = nn.trace(other, x).first_difference(tmp_path / "layers.npz")
    assert found.name == "root.modules[2].modules[1]"
    assert found.largest == pytest.approx(
        (other.get(2).get(1).output - net.get(2).get(1).output).abs().max().item()
    )
    wrong_shape = {"root.modules[1]": np.zeros((1, 4))}
    assert nn.trace(net, x).first_difference(wrong_shape).largest is None
    with_nan = {"root": np.full((2, 8), math.nan)}
    assert nn.trace(net, x).first_difference(with_nan).name == "root"
    with pytest.raises(ValueError, match=r"root\.modules\[1\]"):
        nn.trace(net, x).compare({"conv1": np.zeros(3)})


def test_an_error_keeps_what_ran_before_it():
    net = nn.Sequential().add(nn.Linear(3, 4)).add(nn.Linear(5, 2))
    with pytest.raises(ValueError, match=r"root\.modules\[2\]") as caught:
        nn.trace(net, batch())
    assert [layer.name for layer in caught.value.trace] == ["root.modules[1]"]
    assert all("updateOutput" not in vars(module) for module in net.walk())
