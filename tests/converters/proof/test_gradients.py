"""Gradients of recurrent networks are part of the proof: through all steps, without dropout."""

import pytest

import relume as rl
from relume import legacy_nn as nn


def sequence(*layers):
    net = nn.Sequential()
    for layer in layers:
        net.add(layer)
    return net


NETWORKS = {
    "FastLSTM": lambda: nn.Sequencer(nn.FastLSTM(3, 4)),
    "GRU with dropout": lambda: nn.Sequencer(sequence(nn.GRU(3, 4), nn.Dropout(0.5))),
    "a simple step": lambda: nn.Sequencer(nn.Recurrent(4, nn.Linear(3, 4), nn.Linear(4, 4))),
    "the last step": lambda: sequence(
        nn.Sequencer(nn.LSTM(3, 4)), nn.Select(1, -1), nn.BatchNormalization(4)
    ),
    "both directions": lambda: sequence(nn.SplitTable(1), nn.BiSequencer(nn.GRU(3, 4))),
    "repeated": lambda: nn.Repeater(nn.LSTM(3, 4), 3),
}


@pytest.mark.parametrize("ending", ["safetensors", "py"])
@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_through_all_steps(tmp_path, name, ending):
    if ending == "py":
        pytest.importorskip("torch")
    net = NETWORKS[name]()
    report = rl.convert(net, tmp_path / f"net.{ending}", gradients=True)
    (proof,) = report.proofs
    assert report.verified and len(proof.gradients) >= len(net.parameters()[0]) - 2
    assert all(module.train for module in net.walk())
    again = rl.convert(net, tmp_path / f"again.{ending}", gradients=True)
    assert again.verified  # what the first proof left behind is no part of the network
