"""Our safetensors files are read by nobody else here, so the format itself is the reference."""

import json
import struct

import numpy as np
import pytest

from relume.converters import safetensors


def file_with(tmp_path, header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = tmp_path / "crafted.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


@pytest.mark.parametrize("dtype", ["?", "u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 4)])
def test_what_is_written_is_read_back(tmp_path, dtype, shape):
    array = (np.arange(np.prod(shape, dtype=int)) % 2).reshape(shape).astype(dtype)
    path = tmp_path / "a.safetensors"
    safetensors.write(path, {"x": array, "ü/☃": array[..., None]}, {"k": "v"})
    tensors, metadata = safetensors.read(path)
    assert metadata == {"k": "v"}
    assert tensors["x"].dtype == array.dtype and tensors["x"].shape == shape
    assert tensors["x"].tobytes() == array.tobytes()
    assert tensors["ü/☃"].shape == (*shape, 1)


def test_strides_and_byte_order_do_not_matter(tmp_path):
    array = np.arange(6, dtype=">f4").reshape(2, 3).T
    safetensors.write(tmp_path / "a", {"x": array})
    tensors, _ = safetensors.read(tmp_path / "a")
    np.testing.assert_array_equal(tensors["x"], array)


def test_layout_of_the_file(tmp_path):
    path = tmp_path / "a"
    safetensors.write(path, {"a": np.float32([1, 2]), "b": np.uint8([7])})
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    assert length % 8 == 0
    header = json.loads(content[8 : 8 + length])
    assert header == {
        "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
        "b": {"dtype": "U8", "shape": [1], "data_offsets": [8, 9]},
    }
    assert content[8 + length :] == struct.pack("<2fB", 1, 2, 7)


def test_bfloat16_is_widened(tmp_path):
    header = {"x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}
    tensors, _ = safetensors.read(file_with(tmp_path, header, b"\x80\x3f\x40\xc0"))
    np.testing.assert_array_equal(tensors["x"], np.float32([1, -3]))


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


HOSTILE = {
    "not JSON": (b"{", b""),
    "not an object": ([1], b""),
    "not UTF-8": (b'{"\xff": 1}', b""),
    "deep": (b"[" * 100_000, b""),
    "number of 10000 digits": (b'{"x": ' + b"9" * 10_000 + b"}", b""),
    "twice": (b'{"x": 1, "x": 2}', b""),
    "not an entry": ({"x": 5}, b""),
    "unknown dtype": ({"x": entry("F31")}, bytes(8)),
    "dtype of another type": ({"x": {**entry(), "dtype": []}}, bytes(8)),
    "negative size": ({"x": entry(shape=(-2,))}, bytes(8)),
    "size that is no integer": ({"x": entry(shape=(2.0,))}, bytes(8)),
    "size that overflows": ({"x": entry(shape=(2**62, 2**62))}, bytes(8)),
    "shape larger than the bytes": ({"x": entry(shape=(3,))}, bytes(8)),
    "reversed offsets": ({"x": entry(offsets=(8, 0))}, bytes(8)),
    "a gap": ({"x": entry(), "y": entry(offsets=(12, 20))}, bytes(20)),
    "an overlap": ({"x": entry(), "y": entry(offsets=(4, 12))}, bytes(12)),
    "beyond the end": ({"x": entry(), "y": entry(offsets=(8, 16))}, bytes(8)),
    "bytes that nobody owns": ({"x": entry()}, bytes(9)),
    "metadata that is no text": ({"__metadata__": {"a": 1}}, b""),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(tmp_path, name):
    with pytest.raises(safetensors.SafetensorsError):
        safetensors.read(file_with(tmp_path, *HOSTILE[name]))


@pytest.mark.parametrize("content", [b"", b"1234567", struct.pack("<Q", 2**63) + b"{}"])
def test_files_that_are_no_safetensors(tmp_path, content):
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(safetensors.SafetensorsError):
        safetensors.read(path)


def test_types_without_a_name_are_refused(tmp_path):
    with pytest.raises(TypeError, match="complex"):
        safetensors.write(tmp_path / "x", {"x": np.zeros(2, complex)})
