"""A large Torch7 file into safetensors, without ever having it in memory."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from relume import Storage
from relume.converters import safetensors
from relume.converters.formats import Progress
from relume.converters.object_tree import walk
from relume.converters.t7.outline import LargeArray, Outline, read_outline
from relume.converters.weights.collecting import Weights
from relume.converters.weights.description import KEY, describe
from relume.converters.weights.safetensors_file import ALIASES

__all__ = ["LARGE", "check", "open_large", "write"]

LARGE = 1 << 29  # bytes of a file that is worth it


def open_large(path: str | os.PathLike[str]) -> Outline | None:
    """The outline of a file that can be converted in pieces; None for all others."""
    if os.path.getsize(path) < LARGE:
        return None
    outline = read_outline(path)
    if outline is None:
        return None
    storages = [node.value for node in walk(outline.root) if isinstance(node.value, Storage)]
    if any(storage.data_ptr() in outline.blocks for storage in storages):
        return None  # it would have to be in the description
    return outline


def write(outline: Outline, weights: Weights, path: Path, progress: Progress) -> None:
    """Writes collected weights, a piece of a tensor at a time."""
    metadata = {"format": "relume", KEY: describe(weights)}
    if weights.aliases:
        metadata[ALIASES] = json.dumps(weights.aliases)
    safetensors.write(path, arrays_of(outline, weights), metadata, progress)


def arrays_of(outline: Outline, weights: Weights) -> dict[str, Any]:
    """The arrays that are written, most of them still in the file."""
    return {name: outline.array_of(weights.tensors[name]) for name in weights.arrays}


def check(outline: Outline, weights: Weights, path: Path) -> None:
    """Raises OSError when a file does not hold what was to be written, byte for byte."""
    places = safetensors.places(path)
    with open(path, "rb", buffering=0) as file:
        for name, array in arrays_of(outline, weights).items():
            begin, end = places[name]
            if end - begin != array.nbytes:
                raise OSError(f"{name} is of another size in the file that was just written")
            file.seek(begin)
            for piece in pieces_of(array):
                if file.read(len(piece)) != bytes(piece):
                    raise OSError(
                        f"{name} differs in the file that was just written; is the disk full?"
                    )


def pieces_of(array: np.ndarray | LargeArray) -> Any:
    if isinstance(array, LargeArray):
        return array.chunks()
    return [np.ascontiguousarray(array).tobytes()]
