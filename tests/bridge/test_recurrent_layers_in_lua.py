"""Recurrent layers in Lua: memory, shared parameters, masks, types, copies and files."""

from __future__ import annotations

import pytest

import relume as rl
from relume.bridge import Lua, LuaError


@pytest.fixture(scope="module")
def lua():
    with Lua() as runtime:
        runtime.require("nngraph")
        runtime.require("rnn")
        yield runtime


# What takes a sequence of 3 features (time x batch) and gives 4.
NETS = [
    "nn.Sequencer(nn.LSTM(3, 4))",
    "nn.Sequencer(nn.LSTM(3, 4, nil, false))",
    "nn.Sequencer(nn.FastLSTM(3, 4))",
    "nn.Sequencer(nn.GRU(3, 4))",
    "nn.Sequencer(nn.MuFuRu(3, 4, {'keep', 'replace', 'mul', 'max'}))",
    "nn.Sequencer(nn.Recurrent(4, nn.Linear(3, 4), nn.Linear(4, 4)))",
    "nn.Sequencer(nn.Sequential():add(nn.FastLSTM(3, 5)):add(nn.GRU(5, 4)))",
    "nn.Sequencer(nn.LSTM(3, 4):maskZero(1))",
    "nn.SeqLSTM(3, 4)",
    "nn.SeqLSTM(3, 6, 4)",
    "nn.SeqLSTMP(3, 6, 4)",
    "nn.SeqGRU(3, 4)",
    "nn.SeqBRNN(3, 4)",
]
every_net = pytest.mark.parametrize("net", NETS)


@every_net
def test_gradients_are_derivatives(lua, net):
    difference = lua.execute(
        f"""
        torch.manualSeed(7)
        local m, x, g, h = {net}, torch.rand(3, 2, 3), torch.rand(3, 2, 4), 1e-5
        local p, dp = m:getParameters()
        dp:zero()
        m:forward(x)
        local dx, worst = m:backward(x, g):clone():view(-1), 0
        local function compare(values, found, step)
           for i = 1, values:size(1), step do
              local value = values[i]
              values[i] = value + h
              local above = torch.cmul(m:forward(x), g):sum()
              values[i] = value - h
              local below = torch.cmul(m:forward(x), g):sum()
              values[i] = value
              worst = math.max(worst, math.abs((above - below) / (2 * h) - found[i]))
           end
        end
        compare(x:view(-1), dx, 1)
        compare(p, dp:clone(), 7)
        return worst
        """
    )
    assert difference < 1e-7


@every_net
def test_evaluation_and_a_copy_through_a_file_give_the_same(lua, net):
    first, second, third = lua.execute(
        f"""
        torch.manualSeed(7)
        local m, x = {net}, torch.rand(3, 2, 3)
        local trained = m:forward(x):clone()
        local copy = torch.deserialize(torch.serialize(m)):forward(x):clone()
        m:evaluate()
        return trained, copy, m:forward(x):clone()
        """
    )
    assert rl.equal(first, second)
    assert rl.allclose(first, third, atol=1e-14)


@every_net
def test_a_layer_in_single_precision(lua, net):
    double, single = lua.execute(
        f"""
        torch.manualSeed(7)
        local m, x = {net}, torch.rand(3, 2, 3)
        local double = m:forward(x):clone()
        m:float()
        m:forward(x:float())
        m:backward(x:float(), torch.rand(3, 2, 4):float())
        return double, m:forward(x:float()):clone()
        """
    )
    assert single.dtype == rl.float32
    assert rl.allclose(double, single.double(), atol=1e-6)


@pytest.mark.parametrize(
    "layer", ["nn.Sequencer(nn.GRU(2, 3))", "nn.SeqGRU(2, 3)", "nn.SeqLSTM(2, 3)"]
)
def test_halves_of_a_sequence_that_is_remembered_give_the_whole(lua, layer):
    whole, halves = lua.execute(
        f"""
        local m, x = {layer}, torch.rand(6, 1, 2)
        local whole = m:forward(x):clone()
        m:remember('both')
        m:forget()
        local first = m:forward(x:narrow(1, 1, 3)):clone()
        local second = m:forward(x:narrow(1, 4, 3)):clone()
        return whole, torch.cat(first, second, 1)
        """
    )
    assert rl.allclose(whole, halves, atol=1e-14)


def test_gradients_stop_at_rho(lua):
    clones = lua.execute(
        """
        local m, x = nn.GRU(2, 2, 3), torch.rand(1, 2)
        for step = 1, 20 do m:forward(x) end
        local count = 0
        for _ in pairs(m.sharedClones) do count = count + 1 end
        return count
        """
    )
    assert clones == 4


def test_a_masked_sample_starts_again(lua):
    masked, fresh = lua.execute(
        """
        local m = nn.Sequencer(nn.GRU(2, 3):maskZero(1))
        local first, gap, last = torch.rand(1, 2), torch.zeros(1, 2), torch.rand(1, 2)
        local masked = m:forward{first, gap, last}[3]:clone()
        return masked, m:forward{last}[1]:clone()
        """
    )
    assert rl.allclose(masked, fresh, atol=1e-14)


def test_an_unrolled_network_learns(lua):
    first, last = lua.execute(
        """
        torch.manualSeed(1)
        local net = nn.Sequencer(nn.Sequential():add(nn.LSTM(1, 8)):add(nn.Linear(8, 1)))
        local criterion = nn.SequencerCriterion(nn.MSECriterion())
        local x = {torch.rand(4, 1), torch.rand(4, 1), torch.rand(4, 1)}
        local y = {x[1]:clone(), x[1] + x[2], x[2] + x[3]}
        local first, loss
        for i = 1, 200 do
           loss = criterion:forward(net:forward(x), y)
           first = first or loss
           net:zeroGradParameters()
           net:backward(x, criterion:backward(net.output, y))
           net:updateParameters(0.1)
        end
        return first, loss
        """
    )
    assert last < 0.05 * first


def test_more_backward_than_forward_is_an_error(lua):
    with pytest.raises(LuaError, match="no forward is left"):
        lua.execute("local m = nn.GRU(2, 2); m:backward(torch.rand(2), torch.rand(2))")


def test_the_table_of_a_sequencer_must_fit(lua):
    with pytest.raises(LuaError, match="one gradient for each of the 2 steps"):
        lua.execute(
            """
            local m, x = nn.Sequencer(nn.Linear(2, 2)), {torch.rand(2), torch.rand(2)}
            m:forward(x)
            m:backward(x, {torch.rand(2)})
            """
        )


def test_classes_of_the_package_and_of_its_last_years():
    with Lua() as lua:
        lua.require("nn")
        # nn itself has none of this name: projects define their own
        assert lua.execute("torch.class('nn.LinearNoBias', 'nn.Linear'); return nn.RecLSTM") is None
    with Lua() as lua:
        lua.require("rnn")
        assert lua.execute(
            """
            local net = nn.Sequencer(nn.RecLSTM(3, 4))
            local y = net:forward(torch.rand(5, 2, 3))
            local dx = net:backward(torch.rand(5, 2, 3), y)
            local without = nn.LinearNoBias(2, 2)
            return y:size(3), dx:size(3), torch.type(nn.RecGRU(2, 2)), torch.type(without),
               without.bias
            """
        ) == (4, 3, "nn.RecGRU", "nn.LinearNoBias", None)
