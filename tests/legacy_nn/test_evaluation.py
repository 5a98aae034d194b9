"""Evaluation mode: forward keeps outputs and no tape; backward still works, as in Torch7."""

import pytest
from golden_cases import difference

import relume as rl
from relume import legacy_nn as nn


def network(inplace):
    rl.manual_seed(3)
    net = nn.Sequential().add(nn.SpatialConvolution(2, 4, 3, 3)).add(nn.ReLU(inplace))
    branches = (
        nn.ConcatTable()
        .add(nn.SpatialMaxPooling(2, 2, 2, 2))
        .add(nn.SpatialAveragePooling(2, 2, 2, 2))
    )
    net.add(nn.SpatialBatchNormalization(4)).add(branches).add(nn.CAddTable(inplace))
    return net.add(nn.View(-1).setNumInputDims(3)).add(nn.Linear(16, 3)).add(nn.LogSoftMax())


def has_tape(module):
    return module._record is not None and module._record.has_tape()


def is_layer(module):
    return not isinstance(module, nn.Container)


@pytest.mark.parametrize("inplace", [False, True])
def test_backward_in_evaluation_mode_gives_the_gradients_of_the_tape(inplace):
    net = network(inplace).evaluate()
    x = rl.randn([2, 2, 6, 6], dtype=rl.float64)
    g = rl.randn([2, 3], dtype=rl.float64)
    leaf = x.clone().requires_grad_()
    output = net(leaf)
    expected = rl.grad([output], [leaf, *net.parameters()[0]], [g])
    net = network(inplace).evaluate()
    for _ in range(3):  # from the second time on, the tape is kept
        net.zeroGradParameters()
        assert difference(net.forward(x), output.detach()) < 1e-12
        found = [net.backward(x, g), *net.parameters()[1]]
        assert difference(found, list(expected)) < 1e-12


def test_forward_in_evaluation_mode_keeps_no_tape():
    net = network(False)
    x = rl.randn([2, 2, 6, 6], dtype=rl.float64)
    net.forward(x)
    assert any(has_tape(module) for module in net.walk())
    net.evaluate()
    assert not any(has_tape(module) for module in net.walk())
    net.forward(x)
    assert not any(has_tape(module) for module in net.walk())
    assert all(m.output.numel() for m in net.walk() if isinstance(m.output, rl.Tensor))


def test_parameters_changed_by_hand_after_an_evaluation():
    net = nn.Linear(2, 1).evaluate()
    x = rl.ones(2, dtype=rl.float64)
    net.forward(x)
    net.weight.fill_(3)
    assert net.backward(x, rl.ones(1, dtype=rl.float64)).tolist() == [3.0, 3.0]


def test_dropout_and_normalisation_do_not_change_in_backward():
    norm = nn.BatchNormalization(2).evaluate()
    x = rl.randn([4, 2], dtype=rl.float64)
    before = norm.running_mean.clone()
    norm.forward(x)
    norm.backward(x, x)
    assert difference(norm.running_mean, before) == 0
    rl.manual_seed(1)
    expected = rl.randn(1)
    rl.manual_seed(1)
    drop = nn.Dropout(0.5).evaluate()
    drop.forward(x)
    assert drop.backward(x, x).tolist() == x.tolist()
    assert rl.randn(1).tolist() == expected.tolist()
