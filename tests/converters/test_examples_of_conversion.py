"""The examples of conversion run, and write what they say."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import relume

EXAMPLES = Path(relume.__file__).parent / "examples"


def run(name, *arguments):
    command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_checkpoint(tmp_path):
    model = EXAMPLES / "models" / "shakespeare.t7"
    out = run("convert_checkpoint.py", model, tmp_path)
    has_pytorch = importlib.util.find_spec("torch") is not None
    assert out.count("both sides compute the same") == 2 + has_pytorch
    assert "'rnn_size': 128" in out
    written = {path.name for path in tmp_path.iterdir()}
    assert written >= {"checkpoint.safetensors", "network.onnx", "network.py", "network.html"}


def test_an_image_classifier(tmp_path):
    out = run("convert_images.py", tmp_path)
    assert out.count("both sides compute the same") == 3
    assert "outputs agree" in out.splitlines()[-1]
