"""PyTorch's files of tensors (`torch.save(state_dict)`), written and read without PyTorch.

Such a file is a zip with a pickle and the numbers of each tensor as a member of its own. The
pickle is written opcode by opcode; reading allows the few names that tensors need and no others.
"""

from __future__ import annotations

import io
import math
import pickle
import struct
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from relume import from_numpy
from relume.converters.errors import FileFormatError
from relume.converters.formats import Refusal
from relume.converters.object_tree import class_name
from relume.tensor.extent import extent

__all__ = ["load", "read", "refuse", "write"]

STORAGE_NAMES = {
    "float64": "DoubleStorage",
    "float32": "FloatStorage",
    "float16": "HalfStorage",
    "int64": "LongStorage",
    "int32": "IntStorage",
    "int16": "ShortStorage",
    "int8": "CharStorage",
    "uint8": "ByteStorage",
    "bool": "BoolStorage",
}
DTYPES = {storage: np.dtype(name) for name, storage in STORAGE_NAMES.items()}


# ---- writing ----


class Pickle:
    """A pickle of protocol 2, written step by step."""

    def __init__(self) -> None:
        self._parts = [b"\x80\x02"]

    def opcodes(self, data: bytes) -> None:
        self._parts.append(data)

    def name(self, module: str, name: str) -> None:
        self._parts.append(f"c{module}\n{name}\n".encode())

    def text(self, value: str) -> None:
        data = value.encode()
        self._parts.append(b"X" + struct.pack("<I", len(data)) + data)

    def integer(self, value: int) -> None:
        if -(2**31) <= value < 2**31:
            self._parts.append(b"J" + struct.pack("<i", value))
        else:
            data = value.to_bytes(9, "little", signed=True)
            self._parts.append(b"\x8a" + bytes([len(data)]) + data)

    def integers(self, values: tuple[int, ...]) -> None:
        self._parts.append(b"(")
        for value in values:
            self.integer(value)
        self._parts.append(b"t")

    def bytes(self) -> bytes:
        return b"".join([*self._parts, b"."])


