"""relume.load on files that other people saved between 2011 and 2018.

The files are not part of the project; the tests run where they are.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relume as rl
from relume.converters import LuaFunction, t7

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "legacy_files"
FILES = sorted((FOLDER / "files").glob("*")) if FOLDER.is_dir() else []
IMPOSTORS = [path for path in FILES if path.name.startswith("impostor")]
GENUINE = [path for path in FILES if not path.name.startswith("impostor")]
RENAMED = {"nn.SpatialConvolutionSparse": "nn.SpatialConvolutionMap"}
# The truth describes a graph's modules, not the graph.
GRAPH_FIELDS = {"innode", "outnode", "fg", "bg", "forwardnodes", "backwardnodes"}

pytestmark = pytest.mark.skipif(not FILES, reason="the legacy files are not here")


def truth_of(path: Path) -> dict[str, Any]:
    return json.loads((FOLDER / "truth" / f"{path.stem}.json").read_text())


class NoClasses(dict):
    """Every class stays a TorchObject."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> type:
        return rl.TorchObject


class Content:
    """Compares what was loaded with a truth's `content`."""

    def __init__(self) -> None:
        self.object_at: dict[str, Any] = {}
        self.again: list[tuple[str, str, Any]] = []
        self.storages: dict[int, Any] = {}

    def same_root(self, expected: Any, root: Any) -> None:
        self.same(expected, root, ".")
        for where, target, value in self.again:
            assert value is self.object_at[target], f"{where} is not {target}"

    def same(self, expected: Any, actual: Any, where: str) -> None:
        if not isinstance(expected, dict):
            return self.same_plain(expected, actual, where)
        if "same_as" in expected:
            self.again.append((where, expected["same_as"], actual))
            return None
        self.object_at[where] = actual
        if "function" in expected:
            assert isinstance(actual, LuaFunction), where
            assert actual.dialect == expected["function"], where
            assert len(actual.bytecode) == expected["bytes"], where
        elif "values" in expected:
            assert actual.torch_typename == expected["type"], where
            assert actual.tolist() == expected["values"], where
        elif "type" in expected:
            self.same_tensor(expected, actual, where)
        else:
            self.same_fields(expected, actual, where)
        return None

    def same_plain(self, expected: Any, actual: Any, where: str) -> None:
        if isinstance(expected, str) and isinstance(actual, (float, int)):
            assert str(actual).lower() == expected.lower(), where  # "nan", "inf"
        elif isinstance(expected, str):
            data = actual.encode() if isinstance(actual, str) else actual
            if expected.endswith("with a path)"):
                assert len(data) == int(expected[1:].split()[0]), where
            else:
                assert data.decode("latin-1") == expected, where
        elif isinstance(expected, float):
            assert math.isclose(actual, expected, rel_tol=1e-13), where
        else:
            assert actual == expected, where
            assert isinstance(actual, bool) == isinstance(expected, bool), where

    def same_fields(self, expected: dict[str, Any], actual: Any, where: str) -> None:
        if "class" in expected:
            name = actual.torch_typename.replace("cudnn.", "nn.")
            assert RENAMED.get(name, name) == expected["class"], where
        else:
            assert type(actual) is rl.Table, where
        fields = dict(actual.fields if isinstance(actual, rl.TorchObject) else actual.items())
        plain = {
            key: value for key, value in fields.items() if isinstance(key, (str, bytes, int, float))
        }
        named = {self.name_of(key, "class" in expected): value for key, value in plain.items()}
        assert len(fields) - len(plain) == expected.get("keys_that_are_objects", 0), where
        described = dict(expected["fields"])
        if expected.get("class") == "nn.gModule":
            named = {name: value for name, value in named.items() if name not in GRAPH_FIELDS}
        if "fixedThres" in named and named["fixedThres"] == 0 and "fixedThres" not in described:
            del named["fixedThres"]  # the class's own reading took 0 for nil
        if described.pop("...", None) is None:  # which stands for the rest of a long table
            assert set(named) == set(described), where
        for name, value in described.items():
            step = name.strip("[]") if name.startswith("[") and name.endswith("]") else name
            self.same(value, named[name], step if where == "." else f"{where}.{step}")

    @staticmethod
    def name_of(key: Any, is_object: bool) -> str:
        if isinstance(key, (str, bytes)):
            return (key.encode() if isinstance(key, str) else key).decode("latin-1")
        return str(key) if is_object else f"[{key}]"

    def same_tensor(self, expected: dict[str, Any], actual: Any, where: str) -> None:
        assert isinstance(actual, rl.Tensor), where
        assert actual.torch_typename == f"torch.{expected['type']}", where
        assert list(actual.shape) == (expected["size"] or [0]), where
        if expected["size"]:
            assert list(actual.stride()) == expected["stride"], where
            assert actual.is_contiguous() == expected["contiguous"], where
        assert actual.storage_offset() == expected["offset"] - 1, where
        if expected["storage"] == "none":
            assert actual.numel() == 0, where
        else:
            storage = actual.storage()
            assert len(storage) == expected["storage"], where
            assert self.storages.setdefault(expected["storage_id"], storage) is storage, where
        if "sum" not in expected:
            return
        values = actual.numpy().reshape(-1).astype(np.float64)
        first = [float(value) for value in expected["first"]]
        shown = values if len(first) == min(6, len(values)) else values[~np.isnan(values)]
        np.testing.assert_array_equal(shown[: len(first)], np.array(first), err_msg=where)
        assert_close(values[-1], expected["last"], where)
        with np.errstate(all="ignore"):
            # Torch7's min, max and sum of a tensor with NaN depend on where it is.
            if not np.isnan(values).any():
                assert_close(values.min(), expected["min"], where)
                assert_close(values.max(), expected["max"], where)
                scale = float(np.abs(values).sum())
                assert_close(values.sum(), expected["sum"], where, scale)
                assert_close(scale, expected["abs_sum"], where)


