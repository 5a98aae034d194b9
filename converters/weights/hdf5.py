"""Weights as an HDF5 file: a group per step of the path; aliases are hard links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from relume.converters.formats import Options, Refusal
from relume.converters.weights.collecting import collect, named_tensors


def check(obj: Any) -> list[Refusal]:
    """Nothing is refused: what is no tensor is left out."""
    return []


def write(obj: Any, path: Path, options: Options) -> None:
    import h5py

    weights = collect(obj, everything=options.everything)
    with h5py.File(path, "w") as file:
        for name, array in weights.arrays.items():
            file.create_dataset(place_of(name), data=array).attrs["path"] = name
            options.progress(1)
        for alias, name in weights.aliases.items():
            if place_of(alias) not in file:
                file[place_of(alias)] = file[place_of(name)]


def load(path: Path) -> Any:
    """The tensors by name."""
    import h5py

    arrays: dict[str, np.ndarray] = {}

    def visit(place: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            arrays[item.attrs.get("path", place)] = item[()]

    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return named_tensors(arrays, {})


def place_of(name: str) -> str:
    """ "modules.1.weight" as "modules/1/weight"; a key's own "/" would make a group.

    >>> place_of("modules.1.weight")
    'modules/1/weight'
    """
    return name.replace("/", "\\").replace(".", "/")
