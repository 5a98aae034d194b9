"""Networks that Lua code builds: graphs with criterions, and connection tables."""

import re

import pytest
from golden_cases import load_cases

import relume as rl
from relume.bridge import Lua, LuaError


@pytest.fixture(scope="module")
def lua():
    with rl.bridge.Lua() as runtime:
        runtime.require("nngraph")
        yield runtime


def test_a_criterion_can_be_a_node(lua):
    in_graph, alone, called = lua.execute("""
        local x, t = nn.Identity()(), nn.Identity()()
        local criterion = nn.MSECriterion()
        local net = nn.gModule({x, t}, {criterion({nn.MulConstant(2)(x), t})})
        local a, b = torch.rand(2), torch.rand(2)
        return net:forward({a, b})[1], criterion:forward(a * 2, b), (criterion(a * 2, b))
    """)
    assert in_graph == alone == called


def test_connections_are_drawn_as_in_torch7(lua):
    case = next(c for c in load_cases("nn", "SpatialConvolutionMap") if "random" in c.ctor)
    lua.execute("torch.manualSeed(...)", int(case.ctor_seed))
    layer = lua.execute(f"return {case.ctor}")
    assert layer.connTable.tolist() == case.module.connTable.tolist()
    assert layer.weight.tolist() == case.params[1].tolist()


def test_parameters_of_a_layer_that_is_used_twice_are_flattened_once():
    with Lua() as lua:
        lua.require("nngraph")
        assert lua.execute(
            """
            local layer, input = nn.Linear(3, 3), nn.Identity()()
            local graph = nn.gModule({input}, {layer(nn.Tanh()(layer(input)))})
            local chain = nn.Sequential():add(layer):add(nn.Tanh()):add(layer)
            local before = chain:forward(torch.ones(3)):clone()
            local flat = chain:getParameters()
            local same = chain:forward(torch.ones(3)):equal(before)
            flat:fill(2)
            return flat:size(1), graph:getParameters():size(1), same, layer.weight:sum()
            """
        ) == (12, 12, True, 18)


GRAPHS = """
    require 'nngraph'
    x = torch.ones(2)
    local a, b = nn.Identity()(), nn.Identity()()
    sum = nn.gModule({a, b}, {nn.CAddTable()({a, b})})
    sum:forward {x, x}
    local c = nn.Identity()()
    two = nn.gModule({c}, {nn.Tanh()(c), nn.Exp()(c)})
    two:forward(x)
"""


@pytest.mark.parametrize(
    ("call", "message"),  # as Torch7's nngraph printed them
    [
        ("sum:forward({x, x, x})", "Got 3 inputs instead of 2"),
        ("two:backward(x, {x})", "Got 1 gradOutputs instead of 2"),
        ("two:updateGradInput(x, {x, x, x})", "Got 3 gradOutputs instead of 2"),
        ("local d = nn.Identity()() nn.gModule({d}, {d, d})", "Don't pass the same input twice."),
    ],
)
def test_graphs_refuse_what_torch7_refused(lua, call, message):
    lua.execute(GRAPHS)
    with pytest.raises(LuaError, match=re.escape(message)):
        lua.execute(call)


def test_backward_asks_for_no_input(lua):
    """lstm-char-cnn hands over more inputs than its graph has."""
    lua.execute(GRAPHS)
    assert lua.execute("return #sum:backward({x, x, x}, x)") == 2
