"""What the objects of Python classes are in a Torch7 file: a class name and a table of fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from relume.converters.t7.origins import cpu_type
from relume.converters.torch_object import TorchObject

__all__ = ["Fields", "ObjectForm", "ObjectForms"]

# Classes that write the values of some fields as a list before the table of all fields.
HEADERS = {"nn.GPU": ("_type", "device")}


@dataclass(slots=True, eq=False)
class Fields:
    """The table of an object's fields, which nothing else refers to."""

    values: Mapping[Any, Any]


@dataclass(slots=True, eq=False)
class ObjectForm:
    """One object as it stands in a file.

    Attributes:
        typename: the name of its class.
        version: of the class; None in files from before classes had one.
        parts: the tables that the class writes, one after the other; nearly always one.
        payload: bytes in a format of the class's own, in place of tables.
    """

    typename: str
    version: float | None
    parts: tuple[Fields, ...] = ()
    payload: bytes | None = None


class ObjectForms:
    """Finds the form of objects.

    Args:
        classes: Python classes by Torch7 class name, for classes that do not say their name.
        keep_gpu_types: objects stay on the GPU that they came from; by default the type that an
            object of an unknown class says it has becomes that of the CPU, as its tensors do.
    """

    def __init__(
        self, classes: Mapping[str, Any] | None = None, keep_gpu_types: bool = False
    ) -> None:
        self._names = {cls: name for name, cls in (classes or {}).items()}
        self._keep_gpu_types = keep_gpu_types
        self._made: list[Any] = []  # alive while identities matter

    def form_of(self, value: Any) -> ObjectForm:
        """The form of an object.

        A class may say its fields in a method `_save_fields`; else they are its attributes. Its
        version is its attribute `torch_version`. A method `_in_file` may give another object to
        be written in its place.

        Raises:
            TypeError: nobody knows how to write it; the message says what may be done.
        """
        if isinstance(value, TorchObject):
            return self._form_of_unknown(value)
        if hasattr(type(value), "_in_file"):
            value = value._in_file()
            self._made.append(value)
        typename = self._names.get(type(value)) or getattr(value, "torch_typename", None)
        if not isinstance(typename, str) or isinstance(value, type):
            raise TypeError(refusal(value))
        save_fields = getattr(value, "_save_fields", None)
        fields = vars(value) if save_fields is None else save_fields()
        return ObjectForm(
            typename, vars(type(value)).get("torch_version", 1), parts_of(typename, fields)
        )

    def _form_of_unknown(self, value: TorchObject) -> ObjectForm:
        """An object of a class that nobody here knows: as it came."""
        version = value.torch_version or None
        if value.payload is not None:
            return ObjectForm(value.torch_typename, version, payload=value.payload)
        fields = value.fields
        if isinstance(fields.get("_type"), str) and not self._keep_gpu_types:
            fields = {**fields, "_type": cpu_type(fields["_type"])}
        return ObjectForm(value.torch_typename, version, parts_of(value.torch_typename, fields))


def parts_of(typename: str, fields: Mapping[Any, Any]) -> tuple[Fields, ...]:
    """The tables that a class writes, the last of which is that of its fields."""
    header = HEADERS.get(typename)
    if header is None:
        return (Fields(fields),)
    values = [fields.get(name) for name in header]
    return Fields(dict(enumerate(values, 1))), Fields(fields)


def refusal(value: Any) -> str:
    """Why a value cannot be written, and what to do."""
    cls = type(value)
    name = f"{cls.__module__}.{cls.__qualname__}"
    if hasattr(value, "state_dict"):
        return f"a {name} has no form in Torch7; save its state_dict()"
    if isinstance(value, type) or (callable(value) and hasattr(value, "__name__")):
        return f"Python code ({value.__name__}) cannot be written to a Torch7 file"
    if isinstance(value, (set, frozenset)):
        return "Lua has no sets; save a list"
    if isinstance(value, complex):
        return "Torch7 has no complex numbers; save the real and the imaginary part"
    return (
        f"an object of the Python class {name}, which has no name in Torch7; give it one with "
        "legacy_nn.register, or pass classes={'its.Name': " + cls.__name__ + "}"
    )
