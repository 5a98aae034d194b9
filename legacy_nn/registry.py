"""Which Python class a Torch class name stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Class = TypeVar("Class", bound=type)

_classes: dict[str, type] = {}


def register(typename: str) -> Callable[[Class], Class]:
    """Makes a class the meaning of a Torch class name, in files and in `find_modules`.

    Args:
        typename: the name with its package, such as "nn.AddScalar".

    Returns:
        A decorator; it also sets the class's `torch_typename`.

    >>> from relume import legacy_nn as nn
    >>> @nn.register("nn.AddScalar")
    ... class AddScalar(nn.Module):
    ...     def updateOutput(self, input):
    ...         self.output = input + self.scalar
    ...         return self.output
    >>> nn.lookup("nn.AddScalar") is AddScalar
    True
    """

    def decorate(cls: Class) -> Class:
        cls.torch_typename = typename  # type: ignore[attr-defined]
        _classes[typename] = cls
        return cls

    return decorate


def lookup(typename: str) -> type | None:
    """The class registered for a Torch class name, or None.

    A reader makes an object with `cls.__new__(cls)` and, once the whole graph of objects is
    there, gives it its fields with `_load_fields(fields, version)`.

    >>> from relume import legacy_nn as nn
    >>> nn.lookup("nn.Linear").__name__
    'Linear'
    """
    return _classes.get(typename)


def registered_names() -> list[str]:
    """All known Torch class names, sorted."""
    return sorted(_classes)
