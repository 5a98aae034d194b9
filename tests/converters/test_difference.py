"""How two checkpoints differ."""

import numpy as np
import pytest

import relume as rl
from relume import legacy_nn as nn
from relume.converters.difference import difference


def network(*layers):
    net = nn.Sequential()
    for layer in layers or (nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)):
        net.add(layer)
    return net


def summary(found):
    return [(entry.kind, entry.path, entry.what) for entry in found]


def test_the_same():
    net = network()
    assert difference(net, net.clone()) == []


def test_norms_of_weights():
    net = network()
    other = net.clone()
    step = np.random.default_rng(0).normal(size=(4, 3))
    other.get(1).weight.add_(rl.tensor(step))
    (found,) = difference(net, other)
    assert (found.kind, found.path, found.what) == ("changed", "modules.1.weight", "values")
    assert found.norm == pytest.approx(np.linalg.norm(step))
    before = np.linalg.norm(net.get(1).weight.numpy())
    assert found.relative == pytest.approx(np.linalg.norm(step) / before)
    assert found.largest == pytest.approx(np.abs(step).max())


def test_layers_that_came_and_went():
    before = network(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2), nn.Sigmoid())
    after = before.clone()
    after.insert(nn.Dropout(0.5), 2)
    after.remove(5)
    assert summary(difference(before, after)) == [
        ("added", "modules.2", "nn.Dropout"),
        ("removed", "modules.4", "nn.Sigmoid"),
    ]


def test_classes_shapes_and_fields():
    before = {"net": network(nn.Linear(3, 4), nn.Threshold(0, 0)), "epoch": 3, "old": 1}
    after = {"net": network(nn.Linear(3, 5), nn.Threshold(0.1, 0)), "epoch": 4, "new": [1]}
    found = difference(before, after)
    assert summary(found) == [
        ("removed", "old", "field"),
        ("added", "new", "table"),
        ("changed", "net.modules.1.weight", "shape"),
        ("changed", "net.modules.1.bias", "shape"),
        ("changed", "net.modules.2.threshold", "field"),
        ("changed", "epoch", "field"),
    ]
    assert (found[2].before, found[2].after) == ("4x3", "5x3")
    assert (found[-1].before, found[-1].after) == ("3", "4")
    assert summary(difference(rl.Table({"a": nn.Tanh()}), rl.Table({"a": nn.ReLU()}))) == [
        ("changed", "a", "class")
    ]


def test_buffers_do_not_count():
    net = network()
    other = net.clone()
    other.forward(rl.ones(2, 3, dtype=rl.float64))
    assert difference(net, other) == []


def test_cycles_end():
    first, second = rl.Table({"a": 1}), rl.Table({"a": 2})
    first["self"], second["self"] = first, second
    assert summary(difference(first, second)) == [("changed", "a", "field")]


def test_nan_is_nan():
    first, second = {"x": float("nan"), "t": rl.tensor([float("nan")])}, {"x": float("nan")}
    second["t"] = rl.tensor([float("nan")])
    assert difference(first, second) == []


def test_complex_numbers_and_types_that_numpy_lacks():
    (changed,) = difference({"w": rl.tensor([1 + 2j])}, {"w": rl.tensor([1 + 3j])})
    assert "difference 1" in changed.after
    (wide,) = difference(
        {"w": rl.tensor([1.0], dtype="bfloat16")}, {"w": rl.tensor([3.0], dtype="bfloat16")}
    )
    assert "difference 2" in wide.after
    assert not difference({"w": rl.tensor([1j])}, {"w": rl.tensor([1j])})
