"""Compares what was loaded with the descriptions of the golden corpus."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np

import relume as rl
from relume.converters import LuaFunction, TdsHash, TdsVec
from relume.converters.t7 import origin

TORCH_NAMES = {
    "Cuda": "Float",
    "CudaByte": "Byte",
    "CudaChar": "Char",
    "CudaShort": "Short",
    "CudaInt": "Int",
    "CudaLong": "Long",
    "CudaHalf": "Half",
    "CudaDouble": "Double",
}


class Comparison:
    """Walks a description and an object side by side; equal IDs must be equal objects."""

    def __init__(self) -> None:
        self.object_of_id: dict[int, Any] = {}
        self.id_of_object: dict[int, int] = {}

    def same(self, expected: Any, actual: Any, where: str = "root") -> None:
        if not isinstance(expected, dict):
            self.same_plain(expected, actual, where)
        elif "number" in expected:
            self.same_number(expected["number"], actual, where)
        elif "bytes" in expected:
            data = actual.encode() if isinstance(actual, str) else actual
            assert data == bytes.fromhex(expected["bytes"]), where
        elif "ref" in expected:
            assert actual is self.object_of_id[expected["ref"]], where
        else:
            for kind in ("table", "tensor", "storage", "object", "tds.Hash", "tds_hash"):
                if kind in expected:
                    self.meet(expected[kind], actual, where)
                    return getattr(self, f"same_{kind.replace('.', '_')}")(expected, actual, where)
            if "tds.Vec" in expected:
                self.meet(expected["tds.Vec"], actual, where)
                assert isinstance(actual, TdsVec), where
                assert len(actual) == len(expected["items"]), where
                for i, item in enumerate(expected["items"], 1):
                    self.same(item, actual[i], f"{where}[{i}]")
                return None
            self.meet(expected["function"], actual, where)
            self.same_function(expected, actual, where)
        return None

    def meet(self, identity: int, actual: Any, where: str) -> None:
        assert identity not in self.object_of_id, where
        assert id(actual) not in self.id_of_object, f"{where}: shared, but not in the file"
        self.object_of_id[identity] = actual
        self.id_of_object[id(actual)] = identity

    def same_plain(self, expected: Any, actual: Any, where: str) -> None:
        assert type(actual) is type(expected) or (
            type(expected) in (int, float) and type(actual) in (int, float)
        ), where
        assert actual == expected, where

    def same_number(self, expected: str, actual: Any, where: str) -> None:
        assert isinstance(actual, float), where
        value = float(expected)
        if math.isnan(value):
            assert math.isnan(actual), where
        else:
            assert (actual, math.copysign(1, actual)) == (value, math.copysign(1, value)), where

    def same_pairs(self, pairs: list[Any], actual: dict[Any, Any], where: str) -> None:
        """Keys that are objects are found by what they are; the corpus describes them in order."""
        assert len(pairs) == len(actual), where
        plain = {(type(k).__name__, k): v for k, v in actual.items() if self.is_plain(k)}
        objects = [(k, v) for k, v in actual.items() if not self.is_plain(k)]
        for key, value in pairs:
            if isinstance(key, dict) and "ref" in key:
                target = self.object_of_id[key["ref"]]
                found = [pair for pair in objects if pair[0] is target]
            elif isinstance(key, dict) and not {"number", "bytes"} & set(key):
                found = [pair for pair in objects if id(pair[0]) not in self.id_of_object]
                found = [pair for pair in found if self.fits(key, pair[0])]
            elif not isinstance(key, dict):
                kinds = ("int", "float") if type(key) in (int, float) else (type(key).__name__,)
                found = [(key, plain[kind, key]) for kind in kinds if (kind, key) in plain]
            else:
                found = [(k, v) for (_, k), v in plain.items() if self.fits(key, k)]
            assert found, f"{where}: no key {key}"
            self.same_new(key, found[0][0], where)
            self.same(value, found[0][1], f"{where}[{key}]")

    def same_new(self, key: Any, actual: Any, where: str) -> None:
        self.same(key, actual, f"{where}<key>")

    @staticmethod
    def is_plain(key: Any) -> bool:
        return isinstance(key, (bool, int, float, str, bytes))

    def fits(self, expected: Any, actual: Any) -> bool:
        trial = Comparison()
        trial.object_of_id = dict(self.object_of_id)
        trial.id_of_object = dict(self.id_of_object)
        try:
            trial.same(expected, actual)
        except (AssertionError, KeyError):
            return False
        return True

    def same_table(self, expected: Any, actual: Any, where: str) -> None:
        assert type(actual) is rl.Table, where
        self.same_pairs(expected["pairs"], PairView(actual.items()), where)

    def same_tds_Hash(self, expected: Any, actual: Any, where: str) -> None:
        assert type(actual) is TdsHash, where
        assert len(actual) == len(expected["pairs"]), where
        self.same_pairs(expected["pairs"], PairView(actual.items()), where)

    same_tds_hash = same_tds_Hash

    def same_tensor(self, expected: Any, actual: Any, where: str) -> None:
        assert isinstance(actual, rl.Tensor), where
        self.same_class(expected["class"], "Tensor", actual, where)
        empty = not expected["size"]
        assert list(actual.shape) == (expected["size"] or [0]), where
        if not empty:
            assert list(actual.stride()) == expected["stride"], where
        assert actual.storage_offset() == expected["offset"] - 1, where
        if expected["storage"] is not None:
            self.same(expected["storage"], actual.storage(), f"{where}.storage")
        else:
            assert actual.numel() == 0, where
        if "values" in expected:
            assert_elements(expected["values"], actual.numpy().reshape(-1), where)

    def same_storage(self, expected: Any, actual: Any, where: str) -> None:
        assert isinstance(actual, rl.Storage), where
        self.same_class(expected["class"], "Storage", actual, where)
        assert len(actual) == expected["size"], where
        assert_elements(expected["values"], actual.tensor().numpy(), where)

    def same_class(self, expected: str, ending: str, actual: Any, where: str) -> None:
        prefix = expected.removeprefix("torch.").removesuffix(ending)
        expected = expected if prefix in TORCH_NAMES else None
        assert actual.torch_typename == f"torch.{TORCH_NAMES.get(prefix, prefix)}{ending}", where
        assert origin(actual) in ((expected, None) if ending == "Storage" else (expected,)), where

    def same_object(self, expected: Any, actual: Any, where: str) -> None:
        assert isinstance(actual, rl.TorchObject), where
        assert actual.torch_typename == expected["class"], where
        assert actual.torch_version == expected["version"], where
        if "state" in expected:
            state = expected["state"]
            self.object_of_id[state["table"]] = actual.fields
            self.same_pairs(state["pairs"], actual.fields, where)
        elif "raw" in expected:
            assert actual.payload == bytes.fromhex(expected["raw"]), where

    def same_function(self, expected: Any, actual: Any, where: str) -> None:
        assert isinstance(actual, LuaFunction), where
        assert actual.tag == expected["tag"], where
        code = expected["bytecode"]
        assert len(actual.bytecode) == code["size"], where
        assert hashlib.sha256(actual.bytecode).hexdigest() == code["sha256"], where
        if "luajit_version" in code:
            assert actual.version == code["luajit_version"], where
            assert actual.flags == code["flags"], where
            assert bool(actual.flags & 8) == code["fr2"], where
            assert actual.dialect == {1: "LuaJIT 2.0", 2: "LuaJIT 2.1"}[actual.version], where
        if "puc_lua" in code:
            assert actual.dialect == f"Lua {code['puc_lua']}", where
        upvalues = actual.upvalues
        for i, described in enumerate(expected["upvalues"]):
            value = upvalues[i].value if i < len(upvalues) else None
            if actual.tag == 8:
                assert upvalues[i].name == described["name"], where
                assert upvalues[i].id == described["id"], where
                described = described["value"]
            self.same(described, value, f"{where}.upvalues[{i}]")
        assert len(upvalues) <= len(expected["upvalues"]), where


class PairView:
    """(key, value) pairs where true and 1 may both be keys."""

    def __init__(self, pairs: list[tuple[Any, Any]]):
        self.pairs = pairs

    def items(self) -> list[tuple[Any, Any]]:
        return self.pairs

    def __len__(self) -> int:
        return len(self.pairs)


def assert_elements(expected: list[Any], actual: np.ndarray, where: str) -> None:
    assert len(expected) == actual.size, where
    if actual.dtype.kind == "i" or actual.dtype.kind == "u":
        assert actual.tolist() == expected, where
        return
    wanted = np.array([float(value) for value in expected], dtype=np.float64).astype(actual.dtype)
    np.testing.assert_array_equal(actual, wanted, err_msg=where)
    numbers = ~np.isnan(wanted)
    assert (np.signbit(actual) == np.signbit(wanted))[numbers].all(), where
