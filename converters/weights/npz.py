"""Weights as an .npz file: a zip of .npy files, `aliases.json` beside them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from relume.converters.formats import Options, Refusal
from relume.converters.weights.collecting import collect, named_tensors

ALIASES = "aliases.json"


def check(obj: Any) -> list[Refusal]:
    """Nothing is refused: what is no tensor is left out."""
    return []


def write(obj: Any, path: Path, options: Options) -> None:
    weights = collect(obj, everything=options.everything)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in weights.arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
            options.progress(1)
        if weights.aliases:
            archive.writestr(ALIASES, json.dumps(weights.aliases))


def load(path: Path) -> Any:
    """The tensors by name."""
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files if name != ALIASES}
    with zipfile.ZipFile(path) as archive:
        aliases = json.loads(archive.read(ALIASES)) if ALIASES in archive.namelist() else {}
    return named_tensors(arrays, aliases)
