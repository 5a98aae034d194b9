"""From one kind of file to another: `relume.convert`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from relume.converters.atomic import replacing
from relume.converters.formats import FORMATS, Options, format_of
from relume.converters.weights import collect

__all__ = ["ConversionReport", "convert"]


@dataclass
class ConversionReport:
    """What a conversion wrote.

    Attributes:
        destination: the file.
        format: "npz", "safetensors", "h5" or "t7".
        tensors: how many tensors were written.
        elements: how many numbers they have.
        bytes: the size of the file.
        aliases: names that share the tensor of another name.
        verified: whether the file was read back and equals the source bit for bit.
        seconds: how long it took.
    """

    destination: str
    format: str
    tensors: int
    elements: int
    bytes: int
    aliases: dict[str, str]
    verified: bool
    seconds: float

    def __str__(self) -> str:
        shared = f", {len(self.aliases)} more names of them" if self.aliases else ""
        checked = "read back: equal bit for bit" if self.verified else "not verified"
        size = f"{self.tensors} tensors, {self.elements:,} numbers"
        return f"{self.destination}: {size}{shared}; {checked}"


def convert(
    src: Any,
    dst: str | os.PathLike[str],
    *,
    input: Any = None,
    verify: bool = True,
    everything: bool = False,
    select: str = "",
    progress: Callable[[int], None] = lambda steps: None,
) -> ConversionReport:
    """Writes the weights of a model or checkpoint into `dst`, under their paths as names.

    A `dst` that ends in .t7 gets the whole object, in today's form of Torch7's format; from a
    file of weights that is a table of tensors by name.

    The file appears when it is complete and, unless `verify` is false, read back and compared.

    Args:
        src: the path of a Torch7 file, or of a file of weights that ends in .npz, .safetensors or
            .h5; or what `relume.load` returned.
        dst: a name that ends in .npz, .safetensors, .h5 or .t7.
        input: not used for weights.
        verify: read the file back and compare it bit for bit.
        everything: take the buffers, gradients and last outputs of layers too.
        select: the path of the object in the file whose weights are meant.
        progress: called with the number of tensors as they are written.

    Raises:
        ValueError: an unknown ending, or nothing to write.

    >>> import os, tempfile
    >>> import relume as rl
    >>> path = os.path.join(tempfile.mkdtemp(), "w.npz")
    >>> report = convert({"weight": rl.ones([2, 3])}, path)
    >>> report.tensors, report.elements, report.verified
    (1, 6, True)
    """
    started = time.perf_counter()
    file_format = format_of(dst)
    if isinstance(src, (str, os.PathLike)):
        src = load_source(Path(src))
    if select:
        from relume.converters.object_tree import select as select_object

        src = select_object(src, select)
    weights = collect(src, everything=everything)
    if not weights.arrays:
        raise NothingToConvert("there are no weights in it: no tensor that holds anything")
    with replacing(dst) as temporary:
        file_format.write(src, temporary, Options(everything=everything, progress=progress))
        if verify and file_format.load is not None:
            read = collect(file_format.load(temporary), everything=True)
            names = {**read.arrays, **{a: read.arrays[n] for a, n in read.aliases.items()}}
            check_equal(names, weights.arrays, file_format.name != "t7")
        size = temporary.stat().st_size
    return ConversionReport(
        destination=os.fspath(dst),
        format=file_format.name,
        tensors=len(weights.arrays),
        elements=sum(array.size for array in weights.arrays.values()),
        bytes=size,
        aliases=weights.aliases,
        verified=verify,
        seconds=time.perf_counter() - started,
    )


def load_source(path: Path) -> Any:
    """What a file holds; of any name that no other format has, a Torch7 file."""
    ending = path.suffix.lower()
    for candidate in FORMATS:
        if ending in candidate.suffixes and candidate.load is not None:
            return candidate.load(path)
    from relume.converters import load

    return load(path)


class NothingToConvert(ValueError):
    """The object holds no weights."""


def check_equal(
    read: Mapping[str, np.ndarray], written: Mapping[str, np.ndarray], keeps_types: bool = True
) -> None:
    """Raises OSError when a file does not give back what was written, bit for bit.

    Args:
        read, written: arrays by name.
        keeps_types: False for a format that lacks some types and shapes, booleans and single
            numbers say; then the numbers must be the same.
    """
    for name, array in written.items():
        if name not in read:
            raise OSError(f"{name} is missing in the file that was just written")
        again = read[name]
        if not keeps_types and again.size == array.size:
            again = again.astype(array.dtype).reshape(array.shape)
        same_kind = again.dtype == array.dtype and again.shape == array.shape
        if not same_kind or again.tobytes() != array.tobytes():
            raise OSError(f"{name} differs in the file that was just written; is the disk full?")
