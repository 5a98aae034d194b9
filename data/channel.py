"""Messages between processes that pass tensors and arrays through shared memory.

A message is one block of memory (an anonymous file, which the kernel frees when its last user
goes, however that ends) with the pickle and the elements of all tensors. Only its descriptor
goes through the pipe, so neither side ever waits for the other to read.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import socket
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

import relume as rl
from relume import Tensor

_ALIGNMENT = 64


class _Block:
    """Elements that are to stand one after another in a block of memory."""

    def __init__(self) -> None:
        self.parts: list[tuple[int, np.ndarray]] = []
        self.size = 0

    def add(self, array: np.ndarray) -> int:
        """Where the elements will stand."""
        place = -(-self.size // _ALIGNMENT) * _ALIGNMENT
        self.parts.append((place, array))
        self.size = place + array.nbytes
        return place

    def write(self, memory: mmap.mmap) -> None:
        for place, array in self.parts:
            target = np.frombuffer(memory, array.dtype, array.size, place)
            target.reshape(array.shape)[...] = array


class _Pickler(pickle.Pickler):
    """Puts elements into a block instead of the pickle."""

    def __init__(self, file: io.BytesIO, block: _Block) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._block = block

    def persistent_id(self, value: Any) -> Any:
        if type(value) is Tensor:
            if value.numel() == 0 or not value.is_leaf:
                return None
            raw = value.detach()
            if raw.dtype.numpy is None:  # a type that NumPy does not have: as bytes
                return None
            place = self._block.add(raw.numpy())
            return ("tensor", place, value.shape, raw.dtype.name, value.requires_grad)
        if type(value) is np.ndarray and value.dtype.kind in "biufc" and value.size:
            return ("array", self._block.add(value), value.shape, value.dtype.str, False)
        return None


class _Unpickler(pickle.Unpickler):
    """Takes elements from a block, which lives as long as what looks at it."""

    def __init__(self, file: io.BytesIO, memory: mmap.mmap) -> None:
        super().__init__(file)
        self._memory = memory

    def persistent_load(self, pid: Any) -> Any:
        kind, place, shape, dtype, requires_grad = pid
        count = int(np.prod(shape))
        array = np.frombuffer(self._memory, dtype, count, place).reshape(shape)
        if kind == "array":
            return array
        return rl.from_numpy(array).requires_grad_(requires_grad)


def send(connection: Connection, message: Any) -> None:
    """Sends anything that can be pickled."""
    file, block = io.BytesIO(), _Block()
    _Pickler(file, block).dump(message)
    text = np.frombuffer(file.getbuffer(), np.uint8)
    place = block.add(text)
    descriptor = os.memfd_create("relume")
    try:
        os.ftruncate(descriptor, block.size)
        memory = mmap.mmap(descriptor, block.size)
        block.write(memory)
        with socket.socket(fileno=os.dup(connection.fileno())) as pipe:
            socket.send_fds(pipe, [place.to_bytes(8, "little")], [descriptor])
    finally:
        os.close(descriptor)


def receive(connection: Connection) -> Any:
    """The next message. EOFError when the other side has gone."""
    with socket.socket(fileno=os.dup(connection.fileno())) as pipe:
        head, descriptors, _, _ = socket.recv_fds(pipe, 8, 1)
    if not head or not descriptors:
        raise EOFError("the other process has closed the pipe")
    (descriptor,) = descriptors
    try:
        memory = mmap.mmap(descriptor, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)
    return _Unpickler(io.BytesIO(memory[int.from_bytes(head, "little") :]), memory).load()
