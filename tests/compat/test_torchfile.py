"""relume.compat.torchfile gives what the package torchfile gives, and reads what it does not."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relume as rl
from relume.compat import torchfile

DATA = Path(__file__).parent.parent / "data"
FILES = sorted(
    path for path in (DATA / "t7").glob("*/*.t7") if path.parent.name not in ("malformed", "legacy")
)
LAYERS = [DATA / "nn" / f"{name}.t7" for name in ("Abs", "Concat", "ConcatTable", "LookupTable")]


def is_object(value: Any) -> bool:
    return type(value).__name__ == "TorchObject"


class Comparison:
    """Compares two trees; objects that were met before must be the same again."""

    def __init__(self) -> None:
        self.partners: dict[int, Any] = {}
        self.alive: list[Any] = []

    def same(self, expected: Any, actual: Any) -> None:
        if isinstance(expected, np.ndarray):
            assert type(actual) is np.ndarray
            assert actual.dtype == expected.dtype
            assert actual.shape == expected.shape
            assert expected.size < 2 or actual.strides == expected.strides
            return np.testing.assert_array_equal(actual, expected)
        if isinstance(expected, float) and expected != expected:
            assert actual != actual
            return None
        if not isinstance(expected, (dict, list, tuple)) and not is_object(expected):
            assert type(actual) is type(expected)
            assert actual == expected
            return None
        if id(expected) in self.partners:
            # Lists that hold themselves are dicts in places, there.
            assert self.partners[id(expected)] is actual or isinstance(actual, (list, tuple))
            return None
        self.partners[id(expected)] = actual
        self.alive.append(expected)
        return self.same_container(expected, actual)

    def same_container(self, expected: Any, actual: Any) -> None:
        assert type(actual).__name__ == type(expected).__name__
        if is_object(expected):
            assert actual.torch_typename() == expected.torch_typename()
            assert actual._version_number == expected._version_number
            return self.same(expected._obj, actual._obj)
        if isinstance(expected, dict):
            assert len(actual) == len(expected)
            for mine, theirs in zip(actual.items(), expected.items(), strict=True):
                self.same(theirs[0], mine[0])
                self.same(theirs[1], mine[1])
            return None
        assert len(actual) == len(expected)
        for mine, theirs in zip(actual, expected, strict=True):
            self.same(theirs, mine)
        return None


OPTIONS = [
    {},
    {"use_int_heuristic": False},
    {"use_list_heuristic": False},
    {"utf8_decode_strings": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "default")
@pytest.mark.parametrize("path", FILES + LAYERS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_results_are_those_of_the_package(path, options):
    package = pytest.importorskip("torchfile")
    try:
        expected = package.load(str(path), **options)
    except Exception:
        expected = None  # the package cannot read it; here it is read all the same
    actual = torchfile.load(path, **options)
    if expected is not None:
        Comparison().same(expected, actual)


def saved(tmp_path: Path, value: Any, **options: Any) -> Path:
    path = tmp_path / "data.t7"
    rl.save(value, path, **options)
    return path


def test_lists_of_tensors_are_read(tmp_path):
    """Where the package fails with NumPy 2."""
    path = saved(tmp_path, [rl.ones(2), rl.zeros(3)])
    first, second = torchfile.load(path)
    assert first.tolist() == [1, 1]
    assert second.tolist() == [0, 0, 0]


@pytest.mark.parametrize("form", [{"format": "ascii"}, {"byte_order": "big"}, {"long_size": 4}])
def test_every_form_is_read(tmp_path, form):
    path = saved(tmp_path, {"x": rl.tensor([1, 2, 3]), "name": "net"}, **form)
    data = torchfile.load(path)
    assert data[b"x"].tolist() == [1, 2, 3]
    assert data.name == b"net"


def test_arrays_of_one_storage_share_memory(tmp_path):
    flat = rl.zeros(6)
    data = torchfile.load(saved(tmp_path, {"flat": flat, "matrix": flat.reshape(2, 3)}))
    data.flat[4] = 7
    assert data.matrix[1, 1] == 7
    assert np.shares_memory(data.flat, data.matrix)


def test_tables_may_be_keys_and_hold_themselves():
    inner = rl.Table({"a": 1})
    root = rl.Table({"name": "root"})
    root["me"] = root
    root[inner] = "value"
    data = torchfile.T7Reader(io.BytesIO(rl.dumps(root))).read_obj()
    assert data.me is data
    key = next(key for key in data if isinstance(key, dict))
    assert key == key
    assert data[key] == b"value"


def test_depth_is_no_danger(tmp_path):
    table = rl.Table()
    for _ in range(50_000):
        table = rl.Table([table])
    depth, value = 0, torchfile.load(saved(tmp_path, table))
    while value:
        depth, value = depth + 1, value[0]
    assert depth == 50_000


def test_a_reader_gives_one_object_after_the_other(tmp_path):
    path = tmp_path / "two.t7"
    rl.save_all([1, "two"], path)
    with open(path, "rb") as file:
        reader = torchfile.T7Reader(file)
        assert [reader.read_obj(), reader.read_obj()] == [1, b"two"]
        with pytest.raises(torchfile.T7ReaderException, match="no further object"):
            reader.read_obj()


def test_what_is_no_torch7_file_is_refused(tmp_path):
    path = tmp_path / "page.t7"
    path.write_text("<html></html>")
    with pytest.raises(torchfile.T7ReaderException, match="HTML"):
        torchfile.load(path)
