"""Weights as an .npz file: a zip of .npy files; what else there is to say stands beside them."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from relume.converters.errors import FileFormatError
from relume.converters.formats import Options, reading
from relume.converters.t7.outline import LargeArray
from relume.converters.weights.contents import Contents, aliases_in, check, contents_of, object_of

__all__ = ["check", "load", "places", "read", "write", "write_contents"]

ALIASES = "aliases.json"
DESCRIPTION = "relume.json"
LENGTHS_AT = 26  # in the header of a member: two numbers, of the name and of what is extra


def write(obj: Any, path: Path, options: Options) -> None:
    write_contents(contents_of(obj, options), path, options)


def write_contents(contents: Contents, path: Path, options: Options) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in contents.arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                write_array(member, array)
            options.progress(1)
        if contents.aliases:
            archive.writestr(ALIASES, json.dumps(contents.aliases))
        archive.writestr(DESCRIPTION, contents.description)


def write_array(member: IO[bytes], array: np.ndarray | LargeArray) -> None:
    if isinstance(array, np.ndarray):
        np.lib.format.write_array(member, array, allow_pickle=False)
        return
    kind = np.lib.format.dtype_to_descr(array.dtype)
    head = {"descr": kind, "fortran_order": False, "shape": array.shape}
    np.lib.format.write_array_header_1_0(member, head)
    for piece in array.chunks():
        member.write(piece)


def places(path: Path) -> dict[str, tuple[int, int]]:
    """Where the bytes of each array begin and end in a file that `write` wrote."""
    found = {}
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        for member in archive.infolist():
            name, is_array, _ = member.filename.rpartition(".npy")
            if is_array:
                file.seek(member.header_offset + LENGTHS_AT)
                begin = file.tell() + 4 + sum(struct.unpack("<HH", file.read(4)))
                file.seek(begin)
                np.lib.format.read_magic(file)
                np.lib.format.read_array_header_1_0(file)
                found[name] = (file.tell(), begin + member.file_size)
    return found


def load(path: Path) -> Any:
    """The object in the file; of a file of other tools, the arrays by name."""
    return object_of(read(path))


def read(path: Path) -> Contents:
    """Everything in the file.

    Raises:
        FileFormatError: it is no such file, or a damaged one.
    """
    with reading("npz", path):
        with np.load(path, allow_pickle=False) as archive:
            if isinstance(archive, np.ndarray):
                raise FileFormatError("it is a single array (.npy)", kind="npy")
            texts = (ALIASES, DESCRIPTION)
            arrays = {name: archive[name] for name in archive.files if name not in texts}
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            aliases = aliases_in(archive.read(ALIASES)) if ALIASES in names else {}
            description = archive.read(DESCRIPTION).decode() if DESCRIPTION in names else ""
    return Contents(arrays, aliases, description)
