"""Weights as an .npz file: a zip of .npy files; what else there is to say stands beside them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from relume.converters.errors import FileFormatError
from relume.converters.formats import Options
from relume.converters.weights.contents import Contents, aliases_in, check, contents_of, object_of

__all__ = ["check", "load", "read", "write"]

ALIASES = "aliases.json"
DESCRIPTION = "relume.json"


def write(obj: Any, path: Path, options: Options) -> None:
    contents = contents_of(obj, options)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in contents.arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
            options.progress(1)
        if contents.aliases:
            archive.writestr(ALIASES, json.dumps(contents.aliases))
        archive.writestr(DESCRIPTION, contents.description)


def load(path: Path) -> Any:
    """The object in the file; of a file of other tools, the arrays by name."""
    return object_of(read(path))


def read(path: Path) -> Contents:
    """Everything in the file.

    Raises:
        FileFormatError: it is no such file, or a damaged one.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            if isinstance(archive, np.ndarray):
                raise FileFormatError("it is a single array (.npy)", kind="npy")
            texts = (ALIASES, DESCRIPTION)
            arrays = {name: archive[name] for name in archive.files if name not in texts}
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            aliases = aliases_in(archive.read(ALIASES)) if ALIASES in names else {}
            description = archive.read(DESCRIPTION).decode() if DESCRIPTION in names else ""
    except FileNotFoundError:
        raise
    except Exception as error:  # NumPy and zipfile raise whatever they meet
        raise not_readable(path, error) from error
    return Contents(arrays, aliases, description)


def not_readable(path: Path, error: Exception) -> FileFormatError:
    reason = FileFormatError(f"no .npz file, or a damaged one: {error}", kind="npz")
    reason.filename = str(path)
    return reason
