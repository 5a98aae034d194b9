"""Package loadcaffe: networks of Caffe. The files are written here, after caffe.proto."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from relume.bridge import Lua, LuaError


@pytest.fixture(scope="module")
def lua():
    with Lua() as runtime:
        runtime.require("nn")
        runtime.require("loadcaffe")
        yield runtime


def varint(value):
    octets = b""
    while value > 127:
        octets, value = octets + bytes([value & 127 | 128]), value >> 7
    return octets + bytes([value])


def field(number, value):
    """A field of a message: an integer, a float, or the bytes of anything else."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    octets = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(octets)) + octets


def old_blob(values):
    sizes = (1,) * (4 - values.ndim) + values.shape
    return b"".join(field(i, size) for i, size in enumerate(sizes, 1)) + field(5, values.tobytes())


def new_blob(values):
    return field(7, field(1, b"".join(map(varint, values.shape)))) + field(5, values.tobytes())


def old_layer(name, kind, options=b"", blobs=()):
    blobs = b"".join(field(6, old_blob(blob)) for blob in blobs)
    return field(2, field(4, name) + field(5, kind) + options + blobs)


def new_layer(name, kind, options=b"", blobs=()):
    blobs = b"".join(field(7, new_blob(blob)) for blob in blobs)
    return field(100, field(1, name) + field(2, kind) + blobs + options)


def numbers(*sizes):
    return np.random.default_rng(len(sizes)).standard_normal(sizes).astype("float32")


@pytest.fixture
def old_network(tmp_path):
    """Convolution, ReLU, pooling and two linear layers, as files of before 2015 have them."""
    weights = {
        "conv": (numbers(4, 3, 3, 3), numbers(1, 1, 1, 4)),
        "fc6": (numbers(1, 1, 5, 16), numbers(1, 1, 1, 5)),
        "fc7": (numbers(1, 1, 2, 5), numbers(1, 1, 1, 2)),
    }
    path = tmp_path / "old.caffemodel"
    path.write_bytes(
        field(1, "network")
        + old_layer("data", 5)
        + old_layer("conv", 4, field(10, field(1, 4) + field(3, 1) + field(4, 3)), weights["conv"])
        + old_layer("relu", 18)
        + old_layer("pool", 17, field(19, field(1, 0) + field(2, 2) + field(3, 2)))
        + old_layer("fc6", 14, field(17, field(1, 5)), weights["fc6"])
        + old_layer("drop", 6, field(12, field(1, 0.25)))
        + old_layer("fc7", 14, field(17, field(1, 2)), weights["fc7"])
        + old_layer("prob", 20)
    )
    return path, weights


def test_layers_of_an_old_network_come_in_order_with_names(lua, old_network):
    path, _ = old_network
    lua.execute("net = loadcaffe.load('none', ...)", str(path))
    assert lua.execute(
        """
        local said = ''
        for _, layer in ipairs(net.modules) do
           said = said .. layer.name .. '=' .. torch.type(layer) .. ' '
        end
        return said
        """
    ) == (
        "conv=nn.SpatialConvolution relu=nn.ReLU pool=nn.SpatialMaxPooling torch_view=nn.View "
        "fc6=nn.Linear drop=nn.Dropout fc7=nn.Linear prob=nn.SoftMax "
    )
    options = lua.execute("return net:get(6).p, net:get(3).ceil_mode, net:get(1).padW")
    assert options == (
        0.25,
        True,
        1,
    )


def test_an_old_network_computes_what_its_weights_say(lua, old_network):
    path, weights = old_network
    image = numbers(3, 4, 4)
    lua.execute("net = loadcaffe.load('none', ...):float(); net:evaluate()", str(path))
    result = lua.execute("return net:forward(...)", image)
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    planes = np.einsum("cyxhw,ochw->oyx", windows, weights["conv"][0])
    planes = np.maximum(planes + weights["conv"][1].reshape(4, 1, 1), 0)
    flat = planes.reshape(4, 2, 2, 2, 2).max((2, 4)).reshape(16)
    for name in ("fc6", "fc7"):
        flat = weights[name][0][0, 0] @ flat + weights[name][1].ravel()
    expected = np.exp(flat) / np.exp(flat).sum()
    np.testing.assert_allclose(np.ravel(result.numpy()), expected, rtol=1e-4)


def test_options_of_a_later_network(lua, tmp_path):
    path = tmp_path / "new.caffemodel"
    convolution = field(1, 4) + field(11, 2) + field(12, 3) + field(13, 2) + field(14, 1)
    convolution += field(5, 2)
    normalization = field(1, 7) + field(2, 0.5) + field(3, 0.25) + field(5, 2.0)
    path.write_bytes(
        new_layer("conv", "Convolution", field(106, convolution), (numbers(4, 3, 2, 3), numbers(4)))
        + new_layer("norm", "LRN", field(118, normalization))
        + new_layer("pool", "Pooling", field(121, field(1, 1) + field(2, 3) + field(4, 1)))
        + new_layer("leaky", "ReLU", field(123, field(1, 0.125)))
        + new_layer("all", "Pooling", field(121, field(1, 0) + field(12, 1)))
        + new_layer("odd", "Reorg")
    )
    lua.execute("net = loadcaffe.load('none', ..., 'nn')", str(path))
    assert lua.execute(
        "local c = net:get(1); return c.nInputPlane, c.nOutputPlane, c.kW, c.kH, c.dW, c.dH"
    ) == (6, 4, 3, 2, 1, 2)
    assert lua.eval("net:get(1).groups") == 2
    normalization = lua.execute("local n = net:get(2); return n.size, n.alpha, n.beta, n.k")
    assert normalization == (
        7,
        0.5,
        0.25,
        2,
    )
    assert lua.execute(
        "local p = net:get(3); return torch.type(p), p.kW, p.dW, p.padH, p.ceil_mode"
    ) == ("nn.SpatialAveragePooling", 3, 1, 1, True)
    assert lua.execute("return net:get(4).negval, torch.type(net:get(5)), net:size()") == (
        0.125,
        "nn.SpatialAdaptiveMaxPooling",
        5,
    )
    sizes = lua.execute("return unpack(net:forward(torch.rand(2, 6, 9, 9)):size():totable())")
    assert sizes == (
        2,
        4,
        1,
        1,
    )


def test_what_is_no_network_is_refused(lua, tmp_path):
    path = tmp_path / "x.caffemodel"
    for octets in (b"This is text.", field(1, "empty"), old_layer("x", 4)[:-1], b"\xff" * 40):
        path.write_bytes(octets)
        with pytest.raises(ValueError, match=r"Caffe|middle of a layer"):
            lua.execute("loadcaffe.load('none', ...)", str(path))
    with pytest.raises(FileNotFoundError, match="No such file"):
        lua.execute("loadcaffe.load('none', ...)", str(tmp_path / "absent"))
    with pytest.raises(LuaError, match="expected the backend 'nn' or 'cudnn', got 'cl'"):
        lua.execute("loadcaffe.load('none', ..., 'cl')", str(path))