def assert_close(actual: float, expected: Any, where: str, scale: float = 0) -> None:
    wanted = float(expected)
    if math.isfinite(wanted):
        assert math.isclose(actual, wanted, rel_tol=1e-9, abs_tol=1e-9 * scale), where
    else:
        np.testing.assert_equal(float(actual), wanted, err_msg=where)


@pytest.mark.parametrize("path", IMPOSTORS, ids=lambda path: path.stem)
def test_impostor_is_named(path):
    truth = truth_of(path)
    with pytest.raises(rl.FileFormatError) as caught:
        rl.load(path)
    error = caught.value
    assert path.name in str(error)
    if "HDF5" in truth["is_really"]:
        assert error.kind == "hdf5"
        assert "89 48 44 46" in str(error)
        assert "h5py" in str(error)
    elif "Git LFS" in truth["is_really"]:
        assert error.kind == "git-lfs"
        assert f"{truth['pointer']['size']:,}" in str(error)
        assert "git lfs pull" in str(error)
    else:
        assert error.kind == "pickle"
        assert "PyTorch" in str(error)
        assert "torch.load" in str(error)


@pytest.mark.parametrize("path", GENUINE, ids=lambda path: path.stem)
def test_content_is_what_torch7_found(path):
    truth = truth_of(path)
    file = t7.read(path, classes=NoClasses())
    assert file.encoding == truth["encoding"]
    assert file.left_over == truth["left_over_bytes"]
    assert len(file.objects) == 1
    Content().same_root(truth["content"], file.objects[0])
    counts = dict(file.class_counts)
    if truth["family"].startswith("prerelease"):
        counts["nn.Sequential"] -= 1  # the root, of which the file says nothing
    assert counts == truth["classes"]


@pytest.mark.parametrize("path", GENUINE, ids=lambda path: path.stem)
def test_load_succeeds_with_the_classes_that_are_known(path):
    value = rl.load(path)
    assert len(repr(value)) > 0
