"""Porting Lua code to Python a piece at a time: swap and check."""

from __future__ import annotations

import re

import numpy as np
import pytest

import relume as rl
from relume import legacy_nn as nn
from relume.bridge import Lua, check, swap

DOUBLE = {"dtype": rl.float64}
MLP = "nn.Sequential():add(nn.Linear(3, 4)):add(nn.Tanh()):add(nn.Linear(4, 2))"


def assert_close(got, expected):
    np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), rtol=1e-10)


@nn.register("nn.PortedScale")
class PortedScale(nn.Module):
    """A layer that no Lua code defines."""

    parameter_names = ("weight",)

    def __init__(self, n):
        super().__init__()
        self.weight = rl.full((n,), 2.0, **DOUBLE)
        self.gradWeight = rl.zeros(n, **DOUBLE)

    def compute(self, input, weight):
        return input * weight


@pytest.fixture
def lua():
    with Lua() as runtime:
        runtime.require("nn")
        yield runtime


@pytest.fixture
def x():
    rl.manual_seed(3)
    return rl.randn(5, 3, **DOUBLE)


# ---- layers of Lua in Python ----


def test_a_lua_network_is_a_layer_on_the_tape(lua, x):
    net = lua.eval(MLP)
    assert isinstance(net, nn.Module)
    twin = net.to_python()
    inputs = [x.clone().requires_grad_() for _ in range(2)]
    for module, leaf in zip((net, twin), inputs, strict=True):
        (module(leaf) ** 2).sum().backward()
    assert_close(*[leaf.grad for leaf in inputs])
    for mine, theirs in zip(net.parameters()[1], twin.parameters()[1], strict=True):
        assert_close(mine, theirs)
    assert net.modules[1].gradWeight.abs().sum().item() > 0  # the very tensors of Lua