def write(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Writes tensors by name; arrays that are the same object become one tensor.

    Args:
        path: the file.
        arrays: in C order.
    """
    storages: dict[int, str] = {}
    distinct: list[np.ndarray] = []
    result = Pickle()
    result.name("collections", "OrderedDict")
    result.opcodes(b")R(")
    for name, array in arrays.items():
        if id(array) not in storages:
            storages[id(array)] = str(len(distinct))
            distinct.append(array)
        result.text(name)
        add_tensor(result, array, storages[id(array)])
    result.opcodes(b"u")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        archive.writestr("archive/data.pkl", result.bytes())
        archive.writestr("archive/byteorder", "little")
        for key, array in enumerate(distinct):
            with archive.open(f"archive/data/{key}", "w", force_zip64=True) as member:
                little = array.astype(array.dtype.newbyteorder("<"), copy=False)
                member.write(np.ascontiguousarray(little).data.cast("B") if array.size else b"")
        archive.writestr("archive/version", "3\n")


def add_tensor(result: Pickle, array: np.ndarray, key: str) -> None:
    """`_rebuild_tensor_v2(storage, offset, shape, strides, requires_grad, hooks)`."""
    if array.dtype.name not in STORAGE_NAMES:
        raise TypeError(f"PyTorch has no tensors of {array.dtype.name}")
    result.name("torch._utils", "_rebuild_tensor_v2")
    result.opcodes(b"((")
    result.text("storage")
    result.name("torch", STORAGE_NAMES[array.dtype.name])
    result.text(key)
    result.text("cpu")
    result.integer(array.size)
    result.opcodes(b"tQ")
    result.integer(0)
    result.integers(array.shape)
    strides = np.empty(array.shape, np.uint8).strides if array.size else (1,) * array.ndim
    result.integers(tuple(strides))
    result.opcodes(b"\x89")
    result.name("collections", "OrderedDict")
    result.opcodes(b")RtR")


# ---- reading ----


class StorageType(NamedTuple):
    """`torch.FloatStorage` and its like."""

    dtype: np.dtype


def rebuild_tensor(storage: Any, offset: int, shape: Any, strides: Any, *rest: Any) -> np.ndarray:
    """A tensor on its storage, after a check that it stays inside of it."""
    if not isinstance(storage, np.ndarray):
        raise FileFormatError("a tensor in the file has no storage")
    shape, strides = tuple(shape), tuple(strides)
    whole = all(isinstance(n, int) and n >= 0 for n in (offset, *shape, *strides))
    if not whole or len(shape) != len(strides):
        raise FileFormatError("a tensor in the file has a wrong shape")
    _, end = extent(shape, strides, offset)
    is_larger = math.prod(shape) > storage.size or end > storage.size
    if 0 not in shape and is_larger:
        raise FileFormatError("a tensor in the file is larger than its storage")
    if 0 in shape:
        return np.empty(shape, storage.dtype)
    size = storage.dtype.itemsize
    return np.lib.stride_tricks.as_strided(
        storage[offset:], shape, tuple(step * size for step in strides), writeable=False
    )


ALLOWED = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): lambda data, requires_grad, hooks: data,
    **{("torch", name): StorageType(dtype) for name, dtype in DTYPES.items()},
}


class TensorUnpickler(pickle.Unpickler):
    """Reads dicts, lists, numbers, texts and tensors; refuses everything else."""

    def __init__(self, stream: BinaryIO, storage: Callable[..., np.ndarray]) -> None:
        """Reads from a stream; `storage(key, dtype, size)` gives the numbers of tensors."""
        super().__init__(stream)
        self._storage = storage

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise FileFormatError(
                f"the file holds a {module}.{name}: only tensors are read, as "
                "`torch.save(net.state_dict(), path)` writes them"
            )
        return ALLOWED[module, name]

    def persistent_load(self, reference: Any) -> np.ndarray:
        if not isinstance(reference, tuple) or len(reference) not in (5, 6):
            raise FileFormatError("the file refers to something that is no storage")
        _, kind, key, _, size, *view = reference
        if not isinstance(kind, StorageType) or not isinstance(size, int) or size < 0:
            raise FileFormatError("the file holds a storage of an unknown type")
        if view and view[0] is not None:
            raise FileFormatError("the file holds views of storages, as the first PyTorch wrote")
        return self._storage(key, kind.dtype, size)


class ZipStorages:
    """The storages of a zip file: a member each."""

    def __init__(self, archive: zipfile.ZipFile, folder: str, order: str) -> None:
        self._archive, self._folder, self._order = archive, folder, order
        self._known: dict[str, np.ndarray] = {}

    def __call__(self, key: str, dtype: np.dtype, size: int) -> np.ndarray:
        if key not in self._known:
            data = self._archive.read(f"{self._folder}data/{key}")
            stored = dtype.newbyteorder("<" if self._order == "little" else ">")
            if size * stored.itemsize > len(data):
                raise FileFormatError(f"storage {key} of the file is cut off")
            self._known[key] = np.frombuffer(data, stored, size).astype(dtype)
        return self._known[key]


class LaterStorages:
    """The storages of a file of before 2020, which follow the pickle: empty until then."""

    def __init__(self, limit: int) -> None:
        self._left = limit  # bytes of the file: storages cannot be larger
        self.known: dict[str, np.ndarray] = {}

    def __call__(self, key: str, dtype: np.dtype, size: int) -> np.ndarray:
        if key not in self.known:
            self._left -= size * dtype.itemsize
            if self._left < 0:
                raise FileFormatError("the file is cut off: its tensors are larger than it is")
            self.known[key] = np.zeros(size, dtype)
        return self.known[key]

    def fill(self, stream: BinaryIO) -> None:
        for key in pickle_of_names(stream):
            array = self.known.get(key)
            header = stream.read(8)
            if array is None or len(header) < 8 or int.from_bytes(header, "little") != array.size:
                raise FileFormatError("the storages of the file are not those of its tensors")
            data = stream.read(array.nbytes)
            if len(data) < array.nbytes:
                raise FileFormatError("the file is cut off")
            array[...] = np.frombuffer(data, array.dtype.newbyteorder("<"), array.size)


def no_storage(*arguments: Any) -> np.ndarray:
    raise FileFormatError("a storage where there should be none")


def pickle_of_names(stream: BinaryIO) -> list[str]:
    names = TensorUnpickler(stream, no_storage).load()
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FileFormatError("the file does not list its storages")
    return names


MAGIC_NUMBER = 0x1950A86A20F9469CFC6C


def read_early(path: Path) -> Any:
    """A file of before 2020: a magic number, a version, how the machine was, the pickle, and the
    storages one after another."""
    with open(path, "rb") as stream:
        if TensorUnpickler(stream, no_storage).load() != MAGIC_NUMBER:
            raise FileFormatError(f"{path} is no file of tensors that PyTorch wrote")
        for _ in range(2):
            TensorUnpickler(stream, no_storage).load()
        storages = LaterStorages(path.stat().st_size)
        found = TensorUnpickler(stream, storages).load()
        storages.fill(stream)
    return found


def read_zip(path: Path) -> Any:
    with zipfile.ZipFile(path) as archive:
        pickles = [name for name in archive.namelist() if name.endswith("data.pkl")]
        if len(pickles) != 1:
            raise FileFormatError(f"{path} is no file of PyTorch: it has no data.pkl")
        folder = pickles[0].removesuffix("data.pkl")
        order = "little"
        if f"{folder}byteorder" in archive.namelist():
            order = archive.read(f"{folder}byteorder").decode("ascii", "replace")
        stream = io.BytesIO(archive.read(pickles[0]))
        return TensorUnpickler(stream, ZipStorages(archive, folder, order)).load()


# What Python's readers raise for bytes that make no sense.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    pickle.UnpicklingError,
    EOFError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
    MemoryError,
    OSError,
)


def read(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a state_dict, also of one inside of a checkpoint under `state_dict` or
    `model`.

    Raises:
        FileFormatError: the file is damaged or holds other objects than tensors.
    """
    with open(path, "rb"):
        pass  # an error here is none of the contents
    try:
        found = (read_zip if zipfile.is_zipfile(path) else read_early)(path)
    except FileFormatError:
        raise
    except DAMAGE as error:
        raise FileFormatError(
            f"{path} is damaged, or no file of tensors that PyTorch wrote: {error}"
        ) from error
    return tensors_of(found, path)


def load(path: Path) -> dict[str, Any]:
    """The tensors of a state_dict as tensors of relume, by name."""
    made: dict[tuple, Any] = {}
    tensors = {}
    for name, array in read(path).items():
        memory = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype)
        if memory not in made:
            made[memory] = from_numpy(np.array(array))
        tensors[name] = made[memory]
    return tensors


def refuse(obj: Any) -> list[Refusal]:
    """Such files are written beside the source that says what their tensors mean."""
    reason = "convert to a name that ends in .py: the .pt file with the weights comes with it"
    return [Refusal(class_name(obj), 1, reason)]


def tensors_of(found: Any, path: Path) -> dict[str, np.ndarray]:
    for key in ("state_dict", "model"):
        if isinstance(found, Mapping) and isinstance(found.get(key), Mapping):
            found = found[key]
    if not isinstance(found, Mapping):
        raise FileFormatError(f"{path} holds no tensors by name")
    return {str(k): v for k, v in found.items() if isinstance(v, np.ndarray)}
