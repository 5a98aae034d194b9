"""Torch7 files into Python objects, and back.

`load` gives the first object of a file, `load_all` every one, `loads` the object in bytes. `read`
gives the same with what is known about the file. The work is done by the C++ reader beside this
file; here it is told which Python classes to make. `saving.py` is the way back.
"""

from __future__ import annotations

import gc
import os
import stat
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from relume import _C
from relume.converters.errors import FileFormatError
from relume.converters.filling import Classes, fill, finder, variants_in
from relume.converters.lua_function import LuaFunction
from relume.converters.sniff import identify
from relume.converters.t7.origins import origin, remember_origin
from relume.converters.t7.saving import dumps, save, save_all, write
from relume.converters.table import EMPTY_ARRAY, EMPTY_HASH, FALSE_KEY, TRUE_KEY, Table
from relume.converters.tds import TdsHash, TdsVec
from relume.converters.torch_object import Payload, TorchObject

__all__ = [
    "TorchFile",
    "dumps",
    "load",
    "load_all",
    "loads",
    "loads_all",
    "origin",
    "read",
    "save",
    "save_all",
    "write",
]

_C.t7_register(
    {
        "Table": Table,
        "TdsHash": TdsHash,
        "TdsVec": TdsVec,
        "TorchObject": TorchObject,
        "LuaFunction": LuaFunction,
        "FileFormatError": FileFormatError,
        "true_key": TRUE_KEY,
        "false_key": FALSE_KEY,
        "empty_array": EMPTY_ARRAY,
        "empty_hash": EMPTY_HASH,
    }
)

_HEAD_BYTES = 4096  # enough to tell what a file is


@dataclass(frozen=True)
class TorchFile:
    """What a Torch7 file holds and how it was written.

    Attributes:
        objects: the objects, in order; with `all=False` the first one only.
        encoding: "binary" or "ascii".
        long_size: bytes of a C long, 8 or 4 (of no meaning in ASCII).
        byte_order: "little" or "big".
        class_counts: how many objects of each class there are, by the name in the file.
        left_over: bytes of the file after the objects that were read.
    """

    objects: list[Any]
    encoding: str
    long_size: int
    byte_order: str
    class_counts: dict[str, int]
    left_over: int


def load(
    path: str | os.PathLike[str] | BinaryIO,
    *,
    long_size: int | None = None,
    classes: Classes | None = None,
    lua: Any = None,
) -> Any:
    """The first object of a Torch7 file: what torch.load gave.

    Tensors become relume tensors, those of a GPU too; tables become `Table`, layers become
    `legacy_nn` layers, objects of unknown classes `TorchObject`, functions `LuaFunction`. What was
    shared in the file is shared here. Encoding, byte order and the size of longs are detected.

    Args:
        path: the file, or a file open for reading bytes (`io.BytesIO`), which is read to its end.
        long_size: 8 or 4, bytes of a C long on the machine that wrote the file; None detects it.
        classes: Python classes by Torch7 class name, before those that relume has. An object is
            made without calling `__init__`; once everything is read, its method
            `_load_fields(fields, version)` is called, or without one the fields become
            attributes. A function is called for an object to fill. `{"nn.Linear": TorchObject}`
            keeps a class raw.
        lua: Lua code that defines classes of the file: the path of a Lua file, a list of them, or
            a `relume.bridge.Lua` that has run the code. Layers of these classes run in Lua.

    Raises:
        FileFormatError: it is no Torch7 file, or a damaged one; the message says what it is.
        OSError: the file cannot be opened.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "answer.t7")
    >>> with open(path, "w") as file:
    ...     _ = file.write("1\\n42\\n")  # a number, in ASCII
    >>> load(path)
    42
    """
    classes = _with_lua(classes, lua)
    file = read(path, all=False, long_size=long_size, classes=classes)
    name = getattr(path, "name", "the stream") if hasattr(path, "read") else os.fspath(path)
    _warn_of_left_over(file, str(name), stacklevel=3)
    return file.objects[0]


def load_all(
    path: str | os.PathLike[str] | BinaryIO,
    *,
    long_size: int | None = None,
    classes: Classes | None = None,
    lua: Any = None,
) -> list[Any]:
    """Every object of a file that was written with several writeObject calls.

    Takes what `load` takes; objects may share tensors and tables with one another.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "answers.t7")
    >>> with open(path, "w") as file:
    ...     _ = file.write("1\\n42\\n5\\n1\\n")  # a number and a boolean, in ASCII
    >>> load_all(path)
    [42, True]
    """
    classes = _with_lua(classes, lua)
    return read(path, all=True, long_size=long_size, classes=classes).objects


def loads(data: Any, *, long_size: int | None = None, classes: Classes | None = None) -> Any:
    """The object in bytes that torch.serialize gave.

    Args:
        data: bytes, or anything with a buffer.
        long_size, classes: as for `load`.

    >>> loads(b"1\\n1.5\\n")
    1.5
    """
    return _read_bytes(data, all=False, long_size=long_size, classes=classes).objects[0]


