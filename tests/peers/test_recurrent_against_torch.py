"""lstm, gru and rnn against PyTorch: outputs, last states and all gradients."""

import numpy as np
import pytest

import relume as rl

torch = pytest.importorskip("torch")

KINDS = {
    "lstm": (torch.nn.LSTM, rl.lstm, {}),
    "gru": (torch.nn.GRU, rl.gru, {}),
    "rnn_tanh": (torch.nn.RNN, rl.rnn_tanh, {}),
    "rnn_relu": (torch.nn.RNN, rl.rnn_relu, {"nonlinearity": "relu"}),
}
SETTINGS = [  # inputs, hidden, layers, biases, bidirectional, batch_first
    (3, 4, 1, True, False, False),
    (5, 17, 2, True, False, True),
    (2, 33, 1, False, True, False),
    (6, 8, 3, True, True, False),
]


def arrays(library, values):
    return [library.tensor(v.copy(), requires_grad=True) for v in values]


def gradients(outputs, inputs, library):
    """Of a weighted sum of all outputs."""
    total = 0
    for i, output in enumerate(outputs):
        weights = np.cos(np.arange(np.prod(output.shape)) + i).reshape(tuple(output.shape))
        total = total + (output * library.tensor(weights)).sum()
    total.backward()
    return [x.grad.numpy() for x in inputs]


def check(kind, settings, run_theirs, run_ours, x_shape, batch):
    inputs, hidden, layers, biases, bidirectional, batch_first = settings
    make, op, options = KINDS[kind]
    theirs = make(
        inputs, hidden, layers, bias=biases, bidirectional=bidirectional,
        batch_first=batch_first, **options,
    ).double()  # fmt: skip
    random = np.random.default_rng(3)
    directions = 2 if bidirectional else 1
    state_shape = (layers * directions, batch, hidden)
    states = [random.standard_normal(state_shape) for _ in range(2 if kind == "lstm" else 1)]
    x = random.standard_normal(x_shape)
    their_inputs = arrays(torch, [x, *states])
    out, last = run_theirs(theirs, their_inputs[0], their_inputs[1:])
    their_outputs = [out, *(last if kind == "lstm" else (last,))]
    their_inputs += list(theirs.parameters())
    our_inputs = arrays(rl, [x, *states, *(p.detach().numpy() for p in theirs.parameters())])
    split = 1 + len(states)
    hx = our_inputs[1:split] if kind == "lstm" else our_inputs[1]
    our_outputs = run_ours(op, our_inputs[0], hx, our_inputs[split:])
    assert len(our_outputs) == len(their_outputs)
    for mine, other in zip(our_outputs, their_outputs, strict=True):
        assert tuple(mine.shape) == tuple(other.shape)
        np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), atol=1e-12)
    found = gradients(our_outputs, our_inputs, rl)
    expected = gradients(their_outputs, their_inputs, torch)
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-10)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("kind", list(KINDS))
def test_dense_sequences(kind, settings):
    inputs, _, layers, biases, bidirectional, batch_first = settings
    shape = (9, 6, inputs) if batch_first else (6, 9, inputs)
    check(
        kind,
        settings,
        lambda m, x, s: m(x, tuple(s) if kind == "lstm" else s[0]),
        lambda op, x, hx, ps: op(x, hx, ps, biases, layers, 0.0, False, bidirectional, batch_first),
        shape,
        9,
    )


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("kind", list(KINDS))
def test_packed_sequences(kind, settings):
    inputs, _, layers, biases, bidirectional, _ = settings
    sizes = [5, 5, 4, 2, 2, 1]

    def theirs(module, x, states):
        packed = torch.nn.utils.rnn.PackedSequence(x, torch.tensor(sizes))
        out, last = module(packed, tuple(states) if kind == "lstm" else states[0])
        return out.data, last

    def ours(op, x, hx, ps):
        return op(x, hx, ps, biases, layers, 0.0, False, bidirectional, batch_sizes=sizes)

    check(kind, (*settings[:5], False), theirs, ours, (sum(sizes), inputs), 5)


def test_projected_lstm():
    theirs = torch.nn.LSTM(3, 6, 2, proj_size=4, bidirectional=True).double()
    random = np.random.default_rng(5)
    values = [random.standard_normal(s) for s in [(5, 2, 3), (4, 2, 4), (4, 2, 6)]]
    their_inputs = arrays(torch, values)
    out, (h, c) = theirs(their_inputs[0], tuple(their_inputs[1:]))
    ours = arrays(rl, [*values, *(p.detach().numpy() for p in theirs.parameters())])
    mine = rl.lstm(ours[0], ours[1:3], ours[3:], True, 2, 0.0, False, True)
    for a, b in zip(mine, (out, h, c), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=1e-12)
    found = gradients(mine, ours, rl)
    expected = gradients((out, h, c), their_inputs + list(theirs.parameters()), torch)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)


@pytest.mark.parametrize("batch", [1, 3, 20])
def test_cells(batch):
    random = np.random.default_rng(4)
    for name, gates in [("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)]:
        shapes = [(batch, 3), (batch, 5), (batch, 5), (gates * 5, 3), (gates * 5, 5)]
        shapes += [(gates * 5,), (gates * 5,)]
        values = [random.standard_normal(shape) for shape in shapes]
        results = []
        for library in (rl, torch):
            x, h, c, *parameters = arrays(library, values)
            cell = getattr(library, f"{name}_cell")
            out = cell(x, [h, c] if name == "lstm" else h, *parameters)
            results.append([o.detach().numpy() for o in (out if name == "lstm" else [out])])
        for a, b in zip(*results, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("kind", list(KINDS))
def test_second_derivatives(kind):
    """The gradient of the squared norm of a gradient."""
    make, op, options = KINDS[kind]
    theirs = make(3, 4, 2, **options).double()
    random = np.random.default_rng(6)
    x = random.standard_normal((4, 2, 3))
    their_x = torch.tensor(x, requires_grad=True)
    our_parameters = arrays(rl, [p.detach().numpy() for p in theirs.parameters()])
    our_x = rl.tensor(x, requires_grad=True)
    zeros = [rl.zeros(2, 2, 4, dtype=rl.float64) for _ in range(2)]
    out = op(our_x, zeros if kind == "lstm" else zeros[0], our_parameters, True, 2)[0]
    (first,) = rl.grad(out.sin().sum(), [our_x], create_graph=True)
    found = rl.grad((first * first).sum(), [our_x, *our_parameters])
    out, _ = theirs(their_x)
    (first,) = torch.autograd.grad(out.sin().sum(), [their_x], create_graph=True)
    expected = torch.autograd.grad((first * first).sum(), [their_x, *theirs.parameters()])
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine.numpy(), other.numpy(), atol=1e-10)
