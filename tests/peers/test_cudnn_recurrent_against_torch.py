"""cudnn's recurrent networks against PyTorch's, with the same flat weights."""

import numpy as np
import pytest

import relume as rl
from relume import legacy_nn as nn

torch = pytest.importorskip("torch")

CLASSES = {
    "RNNReLU": (torch.nn.RNN, {"nonlinearity": "relu"}),
    "RNN": (torch.nn.RNN, {"nonlinearity": "relu"}),
    "RNNTanh": (torch.nn.RNN, {}),
    "LSTM": (torch.nn.LSTM, {}),
    "GRU": (torch.nn.GRU, {}),
    "BLSTM": (torch.nn.LSTM, {"bidirectional": True}),
    "BGRU": (torch.nn.GRU, {"bidirectional": True}),
}
SIZES = [(3, 4, 1, False), (5, 6, 2, False), (4, 3, 3, True)]  # inputs, hidden, layers, batch first


def flat_of(net):
    """PyTorch hands cudnn all matrices, then all biases."""
    parts = [*net.parameters()]
    return torch.cat(
        [p.reshape(-1) for p in parts if p.ndim == 2] + [p for p in parts if p.ndim == 1]
    )


def flat_gradient_of(net):
    parts = [*net.parameters()]
    grads = [p.grad.reshape(-1) for p in parts if p.ndim == 2]
    return torch.cat(grads + [p.grad for p in parts if p.ndim == 1])


def ours(array):
    return rl.from_numpy(np.ascontiguousarray(array))


def check(actual, expected):
    np.testing.assert_allclose(actual.numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize(("inputs", "hidden", "layers", "batch_first"), SIZES)
def test_output_states_and_gradients(name, inputs, hidden, layers, batch_first):
    cls, options = CLASSES[name]
    torch.manual_seed(1)
    theirs = cls(inputs, hidden, layers, batch_first=batch_first, **options).double()
    net = getattr(nn.cudnn, name)(inputs, hidden, layers, batch_first)
    assert net.weight.numel() == sum(p.numel() for p in theirs.parameters())
    net.weight.copy_(ours(flat_of(theirs).detach().numpy()))

    directions = 2 if options.get("bidirectional") else 1
    x = torch.randn(5, 2, inputs, dtype=torch.float64, requires_grad=True)
    batch = 5 if batch_first else 2
    states = [
        torch.randn(layers * directions, batch, hidden, dtype=torch.float64, requires_grad=True)
        for _ in range(2 if "LSTM" in name else 1)
    ]
    y, last = theirs(x, tuple(states) if len(states) == 2 else states[0])
    last = last if isinstance(last, tuple) else (last,)

    net.hiddenInput = ours(states[0].detach().numpy())
    if len(states) == 2:
        net.cellInput = ours(states[1].detach().numpy())
    input = ours(x.detach().numpy())
    check(net.forward(input), y)
    check(net.hiddenOutput, last[0])
    if len(states) == 2:
        check(net.cellOutput, last[1])

    gradients = [torch.randn_like(t) for t in (y, *last)]
    torch.autograd.backward([y, *last], gradients)
    net.gradHiddenOutput = ours(gradients[1].numpy())
    if len(states) == 2:
        net.gradCellOutput = ours(gradients[2].numpy())
    net.zeroGradParameters()
    check(net.backward(input, ours(gradients[0].numpy())), x.grad)
    check(net.gradWeight, flat_gradient_of(theirs))
    check(net.gradHiddenInput, states[0].grad)
    if len(states) == 2:
        check(net.gradCellInput, states[1].grad)


def test_matrices_and_biases_are_where_pytorch_has_them():
    theirs = torch.nn.LSTM(3, 4, 2, bidirectional=True).double()
    net = nn.cudnn.BLSTM(3, 4, 2)
    net.weight.copy_(ours(flat_of(theirs).detach().numpy()))
    suffixes = ["_l0", "_l0_reverse", "_l1", "_l1_reverse"]
    for suffix, matrices, biases in zip(suffixes, net.weights(), net.biases(), strict=True):
        for kind, views in (("weight", matrices), ("bias", biases)):
            for source, four in (("ih", views[:4]), ("hh", views[4:])):
                expected = getattr(theirs, f"{kind}_{source}{suffix}").chunk(4)
                for view, one in zip(four, expected, strict=True):
                    check(view, one.reshape(-1))
