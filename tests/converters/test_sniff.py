"""Files that are no Torch7 files are named."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import pickle
import tarfile
import zipfile

import numpy as np
import pytest

import relume as rl
from relume.converters import t7

LFS = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:31007ad64f45dfb44b171e1f6dd52aa33f6aed05a49767835aeb2220e952e6e1\nsize 457289739\n"
)


def zip_with(name: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, b"x" * 20)
    return buffer.getvalue()


def tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("model.t7"))
    return buffer.getvalue()


def npy() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    return buffer.getvalue()


def npz() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, a=np.zeros(3))
    return buffer.getvalue()


def safetensors() -> bytes:
    header = json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(4)


CASES = {
    "empty": (b"", "empty", "0 bytes"),
    "lfs": (LFS, "git-lfs", "457,289,739"),
    "pickle": (pickle.dumps({"a": 1}, protocol=2), "pickle", "80 02"),
    "pickle 4": (pickle.dumps({"a": 1}, protocol=4), "pickle", "80 04"),
    "pickle 0": (pickle.dumps({"a": 1}, protocol=0), "pickle", "protocol 0"),
    "torch zip": (zip_with("archive/data.pkl"), "pytorch-zip", "torch.load"),
    "zip": (zip_with("model.t7"), "zip", "unpack"),
    "hdf5": (b"\x89HDF\r\n\x1a\n" + bytes(90), "hdf5", "h5py"),
    "html": (b"<!DOCTYPE html>\n<html><body>404</body></html>", "html", "download"),
    "html late": (b"\n\n  <html>", "html", "download"),
    "xml": (b'<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>', "xml", "server"),
    "json": (b'{"error": "not found"}', "json", "JSON"),
    "gzip": (gzip.compress(b"x"), "gzip", "gunzip"),
    "bzip2": (bz2.compress(b"x"), "bzip2", "bunzip2"),
    "xz": (lzma.compress(b"x"), "xz", "unxz"),
    "tar": (tar(), "tar", "tar xf"),
    "npy": (npy(), "npy", "numpy.load"),
    "npz": (npz(), "npz", "numpy.load"),
    "safetensors": (safetensors(), "safetensors", "safetensors"),
    "text": (b"This is a README\n", "text", "This is a README"),
    "lua": (b"require 'nn'\nnet = nn.Linear(3, 4)\n", "text", "script"),
    "bytecode": (b"\x1bLJ\x02\n@a.lua", "luajit", "bytecode"),
    "zeros": (bytes(5000), "zeros", "filled with zeros"),
    "short": (b"\x04\x00", "truncated", "2 bytes"),
    "noise": (bytes(range(128, 255)), "unknown", "80 81"),
}


@pytest.mark.parametrize("name", CASES)
def test_impostor_is_named(name, tmp_path):
    data, kind, hint = CASES[name]
    path = tmp_path / "model.t7"
    path.write_bytes(data)
    with pytest.raises(rl.FileFormatError) as caught:
        t7.load(path)
    assert caught.value.kind == kind
    assert hint in str(caught.value)
    assert str(path) in str(caught.value)
    with pytest.raises(rl.FileFormatError) as in_memory:
        rl.loads(data)
    assert in_memory.value.kind == kind


def test_nothing_is_unpickled(tmp_path):
    class Bomb:
        def __reduce__(self):
            return open, (str(tmp_path / "boom"), "w")

    path = tmp_path / "model.t7"
    path.write_bytes(pickle.dumps(Bomb(), protocol=2))
    with pytest.raises(rl.FileFormatError):
        rl.load(path)
    assert not (tmp_path / "boom").exists()
