"""PyTorch source for old networks, as text: what is written, without running it."""

import ast
import importlib.util
import subprocess
import sys

import pytest
from golden_cases import DATA, load_cases

from relume import legacy_nn as nn
from relume.converters.pytorch import generate


def text_of(net):
    source = generate(net)
    assert source.refusals == []
    ast.parse(source.text)
    return source.text


def body_of(net):
    """The class Net without its docstring."""
    text = text_of(net)
    return text[text.index("class Net") : text.index("\n\n\nWEIGHTS")]


def conv_block(planes_in, planes_out):
    branch = nn.Sequential()
    branch.add(nn.SpatialConvolution(planes_in, planes_out, 3, 3, 1, 1, 1, 1)).add(nn.ReLU())
    both = nn.ConcatTable().add(branch).add(nn.Identity())
    return nn.Sequential().add(both).add(nn.CAddTable())


def test_a_chain_is_an_nn_sequential():
    net = nn.Sequential().add(nn.Linear(4, 3)).add(nn.Tanh()).add(nn.LogSoftMax())
    text = body_of(net)
    assert "self.layers = nn.Sequential(\n            nn.Linear(4, 3),\n" in text
    assert "return self.layers(x)" in text


def test_a_structure_that_repeats_is_one_class_with_arguments():
    net = nn.Sequential()
    for planes in (4, 8, 8):
        net.add(conv_block(planes, planes))
    text = text_of(net)
    assert text.count("class Residual") == 1
    assert "Residual(4),\n            Residual(8),\n            Residual(8)," in text


def test_shared_weights_are_tied_and_written_once():
    first = nn.Linear(3, 3)
    net = nn.Sequential().add(first).add(nn.Tanh()).add(first.clone("weight", "bias"))
    source = generate(net)
    assert list(source.weights) == ["layers.0.weight", "layers.0.bias"]
    assert source.aliases["layers.2.weight"] == "layers.0.weight"
    assert "self.layers[2].weight = self.layers[0].weight" in source.text


def test_names_of_graph_nodes_are_names_of_variables():
    x = nn.Identity()().annotate(name="words")
    hidden = nn.Tanh()(nn.Linear(3, 3)(x)).annotate(name="hidden state")
    net = nn.gModule([x], [nn.CMulTable()([hidden, x])])
    assert "hidden_state = torch.tanh(" in body_of(net)


def test_what_cannot_be_converted_is_listed_by_class():
    class Mine(nn.Module):
        def updateOutput(self, input):
            return input

    net = nn.Sequential().add(Mine()).add(Mine()).add(nn.SpatialFractionalMaxPooling(2, 2, 3, 3))
    refusals = {refusal.class_name: refusal for refusal in generate(net).refusals}
    assert refusals["nn.Mine"].count == 2
    assert "random numbers" in refusals["nn.SpatialFractionalMaxPooling"].reason


def test_a_file_imports_only_torch_and_math():
    net = nn.Sequential().add(nn.View(-1)).add(nn.Sqrt()).add(nn.SpatialZeroPadding(1))
    tree = ast.parse(text_of(net))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    froms = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = {alias.name for node in imports for alias in node.names} | set(froms)
    assert names <= {"torch", "math", "torch.nn.functional"}


def check_with_ruff(path):
    for command in (["format", "--check", "--isolated"], ["check", "--isolated"]):
        arguments = [sys.executable, "-m", "ruff", *command, path]
        done = subprocess.run(arguments, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(importlib.util.find_spec("ruff") is None, reason="needs ruff")
def test_a_file_is_formatted(tmp_path):
    net = nn.Sequential().add(nn.View(-1)).add(nn.SpatialConvolution(3, 800, 3, 5, 2, 1, 1, 4))
    net.add(nn.SpatialFullConvolution(800, 300, 4, 4, 2, 2, 1, 1, 1, 1)).add(conv_block(3, 3))
    path = tmp_path / "net.py"
    path.write_text(text_of(net))
    for command in (["format", "--check", "--isolated"], ["check", "--isolated"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, path], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(importlib.util.find_spec("ruff") is None, reason="needs ruff")
def test_the_source_of_every_golden_layer_is_formatted(tmp_path):
    written = 0
    for section in ("nn", "nngraph", "rnn", "dpnn"):
        for path in sorted((DATA / section).glob("*.t7")):
            case = load_cases(section, path.stem)[-1]
            layer = case.get("module") or case.get("criterion")
            if not isinstance(layer, nn.Module) or generate(layer).refusals:
                continue
            (tmp_path / f"{section}_{path.stem}.py").write_text(text_of(layer))
            written += 1
    assert written > 230
    for command in (["format", "--check", "--isolated"], ["check", "--isolated"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, tmp_path], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_used_once_stands_where_it_is_used():
    x, before = nn.Identity()(), nn.Identity()()
    parts = nn.SplitTable(2)(x).split(2)
    gate = nn.CMulTable()([nn.Sigmoid()(parts[0]), before])
    net = nn.gModule([x, before], [nn.CAddTable()([gate, nn.Tanh()(parts[1])])])
    assert "return torch.sigmoid(part1) * input2 + torch.tanh(part2)" in body_of(net)


def test_a_sum_of_a_product_keeps_its_brackets():
    x, y = nn.Identity()(), nn.Identity()()
    total = nn.CAddTable()([x, y])
    net = nn.gModule([x, y], [nn.CMulTable()([total, nn.Tanh()(y)])])
    assert "return (input1 + input2) * torch.tanh(input2)" in body_of(net)


def test_what_may_have_another_shape_is_brought_into_one():
    x, y = nn.Identity()(), nn.Identity()()
    net = nn.gModule([x, y], [nn.CAddTable()([nn.Linear(3, 1)(x), y])])
    assert ".view_as(" in body_of(net)


def test_layers_that_modules_of_pytorch_have_methods_for_get_other_names():
    assert "self.zero_grad_ = ZeroGrad()" in body_of(nn.ZeroGrad())
