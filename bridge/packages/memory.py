"""Storages on memory that is not relume's: files and addresses."""

from __future__ import annotations

import contextlib
import ctypes
import os
import weakref
from typing import Any

import numpy as np

import relume as rl
from relume.tensor.dtypes import ALL_DTYPES

__all__ = ["at_address", "map_file", "shared_memory"]

# By half the name of a Torch7 class.
DTYPES: dict[str, Any] = {
    dtype.torch_typename.removeprefix("torch.").removesuffix("Tensor"): dtype.numpy
    for dtype in ALL_DTYPES
    if dtype.torch_typename
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
    if shared:
        return _storage(_map(path, dtype, size))
    return _storage(np.fromfile(path, dtype, _count(path, dtype, size)))


def _count(path: str, dtype: Any, size: int | None) -> int:
    available = os.path.getsize(path) // dtype.itemsize
    count = available if size is None else size
    if count > available:
        raise ValueError(f"{path} holds {available} elements of this type, not {count}")
    return int(count)


def _map(path: str, dtype: Any, size: int | None) -> Any:
    """The file as an array that changes it; with a size it is made, or made longer."""
    if size is not None:
        with open(path, "ab") as file:
            if os.path.getsize(path) < size * dtype.itemsize:
                file.truncate(int(size) * dtype.itemsize)
    count = _count(path, dtype, size)
    if count == 0:
        return np.fromfile(path, dtype, 0)
    return np.memmap(path, dtype, "r+", shape=(count,))


def shared_memory(name: str, element: str, size: int | None) -> rl.Storage:
    """A storage in memory of the system's that other processes find by its name.

    The name goes when the storage that this call gave is let go of.

    Raises:
        OSError: the system has no /dev/shm.
    """
    path = os.path.join("/dev/shm", name.lstrip("/"))
    array = _map(path, np.dtype(DTYPES[element]), size)
    weakref.finalize(array, _remove, path)  # the storage holds the array
    return _storage(array)


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)


def at_address(address: int, element: str, size: int) -> rl.Storage:
    """`size` elements of memory that somebody else owns and keeps alive."""
    dtype = np.dtype(DTYPES[element])
    block: Any = (ctypes.c_char * (size * dtype.itemsize)).from_address(address)
    return _storage(np.frombuffer(block, dtype))


def _storage(array: Any) -> rl.Storage:
    storage = rl.from_numpy(array).storage()
    assert storage is not None
    return storage
