"""Optimizers of relume.optim on Torch7's layers: gradients begin anew after zero_grad()."""

import pytest

import relume as rl
from relume import legacy_nn as nn
from relume import optim


class OwnProtocol(nn.Module):
    """A layer that writes Torch7's methods itself."""

    parameter_names = ("weight",)

    def __init__(self):
        super().__init__()
        self.weight = rl.ones(3, dtype=rl.float64)
        self.gradWeight = rl.zeros(3, dtype=rl.float64)

    def updateOutput(self, input):
        self.output = input * self.weight
        return self.output

    def updateGradInput(self, input, gradOutput):
        self.gradInput = gradOutput * self.weight
        return self.gradInput

    def accGradParameters(self, input, gradOutput, scale=1):
        self.gradWeight.add_((input * gradOutput).sum(0), alpha=scale)


NETWORKS = {
    "layer": lambda: nn.Linear(3, 2),
    "container": lambda: nn.Sequential().add(nn.Linear(3, 4)).add(nn.Tanh()).add(nn.Linear(4, 2)),
    "own protocol": lambda: nn.Sequential().add(OwnProtocol()).add(nn.Linear(3, 2)),
    "weight norm": lambda: nn.WeightNorm(nn.Linear(3, 2)),
    "recurrent": lambda: nn.Sequencer(nn.FastLSTM(3, 2)),
}


@pytest.mark.parametrize("make", NETWORKS.values(), ids=NETWORKS)
@pytest.mark.parametrize("set_to_none", [True, False])
def test_every_pass_has_gradients_of_its_own(make, set_to_none):
    net, x = make(), rl.rand(4, 5, 3, dtype=rl.float64)
    x = x if isinstance(net, nn.Sequencer) else x[0]
    optimizer = optim.SGD(net.parameters()[0], lr=0)
    seen = []
    for _ in range(3):
        optimizer.zero_grad(set_to_none=set_to_none)
        net(x).square().sum().backward()
        seen.append([gradient.clone() for gradient in net.parameters()[1]])
    assert any(gradient.abs().max().item() > 0 for gradient in seen[0])
    for later in seen[1:]:
        for first, again in zip(seen[0], later, strict=True):
            assert rl.allclose(first, again)


def test_backward_of_the_protocol_begins_anew_too():
    net, x = nn.Linear(2, 1), rl.tensor([[1.0, 2.0]], dtype=rl.float64)
    optimizer = optim.SGD(net.parameters()[0], lr=0.5)
    net(x).sum().backward()
    optimizer.zero_grad()
    before = net.weight.tolist()[0]
    net.forward(x)
    net.backward(x, rl.ones(1, 1, dtype=rl.float64))
    assert net.gradWeight.tolist() == [[1, 2]]
    optimizer.step()
    assert net.weight.tolist()[0] == [before[0] - 0.5, before[1] - 1]


def test_a_step_after_the_protocol_alone_says_that_it_changed_nothing():
    net, x = nn.Linear(2, 1), rl.tensor([[1.0, 2.0]], dtype=rl.float64)
    optimizer = optim.Adam(net.parameters()[0])
    before = net.weight.tolist()
    net.forward(x)
    net.backward(x, rl.ones(1, 1, dtype=rl.float64))
    with pytest.warns(UserWarning, match=r"take steps with legacy_nn\.optim"):
        optimizer.step()
    assert net.weight.tolist() == before
    net(x).sum().backward()
    optimizer.step()  # the modern face needs no warning
    assert net.weight.tolist() != before


def test_without_zero_grad_both_faces_add_up():
    net, x = nn.Linear(2, 1), rl.tensor([[1.0, 2.0]], dtype=rl.float64)
    net.forward(x)
    net.backward(x, rl.ones(1, 1, dtype=rl.float64))
    net(x).sum().backward()
    assert net.gradWeight.tolist() == net.weight.grad.tolist() == [[2, 4]]


def with_a_strange_gradient(net):
    """The network as a file gives it that was written with gradients nobody had set."""
    for gradient in net.parameters()[1]:
        gradient.fill_(1e243)
    return rl.loads(rl.dumps(net))


@pytest.mark.parametrize("copied", [False, True], ids=["loaded", "cloned"])
@pytest.mark.parametrize("name", ["layer", "container", "weight norm", "recurrent"])
def test_gradients_of_a_file_are_not_added_to(name, copied):
    net, x = NETWORKS[name](), rl.rand(4, 5, 3, dtype=rl.float64)
    x = x if name == "recurrent" else x[0]
    loaded = with_a_strange_gradient(net)
    loaded = loaded.clone() if copied else loaded
    loaded(x).sum().backward()
    assert all(gradient.abs().max().item() < 1e3 for gradient in loaded.parameters()[1])


def test_the_protocol_adds_to_gradients_of_a_file_and_keeps_its_own():
    net = with_a_strange_gradient(nn.Linear(2, 1))
    x, ones = rl.tensor([[1.0, 2.0]], dtype=rl.float64), rl.ones(1, 1, dtype=rl.float64)
    assert net.gradWeight.tolist() == [[1e243, 1e243]]
    net.forward(x)
    net.backward(x, ones)
    assert net.gradWeight.tolist() == [[1e243, 1e243]]  # and 1 and 2, which are lost in it
    net.zeroGradParameters()
    net.backward(x, ones)
    net(x).sum().backward()
    assert net.gradWeight.tolist() == [[2, 4]]
