"""The walk over objects that writes them as Torch7 does.

Everything but numbers, strings, booleans and nil has an index, given when it is met for the first
time; later it is written as its index. Nothing recurses: the containers that are open are a list of
iterators over what they hold, so depth costs memory only. Plain values, which are nearly all, are
written in C++ from those iterators; here comes only what is more than that.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from numbers import Integral, Real
from typing import Any

import numpy as np

from relume import _C, Storage, Tensor
from relume.converters.errors import UnwritableError
from relume.converters.lua_function import LuaFunction
from relume.converters.object_tree import fields_of
from relume.converters.t7.arrays import Arrays, View
from relume.converters.t7.objects import Fields, ObjectForms
from relume.converters.table import Table
from relume.converters.tds import TdsHash, TdsVec
from relume.converters.torch_object import Payload

__all__ = ["Writer"]

TABLE, TORCH, OLD_FUNCTION = 3, 4, 6  # what stands before an object
MOST_ENTRIES = 2**31 - 1
MOST_PROBLEMS = 20  # that one error names
STEPS_AT_EACH_END = 12  # of a path

Pairs = list[tuple[Any, Any]]


class Writer:
    """Writes objects to one file, one after the other; what they share is written once.

    Args:
        encoder: a `_C.T7Encoder`, which takes the primitive values in the form of the file.
        arrays: says which storage every tensor is written with.
        forms: says what an object of a class consists of.
    """

    def __init__(self, encoder: Any, arrays: Arrays, forms: ObjectForms) -> None:
        self._encoder = encoder
        self._arrays = arrays
        self._forms = forms
        self._indices: dict[Any, int] = {}
        self._foreign: dict[Any, Any] = {}  # objects of other languages
        self._count = 0
        self._kept: list[Any] = []  # made while writing; their ids must not be given again
        self._open: list[tuple[Any, Iterator[Any]]] = []  # containers and what is left of them
        self._problems: dict[str, str] = {}

    def write(self, value: Any) -> None:
        """Writes one object.

        Raises:
            UnwritableError: it holds what a Torch7 file cannot; the message names the places.
        """
        self._open = [(None, iter((value,)))]
        while self._open:
            found = self._encoder.plain(self._open[-1][1])
            if found is None:
                self._open.pop()
                continue
            try:
                _method_of(type(found))(self, found)
            except (TypeError, ValueError, OverflowError) as error:
                self._note_problem(found, str(error))
        if self._problems:
            raise UnwritableError(self._problems)

    # ---- containers ----

    def _write_table(self, table: Table) -> None:
        if not self._refer(TABLE, id(table)):
            self._open_entries(table, table.items_in_file_order())

    def _write_mapping(self, mapping: Mapping[Any, Any]) -> None:
        if not self._refer(TABLE, id(mapping)):
            self._open_entries(mapping, self._kept_if_made(mapping, list(mapping.items())))

    def _write_sequence(self, sequence: Any) -> None:
        if not self._refer(TABLE, id(sequence)):
            self._open_entries(sequence, self._kept_if_made(sequence, list(enumerate(sequence, 1))))

    def _kept_if_made(self, container: Any, pairs: Pairs) -> Pairs:
        """Containers of other libraries may make what they hold when they are asked for it."""
        if type(container) not in (dict, OrderedDict, list, tuple):
            self._kept.append(pairs)
        return pairs

    def _write_fields(self, fields: Fields) -> None:
        self._start(TABLE)  # a table that nothing else refers to
        self._open_entries(fields, list(fields.values.items()))

    def _open_entries(self, container: Any, pairs: Pairs) -> None:
        """Writes the count of entries; the entries follow."""
        pairs = [pair for pair in pairs if pair[1] is not None]
        check_keys(pairs)
        self._encoder.integers([len(pairs)])
        self._open.append((container, chain.from_iterable(pairs)))

    def _write_hash(self, table: TdsHash) -> None:
        if self._refer(TORCH, id(table)):
            return
        self._write_class("tds.Hash", 0)
        pairs = table.items_in_file_order()
        self._encoder.longs([len(pairs)])
        self._open.append((table, chain.from_iterable(pairs)))

    def _write_vector(self, vector: TdsVec) -> None:
        if self._refer(TORCH, id(vector)):
            return
        self._write_class("tds.Vec", 0)
        self._encoder.longs([len(vector)])
        self._open.append((vector, iter(vector)))

    def _write_function(self, function: LuaFunction) -> None:
        if function.tag == OLD_FUNCTION:  # it has no index
            self._encoder.integers([OLD_FUNCTION])
        elif self._refer(function.tag, id(function)):
            return
        self._encoder.chars(function.bytecode)
        upvalues = function._upvalues
        if upvalues is None:
            self._kept.append(upvalues := Table())
        self._open.append((function, iter((upvalues,))))

    def _write_foreign(self, value: Any) -> None:
        """An object of another language: its form here, made once."""
        form = self._foreign.get(value)
        if form is None:
            form = self._foreign[value] = value._for_file()
        _method_of(type(form))(self, form)

    def _write_object(self, value: Any) -> None:
        tensor = self._arrays.as_tensor(value)
        if tensor is not None:
            return self._write_tensor(value, tensor)
        form = self._forms.form_of(value)
        if self._refer(TORCH, id(value)):
            return
        self._kept.append(form)
        self._write_class(form.typename, form.version)
        if form.payload is not None:
            return self._write_payload(form.payload, self._indices[id(value)])
        self._open.append((value, iter(form.parts)))

    def _write_payload(self, payload: bytes, index: int) -> None:
        """Data whose format nobody knows: it is right only where it stood."""
        if isinstance(payload, Payload) and payload:
            if payload.form != self._encoder.form:
                raise ValueError(
                    "its class wrote it in a format of its own, which can only be written in the "
                    f"form of the file it came from: {form_text(payload.form)}"
                )
            inside = payload.objects_inside()
            if inside and payload.number != index:
                raise ValueError(
                    "its class wrote it in a format of its own, with other objects by number; that "
                    f"can only be written as object number {payload.number} of a file, as it was, "
                    f"and this would be number {index}"
                )
            self._count += inside
        self._encoder.payload(payload)

    # ---- tensors ----

    def _write_relume_tensor(self, tensor: Tensor) -> None:
        self._write_tensor(tensor, tensor)

    def _write_tensor(self, original: Any, tensor: Tensor) -> None:
        if self._refer(TORCH, id(original)):
            return
        view = self._arrays.view_of(original, tensor)
        self._write_class(f"{view.type_prefix}Tensor", 1)
        self._encoder.integers([len(view.shape)])
        self._encoder.longs(view.shape)
        self._encoder.longs(view.strides)
        self._encoder.longs([view.offset + 1])
        self._write_storage_of(view)

    def _write_storage(self, storage: Storage) -> None:
        self._write_storage_of(self._arrays.view_of_storage(storage))

    def _write_storage_of(self, view: View) -> None:
        if view.storage is None:
            self._write_plain(None)
        elif not self._refer(TORCH, view.key):
            self._write_class(f"{view.type_prefix}Storage", 1)
            self._encoder.elements(*view.contents())

    # ---- plain values that C++ does not know ----

    def _write_text(self, text: str | bytes) -> None:
        """What is too long, or no UTF-8; bytes that Python could not decode are written back."""
        if isinstance(text, str):
            text = text.encode("utf-8", "surrogateescape")
        if len(text) > MOST_ENTRIES:
            raise ValueError(f"a string of {len(text)} bytes; {MOST_ENTRIES} are the most")
        self._write_plain(text)

    def _write_boolean(self, value: Any) -> None:
        self._write_plain(bool(value))

    def _write_number(self, value: Any) -> None:
        number = float(value)
        if isinstance(value, Integral) and int(number) != int(value):
            raise ValueError(
                f"{int(value)} is too large for a number of Lua, which would make {int(number)} "
                "of it; save it as a string"
            )
        self._write_plain(number)

    def _write_plain(self, value: Any) -> None:
        self._encoder.plain(iter((value,)))

    # ---- indices and heads ----

    def _refer(self, tag: int, key: Any) -> bool:
        """Writes a reference to what was written before, or the start of something new."""
        index = self._indices.get(key)
        if index is None:
            self._indices[key] = self._start(tag)
            return False
        self._encoder.integers([tag, index])
        return True

    def _start(self, tag: int) -> int:
        self._count += 1
        self._encoder.integers([tag, self._count])
        return self._count

    def _write_class(self, typename: str, version: float | None) -> None:
        if version is not None:
            self._encoder.chars(f"V {version:g}".encode())
        self._encoder.chars(typename.encode("utf-8", "surrogateescape"))

    # ---- what cannot be written ----

    def _note_problem(self, value: Any, reason: str) -> None:
        """Goes on to find all problems, but writes nothing more."""
        self._problems[self._path_of(value)] = reason
        self._encoder = _C.T7Encoder(len, *self._encoder.form)  # `len` takes bytes and forgets them
        if len(self._problems) == MOST_PROBLEMS:
            raise UnwritableError(self._problems)

    def _path_of(self, value: Any) -> str:
        holders = [holder for holder, _ in self._open if holder is not None]
        steps = [
            step_text(holder, inner)
            for holder, inner in zip(holders, [*holders[1:], value], strict=False)
            if holder is not inner
        ]
        if len(steps) > 2 * STEPS_AT_EACH_END:
            steps[STEPS_AT_EACH_END:-STEPS_AT_EACH_END] = ["..."]
        return "root" + "".join(steps)


def form_text(form: tuple[bool, int, bool]) -> str:
    """The options of `save` that give a form."""
    is_ascii, long_size, big_endian = form
    order = "big" if big_endian else "little"
    binary = f'format="binary", long_size={long_size}, byte_order="{order}"'
    return 'format="ascii"' if is_ascii else binary


def check_keys(pairs: Pairs) -> None:
    """Raises ValueError for keys that a Lua table cannot have."""
    if len(pairs) > MOST_ENTRIES:
        raise ValueError(f"a table of {len(pairs)} entries; {MOST_ENTRIES} are the most")
    has_bytes = False
    for key, _ in pairs:
        if key is None or (isinstance(key, float) and key != key):
            raise ValueError(f"{key} cannot be the key of a Lua table")
        has_bytes = has_bytes or type(key) is bytes
    if has_bytes:
        strings = [k.encode("utf-8", "surrogateescape") if type(k) is str else k for k, _ in pairs]
        if len({k for k in strings if type(k) is bytes}) < sum(type(k) is bytes for k in strings):
            raise ValueError("two keys are the same string of Lua, once as str and once as bytes")


def step_text(holder: Any, value: Any) -> str:
    """How a path goes on from a container to a value in it."""
    if isinstance(value, Fields):
        return ""
    if isinstance(holder, LuaFunction):
        return ".upvalues"
    if isinstance(holder, Fields):
        holder = holder.values
    pairs = holder.items() if isinstance(holder, Mapping) else fields_of(holder)
    for key, candidate in pairs:
        if candidate is value:
            if isinstance(key, str) and key.isidentifier():
                return f".{key}"
            return f"[{key!r}]" if isinstance(key, (str, bytes, int, float)) else "[...]"
    return "<key>"


def _method_of(cls: type) -> Callable[[Writer, Any], None]:
    """How objects of a class are written."""
    method = _methods.get(cls)
    if method is None:
        found = (method for base, method in METHODS if issubclass(cls, base))
        method = next(found, Writer._write_object)
        if hasattr(cls, "_for_file"):
            method = Writer._write_foreign
        _methods[cls] = method
    return method


_methods: weakref.WeakKeyDictionary[type, Callable[[Writer, Any], None]] = (
    weakref.WeakKeyDictionary()
)
METHODS: list[tuple[Any, Callable[[Writer, Any], None]]] = [
    (Tensor, Writer._write_relume_tensor),
    (Storage, Writer._write_storage),
    (TdsHash, Writer._write_hash),
    (Table, Writer._write_table),
    (TdsVec, Writer._write_vector),
    (LuaFunction, Writer._write_function),
    (Fields, Writer._write_fields),
    ((list, tuple, range), Writer._write_sequence),
    (Mapping, Writer._write_mapping),
    ((str, bytes), Writer._write_text),
    ((bool, np.bool_), Writer._write_boolean),
    ((Integral, Real), Writer._write_number),
]
