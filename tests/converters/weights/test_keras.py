"""Keras's layout: what its layers would compute from the arrays is what ours compute."""

import h5py
import numpy as np
import pytest
from scipy.signal import correlate

import relume as rl
from relume import legacy_nn as nn
from relume.converters import safetensors


def arrays_of(net, tmp_path):
    report = rl.convert(net, tmp_path / "k.safetensors", layout="keras")
    assert report.verified
    return safetensors.read(tmp_path / "k.safetensors")[0]


def test_dense(tmp_path):
    net = nn.Sequential().add(nn.Linear(3, 2))
    arrays = arrays_of(net, tmp_path)
    x = np.random.default_rng(1).normal(size=(4, 3))
    expected = net.forward(rl.tensor(x)).numpy()
    result = x @ arrays["modules.1.kernel"] + arrays["modules.1.bias"]
    np.testing.assert_allclose(result, expected, rtol=1e-12)


@pytest.mark.parametrize("layer", [nn.SpatialConvolution, nn.SpatialConvolutionMM])
def test_convolution_kernels_are_height_width_input_output(tmp_path, layer):
    net = nn.Sequential().add(layer(2, 3, 4, 5))
    kernel = arrays_of(net, tmp_path)["modules.1.kernel"]
    assert kernel.shape == (5, 4, 2, 3)
    x = np.random.default_rng(1).normal(size=(1, 2, 9, 8))
    expected = net.forward(rl.tensor(x)).numpy()[0, 1]
    result = sum(correlate(x[0, c], kernel[:, :, c, 1], mode="valid") for c in range(2))
    np.testing.assert_allclose(result + net.get(1).bias.numpy()[1], expected, rtol=1e-9)


def test_one_dimensional_convolution(tmp_path):
    net = nn.Sequential().add(nn.TemporalConvolution(3, 2, 4))
    kernel = arrays_of(net, tmp_path)["modules.1.kernel"]
    assert kernel.shape == (4, 3, 2)
    x = np.random.default_rng(1).normal(size=(6, 3))
    expected = net.forward(rl.tensor(x)).numpy()[0]
    result = np.einsum("kc,kco->o", x[:4], kernel) + net.get(1).bias.numpy()
    np.testing.assert_allclose(result, expected, rtol=1e-9)


def test_names_of_normalisation_and_embedding(tmp_path):
    net = nn.Sequential().add(nn.LookupTable(5, 4)).add(nn.BatchNormalization(4))
    assert set(arrays_of(net, tmp_path)) == {
        "modules.1.embeddings",
        *(f"modules.2.{n}" for n in ("gamma", "beta", "moving_mean", "moving_variance")),
    }


def test_weights_of_a_layer_are_in_the_order_of_its_variables(tmp_path):
    net = nn.Sequential().add(nn.Linear(3, 2)).add(nn.BatchNormalization(2))
    rl.convert(net, tmp_path / "k.h5", layout="keras")
    with h5py.File(tmp_path / "k.h5") as file:
        names = [n.decode().partition("/")[2] for n in file["modules.2"].attrs["weight_names"]]
        assert names == ["gamma:0", "beta:0", "moving_mean:0", "moving_variance:0"]
        names = [n.decode().partition("/")[2] for n in file["modules.1"].attrs["weight_names"]]
        assert names == ["kernel:0", "bias:0"]


def test_hdf5_has_the_groups_that_keras_reads(tmp_path):
    net = nn.Sequential().add(nn.Linear(3, 2)).add(nn.Tanh()).add(nn.Linear(2, 1))
    rl.convert(net, tmp_path / "k.h5", layout="keras")
    with h5py.File(tmp_path / "k.h5") as file:
        names = [name.decode() for name in file.attrs["layer_names"]]
        assert names == ["modules.1", "modules.3"]
        group = file[names[0]]
        weights = [group[name.decode()] for name in group.attrs["weight_names"]]
        assert [weight.shape for weight in weights] == [(3, 2), (2,)]
    x = rl.ones(2, 3, dtype=rl.float64)
    assert rl.load(tmp_path / "k.h5").forward(x).tolist() == net.forward(x).tolist()
