"""What runs once per step becomes a loop, in which sequences may have any length."""

import math

import pytest
from onnx_running import check_agreement, check_valid, free_sizes

import relume as rl
from relume import legacy_nn as nn
from relume.converters.onnx import export


def sequence(*layers):
    net = nn.Sequential()
    for layer in layers:
        net.add(layer)
    return net


def graph_of_a_step():
    x = nn.Identity()()
    sums = nn.CAddTable()([nn.Linear(3, 4)(x), nn.Tanh()(nn.Linear(3, 4)(x))])
    return nn.gModule([x], [nn.SoftMax()(sums)])


# Networks on time x batch x 3, and how many loops they become.
NETWORKS = {
    "FastLSTM": (lambda: nn.Sequencer(nn.FastLSTM(3, 4)), 1),
    "LSTM": (lambda: nn.Sequencer(nn.LSTM(3, 4)), 1),
    "GRU": (lambda: nn.Sequencer(nn.GRU(3, 4)), 1),
    "MuFuRu": (lambda: nn.Sequencer(nn.MuFuRu(3, 4)), 1),
    "RecLSTM": (lambda: nn.Sequencer(nn.RecLSTM(3, 4)), 1),
    "LinearRNN": (lambda: nn.Sequencer(nn.LinearRNN(3, 4)), 1),
    "MaskZero": (lambda: nn.Sequencer(nn.MaskZero(nn.FastLSTM(3, 4), 1)), 1),
    "no state": (lambda: nn.Sequencer(graph_of_a_step()), 1),
    "several layers in a step": (
        lambda: nn.Sequencer(
            sequence(nn.FastLSTM(3, 4), nn.Dropout(0.3), nn.GRU(4, 4), nn.Linear(4, 2))
        ),
        1,
    ),
    "one after the other": (
        lambda: sequence(
            nn.Sequencer(nn.LSTM(3, 4)), nn.Sequencer(nn.GRU(4, 5)), nn.Sequencer(nn.Linear(5, 2))
        ),
        3,
    ),
    "the last step": (
        lambda: sequence(nn.Sequencer(nn.FastLSTM(3, 4)), nn.Select(1, -1), nn.Linear(4, 2)),
        1,
    ),
    "a table between": (
        lambda: sequence(
            nn.SplitTable(1),
            nn.Sequencer(nn.FastLSTM(3, 4)),
            nn.Sequencer(nn.Linear(4, 2)),
            nn.SelectTable(-1),
        ),
        2,
    ),
    "outputs side by side": (
        lambda: sequence(nn.SplitTable(1), nn.Sequencer(nn.GRU(3, 4)), nn.JoinTable(2)),
        1,
    ),
    "both directions": (
        lambda: sequence(nn.SplitTable(1), nn.BiSequencer(nn.GRU(3, 4)), nn.JoinTable(1)),
        3,
    ),
    "the first step of both directions": (
        lambda: sequence(nn.SplitTable(1), nn.BiSequencer(nn.GRU(3, 4)), nn.SelectTable(1)),
        3,
    ),
}


def loops(model):
    return [node.op_type for node in model.graph.node].count("Scan")


@pytest.mark.parametrize("name", NETWORKS)
def test_length_and_batch_are_free(name):
    make, count = NETWORKS[name]
    net = make().float()
    model = export(net, rl.randn(5, 2, 3))
    check_valid(model)
    assert loops(model) == count and free_sizes(model) == {"length", "batch"}
    for length, batch in ((5, 2), (1, 2), (2, 1), (9, 4)):
        check_agreement(net, model, rl.randn(length, batch, 3))


def test_a_first_step_of_another_kind_stays_before_the_loop():
    cell = nn.Recurrent(2, nn.Linear(3, 2), nn.Linear(2, 2), nn.Sigmoid(), 9)
    net = nn.Sequencer(cell).float()
    model = export(net, rl.randn(5, 2, 3))
    check_valid(model)
    assert loops(model) == 1
    for length in (2, 5, 8):
        check_agreement(net, model, rl.randn(length, 3, 3))


def test_time_as_second_dimension():
    net = sequence(nn.SplitTable(2), nn.Sequencer(nn.FastLSTM(3, 4)), nn.SelectTable(-1)).float()
    model = export(net, rl.randn(2, 5, 3))
    assert loops(model) == 1
    check_agreement(net, model, rl.randn(3, 8, 3))


def test_the_weights_are_there_once():
    net = nn.Sequencer(nn.LSTM(3, 4)).float()
    model = export(net, rl.randn(6, 2, 3))
    weights = [tensor for tensor in model.graph.initializer if tensor.name != "constant"]
    stored = sum(parameter.numel() for parameter in net.parameters()[0])
    found = sum(math.prod(tensor.dims) for tensor in weights)
    assert found <= stored + 64


@pytest.mark.parametrize("options", [{"opset": 20}, {"dtype": "float16"}])
def test_options(options):
    net = nn.Sequencer(nn.FastLSTM(3, 4)).float()
    model = export(net, rl.randn(5, 2, 3), **options)
    check_valid(model)
    check_agreement(net, model, rl.randn(7, 3, 3), tolerance=2e-2 if "dtype" in options else 1e-4)


def test_steps_are_unrolled_where_sizes_are_fixed():
    net = nn.Sequencer(nn.FastLSTM(3, 4)).float()
    model = export(net, rl.randn(5, 2, 3), dynamic=False)
    assert loops(model) == 0
    check_agreement(net, model, rl.randn(5, 2, 3))


def test_tables_of_steps_stay_inputs():
    net = nn.Sequencer(nn.GRU(3, 4)).float()
    model = export(net, [rl.randn(2, 3) for _ in range(4)])
    assert loops(model) == 0 and len(model.graph.input) == 4
    check_agreement(net, model, [rl.randn(5, 3) for _ in range(4)])


def test_projected_outputs_have_any_batch():
    net = nn.SeqLSTMP(3, 5, 4).float()
    model = export(net, rl.randn(5, 2, 3))
    assert free_sizes(model) == {"batch"}
    check_agreement(net, model, rl.randn(5, 3, 3))
