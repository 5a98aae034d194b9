"""Files that relume.save wrote, read by the Torch7 of the Lua side, and the other way round."""

from __future__ import annotations

import pytest

import relume as rl
from relume import legacy_nn as nn

FORMS = [
    {"format": "binary"},
    {"format": "ascii"},
]


@pytest.fixture(scope="module")
def lua():
    runtime = rl.bridge.Lua()
    yield runtime
    runtime.close()


def network():
    net = nn.Sequential().add(nn.SpatialConvolution(1, 2, 3, 3)).add(nn.ReLU())
    net.add(nn.View(-1).setNumInputDims(3)).add(nn.Linear(32, 3)).add(nn.LogSoftMax())
    return net.evaluate()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form["format"])
def test_lua_runs_a_saved_network(lua, tmp_path, form):
    net = network()
    x = rl.randn(2, 1, 6, 6, dtype=rl.float64)
    rl.save({"net": net, "x": x, "y": net.forward(x)}, tmp_path / "net.t7", **form)
    difference = lua.execute(
        """
        require 'nn'
        local path, format = ...
        local saved = torch.load(path, format)
        return (saved.net:forward(saved.x) - saved.y):abs():max()
        """,
        str(tmp_path / "net.t7"),
        form["format"],
    )
    assert difference == 0


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form["format"])
def test_lua_sees_every_kind_of_value(lua, tmp_path, form):
    flat = rl.arange(6, dtype=rl.float32)
    value = rl.Table({"text": "h\u00e4llo", "bytes": b"\xff\x00", "yes": True, "half": 0.5})
    value[1] = rl.Table([10, 20])
    value["again"] = value[1]
    value["flat"] = flat
    value["matrix"] = flat.reshape(2, 3).t()
    value["empty"] = rl.zeros(0, dtype=rl.int64)
    value["storage"] = rl.tensor([7, 8]).storage()
    value["me"] = value
    rl.save(value, tmp_path / "values.t7", **form)
    lua.execute(
        """
        local path, format = ...
        local t = torch.load(path, format)
        assert(t.text == 'h\\195\\164llo' and t.bytes == '\\255\\0')
        assert(t.yes == true and t.half == 0.5)
        assert(t[1] == t.again and t[1][2] == 20 and t.me == t)
        assert(torch.type(t.flat) == 'torch.FloatTensor' and t.matrix:stride(1) == 1)
        t.flat[5] = 77
        assert(t.matrix[2][2] == 77)
        assert(torch.type(t.empty) == 'torch.LongTensor' and t.empty:nElement() == 0)
        assert(torch.type(t.storage) == 'torch.LongStorage' and t.storage[2] == 8)
        """,
        str(tmp_path / "values.t7"),
        form["format"],
    )


def test_a_file_goes_through_lua_and_comes_back(lua, tmp_path):
    rl.save(network(), tmp_path / "python.t7")
    lua.execute(
        "local from, to = ...; require 'nn'; torch.save(to, torch.load(from))",
        str(tmp_path / "python.t7"),
        str(tmp_path / "lua.t7"),
    )
    again = rl.load(tmp_path / "lua.t7")
    assert (tmp_path / "lua.t7").stat().st_size == (tmp_path / "python.t7").stat().st_size
    x = rl.randn(1, 1, 6, 6, dtype=rl.float64)
    assert again.forward(x).tolist() == rl.load(tmp_path / "python.t7").forward(x).tolist()


ADD_SCALAR = """
local AddScalar, parent = torch.class('nn.AddScalar', 'nn.Module')
function AddScalar:__init(scalar) parent.__init(self); self.scalar = scalar end
function AddScalar:updateOutput(input)
   self.output:resizeAs(input):copy(input):add(self.scalar)
   return self.output
end
function AddScalar:bump() self.scalar = self.scalar + 1 end
"""


def test_objects_whose_class_is_lua_are_saved_with_their_fields(tmp_path):
    (tmp_path / "AddScalar.lua").write_text(ADD_SCALAR)
    layer = rl.TorchObject("nn.AddScalar", {"scalar": 2, "output": rl.zeros(0, dtype=rl.float64)})
    rl.save(nn.Sequential().add(layer), tmp_path / "net.t7")
    net = rl.load(tmp_path / "net.t7", lua=[tmp_path / "AddScalar.lua"])
    x = rl.zeros(2, dtype=rl.float64)
    net.forward(x)
    net.get(1).bump()
    rl.save(net, tmp_path / "again.t7")
    raw = rl.load(tmp_path / "again.t7")
    assert raw.get(1).torch_typename == "nn.AddScalar"
    assert raw.get(1).scalar == 3
    assert raw.get(1).output.tolist() == [2, 2]
    again = rl.load(tmp_path / "again.t7", lua=[tmp_path / "AddScalar.lua"])
    assert again.forward(x).tolist() == [3, 3]
