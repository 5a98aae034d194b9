"""Large files are converted in pieces: to the same files, in little memory."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import relume as rl
from relume import legacy_nn as nn
from relume.converters import safetensors
from relume.converters.difference import difference
from relume.converters.t7.outline import read_outline
from relume.converters.weights import collect, streaming


@pytest.fixture
def checkpoint(tmp_path):
    """Large and small tensors, views of all kinds, tied ones, buffers."""
    rl.manual_seed(1)
    net = nn.Sequential().add(nn.Linear(700, 600)).add(nn.Tanh()).add(nn.Linear(600, 3)).float()
    net.forward(rl.ones(2, 700))
    large = rl.randn(900, 800)
    root = {
        "net": net,
        "tied": net.get(1).weight,
        "columns": large.t(),
        "every other": large[:, ::2],
        "row": large[5],
        "bytes": (rl.rand(1 << 21) * 255).to(rl.uint8),
        "epoch": 3,
        "my": rl.TorchObject("my.Thing", {"large": rl.randn(1 << 19), "name": "x"}),
    }
    rl.save(root, tmp_path / "large.t7")
    return tmp_path / "large.t7"


@pytest.mark.parametrize("everything", [False, True])
def test_the_file_is_the_one_that_the_usual_way_gives(
    tmp_path, checkpoint, monkeypatch, everything
):
    rl.convert(checkpoint, tmp_path / "usual.safetensors", everything=everything)
    monkeypatch.setattr(streaming, "LARGE", 0)
    report = rl.convert(checkpoint, tmp_path / "pieces.safetensors", everything=everything)
    assert report.verified and "in pieces" in report.warnings[0]
    usual, usual_metadata = safetensors.read(tmp_path / "usual.safetensors")
    pieces, metadata = safetensors.read(tmp_path / "pieces.safetensors")
    assert list(usual) == list(pieces)
    for name, array in usual.items():
        assert array.dtype == pieces[name].dtype
        np.testing.assert_array_equal(array, pieces[name])
    assert json.loads(metadata["aliases"]) == json.loads(usual_metadata["aliases"])
    assert metadata["relume"] == usual_metadata["relume"]


@pytest.mark.parametrize("ending", ["npz", "h5", "t7"])
@pytest.mark.parametrize("select", ["", "net"])
def test_the_object_is_the_one_that_the_usual_way_gives(
    tmp_path, checkpoint, monkeypatch, ending, select
):
    rl.convert(checkpoint, tmp_path / f"usual.{ending}", select=select)
    monkeypatch.setattr(streaming, "LARGE", 0)
    report = rl.convert(checkpoint, tmp_path / f"pieces.{ending}", select=select)
    assert report.verified and "in pieces" in report.warnings[0]
    usual, pieces = (rl.load(tmp_path / f"{name}.{ending}") for name in ("usual", "pieces"))
    assert difference(usual, pieces) == []
    if ending == "t7":
        same = [(tmp_path / f"{name}.t7").read_bytes() for name in ("usual", "pieces")]
        assert same[0] == same[1]


@pytest.mark.parametrize("target", list(streaming.TARGETS))
def test_what_the_disk_lost_is_found(tmp_path, checkpoint, monkeypatch, target):
    monkeypatch.setattr(streaming, "LARGE", 0)
    outline = streaming.open_large(checkpoint)
    weights = collect(outline.root)
    path = tmp_path / "written"
    streaming.TARGETS[target].write(outline, weights, path, lambda steps: None)
    streaming.TARGETS[target].check(outline, weights, path)
    middle = path.stat().st_size // 2
    with open(path, "r+b") as file:
        file.seek(middle)
        byte = file.read(1)
        file.seek(middle)
        file.write(bytes([byte[0] ^ 1]))
    with pytest.raises(OSError, match="differs in the file that was just written"):
        streaming.TARGETS[target].check(outline, weights, path)


@pytest.mark.parametrize("options", [{"format": "ascii"}, {"long_size": 4}, {"byte_order": "big"}])
def test_other_forms_are_read_as_a_whole(tmp_path, monkeypatch, options):
    monkeypatch.setattr(streaming, "LARGE", 0)
    rl.save({"w": rl.arange(300_000)}, tmp_path / "a.t7", **options)
    assert read_outline(tmp_path / "a.t7") is None
    report = rl.convert(tmp_path / "a.t7", tmp_path / "a.safetensors")
    assert report.read_back and report.warnings == []


def test_a_large_storage_by_itself_is_read_as_a_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "LARGE", 0)
    rl.save({"w": rl.ones(3), "s": rl.arange(300_000).storage()}, tmp_path / "a.t7")
    rl.convert(tmp_path / "a.t7", tmp_path / "a.safetensors")
    assert rl.load(tmp_path / "a.safetensors").s.tensor()[-1].item() == 299_999


def test_a_file_that_is_cut_off_is_refused(tmp_path, checkpoint, monkeypatch):
    monkeypatch.setattr(streaming, "LARGE", 0)
    os.truncate(checkpoint, os.path.getsize(checkpoint) // 2)
    with pytest.raises(rl.FileFormatError):
        rl.convert(checkpoint, tmp_path / "x.safetensors")
    assert os.listdir(tmp_path) == ["large.t7"]


MEASURE = """
import resource, sys
from relume.converters.conversion import convert
from relume.converters.weights import streaming
streaming.LARGE = 0
convert(sys.argv[1], sys.argv[1] + ".small" + sys.argv[3])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
convert(sys.argv[2], sys.argv[2] + ".large" + sys.argv[3])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("ending", [".safetensors", ".npz", ".h5", ".t7"])
def test_memory(tmp_path, ending):
    rl.save({"w": rl.ones(1 << 19)}, tmp_path / "small.t7")
    rl.save([rl.ones(1 << 22) for _ in range(5)], tmp_path / "large.t7")  # 5 of 16 MB
    files = [str(tmp_path / name) for name in ("small.t7", "large.t7")]
    command = [sys.executable, "-c", MEASURE, *files, ending]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(result.stdout) < 40 * 1024  # kilobytes, of 80 * 1024 in all
