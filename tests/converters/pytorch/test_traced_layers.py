"""Layers without a rule become classes with a statement for every op that they call."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

import relume as rl
from relume import legacy_nn as nn
from relume.converters.formats import CannotConvert
from relume.converters.pytorch.file import load_module
from relume.converters.pytorch.rules import rule_of

torch = pytest.importorskip("torch")


class Scaled(nn.Module):
    """A class that only this program knows: parameters, a buffer, sizes that follow the input."""

    def __init__(self, size, factor):
        super().__init__()
        self.weight, self.gradWeight = rl.randn(size, size), rl.zeros(size, size)
        self.means = rl.arange(float(size))
        self.factor = factor

    def compute(self, input, weight):
        rows = input.reshape((-1, weight.shape[1])) - self.means
        return (rl.matmul(rows, weight) * self.factor).reshape(input.shape)

    parameter_names = ("weight",)


class SumAndRest(nn.Module):
    """{a, {b, c}} to {a + b, {c}}."""

    def updateOutput(self, input):
        a, (b, c) = input[1], (input[2][1], input[2][2])
        self.output = rl.Table([a + b, rl.Table([c[:, 1:]])])
        return self.output


def converted(net, path, **options):
    report = rl.convert(net, path, **options)
    assert report.verified and report.proofs[0].agrees
    return load_module(path).load()


def test_a_class_of_this_program(tmp_path):
    net = nn.Sequential().add(nn.Linear(3, 4)).add(Scaled(4, 0.5)).add(Scaled(4, 2)).float()
    made = converted(net, tmp_path / "net.py", input=rl.randn(2, 3), gradients=True)
    names = set(made.state_dict())
    assert {"layers.1.weight", "layers.1.means", "layers.2.weight"} <= names
    assert len(list(made.parameters())) == 4
    x = rl.randn(5, 3)
    expected = net.evaluate().forward(x).numpy()
    np.testing.assert_allclose(
        made(torch.from_numpy(x.numpy())).detach().numpy(), expected, rtol=1e-4, atol=1e-5
    )


def test_nested_tables(tmp_path):
    inputs = [np.ones((2, 3)), [np.ones((2, 3)), np.arange(6.0).reshape(2, 3)]]
    made = converted(SumAndRest(), tmp_path / "net.py", input=inputs)
    a, (b,) = made((torch.ones(4, 3), (torch.ones(4, 3), torch.zeros(4, 3))))
    assert a.tolist() == [[2.0] * 3] * 4 and b.shape == (4, 2)


LAYERS = {
    "nn.KMaxPooling": (lambda: nn.KMaxPooling(2), (2, 7, 3)),
    "nn.AppendBias": (lambda: nn.AppendBias(), (2, 3)),
    "nn.Balance": (lambda: nn.Balance(2), (3, 4)),
    "nn.SaturatedLU": (lambda: nn.SaturatedLU(), (2, 3)),
    "nn.SpatialCircularPadding": (lambda: nn.SpatialCircularPadding(1, 2, 1, 1), (2, 3, 5, 6)),
    "inn.SpatialPyramidPooling": (
        lambda: nn.inn.SpatialPyramidPooling([[1, 1], [2, 2]]),
        (2, 3, 6, 6),
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_packages(tmp_path, name):
    make, shape = LAYERS[name]
    layer = make()
    assert rule_of(layer) is None
    made = converted(
        nn.Sequential().add(layer).float(), tmp_path / "net.py", input=rl.randn(*shape)
    )
    x = rl.randn(5, *shape[1:])
    expected = layer.evaluate().forward(x).numpy()
    np.testing.assert_allclose(made(torch.from_numpy(x.numpy())).numpy(), expected, rtol=1e-5)


@pytest.mark.skipif(importlib.util.find_spec("ruff") is None, reason="needs ruff")
def test_the_file_is_formatted(tmp_path):
    net = nn.Sequential().add(Scaled(300, 0.5)).add(nn.Balance(2)).float()
    converted(net, tmp_path / "net.py", input=rl.randn(2, 300))
    for command in (["format", "--check", "--isolated"], ["check", "--isolated"]):
        arguments = [sys.executable, "-m", "ruff", *command, tmp_path / "net.py"]
        done = subprocess.run(arguments, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


class Drawing(nn.Module):
    def updateOutput(self, input):
        self.output = input + rl.rand(*input.shape)
        return self.output


class Choosing(nn.Module):
    def updateOutput(self, input):
        self.output = input * 2 if input.sum().item() > 0 else input[:1]
        return self.output


@pytest.mark.parametrize(
    ("layer", "reason"),
    [(Drawing(), "random numbers"), (Choosing(), "calls|sizes|number")],
    ids=["draws", "chooses"],
)
def test_what_is_no_graph_of_ops_is_refused_with_the_reason(tmp_path, layer, reason):
    with pytest.raises(CannotConvert, match=reason):
        rl.convert(nn.Sequential().add(layer), tmp_path / "net.py", input=np.full((2, 3), 0.3))
    assert not list(tmp_path.iterdir())
