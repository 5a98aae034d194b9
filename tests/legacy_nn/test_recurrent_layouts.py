"""Recurrent layers in the layouts of other versions of package rnn, and with fields left out."""

import pytest
from golden_cases import difference
from object_loading import loaded

import relume as rl
from relume import legacy_nn as nn
from relume.legacy_nn.rnn.dropout import Dropout

DOUBLE = {"dtype": rl.float64}


def fields_without(layer, *names):
    return {name: value for name, value in vars(layer).items() if name not in names}


def sequence(features=3):
    rl.manual_seed(3)
    return rl.randn(4, 2, features, **DOUBLE)


def test_a_sequencer_of_2015_holds_any_module():
    linear = nn.Linear(3, 4)
    net = loaded("nn.Sequencer", module=linear, train=True)
    assert str(net) == "nn.Sequencer @ nn.Recursor @ nn.Linear(3 -> 4)"
    assert difference(net.forward(sequence())[2], linear.forward(sequence()[2])) < 1e-12


def test_a_repeater_of_2015_calls_its_module_rnn():
    cell = nn.GRU(3, 4)
    net = loaded("nn.Repeater", rnn=cell, rho=3)
    assert len(net.forward(sequence()[0])) == 3
    assert net.modules == [cell]


def test_the_last_version_has_the_module_of_a_step_in_modules_alone():
    cell = nn.RecLSTM(3, 4)
    expected = nn.Sequencer(cell).forward(sequence()).clone()
    names = ("recurrentModule", "rho", "rmInSharedClones", "gradInputs")
    fields = {**fields_without(cell, *names), "seqlen": 7, "modules": rl.Table(cell.modules)}
    again = loaded("nn.RecLSTM", **fields)
    assert again.rho == 7
    net = loaded("nn.Sequencer", modules=rl.Table([again]), _remember="neither")
    assert difference(net.forward(sequence()), expected) < 1e-12


def test_a_criterion_of_the_last_version_has_its_criterion_among_its_clones():
    criterion = loaded("nn.SequencerCriterion", clones=rl.Table([nn.MSECriterion()]))
    x = sequence()
    assert criterion.forward(x, x + 1) == pytest.approx(4)


def test_a_sequencer_in_both_directions_of_the_last_version():
    forward, reverse = nn.SeqGRU(3, 4), nn.SeqGRU(3, 4)
    both = nn.ConcatTable().add(forward).add(nn.ReverseUnreverse(reverse))
    inner = nn.Sequential().add(both).add(nn.CAddTable())
    net = loaded("nn.BiSequencer", modules=rl.Table([inner]), _remember="neither")
    x = sequence()
    expected = forward.forward(x) + reverse.forward(x.flip(0)).flip(0)
    assert difference(net.forward(x), expected) < 1e-12
    assert str(net).split("\n")[1:] == [
        "  forward:  nn.SeqGRU",
        "  backward: nn.SeqGRU",
        "  merge:    nn.CAddTable",
        "}",
    ]


def test_the_first_seqlstm_had_no_hidden_size_and_may_lack_buffers():
    layer = nn.SeqLSTM(3, 4)
    expected = layer.forward(sequence()).clone()
    names = ("hiddensize", "h0", "c0", "cell", "_output", "_remember", "gradWeight", "gradBias")
    again = loaded("nn.SeqLSTM", **fields_without(layer, *names))
    assert difference(again.forward(sequence()), expected) < 1e-12
    again.backward(sequence(), sequence(4))
    assert again.gradWeight.shape == (7, 16)


def test_a_dropout_that_says_whether_it_is_lazy_is_that_of_package_rnn():
    fields = {"p": 0.5, "noise": rl.zeros(0), "v2": True, "train": True}
    assert type(loaded("nn.Dropout", **fields)) is nn.Dropout
    lazy = loaded("nn.Dropout", **fields, lazy=True, mono=False, flag=True)
    assert type(lazy) is Dropout
    assert str(lazy) == "nn.Dropout(0.5, lazy)"
    assert lazy.torch_typename == "nn.Dropout"


def test_clones_of_a_file_without_gradients_add_up_to_one():
    net = nn.Sequencer(nn.LSTM(3, 4).maskZero())
    x, g = sequence(), sequence(4)
    net.forward(x)
    net.zeroGradParameters()
    net.backward(x, g)
    expected = [gradient.clone() for gradient in net.parameters()[1]]
    cell = net.module
    clones = [cell.recurrentModule, *cell._copies()]
    assert len(clones) == 4
    for clone in clones:
        for module in clone.listModules():
            for name in ("gradWeight", "gradBias"):
                vars(module).pop(name, None)
    cell._load_fields(dict(vars(cell)))
    cell._kept.is_tied = False  # as an object fresh from a file
    net.forget()
    net.zeroGradParameters()
    net.forward(x)
    net.backward(x, g)
    assert difference(net.parameters()[1], expected) < 1e-12


def test_later_masks():
    x = sequence()[0]
    x[1] = 0
    found, told = nn.MaskZero(nn.Linear(3, 4), True), nn.MaskZero(nn.Linear(3, 4), False)
    assert found.forward(x)[1].abs().sum().item() == 0
    with pytest.raises(RuntimeError, match="setZeroMask"):
        told.forward(x)
    told.setZeroMask(rl.tensor([1, 0], dtype=rl.uint8))
    assert told.forward(x)[0].abs().sum().item() == 0
    assert told.forward(x)[1].abs().sum().item() > 0
    told.setZeroMask(False)
    assert told.forward(x)[0].abs().sum().item() > 0
