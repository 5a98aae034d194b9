"""A disk that is full leaves the old file whole, and is told."""

import subprocess
import sys

import pytest

import relume as rl
from relume import legacy_nn as nn

CONVERT = """
import resource, sys
import relume as rl
net = rl.load(sys.argv[1])
if sys.argv[2].endswith((".py", ".onnx")):  # their libraries are there before the limit is
    rl.convert(net, sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    rl.convert(net, sys.argv[2])
except OSError as error:
    print(error)
else:
    print("written")
"""


@pytest.mark.parametrize("ending", ["t7", "safetensors", "npz", "h5", "onnx", "py"])
def test_a_file_that_has_no_room(tmp_path, ending):
    if ending == "py":
        pytest.importorskip("torch")
    net = nn.Sequential().add(nn.Linear(30, 400)).add(nn.Linear(400, 20)).float()
    rl.save(net, tmp_path / "net.t7")
    target = tmp_path / f"out.{ending}"
    target.write_text("old")
    arguments = [tmp_path / "net.t7", target, tmp_path / f"before.{ending}"]
    done = subprocess.run(
        [sys.executable, "-c", CONVERT, *map(str, arguments)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert f"cannot write {target}: File too large; nothing was changed" in done.stdout
    assert target.read_text() == "old"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
