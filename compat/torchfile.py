"""The package torchfile: `load` gives what it gave, from every form of file and with NumPy 2.

Tables are `hashable_uniq_dict` or lists, strings are bytes, tensors NumPy arrays, objects
`TorchObject`. What the package could not read is read too: ASCII files, the other byte order,
longs of 4 bytes, half precision, tables with arrays in them.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from relume import Storage, Tensor
from relume.compat.plain import LuaFunction, Style, TorchObject, convert, hashable_uniq_dict
from relume.converters import FileFormatError, t7
from relume.converters import TorchObject as LoadedObject

__all__ = [
    "LuaFunction",
    "T7Reader",
    "T7ReaderException",
    "TorchObject",
    "hashable_uniq_dict",
    "load",
]


class T7ReaderException(Exception):
    """The file is no Torch7 file, or it is damaged."""


class AnyClass(dict):
    """Every class stays an object with fields."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Any:
        return LoadedObject


def load(filename: str | os.PathLike[str], **options: Any) -> Any:
    """The first object of a file.

    Args:
        filename: the file.
        options: those of `T7Reader`.

    Raises:
        T7ReaderException: it is no Torch7 file, or a damaged one.

    >>> import os, tempfile
    >>> import relume as rl
    >>> from relume.compat import torchfile
    >>> path = os.path.join(tempfile.mkdtemp(), "data.t7")
    >>> rl.save({"x": rl.tensor([1.0, 2.0]), "labels": ["a", "b"]}, path)
    >>> data = torchfile.load(path)
    >>> data[b"x"], data.labels
    (array([1., 2.], dtype=float32), [b'a', b'b'])
    """
    reader = T7Reader(None, **options)
    try:
        file = t7.read(filename, all=False, long_size=reader.long_size, classes=AnyClass())
    except FileFormatError as error:
        raise T7ReaderException(str(error)) from error
    return convert(file.objects, reader.style)[0]


class T7Reader:
    """Reads the objects of an open file one after the other, with `read_obj`.

    Args:
        fileobj: the file, open for reading bytes.
        use_list_heuristic: tables whose keys are 1 to n become lists.
        use_int_heuristic: whole numbers become int; otherwise every number is a float.
        utf8_decode_strings: strings become str; otherwise they are bytes.
        force_deserialize_classes: of no meaning: every class is read.
        force_8bytes_long: longs have 8 bytes; by default their size is detected.
    """

    def __init__(
        self,
        fileobj: Any,
        use_list_heuristic: bool = True,
        use_int_heuristic: bool = True,
        utf8_decode_strings: bool = False,
        force_deserialize_classes: Any = None,
        force_8bytes_long: bool = False,
    ) -> None:
        self.style = Style(
            lists=use_list_heuristic,
            integers=use_int_heuristic,
            decode=utf8_decode_strings,
            byte_names=True,
            tensor=array_of_tensor,
            storage=array_of_storage,
        )
        self.long_size = 8 if force_8bytes_long else None
        self._file = fileobj
        self._objects: list[Any] | None = None

    def read_obj(self) -> Any:
        """The next object.

        Raises:
            T7ReaderException: there is none, or it cannot be read.
        """
        if self._objects is None:
            self._objects = list(reversed(self._read_all()))
        if not self._objects:
            raise T7ReaderException("the file has no further object")
        return self._objects.pop()

    def _read_all(self) -> list[Any]:
        """All objects, or the first one where what follows it is something else."""
        data = self._file.read()
        try:
            try:
                loaded = t7.loads_all(data, long_size=self.long_size, classes=AnyClass())
            except FileFormatError:
                loaded = [t7.loads(data, long_size=self.long_size, classes=AnyClass())]
        except FileFormatError as error:
            raise T7ReaderException(str(error)) from error
        return convert(loaded, self.style)


def array_of_tensor(tensor: Tensor) -> np.ndarray:
    """A view of the memory of a tensor's storage."""
    return tensor.numpy() if tensor.numel() else np.empty(0, dtype_of(tensor))


def array_of_storage(storage: Storage) -> np.ndarray:
    return storage.tensor().numpy()


def dtype_of(tensor: Tensor) -> Any:
    return tensor.reshape(-1).numpy().dtype
