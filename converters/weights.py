"""The weights of a model or checkpoint as named arrays in a file that other tools read.

Every format is one row of `FORMATS`: how it is written and how it is read back for the check.
"""

from __future__ import annotations

import json
import os
import time
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from relume import Tensor, from_numpy
from relume.converters import safetensors, t7
from relume.converters.atomic import replacing
from relume.converters.object_tree import memory_of, walk

__all__ = ["ConversionReport", "Weights", "collect", "convert"]

ALIASES = "aliases"  # where a file keeps which names share one tensor


@dataclass
class Weights:
    """Tensors by name, each once.

    Attributes:
        arrays: NumPy arrays on the tensors' memory.
        aliases: further names of the same tensors: alias -> name.
        root: the object that they are in.
    """

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    root: Any = None


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


def collect(root: Any, *, everything: bool = False) -> Weights:
    """The tensors of a loaded object, named by their paths.

    Buffers, gradients and last outputs of layers are left out, empty tensors too. A tensor that
    sits in several places is there once, under the first path; so are two tensors that look at
    the same elements.

    Args:
        root: what `relume.load` returned.
        everything: take the buffers, gradients and outputs too.

    >>> import relume as rl
    >>> w = rl.zeros([2, 3])
    >>> weights = collect({"encoder": w, "decoder": w})
    >>> list(weights.arrays), weights.aliases
    (['encoder'], {'decoder': 'encoder'})
    """
    weights = Weights(root=root)
    names: dict[tuple[Any, ...], str] = {}
    used: set[str] = set()
    for node in walk(root, skip_scratch=not everything):
        if not isinstance(node.value, Tensor) or node.value.numel() == 0:
            continue
        name = node.path or "tensor"
        while name in used:  # keys 1 and "1" of one table have the same path
            name += "_"
        used.add(name)
        first = names.setdefault(memory_of(node.value), name)
        if first == name:
            weights.arrays[name] = node.value.detach().numpy()
        else:
            weights.aliases[name] = first
    return weights


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
    ending = Path(dst).suffix.lower()
    if ending not in FORMATS:
        raise ValueError(
            f"cannot tell the format from the name {os.fspath(dst)!r}: it should end in "
            f"{', '.join(FORMATS)}"
        )
    if isinstance(src, (str, os.PathLike)):
        src = load_source(Path(src))
    if select:
        from relume.converters.object_tree import select as select_object

        src = select_object(src, select)
    weights = collect(src, everything=everything)
    if not weights.arrays:
        raise NothingToConvert("there are no weights in it: no tensor that holds anything")
    file_format = FORMATS[ending]
    with replacing(dst) as temporary:
        file_format.write(temporary, weights, progress)
        if verify:
            check_equal(file_format.read(temporary), weights.arrays, file_format.keeps_types)
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
    """What a file holds: of weights, a dict of tensors by name."""
    file_format = FORMATS.get(path.suffix.lower())
    if file_format is None or file_format.name == "t7":
        from relume.converters import load

        return load(path)
    tensors = {name: from_numpy(array) for name, array in file_format.read(path).items()}
    return {
        **tensors,
        **{alias: tensors[name] for alias, name in file_format.aliases(path).items()},
    }


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


Progress = Callable[[int], None]


@dataclass(frozen=True)
class Format:
    """A kind of file: its name, how it is written, how it is read back, and the further names of
    arrays in it."""

    name: str
    write: Callable[[Path, Weights, Progress], None]
    read: Callable[[Path], Mapping[str, np.ndarray]]
    aliases: Callable[[Path], Mapping[str, str]] = lambda path: {}
    keeps_types: bool = True  # and shapes


def write_npz(path: Path, weights: Weights, progress: Progress) -> None:
    """A zip of .npy files; `aliases.json` beside them when names share tensors."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in weights.arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
            progress(1)
        if weights.aliases:
            archive.writestr(f"{ALIASES}.json", json.dumps(weights.aliases))


def read_npz(path: Path) -> Mapping[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files if name != f"{ALIASES}.json"}


def aliases_of_npz(path: Path) -> Mapping[str, str]:
    with zipfile.ZipFile(path) as archive:
        name = f"{ALIASES}.json"
        return json.loads(archive.read(name)) if name in archive.namelist() else {}


def write_safetensors(path: Path, weights: Weights, progress: Progress) -> None:
    """The aliases go into the metadata, as JSON: the format itself has none."""
    metadata = {"format": "relume"}
    if weights.aliases:
        metadata[ALIASES] = json.dumps(weights.aliases)
    safetensors.write(path, weights.arrays, metadata)
    progress(len(weights.arrays))


def read_safetensors(path: Path) -> Mapping[str, np.ndarray]:
    return safetensors.read(path)[0]


def aliases_of_safetensors(path: Path) -> Mapping[str, str]:
    return json.loads(safetensors.read(path)[1].get(ALIASES, "{}"))


def write_h5(path: Path, weights: Weights, progress: Progress) -> None:
    """A group per step of the path; aliases are hard links to the same data set."""
    import h5py

    with h5py.File(path, "w") as file:
        for name, array in weights.arrays.items():
            file.create_dataset(h5_path(name), data=array).attrs["path"] = name
            progress(1)
        for alias, name in weights.aliases.items():
            if h5_path(alias) not in file:
                file[h5_path(alias)] = file[h5_path(name)]


def read_h5(path: Path) -> Mapping[str, np.ndarray]:
    import h5py

    arrays: dict[str, np.ndarray] = {}

    def visit(_: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            arrays[item.attrs["path"]] = item[()]

    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return arrays


def h5_path(name: str) -> str:
    """ "modules.1.weight" as "modules/1/weight"; a key's own "/" would make a group.

    >>> h5_path("modules.1.weight")
    'modules/1/weight'
    """
    return name.replace("/", "\\").replace(".", "/")


def write_t7(path: Path, weights: Weights, progress: Progress) -> None:
    """The object that the weights are in, all of it."""
    with open(path, "wb", buffering=0) as stream:
        t7.write([weights.root], stream)
    progress(len(weights.arrays))


def read_t7(path: Path) -> Mapping[str, np.ndarray]:
    return collect(t7.load(path), everything=True).arrays


FORMATS = {
    ".npz": Format("npz", write_npz, read_npz, aliases_of_npz),
    ".safetensors": Format(
        "safetensors", write_safetensors, read_safetensors, aliases_of_safetensors
    ),
    ".h5": Format("h5", write_h5, read_h5),
    ".t7": Format("t7", write_t7, read_t7, keeps_types=False),
}
