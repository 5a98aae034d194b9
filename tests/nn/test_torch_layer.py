"""Torch7's layers as modules: what an optimizer, a state dict or a conversion does reaches them."""

import copy
import pickle

import numpy as np
import pytest

import relume as rl
from relume import legacy_nn, nn, optim


def old_network():
    rl.manual_seed(3)
    net = legacy_nn.Sequential().add(legacy_nn.Linear(3, 4))
    return net.add(legacy_nn.BatchNormalization(4)).add(legacy_nn.Linear(4, 2)).float()


def test_an_optimizer_changes_the_layer_itself():
    old = old_network()
    net = nn.TorchLayer(old)
    optimizer = optim.SGD(net.parameters(), lr=0.5)
    x = rl.arange(12.0).reshape(4, 3)
    for _ in range(2):  # the second step: gradients begin anew after zero_grad()
        before = old.get(3).weight.detach().clone()
        optimizer.zero_grad()
        net(x).square().sum().backward()
        gradient = old.get(3).gradWeight.clone()
        optimizer.step()
        moved = (before - 0.5 * gradient).numpy()
        np.testing.assert_allclose(old.get(3).weight.detach().numpy(), moved, rtol=1e-6)
    weight, *_rest = net.parameters()
    assert old.get(1).weight.data_ptr() == weight.data_ptr()


def test_state_dict_goes_both_ways():
    net, other = nn.TorchLayer(old_network()), nn.TorchLayer(old_network())
    with rl.no_grad():
        for parameter in net.parameters():
            parameter.add_(1)
    names = ["0.weight", "0.bias", "1.weight", "1.bias", "2.weight", "2.bias"]
    state = net.state_dict()
    assert {*names, "1.running_mean", "1.running_var"} == set(state)
    other.load_state_dict(state)
    x = rl.ones(2, 3)
    assert rl.equal(other.eval()(x), net.eval()(x))
    assert rl.equal(other.layer.forward(x), net.layer.forward(x))


def test_modes_and_types_reach_the_layer():
    net = nn.Sequential(nn.TorchLayer(old_network()), nn.Linear(2, 1))
    layer = net[0].layer
    assert net.eval()[0].layer.train is False and layer.get(2).train is False
    net.train()
    assert layer.get(2).train is True
    net.to(rl.float64)
    assert layer.get(1).weight.dtype == layer.get(2).running_mean.dtype == rl.float64
    x = rl.arange(12.0, dtype=rl.float64).reshape(4, 3)
    net(x).sum().backward()
    net.zero_grad()
    net(x).sum().backward()  # with gradients of the new type
    assert layer.get(3).gradWeight.dtype == rl.float64
    assert layer.type() == "torch.DoubleTensor"
    layer.forward(x)
    assert layer.backward(x, rl.ones(4, 2, dtype=rl.float64)).dtype == rl.float64


def test_statistics_stay_one_memory():
    net = nn.TorchLayer(old_network())
    net(rl.arange(12.0).reshape(4, 3))
    assert rl.equal(net.state_dict()["1.running_mean"], net.layer.get(2).running_mean)
    assert net.layer.get(2).running_mean.abs().sum() > 0


def test_shared_weights_are_one_parameter():
    first, second = legacy_nn.Linear(3, 3), legacy_nn.Linear(3, 3)
    second.share(first, "weight", "bias", "gradWeight", "gradBias")
    net = nn.TorchLayer(legacy_nn.Sequential().add(first).add(second))
    assert len(list(net.parameters())) == 2


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_have_weights_of_their_own(copied):
    net = nn.TorchLayer(old_network()).eval()
    other = copied(net)
    x = rl.ones(2, 3)
    assert rl.equal(other(x), net(x))
    with rl.no_grad():
        next(iter(other.parameters())).zero_()
    assert other.layer.get(1).weight.abs().sum() == 0
    assert net.layer.get(1).weight.abs().sum() > 0
    assert not other.training


def test_the_layer_is_saved_as_torch7_has_it(tmp_path):
    net = nn.TorchLayer(old_network()).eval()
    rl.save(net.layer, tmp_path / "old.t7")
    x = rl.ones(2, 3)
    loaded = rl.load(tmp_path / "old.t7")
    np.testing.assert_array_equal(loaded.forward(x).numpy(), net(x).detach().numpy())
    np.testing.assert_array_equal(net.layer.clone().forward(x).numpy(), net(x).detach().numpy())


def test_a_bare_layer_in_a_module_is_warned_of():
    net = nn.Module()
    with pytest.warns(UserWarning, match=r"neither trains nor saves.*nn\.TorchLayer"):
        net.old = legacy_nn.Linear(2, 2)
    with pytest.raises(TypeError, match=r"nn\.TorchLayer\(layer\)"):
        nn.Sequential(legacy_nn.Linear(2, 2))
    with pytest.raises(TypeError, match="takes a layer of legacy_nn, not Linear"):
        nn.TorchLayer(nn.Linear(2, 2))
