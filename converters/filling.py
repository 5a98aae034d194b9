"""Objects fresh from a file: which Python class a name means, and how objects get their fields."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from relume.converters.errors import FileFormatError
from relume.converters.torch_object import TorchObject

__all__ = ["Classes", "fill", "finder", "variants_in"]

Classes = Mapping[str, Any]


def finder(classes: Classes | None) -> Callable[[str], Any]:
    """Answers with the Python class for a Torch7 class name, or None."""
    lookup = layers().lookup

    def find(name: str) -> Any:
        if classes is not None and name in classes:
            return None if classes[name] is TorchObject else classes[name]
        return lookup(name)

    return find


def variants_in(unfilled: list[tuple[Any, Any, float]], classes: Classes) -> dict[str, Any]:
    """By class name, the classes that the fields of objects tell (see legacy_nn/registry.py)."""
    variant_of = layers().variant_of
    found: dict[str, Any] = {}
    for object_, fields, _ in unfilled:
        name = getattr(object_, "torch_typename", "")
        variant = None if name in classes else variant_of(name, fields)
        if variant is not None:
            found[name] = variant
    return found


def layers() -> Any:
    """The registry of legacy_nn, which needs this module itself."""
    return importlib.import_module("relume.legacy_nn.registry")


def fill(object_: Any, fields: Any, version: float, root: Any) -> None:
    load_fields = getattr(object_, "_load_fields", None)
    try:
        if load_fields is not None:
            load_fields(fields, version)
        else:
            for name, value in fields.items():
                setattr(object_, str(name), value)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
        name = getattr(object_, "torch_typename", type(object_).__name__)
        raise FileFormatError(
            f"the fields of a {name} make no sense to its Python class: {error}. To look at the "
            f"object without it: relume.load(path, classes={{{name!r}: relume.TorchObject}})",
            0,
            path_to(object_, root),
            "unsupported",
        ) from error


def path_to(wanted: Any, root: Any) -> str:
    """Where an object is in a tree whose layers may not have their fields yet."""
    from relume.converters.object_tree import walk

    for node in walk(root):
        if node.value is wanted:
            return f"root.{node.path}" if node.path else "root"
    return "root"
