"""Modules that hold modules or parameters."""

import pytest

import relume as rl
from relume import nn


def test_sequential():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    net.append(nn.Linear(3, 1)).insert(1, nn.Tanh())
    assert [type(m).__name__ for m in net] == ["Linear", "Tanh", "ReLU", "Linear"]
    assert net(rl.ones(5, 2)).shape == (5, 1)
    assert len(net[1:3]) == 2 and net[-1] is net[3]
    del net[1]
    assert list(net._modules) == ["0", "1", "2"]
    assert isinstance(net.pop(0), nn.Linear) and len(net) == 2
    net[0] = nn.Sigmoid()
    assert isinstance(net[0], nn.Sigmoid)
    both = nn.Sequential(nn.ReLU()) + nn.Sequential(nn.Tanh())
    assert len(both) == 2
    named = nn.Sequential({"a": nn.ReLU(), "b": nn.Tanh()})
    assert named.b is named[1] and list(named[:1]._modules) == ["a"]
    with pytest.raises(IndexError, match="out of range"):
        net[7]


def test_module_list():
    layers = nn.ModuleList([nn.Linear(1, 1)])
    layers += [nn.Linear(1, 1), nn.ReLU()]
    layers.extend(nn.ModuleList([nn.Tanh()]))
    assert len(layers) == 4 and len(list(layers.parameters())) == 4
    assert isinstance(layers[1:], nn.ModuleList) and len(layers + nn.ModuleList([nn.ReLU()])) == 5
    layers[2] = nn.Sigmoid()
    assert isinstance(layers.pop(), nn.Tanh) and isinstance(layers[-1], nn.Sigmoid)
    with pytest.raises(NotImplementedError):
        layers(1)


def test_module_dict():
    layers = nn.ModuleDict({"a": nn.Linear(1, 1)})
    layers["b"] = nn.ReLU()
    layers.update([("c", nn.Tanh())])
    assert list(layers) == ["a", "b", "c"] and "b" in layers and len(layers) == 3
    assert isinstance(layers.pop("c"), nn.Tanh)
    del layers["b"]
    assert list(layers.state_dict()) == ["a.weight", "a.bias"]
    layers.clear()
    assert not len(layers)


def test_parameter_list_and_dict():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.list = nn.ParameterList([rl.ones(2)])
            self.list.append(nn.Parameter(rl.zeros(1)))
            self.dict = nn.ParameterDict({"a": rl.ones(3)})

    net = Net()
    assert list(net.state_dict()) == ["list.0", "list.1", "dict.a"]
    assert all(isinstance(p, nn.Parameter) for p in net.list)
    assert len(net.list) == 2 and net.list[-1].tolist() == [0] and len(net.list[:1]) == 1
    net.dict["b"] = rl.zeros(1)
    assert net.dict.get("x", 5) == 5 and dict(net.dict.items())["b"].requires_grad
    assert net.dict.pop("a").shape == (3,) and list(net.dict.keys()) == ["b"]
    with pytest.raises(KeyError):
        net.dict["a"]
    assert "Parameter containing" in repr(net)
