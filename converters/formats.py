"""The kinds of files that a model can become: one row each in `FORMATS`.

A row says what a format refuses, how a model is written, how the file is run for the proof that it
computes the same and, where the format holds enough, how the model is read back.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from relume.converters.errors import FileFormatError

__all__ = [
    "FORMATS",
    "CannotConvert",
    "Format",
    "Options",
    "Refusal",
    "flatten",
    "format_by_ending",
    "format_of",
    "reading",
]

Arrays = Any  # an array of NumPy, or a list of these: a table, nested as the network takes it
Progress = Callable[[int], None]


@dataclass(frozen=True)
class Refusal:
    """Why something cannot be converted faithfully.

    Attributes:
        class_name: Torch7's name of the class: "nn.SpatialFractionalMaxPooling".
        count: how many there are.
        reason: what stands against it, and what may be done.
    """

    class_name: str
    count: int
    reason: str

    def __str__(self) -> str:
        return f"{self.class_name} ({self.count}): {self.reason}"


class CannotConvert(ValueError):
    """A conversion would not be faithful; nothing was written.

    Attributes:
        refusals: what stands against it, by class.

    >>> str(CannotConvert("onnx", [Refusal("nn.MyLayer", 2, "its class is not known here")]))
    'cannot be converted to onnx:\\n  nn.MyLayer (2): its class is not known here'
    """

    def __init__(self, format_name: str, refusals: list[Refusal]) -> None:
        self.format_name = format_name
        self.refusals = list(refusals)
        lines = [f"cannot be converted to {format_name}:", *map(str, self.refusals)]
        super().__init__("\n  ".join(lines))


@dataclass(frozen=True)
class Options:
    """What the caller of `convert` wants; a format reads what concerns it.

    Attributes:
        inputs: example inputs, for formats that trace the network: what it takes, as arrays.
        dtype: "float16", "float32" or "float64" for all floating numbers; "" keeps their types.
        layout: "torch", or "keras" for its names and orders of axes (files of weights only).
        everything: buffers, gradients and last outputs of layers too (files of weights only).
        progress: called with the number of tensors as they are written.
        more: options of one format only, by name.
    """

    inputs: Arrays = None
    dtype: str = ""
    layout: str = "torch"
    everything: bool = False
    progress: Progress = lambda steps: None
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Format:
    """A kind of file.

    Attributes:
        name: "t7", "onnx", ...
        suffixes: how its files' names end; the first one is that of new files.
        check: what of a model cannot be written faithfully, before anything is written. `write`
            may still raise `CannotConvert`.
        write: writes a model to a path. `convert` gives a path in a folder of its own and moves
            all files that appear there into place when the proof is done, so further files may
            stand beside the first one, with names that begin with its stem.
        run: the outputs for inputs, in evaluate mode: arrays, nested tables flattened in order.
        load: the object in a file, for formats that can be sources.
        gradients: for inputs and the gradients of the flat outputs, the gradients by name:
            "input" ("input.1", ... of a table) and the parameters' paths.
        layers: for inputs, what each layer gave, by its path (flattened), in order: to name the
            first one that differs.
        contents: what `sniff.identify` calls files of this kind, which then may have any name.
        any_object: takes whatever was loaded; otherwise networks only.
        options: names of options of its own, which come in `Options.more`.
        is_source_only: files of this kind are read and not written.
    """

    name: str
    suffixes: tuple[str, ...]
    check: Callable[[Any], list[Refusal]]
    write: Callable[[Any, Path, Options], None]
    run: Callable[[Path, Arrays], list[np.ndarray]]
    load: Callable[[Path], Any] | None = None
    gradients: Callable[[Path, Arrays, list[np.ndarray]], dict[str, np.ndarray]] | None = None
    layers: Callable[[Path, Arrays], dict[str, list[np.ndarray]]] | None = None
    contents: tuple[str, ...] = ()
    any_object: bool = False
    options: tuple[str, ...] = ()
    is_source_only: bool = False


def flatten(value: Arrays) -> list[np.ndarray]:
    """The arrays of nested lists, in order.

    >>> [int(a) for a in flatten([np.array(1), [np.array(2), np.array(3)]])]
    [1, 2, 3]
    """
    if isinstance(value, (list, tuple)):
        return [array for element in value for array in flatten(element)]
    return [np.asarray(value)]


def format_of(path: str | os.PathLike[str], name: str = "") -> Format:
    """The format with a name, or the one that a path's ending tells.

    Raises:
        ValueError: there is none; the message lists them.

    >>> format_of("model.npz").name
    'npz'
    """
    if not name:
        found = format_by_ending(path)
    else:
        found = next((candidate for candidate in FORMATS if candidate.name == name), None)
    if found is not None:
        return found
    if name:
        names = ", ".join(candidate.name for candidate in FORMATS)
        raise ValueError(f"there is no format {name!r}; there are {names}")
    endings = ", ".join(ending for candidate in FORMATS for ending in candidate.suffixes)
    raise ValueError(
        f"cannot tell the format from the name {os.fspath(path)!r}: it should end in {endings}"
    )


def format_by_ending(path: str | os.PathLike[str]) -> Format | None:
    """The format whose files' names end as this one; None where there is none."""
    ending = Path(path).suffix.lower()
    return next((candidate for candidate in FORMATS if ending in candidate.suffixes), None)


