"""Readers of every format, on files that were damaged on purpose: they refuse, or read.

hypothesis finds the files; what it found once stands in the folder `findings`, and is read in every
run.
"""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import relume as rl
from relume import legacy_nn as nn
from relume.converters import safetensors
from relume.converters.errors import FileFormatError
from relume.converters.formats import CannotConvert
from relume.converters.weights import collect
from relume.converters.weights.description import describe
from relume.converters.weights.rebuilding import rebuild

ENDINGS = ["t7", "safetensors", "npz", "h5", "onnx", "pt"]
FINDINGS = sorted((Path(__file__).parent / "findings").glob("*.*"))
RELAXED = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def network():
    net = nn.Sequential().add(nn.Linear(3, 2)).add(nn.View(2)).add(nn.WeightNorm(nn.Linear(2, 2)))
    return {"net": net, "tied": net.get(1).weight, "raw": b"\xff", "epoch": 3}


def images():
    net = nn.Sequential().add(nn.SpatialConvolution(1, 2, 3, 3)).add(nn.ReLU())
    return net.add(nn.View(-1).setNumInputDims(3)).add(nn.Linear(2 * 36, 2)).float()


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """The bytes of a valid file per ending."""
    folder = tmp_path_factory.mktemp("valid")
    rl.manual_seed(1)
    for ending in ENDINGS[:4]:
        rl.convert(network(), folder / f"a.{ending}", verify=False)
    for ending in ("onnx", "py"):  # which writes b.pt beside it
        rl.convert(images(), folder / f"b.{ending}", verify=False)
    stems = {ending: "a" if ending in ENDINGS[:4] else "b" for ending in ENDINGS}
    return {ending: (folder / f"{stem}.{ending}").read_bytes() for ending, stem in stems.items()}


def read(path):
    """Reads a file; only the errors that a user can understand come out."""
    try:
        rl.load(path)
    except (FileFormatError, CannotConvert, NotImplementedError) as error:
        assert str(error)


@st.composite
def damage(draw):
    """Changes of bytes: (where, as a share of the file; what to write; how many to cut)."""
    pieces = st.tuples(
        st.floats(0, 1, exclude_max=True), st.binary(min_size=0, max_size=9), st.integers(0, 9)
    )
    return draw(st.lists(pieces, min_size=1, max_size=4))


def damaged(content, changes):
    for share, new, cut in changes:
        at = int(share * len(content))
        content = content[:at] + new + content[at + cut :]
    return content


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ending", ENDINGS)
@given(changes=damage())
@RELAXED
def test_damaged_bytes(originals, tmp_path, ending, changes):
    path = tmp_path / f"damaged.{ending}"
    path.write_bytes(damaged(originals[ending], changes))
    read(path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ending", ENDINGS)
@given(share=st.floats(0, 1))
@RELAXED
def test_files_that_are_cut_off(originals, tmp_path, ending, share):
    content = originals[ending]
    path = tmp_path / f"short.{ending}"
    path.write_bytes(content[: int(share * len(content))])
    read(path)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 40)
    | st.sampled_from([2**40, 2**70, 1.5, "nn.Linear", "table", "nan", "weight", "AA==", "float32"])
    | st.builds(lambda n: {"object": n}, st.integers(-1, 12)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "class fields entries values tensor shape stride offset storage zeros version tag "
                "bytecode upvalues payload number form modules weight gradWeight".split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def described():
    weights = collect(network())
    return json.loads(describe(weights)), dict(weights.arrays)


@given(data=st.data())
@RELAXED
def test_descriptions_with_other_values(described, data):
    """Any part of a description replaced by anything."""
    description, arrays = json.loads(json.dumps(described[0])), described[1]
    for _ in range(data.draw(st.integers(1, 3))):
        place, steps = description, data.draw(st.integers(1, 5))
        for _ in range(steps):
            if not isinstance(place, (dict, list)) or not place:
                break
            keys = sorted(place) if isinstance(place, dict) else range(len(place))
            key = data.draw(st.sampled_from(keys))
            parent, place = place, place[key]
        parent[key] = data.draw(values)
    try:
        rebuild(json.dumps(description), arrays)
    except FileFormatError as error:
        assert str(error)


@pytest.mark.parametrize("path", FINDINGS, ids=lambda path: path.name)
def test_findings(path):
    """What a reader once took badly is refused."""
    with pytest.raises(FileFormatError):
        rl.load(path)


def test_numbers_of_nothing(tmp_path):
    """Data sets of HDF5 that claim more than the file can hold, or lie in other files."""
    with h5py.File(tmp_path / "bomb.h5", "w") as file:
        file.create_dataset("w", shape=(10**12,), dtype="f4", chunks=(1024,))
    with pytest.raises(FileFormatError, match="from 0 in the file"):
        rl.load(tmp_path / "bomb.h5")
    (tmp_path / "secret").write_bytes(b"12345678")
    with h5py.File(tmp_path / "thief.h5", "w") as file:
        outside = [(str(tmp_path / "secret"), 0, 8)]
        file.create_dataset("w", shape=(8,), dtype="u1", external=outside)
    with pytest.raises(FileFormatError, match="in other files"):
        rl.load(tmp_path / "thief.h5")


def test_pickles_are_never_opened(tmp_path):
    np.savez(tmp_path / "evil.npz", w=np.array([print], dtype=object))
    with pytest.raises(FileFormatError, match="allow_pickle"):
        rl.load(tmp_path / "evil.npz")


def test_axes_that_do_not_fit(tmp_path):
    description = {"relume": 1, "root": None, "objects": [], "keras": {"w": {"axes": [3, 9, 1]}}}
    arrays = {"w": np.ones((2, 3))}
    safetensors.write(tmp_path / "a.safetensors", arrays, {"relume": json.dumps(description)})
    with pytest.raises(FileFormatError, match="axes"):
        rl.load(tmp_path / "a.safetensors")
