"""Retrained weights go into the network of an old file."""

import numpy as np
import pytest

import relume as rl
from relume import legacy_nn as nn
from relume.converters.importing import WrongWeights, fill_weights


def network():
    net = nn.Sequential().add(nn.SpatialConvolutionMM(2, 3, 2, 2)).add(nn.ReLU())
    return net.add(nn.View(-1).setNumInputDims(3)).add(nn.Linear(12, 4)).float()


def tensors(prefixes):
    """Tensors of the shapes that PyTorch has, with numbers that tell them apart."""
    first, last = prefixes
    return {
        f"{first}.weight": np.arange(24, dtype=np.float32).reshape(3, 2, 2, 2),
        f"{first}.bias": np.full(3, 7, np.float32),
        f"{last}.weight": np.arange(48, dtype=np.float32).reshape(4, 12),
        f"{last}.bias": np.full(4, 8, np.float32),
    }


def assert_filled(net):
    assert net.get(1).weight.shape == (3, 8)
    assert net.get(1).weight.numpy().ravel().tolist() == list(range(24))
    assert net.get(1).bias.tolist() == [7] * 3
    assert net.get(4).weight.numpy().ravel().tolist() == list(range(48))


def test_names_of_the_pytorch_source():
    net = network()
    assert fill_weights(net, tensors(["layers.0", "layers.3"])) == "names of the PyTorch source"
    assert_filled(net)


def test_paths_in_the_network():
    net = network()
    assert fill_weights(net, tensors(["modules.1", "modules.4"])) == "paths in the network"
    assert_filled(net)


def test_names_that_mean_nothing_are_taken_in_their_order():
    net = network()
    assert fill_weights(net, tensors(["conv1", "head"])) == "in their order"
    assert_filled(net)


def test_names_that_the_user_explains():
    net = network()
    given = tensors(["b", "a"])
    given = dict(reversed(given.items()))
    given["optimizer.step"] = np.ones(1)
    new = {"b": "modules.1", "a": "layers.3"}

    def meaning(name):
        layer, _, tensor = name.partition(".")
        return f"{new[layer]}.{tensor}" if layer in new else None

    fill_weights(net, given, meaning)
    assert_filled(net)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda t: t.update({"layers.0.weight": np.zeros((3, 2, 2, 3))}), "3x2x2x3 instead of"),
        (lambda t: t.pop("layers.3.bias"), "layers.3.bias: not in the file"),
        (lambda t: t.update({"layers.9.bias": np.zeros(3)}), "layers.9.bias: not in the network"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_changed(change, complaint):
    net = network()
    before = net.get(4).weight.clone()
    given = tensors(["layers.0", "layers.3"])
    change(given)
    with pytest.raises(WrongWeights, match=complaint):
        fill_weights(net, given)
    assert net.get(4).weight.tolist() == before.tolist()


def test_names_of_no_tensor_of_the_network_are_named():
    with pytest.raises(WrongWeights, match=r"a -> modules\.5\.weight"):
        fill_weights(network(), {"a": np.zeros(3)}, {"a": "modules.5.weight"})


def test_shared_weights_stay_shared():
    layer = nn.Linear(2, 2)
    net = nn.Sequential().add(layer).add(nn.Tanh()).add(layer.clone("weight", "bias"))
    fill_weights(net, {"layers.0.weight": np.eye(2), "layers.0.bias": np.ones(2)})
    assert net.get(3).weight.tolist() == [[1, 0], [0, 1]]


def test_a_checkpoint_gets_new_weights_and_keeps_the_rest(tmp_path):
    rl.save({"model": network(), "epoch": 3}, tmp_path / "old.t7")
    np.savez(tmp_path / "new.npz", **tensors(["layers.0", "layers.3"]))
    report = rl.convert(
        tmp_path / "new.npz", tmp_path / "new.t7", into=tmp_path / "old.t7", select="model"
    )
    assert report.verified
    checkpoint = rl.load(tmp_path / "new.t7")
    assert checkpoint.epoch == 3
    assert_filled(checkpoint.model)


def test_one_path_of_a_shared_layer_is_enough():
    first = nn.Linear(2, 2)
    net = nn.Sequential().add(first).add(nn.Linear(2, 2).share(first, "weight", "bias")).float()
    net.get(2).share(net.get(1), "weight", "bias")
    given = {
        "modules.1.weight": np.full((2, 2), 3, np.float32),
        "modules.1.bias": np.full(2, 4, np.float32),
    }
    fill_weights(net, given)
    assert net.get(2).weight.tolist() == [[3, 3], [3, 3]]
