"""Storages on memory that is not relume's: files and addresses."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np

import relume as rl

__all__ = ["at_address", "map_file"]

# By half the name of a Torch7 class.
DTYPES: dict[str, Any] = {
    "Byte": np.uint8,
    "Char": np.int8,
    "Short": np.int16,
    "Int": np.int32,
    "Long": np.int64,
    "Half": np.float16,
    "Float": np.float32,
    "Double": np.float64,
}


def map_file(path: str, element: str, shared: bool, size: int | None) -> rl.Storage:
    """The bytes of a file as a storage.

    Args:
        path: the file; with `shared` and a `size` it is made, or made longer.
        element: "Byte", "Float", ...: how the bytes are seen; a rest is left out.
        shared: writing into the storage changes the file; otherwise it is a copy.
        size: the count of elements; None for all that the file holds.

    Raises:
        OSError: there is no such file, or it cannot be written.
        ValueError: the file is shorter than `size`.
    """
    dtype = np.dtype(DTYPES[element])
    if shared and size is not None:
        with open(path, "ab") as file:
            if os.path.getsize(path) < size * dtype.itemsize:
                file.truncate(size * dtype.itemsize)
    available = os.path.getsize(path) // dtype.itemsize
    count = available if size is None else size
    if count > available:
        raise ValueError(f"{path} holds {available} elements of this type, not {count}")
    if shared and count > 0:
        return _storage(np.memmap(path, dtype, "r+", shape=(count,)))
    return _storage(np.fromfile(path, dtype, count))


def at_address(address: int, element: str, size: int) -> rl.Storage:
    """`size` elements of memory that somebody else owns and keeps alive."""
    dtype = np.dtype(DTYPES[element])
    block: Any = (ctypes.c_char * (size * dtype.itemsize)).from_address(address)
    return _storage(np.frombuffer(block, dtype))


def _storage(array: Any) -> rl.Storage:
    storage = rl.from_numpy(array).storage()
    assert storage is not None
    return storage
