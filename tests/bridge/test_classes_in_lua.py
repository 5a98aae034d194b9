"""Classes whose source is Lua: relume.load(path, lua=...)."""

import pytest
from ascii_files import ascii_of

import relume as rl
from relume import legacy_nn as nn

DOUBLE = {"dtype": rl.float64}

ADD_SCALAR = """
local AddScalar, parent = torch.class('nn.AddScalar', 'nn.Module')
function AddScalar:__init(scalar)
   parent.__init(self)
   self.scalar = scalar
end
function AddScalar:updateOutput(input)
   self.output:resizeAs(input):copy(input):add(self.scalar)
   return self.output
end
function AddScalar:updateGradInput(input, gradOutput)
   self.gradInput = gradOutput
   return self.gradInput
end
function AddScalar:bump(by) self.scalar = self.scalar + (by or 1); return self end
function AddScalar:__tostring__() return 'AddScalar(' .. self.scalar .. ')' end
"""
SCALE = """
local Scale, parent = torch.class('my.Scale', 'nn.Module')
function Scale:__init(n)
   parent.__init(self)
   self.weight = torch.ones(n):mul(3)
   self.gradWeight = torch.zeros(n)
   self.calls = 0
end
function Scale:updateOutput(input)
   self.calls = self.calls + 1
   self.last = {input:clone(), seen = {count = self.calls}}
   self.output = torch.cmul(input, self.weight)
   return self.output
end
function Scale:updateGradInput(input, gradOutput)
   self.gradInput = torch.cmul(gradOutput, self.weight)
   return self.gradInput
end
function Scale:accGradParameters(input, gradOutput, scale)
   self.gradWeight:add(scale or 1, torch.cmul(input, gradOutput))
end
"""
RESIDUAL = """
local Residual, parent = torch.class('nn.Residual', 'nn.Container')
function Residual:__init(inner)
   parent.__init(self)
   self:add(inner)
end
function Residual:updateOutput(input)
   self.output = self.modules[1]:forward(input) + input
   return self.output
end
function Residual:updateGradInput(input, gradOutput)
   self.gradInput = self.modules[1]:updateGradInput(input, gradOutput) + gradOutput
   return self.gradInput
end
function Residual:accGradParameters(input, gradOutput, scale)
   self.modules[1]:accGradParameters(input, gradOutput, scale)
end
"""
HALF_SQUARES = """
local HalfSquares, parent = torch.class('nn.HalfSquares', 'nn.Criterion')
function HalfSquares:updateOutput(input, target)
   self.output = (input - target):pow(2):sum() / 2
   return self.output
end
function HalfSquares:updateGradInput(input, target)
   self.gradInput = input - target
   return self.gradInput
end
"""
LOADER = """
local Loader = torch.class('Loader')
function Loader:size() return #self.files end
"""


@pytest.fixture
def write(tmp_path):
    def write(name, source):
        path = tmp_path / name
        path.write_text(source)
        return path

    return write


@pytest.fixture
def saved(tmp_path):
    """Saves an object to a file in ASCII, with nothing but what the format says."""

    def save(value):
        path = tmp_path / "object.t7"
        path.write_text(ascii_of(value))
        return path

    return save


def layer(typename, **fields):
    return (typename, {"_type": "torch.DoubleTensor", "train": True, **fields})


def empty():
    return rl.zeros(0, **DOUBLE)


def add_scalar(scalar):
    return layer("nn.AddScalar", scalar=scalar, output=empty(), gradInput=empty())


def test_a_layer_runs_inside_a_network(write, saved):
    path = saved(layer("nn.Sequential", modules=[add_scalar(2.5), layer("nn.Square")]))
    net = rl.load(path, lua=[write("AddScalar.lua", ADD_SCALAR)])
    x = rl.tensor([1.0, 2.0], **DOUBLE)
    assert net.forward(x).tolist() == [12.25, 20.25]
    assert net.backward(x, rl.ones(2, **DOUBLE)).tolist() == [7.0, 9.0]
    assert net.get(1).scalar == 2.5
    assert isinstance(net.get(1), nn.Module)
    assert net.find_modules("nn.AddScalar") == [net.get(1)]
    assert str(net.get(1)) == "AddScalar(2.5)"


def test_one_path_will_do_and_so_will_a_runtime(write, saved):
    path = saved(add_scalar(1))
    x = rl.zeros(1, **DOUBLE)
    assert rl.load(path, lua=write("a.lua", ADD_SCALAR)).forward(x).tolist() == [1.0]
    lua = rl.bridge.Lua()
    lua.execute("require 'nn'")
    lua.execute(ADD_SCALAR)
    assert rl.load(path, lua=lua).forward(x).tolist() == [1.0]
    assert rl.load_all(path, lua=lua)[0].forward(x).tolist() == [1.0]


def test_fields_changed_on_either_side_are_seen_on_the_other(write, saved):
    module = rl.load(saved(add_scalar(1)), lua=write("a.lua", ADD_SCALAR))
    x = rl.zeros(1, **DOUBLE)
    assert module.forward(x).tolist() == [1.0]
    module.scalar = 10
    assert module.forward(x).tolist() == [10.0]
    assert module.bump(5) is module
    assert module.scalar == 15
    assert module.forward(x).tolist() == [15.0]
    assert module.output.tolist() == [15.0]


def scale_of(write, saved):
    weight = rl.tensor([2.0, -1.0], **DOUBLE)
    value = layer("my.Scale", weight=weight, calls=0)
    return rl.load(saved(value), lua=write("s.lua", "my = my or {}\n" + SCALE))