@contextmanager
def reading(kind: str, path: Path) -> Iterator[None]:
    """Whatever the libraries that read a kind of files raise is a `FileFormatError` with its path.

    >>> with reading("npz", Path("weights.npz")):
    ...     raise KeyError("member")
    Traceback (most recent call last):
    relume.converters.errors.FileFormatError: weights.npz: no npz file, or a damaged one: 'member'
    """
    try:
        yield
    except FileFormatError as error:
        error.filename = error.filename or str(path)
        raise
    except (CannotConvert, FileNotFoundError, PermissionError, IsADirectoryError, ImportError):
        raise
    except Exception as error:
        found = FileFormatError(f"no {kind} file, or a damaged one: {error}", kind=kind)
        found.filename = str(path)
        raise found from error


def later(module: str, function: str) -> Callable[..., Any]:
    """A function of a module of this package, which is imported when it is called first."""

    def call(*arguments: Any) -> Any:
        return getattr(importlib.import_module(f"relume.converters.{module}"), function)(*arguments)

    return call


def row_of_objects(
    name: str, suffixes: tuple[str, ...], module: str, contents: tuple[str, ...]
) -> Format:
    """A format that holds whatever was loaded, and gives it back: its module has `check`, `write`
    and `load`."""
    load = later(module, "load")

    def with_loaded(function: str) -> Callable[..., Any]:
        run = later("proof.running", function)
        return lambda path, *arguments: run(load(path), *arguments)

    return Format(
        name,
        suffixes,
        check=later(module, "check"),
        write=later(module, "write"),
        run=with_loaded("run"),
        load=load,
        gradients=with_loaded("gradients"),
        layers=with_loaded("layers"),
        contents=contents,
        any_object=True,
    )


FORMATS: tuple[Format, ...] = (
    row_of_objects("t7", (".t7", ".net", ".th", ".torch"), "t7.whole_object", ("t7",)),
    row_of_objects("safetensors", (".safetensors",), "weights.safetensors_file", ("safetensors",)),
    row_of_objects("npz", (".npz",), "weights.npz", ("npz",)),
    row_of_objects("hdf5", (".h5", ".hdf5"), "weights.hdf5", ("hdf5",)),
    Format(
        "pytorch",
        (".py",),
        check=later("pytorch.file", "check"),
        write=later("pytorch.file", "write"),
        run=later("pytorch.file", "run"),
        gradients=later("pytorch.file", "gradients"),
        layers=later("pytorch.file", "layers"),
        options=("class_name",),
    ),
    Format(
        "state_dict",
        (".pt", ".pth"),
        check=later("pytorch.state_dict_file", "refuse"),
        write=later("pytorch.file", "write"),
        run=later("pytorch.file", "run"),
        load=later("pytorch.state_dict_file", "load"),
        contents=("pytorch-zip",),
        any_object=True,
        is_source_only=True,
    ),
    Format(
        "onnx",
        (".onnx",),
        check=later("onnx.format", "check"),
        write=later("onnx.format", "write"),
        run=later("onnx.format", "run"),
        load=later("importing.onnx_graph", "load"),
        layers=later("onnx.format", "layers"),
        options=("dynamic", "external_data", "opset"),
    ),
)
