"""What a file of weights holds, whatever its format: arrays, their further names, a description."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relume import Storage, Tensor
from relume.converters.errors import FileFormatError
from relume.converters.formats import Options, Refusal
from relume.converters.lua_function import LuaFunction
from relume.converters.object_tree import class_name, is_plain, is_table, walk
from relume.converters.t7.arrays import type_prefix
from relume.converters.t7.objects import ObjectForms
from relume.converters.weights.collecting import Weights, collect, named_tensors
from relume.converters.weights.description import describe
from relume.converters.weights.keras import keras_layout, torch_layout
from relume.converters.weights.rebuilding import rebuild

__all__ = ["Contents", "aliases_in", "check", "contents_of", "object_of"]


MANY = 1 << 24
MOST_REPETITIONS = 100


@dataclass
class Contents:
    """Attributes:
    arrays: by name.
    aliases: further names of the same arrays: alias -> name.
    description: the objects that they belong to, as JSON; "" in files of other tools.
    root: the outermost of these objects, where it is there.
    """

    arrays: Mapping[str, np.ndarray]
    aliases: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    root: Any = None


def check(obj: Any) -> list[Refusal]:
    """What no file of weights can hold: numbers that it has no type for, and objects of Python
    classes that have no name in Torch7."""
    reasons: dict[str, list[str]] = defaultdict(list)
    forms, weights = ObjectForms(), Weights()
    for node in walk(obj, skip_scratch=True):
        try:
            if node.same_as is None:
                check_value(node.value, weights, forms)
        except (TypeError, ValueError) as error:
            reasons[class_name(node.value)].append(str(error))
    return [Refusal(name, len(found), found[0]) for name, found in reasons.items()]


def check_value(value: Any, weights: Weights, forms: ObjectForms) -> None:
    """Raises TypeError or ValueError for a value that cannot be written."""
    tensor = weights.tensor_of(value)
    if tensor is not None:
        type_prefix(tensor.dtype)
        check_repetition(tensor)
    elif not (is_table(value) or is_plain(value) or isinstance(value, (Storage, LuaFunction))):
        forms.form_of(value)


def check_repetition(tensor: Tensor) -> None:
    """Raises ValueError for a tensor that gives the elements of a small storage over and over."""
    storage = tensor.storage()
    held = 0 if storage is None else len(storage)
    if tensor.numel() > max(MOST_REPETITIONS * held, MANY):
        raise ValueError(
            f"it repeats {held} numbers to {tensor.numel()}, which a file of weights would all "
            "hold; make it smaller, or convert to .t7"
        )


def contents_of(obj: Any, options: Options) -> Contents:
    """What is to be written of an object."""
    weights = collect(obj, everything=options.everything)
    description = describe(weights)
    arrays = {name: cast(array, options.dtype) for name, array in weights.arrays.items()}
    contents = Contents(arrays, weights.aliases, description, obj)
    return keras_layout(contents, obj) if options.layout == "keras" else contents


def object_of(contents: Contents) -> Any:
    """The object that a file describes; without a description the tensors by name."""
    if not contents.description:
        return named_tensors(contents.arrays, contents.aliases)
    return rebuild(contents.description, torch_layout(contents))


def cast(array: np.ndarray, dtype: str) -> np.ndarray:
    """Floating numbers in another type; other arrays stay."""
    return array.astype(dtype, copy=False) if dtype and array.dtype.kind == "f" else array


def aliases_in(text: str | bytes) -> dict[str, str]:
    """The aliases that a file keeps as JSON.

    Raises:
        FileFormatError: the text is something else.
    """
    try:
        aliases = json.loads(text)
    except (ValueError, RecursionError):
        aliases = None
    if not isinstance(aliases, dict) or not all(isinstance(n, str) for n in aliases.values()):
        raise FileFormatError("the list of aliases is damaged: it does not map names to names")
    return aliases
