"""Weights as an HDF5 file: a group per step of the path; aliases are hard links.

Groups have the class and the plain fields of their object as attributes. The description is an
attribute of the root, in parts: HDF5 keeps no attribute above 64 kB.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from relume.converters.formats import Options, reading
from relume.converters.object_tree import Node, class_name, key_text, walk
from relume.converters.t7.outline import LargeArray
from relume.converters.weights.collecting import printable
from relume.converters.weights.contents import Contents, check, contents_of, object_of
from relume.converters.weights.description import KEY

__all__ = ["check", "load", "places", "read", "write", "write_contents"]

PART = 32_000  # characters of an attribute
MOST_COMPRESSION = 1100  # as far as deflate goes
PATH = "path"  # attribute of a data set: its name, where the place is not the same


def write(obj: Any, path: Path, options: Options) -> None:
    write_contents(contents_of(obj, options), path, options)


def write_contents(contents: Contents, path: Path, options: Options) -> None:
    import h5py

    names = [*contents.arrays, *contents.aliases]
    is_keras = options.layout == "keras"
    places = {name: keras_place(name) for name in names} if is_keras else places_of(names)
    with open(path, "w+b", buffering=0) as stream:
        guarded = Guarded(stream)
        try:
            with h5py.File(guarded, "w", track_order=True) as file:
                fill(file, contents, places, options)
        finally:  # what the library says then is a consequence
            if guarded.error is not None:
                raise guarded.error


class Guarded:
    """A file for HDF5's library, which crashes where a disk is full; it does not hear of that.

    Attributes:
        error: the first one; nothing is written after it.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.error: OSError | None = None
        self.seek, self.tell = stream.seek, stream.tell
        self.read, self.readinto = stream.read, stream.readinto

    def write(self, data: Any) -> int:
        left = memoryview(data).cast("B")
        size = left.nbytes
        try:
            while left.nbytes and self.error is None:
                left = left[self._stream.write(left) :]
        except OSError as error:
            self.error = error
        return size

    def truncate(self, size: int | None = None) -> None:
        try:
            if self.error is None:
                self._stream.truncate(size)
        except OSError as error:
            self.error = error

    def flush(self) -> None:
        pass


def fill(file: Any, contents: Contents, places: dict[str, str], options: Options) -> None:
    """Writes everything into an open file."""
    is_keras = options.layout == "keras"
    for name, array in contents.arrays.items():
        write_array(file, places[name], array).attrs[PATH] = name
        options.progress(1)
    for alias, name in contents.aliases.items():
        file[places[alias]] = file[places[name]]
    if is_keras:
        name_keras_layers(file, list(contents.arrays))
    else:
        describe_groups(file, contents.root)
    for number, start in enumerate(range(0, len(contents.description), PART)):
        file.attrs[f"{KEY}_{number}"] = contents.description[start : start + PART]


def write_array(file: Any, place: str, array: np.ndarray | LargeArray) -> Any:
    if isinstance(array, np.ndarray):
        return file.create_dataset(place, data=array)
    made = file.create_dataset(place, array.shape, array.dtype)
    for start, rows in array.rows():
        made[start : start + len(rows)] = rows
    return made


