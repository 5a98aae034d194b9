"""A large Torch7 file into other files, without ever having it in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from relume import _C, Storage, from_numpy
from relume.converters import safetensors
from relume.converters.formats import Options, Progress
from relume.converters.object_tree import select as select_object
from relume.converters.object_tree import walk
from relume.converters.t7.arrays import Arrays, View
from relume.converters.t7.objects import ObjectForms
from relume.converters.t7.outline import LargeArray, Outline, read_outline
from relume.converters.t7.writer import Writer
from relume.converters.weights import hdf5, npz, safetensors_file
from relume.converters.weights.collecting import Weights, collect
from relume.converters.weights.contents import Contents
from relume.converters.weights.description import describe

__all__ = ["LARGE", "TARGETS", "Target", "open_large"]

LARGE = 1 << 29  # bytes of a file that is worth it

Pairs = Iterator[tuple[str, Any, Any]]


@dataclass(frozen=True)
class Target:
    """A format that large files can become.

    Attributes:
        write: writes collected weights, a piece of a tensor at a time.
        stored: the name of every array, its elements in the large file, and those in the new one.
    """

    write: Callable[[Outline, Weights, Path, Progress], None]
    stored: Callable[[Outline, Weights, Path], Pairs]

    def check(self, outline: Outline, weights: Weights, path: Path) -> None:
        """Raises OSError when a file does not hold what was to be written, byte for byte."""
        for name, array, written in self.stored(outline, weights, path):
            if array.nbytes != written.nbytes:
                raise OSError(f"{name} is of another size in the file that was just written")
            if not have_same_bytes(array, written):
                raise OSError(
                    f"{name} differs in the file that was just written; is the disk full?"
                )


def open_large(path: str | os.PathLike[str], select: str = "") -> Outline | None:
    """The outline of a file, or of the object at a path in it, that can be converted in pieces;
    None for all others."""
    if os.path.getsize(path) < LARGE:
        return None
    outline = read_outline(path)
    if outline is None:
        return None
    root = select_object(outline.root, select) if select else outline.root
    storages = [node.value for node in walk(root) if isinstance(node.value, Storage)]
    if any(storage.data_ptr() in outline.blocks for storage in storages):
        return None  # it would have to be in the description
    return Outline(root, outline.path, outline.blocks)


# ---- files of weights ----


def of_weights(module: Any, places: Callable[[Path], dict[str, tuple[int, int]]]) -> Target:
    """A format whose module writes `Contents`, and which says where the bytes of arrays are."""

    def write(outline: Outline, weights: Weights, path: Path, progress: Progress) -> None:
        arrays = arrays_of(outline, weights)
        contents = Contents(arrays, weights.aliases, describe(weights), outline.root)
        module.write_contents(contents, path, Options(progress=progress))

    def stored(outline: Outline, weights: Weights, path: Path) -> Pairs:
        found = places(path)
        for name, array in arrays_of(outline, weights).items():
            begin, end = found[name]
            count = (end - begin) // array.dtype.itemsize
            yield name, array, LargeArray(path, begin, array.dtype, (count,), (1,), 0)

    return Target(write, stored)


def arrays_of(outline: Outline, weights: Weights) -> dict[str, Any]:
    """The arrays that are written, most of them still in the file."""
    return {name: outline.array_of(weights.tensors[name]) for name in weights.arrays}


# ---- Torch7 files ----


class LargeArrays(Arrays):
    """Storages that are read from a large file when they are written to the next one."""

    def __init__(self, outline: Outline) -> None:
        super().__init__()
        self._outline = outline

    def _view(self, original: Any, tensor: Any, key: Any) -> View:
        view = super()._view(original, tensor, key)
        elements = self._outline.storage_of(tensor)
        if elements is None:
            return view
        return ViewInFile(**{name: getattr(view, name) for name in View.__slots__}, file=elements)


@dataclass(slots=True)
class ViewInFile(View):
    """A view of a storage whose elements are in a file."""

    file: LargeArray | None = None

    def contents(self) -> tuple[Storage, int, int]:
        assert self.file is not None
        storage = from_numpy(self.file.load()).storage()
        assert storage is not None
        return storage, 0, len(storage)


def write_torch7(outline: Outline, weights: Weights, path: Path, progress: Progress) -> None:
    with open(path, "wb", buffering=0) as stream:
        encoder = _C.T7Encoder(stream.write, False, 8, False)  # binary, longs of 8 bytes, little
        Writer(encoder, LargeArrays(outline), ObjectForms()).write(outline.root)
        encoder.flush()
    progress(len(weights.arrays))


def stored_in_torch7(outline: Outline, weights: Weights, path: Path) -> Pairs:
    again = read_outline(path)
    if again is None:
        raise OSError("the file that was just written cannot be read")
    written = collect(again.root, everything=True).tensors
    for name, tensor in collect(outline.root, everything=True).tensors.items():
        if name not in written:
            raise OSError(f"{name} is missing in the file that was just written")
        other = written[name]
        mine, theirs = outline.storage_of(tensor), again.storage_of(other)
        if mine is None or theirs is None:
            yield name, outline.array_of(tensor), again.array_of(other)
        else:
            yield name, mine, theirs


TARGETS = {
    "safetensors": of_weights(safetensors_file, safetensors.places),
    "npz": of_weights(npz, npz.places),
    "hdf5": of_weights(hdf5, hdf5.places),
    "t7": Target(write_torch7, stored_in_torch7),
}


# ---- bytes ----


def have_same_bytes(array: np.ndarray | LargeArray, written: np.ndarray | LargeArray) -> bool:
    """Are the elements, row by row, the same?"""
    mine, other = pieces_of(array), pieces_of(written)
    left, right = memoryview(b""), memoryview(b"")
    while True:
        left = left if left.nbytes else memoryview(next(mine, b""))
        right = right if right.nbytes else memoryview(next(other, b""))
        count = min(left.nbytes, right.nbytes)
        if count == 0:
            return left.nbytes == right.nbytes
        if left[:count] != right[:count]:
            return False
        left, right = left[count:], right[count:]


def pieces_of(array: np.ndarray | LargeArray) -> Iterator[Any]:
    if isinstance(array, LargeArray):
        return array.chunks()
    return iter([np.ascontiguousarray(array).tobytes()])