def test_parameters_are_learnt(write, saved):
    module = scale_of(write, saved)
    x, g = rl.tensor([1.0, 4.0], **DOUBLE), rl.ones(2, **DOUBLE)
    assert module.forward(x).tolist() == [2.0, -4.0]
    assert module.backward(x, g, 0.5).tolist() == [2.0, -1.0]
    assert module.gradWeight.tolist() == [0.5, 2.0]
    module.zeroGradParameters()
    assert module.gradWeight.tolist() == [0.0, 0.0]
    module.backward(x, g)
    module.updateParameters(0.1)
    assert module.weight.tolist() == pytest.approx([1.9, -1.4])
    flat, flat_gradient = module.getParameters()
    flat.fill_(5)
    assert module.forward(x).tolist() == [5.0, 20.0]
    assert flat_gradient.tolist() == [1.0, 4.0]


def test_on_the_tape(write, saved):
    module = scale_of(write, saved)
    x = rl.tensor([1.0, 4.0], **DOUBLE).requires_grad_()
    (module(module(x)) * x).sum().backward()
    # x_i^2 w_i^2
    assert x.grad.tolist() == pytest.approx([8.0, 8.0])
    assert module.gradWeight.tolist() == pytest.approx([4.0, -32.0])


def test_tables_that_lua_keeps_come_back(write, saved):
    module = scale_of(write, saved)
    module.forward(rl.ones(2, **DOUBLE))
    module.forward(rl.ones(2, **DOUBLE))
    assert module.calls == 2
    assert module.last["seen"]["count"] == 2
    assert module.last[1].tolist() == [1.0, 1.0]


def test_copies_casts_and_modes(write, saved):
    module = scale_of(write, saved)
    module.forward(rl.ones(2, **DOUBLE))
    copy = module.clone()
    copy.weight.fill_(7)
    assert copy.forward(rl.ones(2, **DOUBLE)).tolist() == [7.0, 7.0]
    assert module.forward(rl.ones(2, **DOUBLE)).tolist() == [2.0, -1.0]
    assert copy.evaluate() is copy
    assert copy.train is False
    assert copy.float().forward(rl.ones(2)).dtype == rl.float32
    shared = module.clone("weight")
    shared.weight.fill_(9)
    assert module.forward(rl.ones(2, **DOUBLE)).tolist() == [9.0, 9.0]


def test_saved_and_read_again(write, saved, tmp_path):
    module = scale_of(write, saved)
    module.forward(rl.ones(2, **DOUBLE))
    rl.save(nn.Sequential().add(module), tmp_path / "net.t7")
    raw = rl.load(tmp_path / "net.t7").get(1)
    assert isinstance(raw, rl.TorchObject)
    assert raw.torch_typename == "my.Scale"
    again = rl.load(tmp_path / "net.t7", lua=write("s.lua", "my = my or {}\n" + SCALE))
    assert again.forward(rl.ones(2, **DOUBLE)).tolist() == [2.0, -1.0]
    assert again.get(1).calls == 2


def test_a_container_runs_its_layers_in_lua(write, saved):
    weight = rl.tensor([[2.0, 0.0], [0.0, 3.0]], **DOUBLE)
    linear = layer("nn.Linear", weight=weight, bias=rl.zeros(2, **DOUBLE), gradWeight=weight * 0,
                   gradBias=rl.zeros(2, **DOUBLE), output=empty(), gradInput=empty())  # fmt: skip
    net = rl.load(saved(layer("nn.Residual", modules=[linear])), lua=write("r.lua", RESIDUAL))
    x = rl.tensor([1.0, 1.0], **DOUBLE)
    assert net.forward(x).tolist() == [3.0, 4.0]
    assert net.backward(x, rl.ones(2, **DOUBLE)).tolist() == [3.0, 4.0]
    inner = net.modules[0]
    assert isinstance(inner, nn.Linear)
    assert inner.gradWeight.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert len(net.parameters()[0]) == 2
    assert net.find_modules("nn.Linear") == [inner]
    inner.weight.zero_()
    assert net.forward(x).tolist() == [1.0, 1.0]


def test_a_criterion(write, saved):
    value = layer("nn.HalfSquares", output=0, gradInput=empty())
    criterion = rl.load(saved(value), lua=write("c.lua", HALF_SQUARES))
    x, t = rl.tensor([3.0, 1.0], **DOUBLE), rl.tensor([1.0, 1.0], **DOUBLE)
    assert criterion.forward(x, t) == 2.0
    assert criterion.backward(x, t).tolist() == [2.0, 0.0]
    leaf = x.clone().requires_grad_()
    (criterion(leaf, t) * 3).backward()
    assert leaf.grad.tolist() == [6.0, 0.0]


def test_an_object_that_is_no_layer(write, saved):
    loader = rl.load(saved(("Loader", {"files": ["a", "b"]})), lua=write("l.lua", LOADER))
    assert loader.files.as_list() == ["a", "b"]
    assert loader.size() == 2


def test_mistakes_are_told(write, saved):
    path = saved(add_scalar(1))
    with pytest.raises(FileNotFoundError):
        rl.load(path, lua="nowhere.lua")
    broken = ADD_SCALAR.replace("self.scalar)\n   return", "nothing.here)\n   return")
    module = rl.load(
        saved(layer("nn.Sequential", modules=[add_scalar(1)])), lua=write("b.lua", broken)
    )
    with pytest.raises(rl.bridge.LuaError, match=r"root.modules\[1\] \(nn.AddScalar\)"):
        module.forward(rl.ones(1, **DOUBLE))
