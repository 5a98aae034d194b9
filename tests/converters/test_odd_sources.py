"""Networks and objects at the edges of what there is."""

import numpy as np
import pytest

import relume as rl
from relume import legacy_nn as nn
from relume.converters.formats import CannotConvert

ENDINGS = ["t7", "safetensors", "npz", "h5", "py", "onnx"]
HOLD_ANYTHING = ENDINGS[:4]


def sequence(*layers):
    net = nn.Sequential()
    for layer in layers:
        net.add(layer)
    return net


def transposed():
    net = sequence(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).float()
    net.get(1).weight = rl.randn(3, 4).t()
    net.get(3).weight = rl.randn(4, 4)[:, ::2].t()
    return net


def flattened():
    net = sequence(nn.Linear(3, 4), nn.Linear(4, 2))
    net.getParameters()
    return net


def trained():
    net = sequence(nn.Linear(3, 4), nn.BatchNormalization(4), nn.Dropout(0.5))
    net.training()
    net.forward(rl.randn(5, 3, dtype=rl.float64))
    return net


def twice():
    layer = nn.Linear(3, 3)
    return sequence(layer, nn.Tanh(), layer)


def tied():
    embedding, scores = nn.LookupTable(7, 4), nn.Linear(4, 7, False)
    scores.weight = embedding.weight
    return sequence(embedding, scores)


NETWORKS = {
    "empty": sequence,
    "empty inside": lambda: sequence(sequence(), sequence(sequence())),
    "transposed weights": transposed,
    "one vector of parameters": flattened,
    "in training mode": trained,
    "a layer used twice": twice,
    "tied weights of two kinds": tied,
    "float16": lambda: sequence(nn.SpatialConvolution(1, 2, 3, 3), nn.Reshape(8)).half(),
    "double": lambda: sequence(nn.SpatialConvolution(1, 2, 3, 3), nn.Reshape(8)),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", NETWORKS)
def test_networks(tmp_path, name, ending):
    if ending == "py":
        pytest.importorskip("torch")
    rl.manual_seed(1)
    net = NETWORKS[name]()
    before = net.train
    report = rl.convert(net, tmp_path / f"net.{ending}")
    assert report.verified and report.proofs[0].agrees
    assert net.train is before


@pytest.mark.parametrize("ending", HOLD_ANYTHING)
def test_the_mode_of_training_is_kept_in_the_file(tmp_path, ending):
    rl.convert(trained(), tmp_path / f"net.{ending}")
    assert rl.load(tmp_path / f"net.{ending}").get(3).train is True


@pytest.mark.parametrize("ending", HOLD_ANYTHING)
def test_names_of_all_kinds(tmp_path, ending):
    root = {
        "a.b/c": nn.Linear(3, 2),
        "a": {"b/c": rl.ones(2)},
        "\u00fc \u03bb": 1,
        "x\ny": 2,
        "": 3,
    }
    assert rl.convert(root, tmp_path / f"x.{ending}").verified
    again = rl.load(tmp_path / f"x.{ending}")
    assert set(again.keys()) == set(root)
    assert again["a.b/c"].weight.tolist() == root["a.b/c"].weight.tolist()
    assert again["a"]["b/c"].tolist() == [1, 1]


@pytest.mark.parametrize("ending", HOLD_ANYTHING)
def test_arrays_of_text_are_refused(tmp_path, ending):
    with pytest.raises(CannotConvert, match=r"ndarray \(1\): .* no tensors of <U1"):
        rl.convert({"w": np.ones(2), "names": np.array(["x"])}, tmp_path / f"x.{ending}")
    assert not list(tmp_path.iterdir())


def test_a_network_that_gives_nothing_is_no_model(tmp_path):
    with pytest.raises(CannotConvert, match="gives an empty table"):
        rl.convert(nn.ConcatTable(), tmp_path / "x.onnx")
