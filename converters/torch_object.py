"""An object of a class that nobody here knows."""

from __future__ import annotations

import reprlib
import struct
from collections.abc import Iterable
from typing import Any

from relume.converters.table import contents_text, unpacked

__all__ = ["Payload", "TorchObject"]

TAGS_WITH_NUMBERS = (3, 4, 7, 8)  # tables, objects and functions, in a file


class Payload(bytes):
    """What a class with a format of its own wrote, as it stands in a file.

    Attributes:
        number: that of the object in that file; the data may have numbers of others in it.
        form: (is ASCII, bytes of a C long, is big-endian) of that file.
    """

    number: int
    form: tuple[bool, int, bool]

    def objects_inside(self) -> int:
        """How many objects its data brings along: those that have the numbers after its own."""
        count, position = 0, 0
        while True:
            heads = [self._head(tag, self.number + count + 1) for tag in TAGS_WITH_NUMBERS]
            found = [at for head in heads if (at := self.find(head, position)) >= 0]
            if not found:
                return count
            count, position = count + 1, min(found)

    def _head(self, tag: int, index: int) -> bytes:
        is_ascii, _, big_endian = self.form
        if is_ascii:
            return b"%d\n%d\n" % (tag, index)
        return struct.pack(">ii" if big_endian else "<ii", tag, index)


class TorchObject:
    """An object of a Torch7 class without a Python class: its class name and its fields.

    Fields are attributes: `layer.weight` is `layer.fields["weight"]`.

    Attributes:
        torch_typename: "nn.Inception".
        torch_version: the version of the class that wrote it; 0 in files from before versions.
        fields: dict of the fields by name.
        payload: what a class with a format of its own wrote, as bytes; otherwise None.

    >>> layer = TorchObject("my.Scale", {"factor": 2})
    >>> layer.factor
    2
    """

    # Fresh from a file the fields are a tuple in `_pairs` until somebody looks at them.
    __slots__ = ("__weakref__", "_pairs", "fields", "payload", "torch_typename", "torch_version")
    _pairs: tuple[Any, ...]
    torch_typename: str
    torch_version: float
    fields: dict[Any, Any]
    payload: bytes | None

    def __init__(
        self,
        torch_typename: str,
        fields: dict[Any, Any] | None = None,
        torch_version: float = 1,
        payload: bytes | None = None,
    ):
        set_slot = object.__setattr__
        set_slot(self, "torch_typename", torch_typename)
        set_slot(self, "fields", {} if fields is None else fields)
        set_slot(self, "torch_version", torch_version)
        set_slot(self, "payload", payload)

    def __getattr__(self, name: str) -> Any:
        if name == "fields":
            self.fields = unpacked(self._pairs)
            del self._pairs
            return self.fields
        if name.startswith("__") or name in TorchObject.__slots__:
            raise AttributeError(name)
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(
                f"an object of class {self.torch_typename} read from a file has no field {name!r}; "
                f"its fields: {', '.join(map(str, list(self.fields)[:20])) or 'none'}"
            ) from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name in TorchObject.__slots__:
            object.__setattr__(self, name, value)
        else:
            self.fields[name] = value

    def __delattr__(self, name: str) -> None:
        if name in TorchObject.__slots__:
            return object.__delattr__(self, name)
        if name not in self.fields:
            raise AttributeError(name)
        del self.fields[name]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises UnknownModuleError, which says what it is and how to supply its class."""
        from relume.legacy_nn.errors import not_runnable

        raise not_runnable(self)

    forward = backward = updateOutput = updateGradInput = __call__

    @reprlib.recursive_repr("{...}")
    def __repr__(self) -> str:
        if self.payload is not None:
            return f"<{self.torch_typename}: {len(self.payload)} bytes in a format of its own>"
        return f"<{self.torch_typename} {contents_text(list(self.fields.items()), False)}>"

    def __dir__(self) -> Iterable[str]:
        return [*object.__dir__(self), *(key for key in self.fields if isinstance(key, str))]
