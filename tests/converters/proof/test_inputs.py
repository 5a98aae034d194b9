"""Inputs are generated from what the layers of a network say."""

import numpy as np
import pytest
from golden_cases import load_cases

import relume as rl
from relume import legacy_nn as nn
from relume.converters.proof.inputs import NoInputFound, generate


def lstm_cell():
    """A step of char-rnn: symbol, cell and hidden state in, both states and scores out."""
    symbol, cell, hidden = nn.Identity()(), nn.Identity()(), nn.Identity()()
    seen = nn.LookupTable(9, 16)(symbol)
    sums = nn.CAddTable()([nn.Linear(16, 16)(seen), nn.Linear(4, 16)(hidden)])
    gates = nn.SplitTable(2)(nn.Reshape(4, 4)(sums))
    opened, forgot, shown, new = (nn.SelectTable(i)(gates) for i in range(1, 5))
    kept = nn.CMulTable()([nn.Sigmoid()(forgot), cell])
    state = nn.CAddTable()([kept, nn.CMulTable()([nn.Sigmoid()(opened), nn.Tanh()(new)])])
    out = nn.CMulTable()([nn.Sigmoid()(shown), nn.Tanh()(state)])
    return nn.gModule([symbol, cell, hidden], [state, out, nn.Linear(4, 9)(out)])


def sequence(*layers):
    net = nn.Sequential()
    for layer in layers:
        net.add(layer)
    return net


NETWORKS = {
    "linear": (sequence(nn.Tanh(), nn.Linear(7, 2)), "2x7"),
    "image with a fixed size": (
        sequence(
            nn.SpatialConvolution(3, 4, 5, 5),
            nn.SpatialMaxPooling(2, 2, 2, 2),
            nn.View(-1).setNumInputDims(3),
            nn.Linear(4 * 26 * 26, 5),
        ),
        "2x3x56x56",
    ),
    "padding first": (
        sequence(nn.SpatialZeroPadding(1, 1, 1, 1), nn.SpatialConvolution(6, 2, 3, 3)),
        "2x6x32x32",
    ),
    "flattened images": (
        sequence(nn.Reshape(1, 12, 12), nn.SpatialConvolution(1, 2, 5, 5)),
        "2x144",
    ),
    "words": (sequence(nn.LookupTable(50, 8), nn.Mean(2), nn.Linear(8, 3)), "2x5 of 1..50"),
    "two branches": (
        sequence(nn.ParallelTable().add(nn.Linear(3, 4)).add(nn.Linear(5, 4)), nn.CAddTable()),
        "{2x3, 2x5}",
    ),
    "the same for all": (
        sequence(nn.ConcatTable().add(nn.Identity()).add(nn.Linear(6, 6)), nn.CMulTable()),
        "2x6",
    ),
    "join": (sequence(nn.JoinTable(2), nn.Linear(9, 2)), "{2x4, 2x5}"),
    "step of an LSTM": (lstm_cell(), "{2 of 1..9, 2x4, 2x4}"),
    "sequence": (nn.Sequencer(nn.LSTM(5, 3)), "{2x5, 2x5, 2x5}"),
    "whole sequence": (nn.SeqLSTM(5, 3), "5x2x5"),
    "video": (sequence(nn.VolumetricConvolution(3, 2, 3, 3, 3)), "2x3x8x8x8"),
    "a mask": (nn.MaskedSelect(), "{3x4, a mask of 3x4}"),
    "a loss": (nn.CriterionTable(nn.MSECriterion()), "{2x4, 2x4}"),
    "a loss of classes": (nn.CriterionTable(nn.ClassNLLCriterion()), "{2x4, 2 of 1..4}"),
    "the same table for all": (
        nn.ConcatTable().add(nn.CAddTable()).add(nn.CMulTable()),
        "{2x4, 2x4}",
    ),
    "noise-contrastive estimation": (
        nn.NCEModule(5, 9, 3, rl.ones(9) / 9).evaluate(),
        "{2x5, 2 of 1..9}",
    ),
    "frames": (sequence(nn.TemporalConvolution(10, 4, 5)), "2x15x10"),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_input_is_one_that_the_network_takes(name):
    net, expected = NETWORKS[name]
    made = generate(net)
    assert made.text == expected


def test_logarithms_get_positive_numbers():
    made = generate(sequence(nn.Log(), nn.Linear(3, 2)))
    assert np.min(made.arrays) > 0


def test_the_numbers_are_the_same_each_time():
    net = sequence(nn.Linear(3, 2))
    np.testing.assert_array_equal(generate(net).arrays, generate(net).arrays)


def test_the_mode_and_the_gradients_stay():
    net = sequence(nn.Linear(3, 2), nn.Dropout(0.5))
    net.get(1).gradWeight.fill_(7)
    generate(net)
    assert net.train and net.get(2).train
    assert net.get(1).gradWeight.tolist() == [[7.0] * 3] * 2


def test_a_file_remembers_the_size_by_its_gradient():
    net = sequence(nn.SpatialConvolution(1, 2, 3, 3))
    net.gradInput = net.gradInput.new_zeros(4, 1, 9, 31)
    assert generate(net).text == "4x1x9x31"


def test_what_was_tried_is_told():
    net = sequence(nn.Linear(3, 4), nn.SpatialConvolution(5, 2, 3, 3))
    with pytest.raises(NoInputFound) as found:
        generate(net)
    message = str(found.value)
    assert "2x3: " in message and "--input" in message and "input=array" in message


@pytest.mark.parametrize(
    "section, name", [("nngraph", "cells"), ("rnn", "SeqGRU"), ("nn", "Concat")]
)
def test_golden_layers_get_an_input(section, name):
    for case in load_cases(section, name):
        if case.protocol == "module":
            assert generate(case.module).text
