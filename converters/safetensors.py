"""The safetensors format: a length, a JSON header, and the bytes of all tensors.

    8 bytes   length of the header, little-endian
    header    {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ...,
               "__metadata__": {"key": "text"}}, padded with spaces to a multiple of 8
    data      the tensors, row-major, little-endian, one after another without gaps

The reader trusts nothing: a header that does not describe the file exactly is refused.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

import numpy as np

from relume.converters.errors import FileFormatError

__all__ = ["SafetensorsError", "places", "read", "write"]

MAX_HEADER_BYTES = 100_000_000
METADATA = "__metadata__"
NUMPY_TYPES = {
    "BOOL": np.dtype("?"),
    "U8": np.dtype("u1"),
    "I8": np.dtype("i1"),
    "I16": np.dtype("<i2"),
    "U16": np.dtype("<u2"),
    "I32": np.dtype("<i4"),
    "U32": np.dtype("<u4"),
    "I64": np.dtype("<i8"),
    "U64": np.dtype("<u8"),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}
NAMES = {dtype: name for name, dtype in NUMPY_TYPES.items()}


class SafetensorsError(FileFormatError):
    """A file is no safetensors file, or its header does not fit its contents."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="safetensors")

    def __reduce__(self) -> tuple:
        return type(self), (self.message,), self.__dict__


def write(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Any],
    metadata: Mapping[str, str] | None = None,
    progress: Callable[[int], None] = lambda steps: None,
) -> None:
    """Writes arrays under their names.

    Args:
        path: the file; what was there is lost (see `atomic.replacing`).
        tensors: arrays of bool, integer or floating types, by name; or what has a dtype, a shape,
            nbytes and tofile, as they have.
        metadata: text to keep with them.
        progress: called with the number of tensors as they are written.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "two.safetensors")
    >>> write(path, {"weight": np.eye(2), "bias": np.zeros(2)}, {"made by": "an example"})
    >>> tensors, metadata = read(path)
    >>> sorted(tensors), metadata["made by"]
    (['bias', 'weight'], 'an example')
    """
    header: dict[str, Any] = {METADATA: dict(metadata)} if metadata else {}
    offset = 0
    for name, array in tensors.items():
        dtype = array.dtype.newbyteorder("<")
        if dtype not in NAMES:
            raise TypeError(f"{name}: safetensors has no type for {array.dtype}")
        if name == METADATA:
            raise ValueError(f"a tensor cannot be called {METADATA}: the format reserves the name")
        end = offset + array.nbytes
        header[name] = {
            "dtype": NAMES[dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, end],
        }
        offset = end
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER_BYTES:
        raise ValueError(f"{len(tensors)} names need a header of {len(text)} bytes; too long")
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in tensors.values():
            if isinstance(array, np.ndarray):
                array = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
                file.write(array.reshape(-1).view(np.uint8).data)  # tofile hides a full disk
            else:
                array.tofile(file)
            progress(1)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Reads all arrays and the metadata. bfloat16 becomes float32, which holds it exactly.

    Raises:
        SafetensorsError: the file is not what its header says; the message says where.
    """
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        entries, metadata, start = _read_header(file, size)
        tensors = {}
        for name, (dtype, shape, begin, end) in entries.items():
            file.seek(start + begin)
            stored = np.dtype("<u2") if dtype == "BF16" else NUMPY_TYPES[dtype]
            array = np.fromfile(file, stored, (end - begin) // stored.itemsize).reshape(shape)
            if dtype == "BF16":
                array = (array.astype(np.uint32) << 16).view(np.float32)
            tensors[name] = array
    return tensors, metadata


def places(path: str | os.PathLike[str]) -> dict[str, tuple[int, int]]:
    """Where the bytes of each array begin and end in a file.

    Raises:
        SafetensorsError: the file is not what its header says.
    """
    with open(path, "rb") as file:
        entries, _, start = _read_header(file, os.path.getsize(path))
    return {name: (start + begin, start + end) for name, (_, _, begin, end) in entries.items()}


_Entry = tuple[str, tuple[int, ...], int, int]


def _read_header(file: BinaryIO, size: int) -> tuple[dict[str, _Entry], dict[str, str], int]:
    """Everything that the header says, checked, and the place where the data starts."""
    if size < 8:
        raise SafetensorsError(f"{size} bytes are too few for a safetensors file")
    length = int.from_bytes(file.read(8), "little")
    if length > min(size - 8, MAX_HEADER_BYTES):
        raise SafetensorsError(
            f"no safetensors file, or a truncated one: the first 8 bytes announce a header of "
            f"{length} bytes, and {size - 8} follow"
        )
    try:
        header = json.loads(file.read(length), object_pairs_hook=_without_duplicates)
    except SafetensorsError:
        raise
    except (ValueError, RecursionError) as error:
        raise SafetensorsError(f"the header is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise SafetensorsError("the header is not a JSON object")
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise SafetensorsError(f"{METADATA} does not map names to text")
    entries = {name: _entry(name, value) for name, value in header.items()}
    position = 0
    for name, (_, _, begin, end) in sorted(entries.items(), key=lambda item: item[1][2:]):
        if begin != position:
            raise SafetensorsError(
                f"{name}: begins at {begin}, but {position} bytes come before it"
            )
        position = end
    if position != size - 8 - length:
        raise SafetensorsError(
            f"the header describes {position} bytes of data, the file has {size - 8 - length}"
        )
    return entries, metadata, 8 + length


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise SafetensorsError("the header names something twice")
    return result


def _entry(name: str, value: Any) -> _Entry:
    def is_size(number: Any) -> bool:
        return type(number) is int and 0 <= number < 2**63

    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        raise SafetensorsError(f"{name}: expected dtype, shape and data_offsets")
    dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(dtype, str) or (dtype not in NUMPY_TYPES and dtype != "BF16"):
        raise SafetensorsError(f"{name}: unknown dtype {dtype!r}")
    if not isinstance(shape, list) or not all(is_size(n) for n in shape):
        raise SafetensorsError(f"{name}: {shape!r} is no shape")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(is_size(n) for n in offsets):
        raise SafetensorsError(f"{name}: {offsets!r} are no data_offsets")
    begin, end = offsets
    item_size = 2 if dtype == "BF16" else NUMPY_TYPES[dtype].itemsize
    if end - begin != math.prod(shape) * item_size:
        raise SafetensorsError(
            f"{name}: shape {shape} of {dtype} does not fill bytes {begin}..{end}"
        )
    return dtype, tuple(shape), begin, end