def places(path: Path) -> dict[str, tuple[int, int]]:
    """Where the bytes of each array begin and end in a file that `write` wrote."""
    import h5py

    found = {}

    def visit(place: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            begin = item.id.get_offset()
            found[str(item.attrs[PATH])] = (begin, begin + item.nbytes)

    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return found


def describe_groups(file: Any, obj: Any) -> None:
    """Writes the classes and plain fields of objects that have a group."""
    for node in walk(obj, skip_scratch=True):
        place = place_of(printable(node.path)) if node.path else "/"
        if place in file and node.same_as is None and hasattr(file[place], "keys"):
            file[place].attrs["class"] = class_name(node.value)
            for name, value in plain_fields(node).items():
                file[place].attrs[name] = value


def plain_fields(node: Node) -> dict[str, Any]:
    """The numbers, booleans and short strings of an object, by name."""
    return {
        printable(key_text(key)) or "_": value
        for key, value in node.values.items()
        if isinstance(value, (bool, float))
        or (isinstance(value, int) and abs(value) < 2**63)
        or (isinstance(value, str) and len(value) < PART and "\0" not in value and value.isascii())
    }


def load(path: Path) -> Any:
    """The object in the file; of a file of other tools, the arrays by name."""
    return object_of(read(path))


def read(path: Path) -> Contents:
    """Everything in the file.

    Raises:
        FileFormatError: it is no such file, or a damaged one.
    """
    import h5py

    arrays: dict[str, np.ndarray] = {}

    def visit(place: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.dtype.kind in "biuf":
            check_size(place, item)
            arrays[str(item.attrs.get(PATH, place))] = item[()]

    with reading("hdf5", path), h5py.File(path, "r") as file:
        file.visititems(visit)
        parts = [key for key in file.attrs if key.startswith(f"{KEY}_")]
        description = "".join(file.attrs[f"{KEY}_{i}"] for i in range(len(parts)))
    return Contents({name: np.asarray(array) for name, array in arrays.items()}, {}, description)


def check_size(place: str, item: Any) -> None:
    """Refuses a data set that would be made of nothing, or of other files."""
    if item.external or item.is_virtual:
        raise ValueError(f"{place}: its numbers are in other files")
    stored = item.id.get_storage_size()
    if item.nbytes > MOST_COMPRESSION * stored:
        raise ValueError(f"{place}: {item.nbytes} bytes of numbers from {stored} in the file")


def place_of(name: str) -> str:
    """ "modules.1.weight" as "modules/1/weight"; a key's own "/" would make a group.

    >>> place_of("modules.1.weight")
    'modules/1/weight'
    """
    return "/".join(step or "_" for step in name.replace("/", "\\").split("."))


def places_of(names: Iterable[str]) -> dict[str, str]:
    """A place of its own for each name. Keys with dots in them can make two names one place, or a
    group of one that is an array.

    >>> places_of(["a", "a.b"])
    {'a': 'a', 'a.b': 'a:b'}
    """
    arrays: set[str] = set()
    groups: set[str] = set()
    found: dict[str, str] = {}
    for name in names:
        place = place_of(name)
        if any(group in arrays for group in groups_of(place)):
            place = place.replace("/", ":")
        while place in arrays or place in groups:
            place += "_"
        arrays.add(place)
        groups.update(groups_of(place))
        found[name] = place
    return found


def groups_of(place: str) -> list[str]:
    """
    >>> groups_of("a/b/c")
    ['a', 'a/b']
    """
    steps = place.split("/")
    return ["/".join(steps[:count]) for count in range(1, len(steps))]


# ---- as Keras lays its files of weights out: a group per layer, which names its weights ----


def keras_place(name: str) -> str:
    """
    >>> keras_place("modules.1.kernel")
    'modules.1/modules.1/kernel:0'
    """
    layer, _, leaf = name.replace("/", "\\").rpartition(".")
    layer = layer or "root"
    return f"{layer}/{layer}/{leaf}:0"


def name_keras_layers(file: Any, names: list[str]) -> None:
    """Writes the lists of layers and of their weights that Keras reads."""
    weights: dict[str, list[bytes]] = {}
    for name in names:
        layer, _, inner = keras_place(name).partition("/")
        weights.setdefault(layer, []).append(inner.encode())
    file.attrs["layer_names"] = np.array([layer.encode() for layer in weights])
    file.attrs["backend"] = np.bytes_("tensorflow")
    for layer, inner_names in weights.items():
        file[layer].attrs["weight_names"] = np.array(sorted(inner_names, key=keras_place_in_layer))


# Keras takes the weights of a layer by their order, which is that of its own variables.
KERAS_ORDER = (
    *("kernel", "depthwise_kernel", "embeddings", "alpha", "gamma"),
    *("bias", "beta", "moving_mean", "moving_variance"),
)


def keras_place_in_layer(place: bytes) -> int:
    name = place.decode().rpartition("/")[2].removesuffix(":0")
    return KERAS_ORDER.index(name) if name in KERAS_ORDER else len(KERAS_ORDER)
