"""Objects from the description that a file of weights has of them (see description.py)."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

import relume as rl
from relume import Tensor
from relume.converters.errors import FileFormatError
from relume.converters.filling import fill, finder, variants_in
from relume.converters.lua_function import LuaFunction
from relume.converters.table import Table
from relume.converters.tds import TdsHash, TdsVec
from relume.converters.torch_object import Payload, TorchObject
from relume.converters.weights.description import KEY, VERSION
from relume.legacy_nn.types import DTYPES
from relume.tensor.extent import extent

__all__ = ["rebuild"]

STORAGE_TYPES = {name.replace("Tensor", "Storage"): dtype for name, dtype in DTYPES.items()}
MOST_ELEMENTS = 2**40


def rebuild(text: str | bytes, arrays: Mapping[str, np.ndarray]) -> Any:
    """The object that a file describes.

    Args:
        text: the description, as JSON.
        arrays: those of the file, by name.

    Raises:
        FileFormatError: the description makes no sense.

    >>> import relume as rl
    >>> from relume.converters.weights import collect
    >>> from relume.converters.weights.description import describe
    >>> weights = collect({"w": rl.ones(2), "epoch": 3})
    >>> rebuild(describe(weights), weights.arrays)
    Table({w = <torch.FloatTensor 2>, epoch = 3})
    """
    try:
        described = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged(f"it is not JSON: {error}") from None
    check(isinstance(described, dict), "it is no JSON object")
    check(
        described.get(KEY) == VERSION,
        f"it has version {described.get(KEY)!r}, and this relume knows {VERSION}",
    )
    try:
        return Rebuilding(described, arrays).run()
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise damaged(f"{type(error).__name__}: {error}") from error
    except ValueError as error:
        if isinstance(error, FileFormatError):
            raise
        raise damaged(str(error)) from error


def damaged(reason: str) -> FileFormatError:
    return FileFormatError(
        f"the description of the objects is damaged: {reason}", 0, "root", "damaged"
    )


def check(condition: bool, reason: str) -> None:
    if not condition:
        raise damaged(reason)


def pairs_of(entry: dict[str, Any]) -> Any:
    """The fields of an object, or the entries of a table."""
    return entry["entries"] if "entries" in entry else entry.get("fields", {}).items()


def is_reference(value: Any) -> bool:
    return isinstance(value, dict) and "object" in value


class Rebuilding:
    """Makes all objects without contents, then gives each its own, children first."""

    def __init__(self, described: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        self.described = described
        self.arrays = arrays
        self.entries: list[dict[str, Any]] = described.get("objects", [])
        check(
            isinstance(self.entries, list)
            and all(isinstance(e, dict) and isinstance(e.get("class"), str) for e in self.entries),
            '"objects" is no list of objects with a class',
        )
        self.tensors: dict[str, Tensor] = {}
        self.gradient_elements = 0
        self.storages = [self.new_storage(entry) for entry in described.get("storages", [])]
        self.objects: list[Any] = []

    def run(self) -> Any:
        self.make(finder(None))
        found = [
            (self.objects[i], entry["fields"], 1.0)
            for i, entry in enumerate(self.entries)
            if isinstance(entry.get("fields"), dict)
        ]
        variants = variants_in(found, {})
        if variants:
            self.make(finder(variants))
        root = self.value(self.described.get("root"))
        for made, entry in zip(reversed(self.objects), reversed(self.entries), strict=True):
            self.fill(made, entry, root)
        return root

    def make(self, find: Callable[[str], Any]) -> None:
        self.objects = [self.new(entry, find) for entry in self.entries]

    def new(self, entry: dict[str, Any], find: Callable[[str], Any]) -> Any:
        """One object, without what refers to others."""
        name = entry["class"]
        maker = MAKERS.get(name)
        if maker is not None:
            return maker()
        if name == "function":
            return LuaFunction(int(entry["tag"]), bytes_of(entry["bytecode"]))
        if name in STORAGE_TYPES and "values" in entry:
            return rl.tensor(entry["values"], dtype=STORAGE_TYPES[name]).reshape(-1).storage()
        if "shape" in entry or "tensor" in entry:
            return self.tensor(entry)
        if "payload" in entry:
            return TorchObject(name, None, version_of(entry), self.payload(entry))
        cls = find(name)
        if cls is None:
            return TorchObject(name, {}, version_of(entry))
        return cls.__new__(cls) if isinstance(cls, type) else cls()  # type: ignore[call-overload]

    def payload(self, entry: dict[str, Any]) -> bytes:
        payload = Payload(bytes_of(entry["payload"]))
        if "number" in entry:
            is_ascii, long_size, big_endian = entry["form"]
            payload.number = int(entry["number"])
            payload.form = (bool(is_ascii), int(long_size), bool(big_endian))
            return payload
        return bytes(payload)

    # ---- tensors ----

    def tensor(self, entry: dict[str, Any]) -> Tensor:
        name = entry.get("tensor")
        if "storage" in entry:
            return self.view(entry, name)
        if name is not None:
            if name not in self.tensors:
                check(name in self.arrays, f"there is no array {name!r}")
                self.tensors[name] = rl.from_numpy(self.arrays[name])
            return self.tensors[name]
        shape = sizes(entry["shape"])
        if entry.get("zeros") is True:
            return rl.zeros(shape, dtype=self.gradient_type(entry, math.prod(shape)))
        check(math.prod(shape) == 0, f"a tensor of shape {shape} has no array")
        return rl.empty(shape, dtype=DTYPES.get(entry["class"], rl.float64))

    def gradient_type(self, entry: dict[str, Any], size: int) -> Any:
        """The type of a gradient. All gradients together are no larger than what has them."""
        self.gradient_elements += size
        most = self.weight_elements
        check(self.gradient_elements <= 2 * most, f"a gradient of {size} numbers")
        return DTYPES.get(entry["class"], rl.float64)

    @cached_property
    def weight_elements(self) -> int:
        """The numbers of all tensors in fields: as often as fields have them, for clones share
        their weights but not their gradients."""
        total = 0
        for owner in self.entries:
            for _, value in pairs_of(owner):
                field = self.entries[value["object"]] if is_reference(value) else {}
                if "storage" in field:
                    total += math.prod(sizes(field["shape"]))
                elif field.get("tensor") in self.arrays:
                    total += self.arrays[field["tensor"]].size
        return total

    def view(self, entry: dict[str, Any], name: str | None) -> Tensor:
        """A view of what overlapping tensors have in common."""
        number = entry["storage"]
        check(type(number) is int and 0 <= number < len(self.storages), f"no storage {number!r}")
        shape, stride, offset = sizes(entry["shape"]), entry["stride"], entry["offset"]
        check(
            isinstance(stride, list) and len(stride) == len(shape) and type(offset) is int,
            f"{shape}, {stride}, {offset} are no view",
        )
        whole = self.storages[number]
        first, end = extent(shape, stride, offset)
        check(0 not in shape and first >= 0 and end <= whole.numel(), "a view leaves its storage")
        view = whole.as_strided(shape, stride, offset)
        if name is not None:
            check(name in self.arrays, f"there is no array {name!r}")
            array = self.arrays[name]
            check(array.shape == tuple(shape), f"{name!r} is of the shape {array.shape}")
            once = tuple(slice(None) if step else slice(1) for step in stride)
            view[once].copy_(rl.from_numpy(array[once]))  # not what a step of 0 repeats
        return view

    def new_storage(self, entry: dict[str, Any]) -> Tensor:
        """Memory for overlapping tensors; no larger than the arrays that fill it."""
        dtype = getattr(rl, entry["dtype"]) if entry["dtype"] in DTYPE_NAMES else None
        check(dtype is not None, f"{entry['dtype']!r} is no type of numbers")
        most = sum(array.size for array in self.arrays.values())
        size = entry["size"]
        check(type(size) is int and 0 <= size <= 2 * most, f"a storage of {size} elements")
        return rl.zeros(size, dtype=dtype)

    # ---- contents ----

    def value(self, value: Any) -> Any:
        if not isinstance(value, dict):
            check(not isinstance(value, list), "a list where a value should be")
            return value
        check(len(value) == 1, f"{value!r} is no value")
        kind, content = next(iter(value.items()))
        if kind == "object":
            is_number = type(content) is int and 0 <= content < len(self.objects)
            check(is_number, f"there is no object {content!r}")
            return self.objects[content]
        if kind == "number":
            return float(content)
        check(kind == "bytes", f"{kind!r} is no kind of value")
        return as_text(bytes_of(content))

    def fill(self, made: Any, entry: dict[str, Any], root: Any) -> None:
        if isinstance(made, Table):
            for key, value in entry.get("entries", []):
                made[self.value(key)] = self.value(value)
        elif isinstance(made, TdsVec):
            made._values = [self.value(value) for value in entry.get("values", [])]
        elif isinstance(made, LuaFunction):
            upvalues = self.value(entry.get("upvalues"))
            check(upvalues is None or isinstance(upvalues, Table), "upvalues are no table")
            made._upvalues = upvalues
        elif "fields" in entry or "entries" in entry:
            fields = self.fields(entry)
            if isinstance(made, TorchObject):
                made.fields.update(fields)
            else:
                fill(made, fields, version_of(entry), root)

    def fields(self, entry: dict[str, Any]) -> dict[Any, Any]:
        values = ((self.value(key), self.value(value)) for key, value in pairs_of(entry))
        return {key: value for key, value in values if value is not None}


MAKERS: dict[str, Callable[[], Any]] = {"table": Table, "tds.Hash": TdsHash, "tds.Vec": TdsVec}
DTYPE_NAMES = {str(dtype).removeprefix("relume.") for dtype in DTYPES.values()} | {"bool"}


def version_of(entry: dict[str, Any]) -> float:
    version = entry.get("version")
    return version if isinstance(version, (int, float)) else 0


def sizes(shape: Any) -> list[int]:
    is_shape = isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)
    check(is_shape and math.prod(shape) < MOST_ELEMENTS, f"{shape!r} is no shape")
    return shape


def bytes_of(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError) as error:
        raise damaged(f"bytes that are no base64: {error}") from None


def as_text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value
