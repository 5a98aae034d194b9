"""Weights as a safetensors file; the aliases are JSON in its metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from relume.converters import safetensors
from relume.converters.formats import Options, Refusal
from relume.converters.weights.collecting import collect, named_tensors

ALIASES = "aliases"


def check(obj: Any) -> list[Refusal]:
    """Nothing is refused: what is no tensor is left out."""
    return []


def write(obj: Any, path: Path, options: Options) -> None:
    weights = collect(obj, everything=options.everything)
    metadata = {"format": "relume"}
    if weights.aliases:
        metadata[ALIASES] = json.dumps(weights.aliases)
    safetensors.write(path, weights.arrays, metadata)
    options.progress(len(weights.arrays))


def load(path: Path) -> Any:
    """The tensors by name."""
    arrays, metadata = safetensors.read(path)
    return named_tensors(arrays, json.loads(metadata.get(ALIASES, "{}")))
