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


def test_without_zero_grad_both_faces_add_up():
    net, x = nn.Linear(2, 1), rl.tensor([[1.0, 2.0]], dtype=rl.float64)
    net.forward(x)
    net.backward(x, rl.ones(1, 1, dtype=rl.float64))
    net(x).sum().backward()
    assert net.gradWeight.tolist() == net.weight.grad.tolist() == [[2, 4]]
