"""examples/convert_to_pytorch.py: a checkpoint is trained in PyTorch and goes back."""

import importlib.util
from pathlib import Path

import pytest

import relume

pytest.importorskip("torch")
EXAMPLE = Path(relume.__file__).parent / "examples" / "convert_to_pytorch.py"


def test_a_checkpoint_is_trained_in_pytorch_and_goes_back(tmp_path):
    spec = importlib.util.spec_from_file_location("convert_to_pytorch", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    before, after, difference = example.main(tmp_path)
    assert after < 0.7 * before
    assert difference < 1e-9