def test_an_optimizer_trains_a_lua_network(lua, x):
    net = lua.eval(MLP)
    optimizer = rl.optim.SGD(net.parameters()[0], lr=0.1)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = (net(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


def test_a_class_that_lua_code_defines_is_a_layer_too(lua, x, tmp_path):
    lua.execute(
        """
        local Twice, parent = torch.class('nn.TwiceInLua', 'nn.Module')
        function Twice:updateOutput(x) self.output = x * 2; return self.output end
        function Twice:updateGradInput(x, g) self.gradInput = g * 2; return self.gradInput end
        """
    )
    layer = lua.eval("nn.TwiceInLua()")
    net = nn.Sequential().add(nn.Linear(3, 3)).add(layer)
    assert_close(net.forward(x), net.get(1).forward(x) * 2)
    leaf = x.clone().requires_grad_()
    net(leaf).sum().backward()
    assert_close(leaf.grad, net.get(1).weight.detach().sum(0).expand(5, 3) * 2)
    assert check(net, net.clone(), x)
    lua.execute("torch.save(..., nn.Sequential():add(nn.TwiceInLua()))", str(tmp_path / "net.t7"))
    loaded = lua.execute("return torch.load(...)", str(tmp_path / "net.t7"))
    assert isinstance(loaded, nn.Module) and loaded(x).tolist() == (x * 2).tolist()


def test_a_criterion_of_lua_is_a_criterion(lua, x):
    criterion, target = lua.eval("nn.MSECriterion()"), rl.zeros(5, 3, **DOUBLE)
    assert isinstance(criterion, nn.Criterion)
    leaf = x.clone().requires_grad_()
    value = criterion(leaf, target)
    value.backward()
    assert_close(value, (x**2).mean())
    assert_close(leaf.grad, x * 2 / x.numel())


def test_lua_networks_are_saved_from_python_with_what_they_share(lua, x, tmp_path):
    net = lua.eval(MLP)
    rl.save({"model": net, "again": net, "name": "mlp"}, tmp_path / "model.t7")
    loaded = rl.load(tmp_path / "model.t7")
    assert loaded.model is loaded.again and loaded.name == "mlp"
    assert check(net, loaded.model, x)


# ---- layers of Python in Lua ----


def test_a_python_layer_is_one_of_a_lua_network(lua, x):
    net, scale = lua.eval(MLP), PortedScale(2)
    before = net.clone()
    net.add(scale)
    assert net.modules[4] is scale
    assert_close(net.forward(x), before.forward(x) * 2)
    parameters, _ = net.parameters()
    assert parameters[-1] is scale.weight
    flat, gradients = net.getParameters()
    assert flat.numel() == 3 * 4 + 4 + 4 * 2 + 2 + 2
    flat.fill_(0.5)
    assert scale.weight.tolist() == [0.5, 0.5]
    net.zeroGradParameters()
    net.backward(x, net.forward(x).clone())
    assert scale.gradWeight.abs().sum().item() > 0
    assert_close(gradients[-2:], scale.gradWeight)


def test_copies_of_a_network_with_a_python_layer(lua, x):
    net = lua.eval(MLP)
    net.add(PortedScale(2))
    twin = net.clone()
    assert check(net, twin, x)
    net.modules[4].weight.fill_(7)
    assert twin.modules[4].weight.tolist() == [2.0, 2.0]
    tied = net.clone("weight", "gradWeight")
    net.modules[4].weight.fill_(9)
    assert tied.modules[4].weight.tolist() == [9.0, 9.0]


@pytest.mark.parametrize("make", [lambda: PortedScale(2), lambda: rl.nn.Linear(2, 2).double()])
def test_files_hold_a_python_layer(lua, x, tmp_path, make):
    net, module, path = lua.eval(MLP), make(), tmp_path / "net.t7"
    net.add(module)
    lua.execute("local net, path = ...; torch.save(path, net)", net, str(path))
    for loaded in (rl.load(path), lua.execute("return torch.load(...)", str(path))):
        if isinstance(module, rl.nn.Module):
            with pytest.raises(Exception, match="a file holds the weights alone"):
                loaded.forward(x)
            swap(loaded, "modules[4]", make())
        assert check(net, loaded, x)


def test_types_and_modes_reach_a_python_layer(lua, x):
    net, module = lua.eval(MLP), rl.nn.Sequential(rl.nn.Linear(2, 2), rl.nn.Dropout()).double()
    net.add(module)
    net.evaluate()
    assert not module[1].training
    net.training()
    assert module[1].training
    net.float()
    assert module[0].weight.dtype == rl.float32
    assert net.forward(x.float()).dtype == rl.float32


def test_a_recurrent_network_of_lua_unrolls_a_python_layer(lua):
    lua.require("rnn")
    made = "local l = ...; return nn.Sequencer(nn.Sequential():add(nn.Linear(2, 2)):add(l))"
    net = lua.execute(made, PortedScale(2))
    steps = [rl.ones(1, 2, **DOUBLE), rl.zeros(1, 2, **DOUBLE)]
    output = net.forward(steps).to_python().as_list()
    net.backward(steps, [rl.ones(1, 2, **DOUBLE)] * 2)
    linear = output[1] / 2
    assert_close(net.parameters()[1][-1], (output[0] / 2 + linear).reshape(2))


# ---- swap ----


@pytest.mark.parametrize(
    "replacement", [nn.Tanh, lambda: rl.tanh, lambda: rl.nn.Tanh(), lambda: lambda x: x.tanh()]
)
def test_swap_replaces_a_layer_and_gives_the_old_one(lua, x, replacement):
    net = lua.eval(MLP)
    before = net.clone()
    old = swap(net, "modules[2]", replacement())
    assert old.torch_typename == "nn.Tanh"
    assert check(before, net, x)
    swap(net, "root.modules[2]", lambda x: x * 0)
    assert not check(before, net, x)
    swap(net, "modules[2]", old)
    assert check(before, net, x)


def test_swap_works_on_networks_of_python(x):
    net = nn.Sequential().add(nn.Linear(3, 4)).add(nn.Sequential().add(nn.Tanh()))
    before = net.clone()
    assert swap(net, "modules[2].modules[1]", rl.tanh).torch_typename == "nn.Tanh"
    assert check(before, net, x)


def test_swap_reaches_the_nodes_of_a_graph(lua, x):
    lua.require("nngraph")
    net = lua.execute(
        """
        local input = nn.Identity()()
        local layer = nn.Tanh()(nn.Linear(3, 4)(input))
        return nn.gModule({input}, {layer, nn.Identity()(layer)})
        """
    )
    position = next(i for i, module in net.modules.items() if module.torch_typename == "nn.Tanh")
    before = net.clone()
    swap(net, f"modules[{position}]", lambda x: x * 3)
    first = net.forward(x)[1]
    assert_close(before.forward(x)[1], (first / 3).tanh())


def test_swap_reaches_into_tables(lua, x):
    protos = lua.eval(f"{{rnn = {MLP}}}")
    swap(protos, "rnn.modules[2]", nn.Sigmoid())
    assert isinstance(protos.rnn.modules[2], nn.Sigmoid)


def test_a_method_of_a_class_is_replaced_while_it_runs(lua):
    layer = lua.eval("nn.Tanh()")
    ones = rl.ones(2, **DOUBLE)
    old = swap(lua.globals, "nn.Tanh.updateOutput", lambda self, input: input * 5)
    assert layer.forward(ones).tolist() == [5.0, 5.0]
    swap(lua.globals, "nn.Tanh.updateOutput", old)
    assert_close(layer.forward(ones), ones.tanh())
    swap(layer, "updateOutput", lambda self, input: input * 6)
    assert layer.forward(ones).tolist() == [6.0, 6.0]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("modules[9]", r"nothing at \[9\] of root.modules"),
        ("parts[1]", "nothing at .parts of root"),
        ("modules[1", "is no path"),
        ("", "the path is empty"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(lua, path, message):
    with pytest.raises(KeyError, match=message):
        swap(lua.eval(MLP), path, nn.Tanh())


def test_what_cannot_be_a_layer_is_refused(lua):
    with pytest.raises(TypeError, match="expected a module or a function of tensors, not int"):
        swap(lua.eval(MLP), "modules[1]", 3)


# ---- check ----


class Wrong(nn.Tanh):
    """Tanh with a mistake in one of its parts."""

    def __init__(self, part):
        super().__init__()
        self._kept = part

    def updateOutput(self, input):
        self.output = input.tanh() + (0.1 if self._kept == "output" else 0)
        return self.output

    def updateGradInput(self, input, gradOutput):
        self.gradInput = gradOutput * (1 - self.output**2)
        if self._kept == "gradInput":
            self.gradInput[2, 1] += 0.5
        return self.gradInput


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("", "equal within 1e-06: output, gradInput of 1 input"),
        ("output", r"output of input 1 differs at \[0, 0\]: .* became .*"),
        ("gradInput", r"gradInput of input 1 differs at \[2, 1\]: .* became .*"),
    ],
)
def test_the_first_difference_is_named(lua, x, part, text):
    report = check(lua.eval("nn.Tanh()"), Wrong(part), x)
    assert bool(report) is (part == "")
    assert re.fullmatch(text, str(report))


def test_gradients_of_parameters_are_compared_and_what_was_added_up_stays(lua, x):
    old = lua.eval("nn.Linear(3, 2)")
    new = old.to_python().clone()
    old.gradWeight.fill_(3)
    assert check(old, new, x)
    assert old.gradWeight.unique().tolist() == [3.0]
    new.accGradParameters = lambda input, gradOutput, scale=1: None
    new.backward = lambda input, gradOutput, scale=1: new.updateGradInput(input, gradOutput)
    report = check(old, new, x)
    assert report.first.what == "gradParameters[1]"
    assert check(old, new, x, parameters=False)


def test_layers_that_draw_random_numbers_draw_the_same(lua, x):
    assert check(lua.eval("nn.Dropout(0.5)"), nn.Dropout(0.5), x)


def test_tables_and_several_inputs_are_compared(lua, x):
    old = lua.eval("nn.ConcatTable():add(nn.Tanh()):add(nn.Sigmoid())")
    new = nn.ConcatTable().add(nn.Tanh()).add(nn.ReLU())
    report = check(old, new, [x, x * 2])
    assert report.first.what == "output[2]" and report.first.input == 1
    table = rl.Table([x, x])
    assert check(lua.eval("nn.CAddTable()"), nn.CAddTable(), table)


def test_functions_are_compared_by_what_they_give(lua, x):
    old = lua.eval("function(x) return x:clone():mul(2) end")
    assert check(old, lambda x: x + x, x)
    assert check(old, lambda x: x, x).first.largest == x.abs().max().item()


def test_shapes_that_differ_are_told(lua, x):
    report = check(lua.eval("nn.Linear(3, 2)"), nn.Linear(3, 4), x)
    assert "a torch.DoubleTensor of size 5x2 and became" in str(report)
    assert report.largest == 0.0


def test_numbers_that_are_not_finite_count_as_equal_only_to_themselves():
    values = rl.tensor([float("nan"), float("inf"), 1.0])
    assert check(lambda x: x, lambda x: x + 0, values)
    assert not check(lambda x: x, lambda x: x.nan_to_num(), values)
