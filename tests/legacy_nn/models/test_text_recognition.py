"""Layers of crnn, over tables of steps."""

import itertools

import numpy as np
import pytest
from golden_cases import difference

import relume as rl
from relume import legacy_nn as nn

DOUBLE = {"dtype": rl.float64}


def random(*shape):
    return rl.randn(*shape, **DOUBLE)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("reverse", [False, True])
def test_states_go_through_the_steps(reverse):
    layer = nn.LstmLayer(3, 2, 10, 0, reverse)
    steps = [random(4, 3) for _ in range(5)]
    w_in, b_in, w_state, b_state = (p.numpy() for p in layer.parameters()[0])
    cell = state = np.zeros((4, 2))
    expected = []
    for x in reversed(steps) if reverse else steps:
        sums = x.numpy() @ w_in.T + b_in + state @ w_state.T + b_state
        enter, forget, leave = (sigmoid(sums[:, 2 * n : 2 * n + 2]) for n in range(3))
        cell = forget * cell + enter * np.tanh(sums[:, 6:])
        state = leave * np.tanh(cell)
        expected.append(state)
    expected = expected[::-1] if reverse else expected
    outputs = layer.forward(steps).as_list()
    np.testing.assert_allclose([y.numpy() for y in outputs], expected, rtol=1e-10)
    layer.evaluate()
    assert difference(layer.forward(steps)[3], outputs[2]) < 1e-12
    layer.training()
    layer.zeroGradParameters()
    layer.forward(steps)
    gradient = layer.backward(steps, [rl.ones(4, 2, **DOUBLE)] * 5)
    moved = [step.clone() for step in steps]
    moved[2][1, 0] += 1e-6
    change = sum(y.sum().item() for y in layer.forward(moved).as_list()) - sum(
        y.sum().item() for y in outputs
    )
    assert change / 1e-6 == pytest.approx(gradient[3][1, 0].item(), abs=1e-5)
    copy = rl.loads(rl.dumps(layer))
    assert difference(copy.forward(steps)[1], outputs[0]) < 1e-12


def test_directions_are_joined():
    layer = nn.BiRnnJoin(3, 2)
    forwards, backwards = ([random(4, 3) for _ in range(2)] for _ in range(2))
    outputs = layer.forward([forwards, backwards])
    w, b, other_w, other_b = layer.parameters()[0]
    expected = forwards[1] @ w.transpose(0, 1) + b + backwards[1] @ other_w.transpose(0, 1)
    assert difference(outputs[2], (expected + other_b).detach()) < 1e-12
    with pytest.raises(ValueError, match="as many steps"):
        layer.forward([forwards, backwards[:1]])
    shared = nn.SharedParallelTable(nn.Linear(3, 2))
    assert difference(shared.forward(forwards)[2], shared.unit.forward(forwards[1])) < 1e-12


def test_likelihood_of_texts_over_all_alignments():
    x = random(2, 4, 3).log_softmax(2).detach()
    texts = rl.tensor([[1, 2], [2, 0]])

    def likelihood(rows, text):
        total = 0.0
        for path in itertools.product(range(3), repeat=4):
            merged = [c for c, before in zip(path, (None, *path[:-1]), strict=True) if c != before]
            if [c for c in merged if c] == text:
                total += np.exp(sum(rows[step][c] for step, c in enumerate(path)))
        return total

    rows = x.tolist()
    expected = -np.log(likelihood(rows[0], [1, 2])) - np.log(likelihood(rows[1], [2]))
    criterion = nn.CtcCriterion()
    assert criterion.forward(x, texts) == pytest.approx(expected)
    gradient = criterion.backward(x, texts)
    moved = x.clone()
    moved[0, 2, 1] += 1e-6
    change = (criterion.forward(moved, texts) - criterion.forward(x, texts)) / 1e-6
    assert change == pytest.approx(gradient[0, 2, 1].item(), abs=1e-5)
