"""Which Python class a Torch class name stands for.

Some projects gave their own class the name of another's: `nn.LSTM` is one layer in the rnn package
and another one in torch-rnn. Such a name has a main class, and variants that are told apart by a
field that their objects have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)

_classes: dict[str, type] = {}
_variants: dict[str, dict[str, type]] = {}  # by class name, then by the field that tells


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


def register_also(typename: str) -> Callable[[Class], Class]:
    """Makes a class the meaning of a second name too, for projects that call it so. What a file
    calls by it keeps that name, also when it is written again.

    Args:
        typename: the second name.

    >>> from relume.legacy_nn import registry
    >>> registry.lookup("nn.TVLoss").__mro__[1].torch_typename
    'nn.TotalVariation'
    """

    def decorate(cls: Class) -> Class:
        members = {"__doc__": cls.__doc__, "__module__": cls.__module__, "__slots__": ()}
        register(typename)(type(typename.rpartition(".")[2], (cls,), members))
        return cls

    return decorate


def register_variant(typename: str, field: str) -> Callable[[Class], Class]:
    """Makes a class the meaning of a Torch class name for objects that have a certain field.

    Args:
        typename: the name, which means another class in general.
        field: a field that only objects of this class have.
    """

    def decorate(cls: Class) -> Class:
        cls.torch_typename = typename  # type: ignore[attr-defined]
        _variants.setdefault(typename, {})[field] = cls
        return cls

    return decorate


def variant_of(typename: str, fields: Iterable[Any]) -> type | None:
    """The class of an object whose class name has variants, by the names of its fields; None for
    the main class.

    >>> from relume.legacy_nn.registry import variant_of
    >>> variant_of("nn.LSTM", ["inputSize", "outputSize"]) is None
    True
    >>> variant_of("nn.LSTM", ["input_dim", "hidden_dim"]).__module__
    'relume.legacy_nn.models.torch_rnn'
    """
    variants = _variants.get(typename)
    if not variants:
        return None
    return next((variants[field] for field in fields if field in variants), None)


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
