"""relume.compat.load_lua, and relume.compat.readNetFromTorch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relume as rl
from relume import legacy_nn as nn
from relume.compat import load_lua, readNetFromTorch
from relume.compat.opencv import Net
from relume.compat.pytorch import T7ReaderException

LEGACY = Path(__file__).resolve().parents[3] / "shared" / "legacy_files" / "files"


def save(tmp_path: Path, value) -> Path:
    path = tmp_path / "file.t7"
    rl.save(value, path)
    return path


def test_layers_run_and_tables_are_dicts(tmp_path):
    net = nn.Sequential().add(nn.Linear(3, 2)).add(nn.Tanh())
    x = rl.ones(4, 3, dtype=rl.float64)
    loaded = load_lua(save(tmp_path, {"model": net, "losses": [0.5, 2], "opt": {"rate": 0.1}}))
    assert rl.allclose(loaded.model.forward(x), net.forward(x))
    assert loaded["losses"] == [0.5, 2]
    assert loaded.opt["rate"] == 0.1
    assert loaded.opt.missing is None


def test_unknown_classes_are_an_error_unless_asked_for(tmp_path):
    path = save(tmp_path, [nn.Sequential().add(rl.TorchObject("my.Scale", {"factor": 3}))])
    with pytest.raises(T7ReaderException, match=r"my\.Scale at 1\.modules\.1"):
        load_lua(path)
    [net] = load_lua(path, unknown_classes=True)
    assert net.get(1).factor == 3
    [alone] = load_lua(save(tmp_path, [rl.TorchObject("my.Scale", {"factor": 3})]), True)
    assert (alone.factor, alone.missing, alone.torch_typename()) == (3, None, "my.Scale")


def test_size_of_longs_can_be_given(tmp_path):
    path = tmp_path / "file.t7"
    rl.save(rl.tensor([1, 2]), path, long_size=4)
    assert load_lua(path, long_size=4).tolist() == [1, 2]
    with pytest.raises(T7ReaderException):
        load_lua(path, long_size=8)


def convolutional() -> nn.Sequential:
    net = nn.Sequential()
    net.add(nn.SpatialConvolution(3, 4, 3, 3)).add(nn.ReLU()).add(nn.SpatialMaxPooling(2, 2))
    net.add(nn.View(-1).setNumInputDims(3)).add(nn.Dropout(0.5)).add(nn.Linear(36, 5))
    return net.add(nn.SoftMax()).float()


def test_network_has_the_methods_of_opencv(tmp_path):
    net = convolutional()
    path = save(tmp_path, net)
    image = np.random.default_rng(1).integers(0, 255, (2, 3, 8, 8), dtype=np.uint8)
    mean, scale = (10, 20, 30), 1 / 128
    read = readNetFromTorch(str(path))
    read.setInput(image, scalefactor=scale, mean=mean)
    scaled = (image - np.array(mean, np.float32).reshape(1, 3, 1, 1)) * np.float32(scale)
    expected = net.evaluate().forward(rl.from_numpy(scaled.astype(np.float32))).numpy()
    np.testing.assert_allclose(read.forward(), expected, rtol=1e-5)
    assert read.getUnconnectedOutLayersNames() == ("l7_Softmax",)
    hidden, last = read.forward(["l2_ReLU", "l7_Softmax"])
    np.testing.assert_allclose(last, expected, rtol=1e-5)
    assert hidden.shape == (2, 4, 6, 6)
    assert read.forward("l2_ReLU").min() == 0
    assert read.getLayerId("l2_ReLU") == 2
    assert read.getLayerId("nothing") == -1
    np.testing.assert_array_equal(read.getParam("l1_Convolution"), net.get(1).weight.numpy())
    read.setParam(6, 1, np.full(5, 100.0))
    assert read.getLayer(6).blobs[1].tolist() == [100] * 5
    with pytest.raises(ValueError, match="no layer 'l9'"):
        read.forward("l9")


def test_networks_in_tables_are_named(tmp_path):
    path = save(tmp_path, {"protos": {"rnn": nn.Linear(2, 2)}})
    with pytest.raises(ValueError, match=r"holds a table, not a network.*protos\.rnn"):
        readNetFromTorch(path)
    assert Net(rl.load(path).protos.rnn).getLayerNames() == ("l1_InnerProduct",)


def test_input_must_be_set_first(tmp_path):
    with pytest.raises(ValueError, match="setInput first"):
        readNetFromTorch(save(tmp_path, nn.Tanh())).forward()


OPENCV_READS = "convnet_03 convnet_04 gpu_02 gpu_05 layer_02 layer_21 mlp_02".split()


@pytest.mark.skipif(not LEGACY.is_dir(), reason="the legacy files are not here")
@pytest.mark.parametrize("stem", OPENCV_READS)
def test_names_and_kinds_are_those_of_opencv(stem):
    cv2 = pytest.importorskip("cv2")
    [path] = LEGACY.glob(f"{stem}*")
    theirs = cv2.dnn.readNetFromTorch(str(path))
    mine = readNetFromTorch(path)
    assert mine.getLayerNames() == tuple(theirs.getLayerNames())
    assert mine.getLayerTypes() == tuple(theirs.getLayerTypes())
    assert mine.getUnconnectedOutLayers().tolist() == list(theirs.getUnconnectedOutLayers())


def test_output_is_that_of_opencv(tmp_path):
    cv2 = pytest.importorskip("cv2")
    path = save(tmp_path, convolutional())
    image = np.random.default_rng(2).normal(size=(2, 3, 8, 8)).astype(np.float32)
    theirs, mine = cv2.dnn.readNetFromTorch(str(path)), readNetFromTorch(path)
    for net in (theirs, mine):
        net.setInput(image)
    np.testing.assert_allclose(mine.forward(), theirs.forward(), rtol=1e-4, atol=1e-6)
