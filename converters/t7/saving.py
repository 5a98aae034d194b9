"""Python objects into Torch7 files.

`save` writes one object to a file and `save_all` several, `dumps` gives bytes, and `write`, which
the others use, writes to any stream.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from relume import _C
from relume.converters.atomic import replacing
from relume.converters.formats import format_by_ending
from relume.converters.t7.arrays import Arrays
from relume.converters.t7.compaction import CompactArrays
from relume.converters.t7.objects import ObjectForms
from relume.converters.t7.writer import Writer

__all__ = ["dumps", "save", "save_all", "write"]


def save(
    obj: Any,
    path: str | os.PathLike[str] | BinaryIO,
    *,
    format: str = "binary",
    long_size: int = 8,
    byte_order: str = "little",
    compact: bool = False,
    keep_gpu_types: bool = False,
    classes: Mapping[str, Any] | None = None,
) -> None:
    """Writes an object to a file that Torch7 reads, as torch.save did.

    Whatever `relume.load` gives can be written; so can numbers, strings, lists, tuples and dicts,
    `legacy_nn` layers, arrays of NumPy, and tensors of PyTorch, alone or in a state_dict. A list
    becomes a table with the keys 1, 2, ...; None is nil, and in a list or dict an absent entry.
    What sits in several places, and storages that several tensors look at, are written once.

    The file appears complete or not at all: it is written under another name in the same folder,
    flushed to the disk and renamed.

    Args:
        obj: the object.
        path: the file, whose folder must exist, or a file open for writing bytes.
        format: "binary", or "ascii" for text.
        long_size: 8 or 4, bytes of a C long on the machine that will read a binary file.
        byte_order: "little" or "big".
        compact: write only those elements of storages that some tensor looks at; by default a
            tensor is written with its whole storage, as Torch7 does.
        keep_gpu_types: write tensors that came from a GPU as torch.CudaTensor and the like;
            by default as the CPU tensors that they are here.
        classes: Python classes by Torch7 class name, as for `relume.load`, for objects whose class
            has no `torch_typename`.

    Raises:
        UnwritableError: (a TypeError) the object holds something that Torch7 has no form for; the
            message says where.
        ValueError: the path ends as files of another format do, which `relume.convert` writes.
        OSError: the file cannot be written; an earlier one is as it was.

    >>> import os, tempfile
    >>> import relume as rl
    >>> path = os.path.join(tempfile.mkdtemp(), "checkpoint.t7")
    >>> rl.save({"weight": rl.ones(2, 3), "epoch": 7}, path)
    >>> rl.load(path).epoch
    7
    """
    save_all(
        [obj],
        path,
        format=format,
        long_size=long_size,
        byte_order=byte_order,
        compact=compact,
        keep_gpu_types=keep_gpu_types,
        classes=classes,
    )


def save_all(
    objects: Sequence[Any], path: str | os.PathLike[str] | BinaryIO, **options: Any
) -> None:
    """Writes several objects to one file, as several writeObject calls did.

    Args:
        objects: the objects; what they share is written once.
        path, options: as for `save`.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "two.t7")
    >>> save_all(["a", 2], path)
    >>> import relume as rl
    >>> rl.load_all(path)
    ['a', 2]
    """
    if hasattr(path, "write"):
        write(objects, path, **options)
        return
    refuse_names_of_other_formats(path)
    with replacing(path) as temporary, open(temporary, "wb", buffering=0) as stream:
        write(objects, stream, **options)


def refuse_names_of_other_formats(path: str | os.PathLike[str]) -> None:
    """Raises a ValueError where a file of Torch7 would go by the name of something else.

    >>> refuse_names_of_other_formats("model.npz")
    Traceback (most recent call last):
    ValueError: save writes Torch7's format, ...
    """
    found = format_by_ending(path)
    if found is None or found.name == "t7" or found.is_source_only:
        return
    name = os.fspath(path)
    raise ValueError(
        f"save writes Torch7's format, and {name!r} would be taken for {found.name}: "
        f"relume.convert(obj, {name!r}) writes that"
    )


def dumps(obj: Any, **options: Any) -> bytes:
    """The bytes of the file that `save` would write, as torch.serialize gave.

    Args:
        obj, options: as for `save`.

    >>> dumps("hi", format="ascii")
    b'2\\n2\\nhi\\n'
    """
    stream = io.BytesIO()
    write([obj], stream, **options)
    return stream.getvalue()


def write(
    objects: Sequence[Any],
    stream: Any,
    *,
    format: str = "binary",
    long_size: int = 8,
    byte_order: str = "little",
    compact: bool = False,
    keep_gpu_types: bool = False,
    classes: Mapping[str, Any] | None = None,
) -> int:
    """Writes objects to a stream, one after the other; the options are those of `save`.

    Args:
        objects: the objects; what they share is written once.
        stream: anything with a method `write` that takes a buffer: an open file, a socket's file.

    Returns:
        The count of bytes.

    >>> import io
    >>> write([1.5], io.BytesIO())
    12
    """
    check_choice("format", format, ("binary", "ascii"))
    check_choice("long_size", long_size, (8, 4))
    check_choice("byte_order", byte_order, ("little", "big"))
    form = (format == "ascii", long_size, byte_order == "big")
    forms = ObjectForms(classes, keep_gpu_types)
    arrays = (
        CompactArrays(objects, forms, form, keep_gpu_types) if compact else Arrays(keep_gpu_types)
    )
    encoder = _C.T7Encoder(stream.write, *form)
    writer = Writer(encoder, arrays, forms)
    for obj in objects:
        writer.write(obj)
    encoder.flush()
    return encoder.written


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} is {choices[0]!r} or {choices[1]!r}, not {value!r}")
