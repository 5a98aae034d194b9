"""Files of any format that holds a model: `relume.load`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from relume.converters import t7
from relume.converters.formats import (
    FORMATS,
    Format,
    format_by_ending,
    format_of,
    reading,
)
from relume.converters.sniff import HEAD, content_kind

__all__ = ["load", "load_any", "readable_format"]


def load(path: str | os.PathLike[str], **options: Any) -> Any:
    """What a file holds: the first object of a Torch7 file, or the network in a file of another
    format that `relume.convert` writes and reads (.safetensors, .npz, .h5, ...).

    Args:
        path: the file.
        options: for a Torch7 file `long_size`, `classes` and `lua`; see `converters.t7.load`.

    Raises:
        FileFormatError: it is no such file, or a damaged one; the message says what it is.
        OSError: the file cannot be opened.

    >>> import os, tempfile
    >>> import relume as rl
    >>> path = os.path.join(tempfile.mkdtemp(), "net.safetensors")
    >>> net = rl.legacy_nn.Sequential().add(rl.legacy_nn.Linear(3, 2))
    >>> _ = rl.convert(net, path)
    >>> rl.load(path).get(1)
    nn.Linear(3 -> 2)
    """
    if options:
        return t7.load(path, **options)
    return load_any(path)


def load_any(path: str | os.PathLike[str]) -> Any:
    """What a file of any readable format holds."""
    if hasattr(path, "read"):
        return t7.load(path)
    file_format, by_name = readable_format(path), format_by_ending(path)
    found = load_as(file_format, Path(path))
    if type(found) is dict and file_format.name == "hdf5" and by_name == format_of("", "t7"):
        return t7.load(path)  # another tool's arrays under a name of Torch7: it says what they are
    return found


def readable_format(path: str | os.PathLike[str]) -> Format:
    """The format of a file: the one that its beginning tells, or else its name; a file that tells
    nothing is taken for a Torch7 file.

    Raises:
        OSError: the file cannot be opened.
    """
    rows = [row for row in FORMATS if row.load is not None]
    with open(os.fspath(path), "rb") as file:  # a number would be somebody's open file
        kind = content_kind(file.read(HEAD), os.path.getsize(path))
    found = next((row for row in rows if kind in row.contents), format_by_ending(path))
    return found if found in rows else format_of("", "t7")


def load_as(file_format: Format, path: Path) -> Any:
    """What a file of a format holds. Whatever the libraries that read it make of damaged ones is a
    FileFormatError."""
    with reading(file_format.name, path):
        return file_format.load(path)  # type: ignore[misc]
