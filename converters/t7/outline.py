"""A Torch7 file without its large storages: what is in it, and where their bytes are.

Tensors are there with their shapes and strides, but the memory of large storages was never filled.
So a file can be converted that is larger than the memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from relume import _C, Tensor
from relume.tensor.extent import extent

__all__ = ["LargeArray", "Outline", "read_outline"]

SMALLEST = 1 << 20  # bytes of a storage that stays in the file
CHUNK = 1 << 24  # bytes that are copied at a time


@dataclass(frozen=True)
class LargeArray:
    """A tensor whose elements are in a file.

    Attributes:
        path: of the file.
        offset: of the tensor's storage in it, in bytes.
        dtype, shape: as of an array of NumPy.
        strides, first: in elements of the storage.
    """

    path: Path
    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    first: int

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def chunks(self) -> Any:
        """The elements row by row, as pieces of bytes."""
        if self._is_contiguous():
            with open(self.path, "rb", buffering=0) as file:
                file.seek(self.offset + self.first * self.dtype.itemsize)
                left = self.nbytes
                while left:
                    piece = file.read(min(left, CHUNK))
                    if not piece:
                        raise OSError(f"{self.path} became shorter while it was read")
                    yield piece
                    left -= len(piece)
        else:
            yield np.ascontiguousarray(self.load()).data.cast("B")

    def tofile(self, file: BinaryIO) -> None:
        """Writes the elements, row by row."""
        for piece in self.chunks():
            file.write(piece)

    def rows(self) -> Iterator[tuple[int, np.ndarray]]:
        """The elements some rows at a time, with the number of the first of these rows."""
        if not self.shape or not self._is_contiguous():
            yield 0, self.load()
            return
        in_row = self.size // self.shape[0]
        most = max(CHUNK // (in_row * self.dtype.itemsize), 1)
        for start in range(0, self.shape[0], most):
            count = min(most, self.shape[0] - start)
            shape = (count, *self.shape[1:])
            yield start, replace(self, shape=shape, first=self.first + start * in_row).load()

    def _is_contiguous(self) -> bool:
        expected = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != expected:
                return False
            expected *= size
        return True

    def load(self) -> np.ndarray:
        """What the tensor looks at, in its order of axes."""
        _, count = extent(self.shape, self.strides)
        start = self.offset + self.first * self.dtype.itemsize
        flat = np.fromfile(self.path, self.dtype, count, offset=start)
        strides = [stride * self.dtype.itemsize for stride in self.strides]
        return np.lib.stride_tricks.as_strided(flat, self.shape, strides)


@dataclass(frozen=True)
class Outline:
    """What a file holds, without its large storages.

    Attributes:
        root: the first object; objects of all classes are `TorchObject`.
        path: of the file.
        blocks: where the storages are in the file, by the address of their empty memory.
    """

    root: Any
    path: Path
    blocks: dict[int, int]

    def array_of(self, tensor: Tensor) -> np.ndarray | LargeArray:
        """A tensor's elements, which may still be in the file."""
        storage = tensor.storage()
        offset = None if storage is None else self.blocks.get(storage.data_ptr())
        array = tensor.detach().numpy()
        if offset is None:
            return array
        shape, strides = tuple(tensor.shape), tuple(tensor.stride())
        return LargeArray(self.path, offset, array.dtype, shape, strides, tensor.storage_offset())

    def storage_of(self, tensor: Tensor) -> LargeArray | None:
        """All elements of a tensor's storage, where they are still in the file."""
        storage = tensor.storage()
        offset = None if storage is None else self.blocks.get(storage.data_ptr())
        if storage is None or offset is None:
            return None
        dtype = tensor.detach().numpy().dtype
        return LargeArray(self.path, offset, dtype, (len(storage),), (1,), 0)


def read_outline(path: str | os.PathLike[str]) -> Outline | None:
    """What is in a file, without its large storages; None where its form does not allow that: it
    is text, of another byte order, or no Torch7 file.

    >>> import os, tempfile
    >>> import relume as rl
    >>> path = os.path.join(tempfile.mkdtemp(), "large.t7")
    >>> rl.save({"large": rl.ones(1 << 20), "small": rl.ones(2)}, path)
    >>> outline = read_outline(path)
    >>> type(outline.array_of(outline.root.large)).__name__, outline.root.small.tolist()
    ('LargeArray', [1.0, 1.0])
    """
    size = os.path.getsize(path)
    with open(path, "rb", buffering=0) as file:
        found = _C.t7_read_outline(file.fileno(), size, 0, False, lambda name: None, SMALLEST)
    if found is None:
        return None
    form = (found["encoding"], found["long_size"], found["byte_order"])
    if form != ("binary", 8, "little") or found["left_over"]:
        return None
    blocks = {address: offset for address, offset, _ in found["left_blocks"]}
    return Outline(found["objects"][0], Path(path), blocks)
