"""`load_lua`, with which PyTorch before 1.0 read Torch7 files."""

from __future__ import annotations

import os
from typing import Any

import relume as rl
from relume.compat.plain import Style, convert
from relume.converters import TorchObject, t7
from relume.converters.object_tree import walk

__all__ = ["T7ReaderException", "load_lua"]


class T7ReaderException(Exception):
    """The file cannot be read, or it has a class that nobody knows."""


def load_lua(
    filename: str | os.PathLike[str],
    unknown_classes: bool = False,
    long_size: int | None = None,
    list_heuristic: bool = True,
    int_heuristic: bool = True,
) -> Any:
    """The first object of a file, in the form that `torch.utils.serialization.load_lua` gave.

    Layers are those of `relume.legacy_nn`, in place of `torch.legacy.nn`, ready for `forward`; they
    count dimensions and labels from 1, as Torch7 does. Tensors are relume's. Tables outside of
    layers are lists or dicts whose entries are attributes too, and None where they are absent.

    Args:
        filename: the file.
        unknown_classes: objects of unknown classes are read as objects with fields; otherwise
            they are an error.
        long_size: 8 or 4, bytes of a C long; None detects it.
        list_heuristic: tables whose keys are 1 to n become lists.
        int_heuristic: whole numbers become int; otherwise every number is a float.

    Raises:
        T7ReaderException: the file cannot be read, or it has an unknown class.

    >>> import os, tempfile
    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> path = os.path.join(tempfile.mkdtemp(), "model.t7")
    >>> rl.save({"model": nn.Sequential().add(nn.Linear(3, 2)), "epoch": 5}, path)
    >>> checkpoint = rl.compat.load_lua(path)
    >>> checkpoint["epoch"], checkpoint.model.get(1)
    (5, nn.Linear(3 -> 2))
    """
    try:
        loaded = t7.read(filename, all=False, long_size=long_size).objects[0]
    except rl.FileFormatError as error:
        raise T7ReaderException(str(error)) from error
    if not unknown_classes:
        refuse_unknown(loaded)
    style = Style(
        lists=list_heuristic,
        integers=int_heuristic,
        decode=True,
        byte_names=False,
        tensor=lambda tensor: tensor,
        storage=lambda storage: storage,
    )
    return convert([loaded], style)[0]


def refuse_unknown(root: Any) -> None:
    """Raises for the first object of a class that nobody knows."""
    for node in walk(root):
        if isinstance(node.value, TorchObject):
            where = f" at {node.path}" if node.path else ""
            raise T7ReaderException(
                f"the file has an object of class {node.value.torch_typename}{where}, which is "
                "unknown here; unknown_classes=True reads it as an object with fields"
            )
