"""Files of any format that holds a model: `relume.load`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from relume.converters import t7
from relume.converters.errors import FileFormatError
from relume.converters.formats import FORMATS, CannotConvert, Format

__all__ = ["load", "load_any"]


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
    """What a file holds; one whose ending no other format has is a Torch7 file."""
    ending = Path(os.fspath(path)).suffix.lower() if not hasattr(path, "read") else ""
    for candidate in FORMATS:
        if ending in candidate.suffixes and candidate.load is not None:
            return load_as(candidate, Path(path))
    return t7.load(path)


def load_as(file_format: Format, path: Path) -> Any:
    """What a file of a format holds. Whatever the libraries that read it make of damaged ones is a
    FileFormatError."""
    try:
        return file_format.load(path)  # type: ignore[misc]
    except (FileFormatError, CannotConvert) as error:
        if isinstance(error, FileFormatError) and error.filename is None:
            error.filename = str(path)
        raise
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except Exception as error:
        found = FileFormatError(
            f"no {file_format.name} file, or a damaged one: {error}", kind=file_format.name
        )
        found.filename = str(path)
        raise found from error