def loads_all(
    data: Any, *, long_size: int | None = None, classes: Classes | None = None
) -> list[Any]:
    """Every object in bytes; the arguments are those of `loads`.

    >>> loads_all(b"1\\n1.5\\n5\\n1\\n")
    [1.5, True]
    """
    return _read_bytes(data, all=True, long_size=long_size, classes=classes).objects


def _read_bytes(
    data: Any, *, all: bool, long_size: int | None, classes: Classes | None
) -> TorchFile:
    view = memoryview(data).cast("B")
    return _read(
        lambda *options: _C.t7_read_bytes(view, *options),
        bytes(view[:_HEAD_BYTES]),
        len(view),
        all=all,
        long_size=long_size,
        classes=classes,
    )


def _bytes_in(stream: Any) -> bytes:
    data = stream.read()
    if isinstance(data, str):
        raise TypeError('the file is open for reading text; open it for bytes: open(path, "rb")')
    return data


def read(
    path: Any,
    *,
    all: bool = True,
    long_size: int | None = None,
    classes: Classes | None = None,
) -> TorchFile:
    """Reads a file and tells how it was written; the arguments are those of `load`.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "answer.t7")
    >>> with open(path, "w") as file:
    ...     _ = file.write("1\\n42\\n")
    >>> read(path).encoding
    'ascii'
    """
    if hasattr(path, "read"):
        return _read_bytes(_bytes_in(path), all=all, long_size=long_size, classes=classes)
    with open(os.fspath(path), "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        try:
            if not stat.S_ISREG(status.st_mode):  # a pipe has no size and cannot be sought
                data = file.readall()
                return _read(
                    lambda *options: _C.t7_read_bytes(data, *options),
                    data[:_HEAD_BYTES],
                    len(data),
                    all=all,
                    long_size=long_size,
                    classes=classes,
                )
            return _read(
                lambda *options: _C.t7_read_file(file.fileno(), status.st_size, *options),
                os.pread(file.fileno(), _HEAD_BYTES, 0),
                status.st_size,
                all=all,
                long_size=long_size,
                classes=classes,
            )
        except FileFormatError as error:
            error.filename = os.fsdecode(path)
            raise


def _read(
    reader: Callable[..., dict[str, Any] | None],
    head: bytes,
    size: int,
    *,
    all: bool,
    long_size: int | None,
    classes: Classes | None,
) -> TorchFile:
    if long_size not in (None, 4, 8):
        raise ValueError(f"long_size is 4 or 8, or None to detect it; got {long_size!r}")
    with _collector_paused():
        found = reader(long_size or 0, all, finder(classes)) if size else None
    if found is None or _is_all_zeros(found, head):
        impostor = identify(head, size)
        raise FileFormatError(
            f"not a Torch7 file: it is {impostor.what}; {impostor.advice}", 0, "root", impostor.kind
        )
    variants = variants_in(found["unfilled"], classes or {})
    if variants:  # objects are of other classes than their names say: read again, as those
        with _collector_paused():
            found = reader(long_size or 0, all, finder({**variants, **(classes or {})}))
        assert found is not None
    for value, name in found["from_gpu"]:
        remember_origin(value, name)
    for object_, index in found["payloads"]:
        object_.payload = payload = Payload(object_.payload)
        payload.number = index
        payload.form = (
            found["encoding"] == "ascii",
            found["long_size"],
            found["byte_order"] == "big",
        )
    root = found["objects"][0]
    for object_, fields, version in found["unfilled"]:
        fill(object_, fields, version, root)
    return TorchFile(
        objects=found["objects"],
        encoding=found["encoding"],
        long_size=found["long_size"],
        byte_order=found["byte_order"],
        class_counts=found["class_counts"],
        left_over=found["left_over"],
    )


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keeps Python's cycle collector from looking at objects that are all in use.

    It would go through them again and again while there are more and more; afterwards they join
    the old ones unseen.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if gc.get_freeze_count() == 0:
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def _is_all_zeros(found: dict[str, Any], head: bytes) -> bool:
    """Nil is four zero bytes; more zeros are what a broken download left behind."""
    return found["objects"][0] is None and len(head) > 8 and not head.strip(b"\0")


def _with_lua(classes: Classes | None, lua: Any) -> Classes | None:
    """The classes given, and behind them those that Lua code defines."""
    if lua is None:
        return classes
    from relume.bridge.classes import classes_of

    return {**classes_of(lua), **(classes or {})}


def _warn_of_left_over(file: TorchFile, path: str, stacklevel: int) -> None:
    if file.left_over:
        warnings.warn(
            f"{Path(path).name}: {file.left_over} bytes follow the first object. If the file holds "
            "several, relume.load_all reads them all",
            stacklevel=stacklevel,
        )
