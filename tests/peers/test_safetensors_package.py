"""The safetensors package reads what we write, and we read what it writes."""

import numpy as np
import pytest

from relume.converters import safetensors as ours

theirs = pytest.importorskip("safetensors.numpy")

ARRAYS = {
    name: (np.arange(6).reshape(2, 3) % 2).astype(name)
    for name in [
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "float32",
        "float64",
    ]
}


def test_they_read_ours(tmp_path):
    ours.write(tmp_path / "x", ARRAYS, {"note": "text"})
    for name, array in theirs.load_file(tmp_path / "x").items():
        np.testing.assert_array_equal(array, ARRAYS[name])


def test_we_read_theirs(tmp_path):
    theirs.save_file(ARRAYS, tmp_path / "x", {"note": "text"})
    tensors, metadata = ours.read(tmp_path / "x")
    assert metadata == {"note": "text"}
    assert set(tensors) == set(ARRAYS)
    for name, array in tensors.items():
        np.testing.assert_array_equal(array, ARRAYS[name])
