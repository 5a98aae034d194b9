"""Weights as a safetensors file; what else there is to say is text in its metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from relume.converters import safetensors
from relume.converters.formats import Options
from relume.converters.weights.contents import Contents, aliases_in, check, contents_of, object_of
from relume.converters.weights.description import KEY

__all__ = ["check", "load", "read", "write", "write_contents"]

ALIASES = "aliases"


def write(obj: Any, path: Path, options: Options) -> None:
    write_contents(contents_of(obj, options), path, options)


def write_contents(contents: Contents, path: Path, options: Options) -> None:
    metadata = {"format": "relume", KEY: contents.description}
    if contents.aliases:
        metadata[ALIASES] = json.dumps(contents.aliases)
    safetensors.write(path, contents.arrays, metadata, options.progress)


def load(path: Path) -> Any:
    """The object in the file; of a file of other tools, the tensors by name."""
    return object_of(read(path))


def read(path: Path) -> Contents:
    """Everything in the file.

    Raises:
        SafetensorsError: it is no such file, or a damaged one.
    """
    arrays, metadata = safetensors.read(path)
    return Contents(arrays, aliases_in(metadata.get(ALIASES, "{}")), metadata.get(KEY, ""))
