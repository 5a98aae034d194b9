"""Classes that relume has in Python alone, as classes of Lua: nnx, stn, inn, parts of dpnn."""

from __future__ import annotations

import pytest

from relume.bridge import Lua


@pytest.fixture(scope="module")
def lua():
    with Lua() as runtime:
        for name in ("nnx", "dpnn", "stn", "inn", "fbnn"):
            runtime.require(name)
        yield runtime


def test_objects_have_their_own_type_and_print_as_they_are(lua):
    found = lua.execute(
        """
        local m = nn.SpatialReSampling{owidth = 8, oheight = 8}
        local output = m:forward(torch.ones(1, 4, 4))
        return torch.type(m), tostring(m), torch.isTypeOf(m, 'nn.Module'), output:size(3)
        """
    )
    assert found == ("nn.SpatialReSampling", "nn.SpatialReSampling", True, 8)


def test_they_stand_in_networks_with_gradients(lua):
    assert lua.execute(
        """
        local net = nn.Sequential():add(nn.Linear(3, 4)):add(nn.Minus()):add(nn.Balance())
        local output = net:forward(torch.rand(2, 3))
        local gradInput = net:backward(torch.rand(2, 3), output:clone():fill(1))
        return gradInput:size(2), #net:parameters()
        """
    ) == (3, 2)


def test_criterions(lua):
    value, gradient = lua.execute(
        """
        local c = nn.BinaryLogisticRegression()
        local x, t = torch.zeros(2, 1), torch.ones(2, 1)
        return c:forward(x, t), c:backward(x, t)
        """
    )
    assert value == pytest.approx(0.6931471805599453)  # log 2
    assert gradient.reshape(2).tolist() == pytest.approx([-0.25, -0.25])


def test_they_are_saved_cloned_and_cast(lua, tmp_path):
    path = str(tmp_path / "m.t7")
    typename, same, dtype, kept, changed = lua.execute(
        """
        local path = ...
        local m, x = nn.SpatialReSampling{owidth = 8, oheight = 8}, torch.rand(1, 4, 4)
        torch.save(path, nn.Sequential():add(m))
        local loaded = torch.load(path):get(1)
        local twin = m:clone()
        twin.owidth = 6
        local y = m:forward(x)
        local as_float = m:clone():float():forward(x:float())
        return torch.type(loaded), loaded:forward(x):equal(y), as_float:type(), m.owidth,
           twin:forward(x):size(3)
        """,
        path,
    )
    assert (typename, same, dtype, kept, changed) == (
        "nn.SpatialReSampling",
        True,
        "torch.FloatTensor",
        8,
        6,
    )


def test_lua_code_derives_from_them(lua):
    assert lua.execute(
        """
        local Doubled, parent = torch.class('nn.DoubledSampling', 'nn.SpatialReSampling')
        function Doubled:updateOutput(input) return parent.updateOutput(self, input):mul(2) end
        function Doubled:updateGradInput(input, gradOutput)
           self.gradInput = parent.updateGradInput(self, input, gradOutput):mul(2)
           return self.gradInput
        end
        local m, x = nn.DoubledSampling{owidth = 4, oheight = 4}, torch.ones(1, 4, 4)
        local y = m:forward(x)
        return y:mean(), m:backward(x, torch.ones(1, 4, 4)):mean()
        """
    ) == pytest.approx((2, 2))
