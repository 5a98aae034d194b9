"""What a training step holds: gradients that are let go, in-place layers that keep one copy."""

import pytest
from golden_cases import difference

import relume as rl
from relume import legacy_nn as nn


def residual(inplace=True):
    rl.manual_seed(1)
    body = nn.Sequential().add(nn.Linear(4, 4)).add(nn.ReLU(inplace)).add(nn.Linear(4, 4))
    both = nn.ConcatTable().add(body).add(nn.Identity())
    net = nn.Sequential().add(nn.Linear(3, 4)).add(both).add(nn.CAddTable(inplace))
    return net.add(nn.ReLU(inplace)).add(nn.Linear(4, 2))


def graph():
    rl.manual_seed(1)
    x = nn.Identity()()
    h = nn.Tanh()(nn.Linear(3, 4)(x))
    return nn.gModule([x], [nn.CAddTable()([nn.Linear(4, 2)(h), nn.Linear(4, 2)(nn.Abs()(h))])])


@pytest.mark.parametrize("build", [residual, graph])
def test_gradients_of_inputs_are_let_go_when_asked(build):
    x = rl.randn([5, 3], dtype=rl.float64)
    g = rl.randn([5, 2], dtype=rl.float64)
    kept, dropped = build(), build().keepGradInputs(False)
    for net in (kept, dropped):
        net.zeroGradParameters()
        net.forward(x)
        net.backward(x, g)
    assert difference(dropped.gradInput, kept.gradInput) == 0
    assert difference(dropped.parameters()[1], kept.parameters()[1]) == 0
    inner = [m for m in dropped.walk() if isinstance(m, (nn.Linear, nn.ReLU))]
    held = [m for m in inner if "gradInput" in vars(m) and m.gradInput.numel()]
    assert not held
    assert all(m.gradInput.numel() for m in kept.walk() if isinstance(m, nn.Linear))
    dropped.keepGradInputs()
    dropped.forward(x)
    dropped.backward(x, g)
    assert all(m.gradInput.numel() for m in dropped.walk() if isinstance(m, nn.Linear))


def test_overwriting_layers_give_the_gradients_of_their_copies():
    x = rl.randn([5, 3], dtype=rl.float64)
    g = rl.randn([5, 2], dtype=rl.float64)
    results = []
    for inplace in (False, True):
        net = residual(inplace)
        net.zeroGradParameters()
        output = net.forward(x).clone()
        results.append([output, net.backward(x, g), net.backward(x, g), *net.parameters()[1]])
    assert difference(results[1], results[0]) < 1e-12


def test_overwriting_layers_keep_no_second_copy():
    for layer, given in ((nn.ReLU(True), rl.ones(3)), (nn.CAddTable(True), [rl.ones(3)] * 2)):
        layer.forward(given)
        assert layer._record is None
        layer.backward(given, rl.ones(3))
        assert layer._record is None
