"""Networks that people saved with Torch7, as ONNX models, against what a real Torch7 computed."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from onnx_running import check_agreement, check_valid, run_model, tensors_of

import relume as rl
from relume import legacy_nn as nn
from relume.converters.object_tree import select
from relume.converters.onnx import export

FOLDER = Path(__file__).resolve().parents[4] / "shared" / "legacy_files"
TRUTHS = sorted((FOLDER / "truth").glob("*.t7")) if FOLDER.is_dir() else []

# These truths are of a loss, or of a network with a class that is not known.
WITHOUT_NETWORK = {
    "function_01",
    *(f"luaversion_{number}" for number in ("01", "03", "06", "09", "12", "14")),
}
pytestmark = pytest.mark.skipif(not TRUTHS, reason="the legacy files are not here")


def load(name):
    found = next((FOLDER / "files").glob(f"{name}.*"), FOLDER / "files" / name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # files with something left over
        return rl.load(found)


def networks(path):
    """The networks with a truth: the case and a network for it."""
    for case in rl.load(path).cases:
        root = load(path.stem)
        network = root if case.module_path == "." else select(root, case.module_path)
        is_known = isinstance(network, nn.Module) and all(
            isinstance(part, nn.Module) for part in network.walk()
        )
        if is_known and case.get("target") is None:
            yield case, network


@pytest.mark.parametrize("path", TRUTHS, ids=lambda path: path.stem)
def test_model_gives_what_torch7_gave(path):
    found = list(networks(path))
    assert bool(found) != (path.stem in WITHOUT_NETWORK)
    for number, (case, network) in enumerate(found):
        model = export(network, case.input, dynamic=number == 0)
        check_valid(model)
        check_agreement(network, model, case.input)
        expected = case.output if case.get("output64") is None else case.output64
        for mine, other in zip(run_model(model, case.input), tensors_of(expected), strict=True):
            other = other.to(rl.float64).numpy()
            scale = max(float(np.abs(other).max(initial=0)), 1e-2)
            np.testing.assert_allclose(mine, other, rtol=0, atol=1e-4 * scale)
