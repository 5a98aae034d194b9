"""What a file of weights says beside the arrays: the objects that they belong to, as JSON.

    {"relume": 1, "root": VALUE, "objects": [OBJECT, ...], "storages": [...]}

A VALUE is a JSON number, string, boolean or null; {"object": 3} for one of the objects; or
{"number": "nan"}, {"bytes": "base64"} for what JSON lacks. An OBJECT has a "class" and

    "fields": {name: VALUE}   of a layer and whatever else has a class, with its "version"
    "entries": [[key, VALUE]] of a table, or of fields whose names are not all strings
    "tensor": name            of a tensor: the array in the file. "shape" instead: one that was
                              left out, or is empty; with "zeros" a gradient of that shape. With
                              "storage", "offset", "shape" and "stride" a view of what overlapping
                              tensors have in common
    "values": [numbers]       of a storage; with "tensor" a large one
    "bytecode", "payload"     of Lua functions, and of classes with a format of their own

So the same network can be made from the file alone; `describe` writes it and `rebuilding.py` reads
it.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from relume import Storage, Tensor
from relume.converters.lua_function import LuaFunction
from relume.converters.object_tree import class_name, is_scratch, is_table
from relume.converters.t7.objects import ObjectForms
from relume.converters.table import Table
from relume.converters.tds import TdsVec
from relume.converters.torch_object import Payload
from relume.converters.weights.collecting import Weights
from relume.converters.weights.sharing import SharedStorages

__all__ = ["KEY", "describe"]

KEY = "relume"  # under which a file has it
VERSION = 1


def describe(weights: Weights) -> str:
    """The objects around collected weights, as JSON.

    >>> import relume as rl
    >>> from relume.converters.weights import collect
    >>> json.loads(describe(collect({"w": rl.zeros([2, 3]), "epoch": 3})))["objects"]
    [{'class': 'table', 'entries': [['w', {'object': 1}], ['epoch', 3]]},
     {'class': 'torch.FloatTensor', 'tensor': 'w'}]
    """
    return json.dumps(Description(weights).as_json(), separators=(",", ":"), allow_nan=False)


class Description:
    """Gives every object a number, and says what it is."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.shared = SharedStorages(weights)
        self.forms = ObjectForms()
        self.numbers: dict[int, int] = {}
        self.waiting: list[tuple[Any, bool]] = []  # objects, and whether they are in scratch
        self.kept: list[Any] = []  # so that no id is given twice
        self.gradients: set[int] = set()  # ids of tensors that are gradients of parameters

    def as_json(self) -> dict[str, Any]:
        root = self.value(self.weights.root, False)
        objects = []
        for value, is_left_behind in self.waiting:  # which grows
            objects.append(self.object(value, is_left_behind))
        result = {KEY: VERSION, "root": root, "objects": objects}
        storages = self.shared.as_json()
        return {**result, "storages": storages} if storages else result

    def value(self, value: Any, is_left_behind: bool) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            number = float(value)
            return number if math.isfinite(number) else {"number": str(number)}
        if isinstance(value, str):
            return value if is_unicode(value) else text_of(value.encode("utf-8", "surrogateescape"))
        if isinstance(value, bytes):
            return text_of(value)
        number = self.numbers.get(id(value), -1)
        if number < 0:
            number = self.numbers[id(value)] = len(self.waiting)
            self.waiting.append((value, is_left_behind))
        return {"object": number}

    def object(self, value: Any, is_left_behind: bool) -> dict[str, Any]:
        tensor = self.weights.tensor_of(value)
        if tensor is not None:
            return {"class": class_name(tensor), **self.tensor(tensor)}
        if isinstance(value, Storage):
            return self.storage(value)
        if isinstance(value, LuaFunction):
            return self.function(value)
        if isinstance(value, TdsVec):
            return {"class": "tds.Vec", "values": [self.value(v, is_left_behind) for v in value]}
        if is_table(value):
            return {"class": class_name(value), "entries": self.entries(value, is_left_behind)}
        return self.fields(value, is_left_behind)

    def tensor(self, tensor: Tensor) -> dict[str, Any]:
        name = self.weights.name_of(tensor)
        view = self.shared.view_of(tensor)
        if view is not None:
            return {"tensor": name, **view} if name in self.weights.arrays else view
        if name is None and id(tensor) in self.gradients:
            return {"shape": list(tensor.shape), "zeros": True}
        if name is None:
            return {"shape": list(tensor.shape) if tensor.numel() == 0 else [0]}
        return {"tensor": name}

    def storage(self, storage: Storage) -> dict[str, Any]:
        name = class_name(storage)
        return {"class": name, "values": storage.tensor().tolist() if len(storage) else []}

    def function(self, function: LuaFunction) -> dict[str, Any]:
        upvalues = function._upvalues
        return {
            "class": "function",
            "tag": function.tag,
            "bytecode": base64.b64encode(function.bytecode).decode(),
            "upvalues": None if upvalues is None else self.value(upvalues, False),
        }

    def entries(self, table: Any, is_left_behind: bool) -> list[list[Any]]:
        """A table's; those that hold activations of the last call lose them."""
        return self.pairs(
            (key, value)
            for key, value in pairs_of(table)
            if not (is_left_behind and self.is_left_out(value))
        )

    def is_left_out(self, value: Any) -> bool:
        is_there = isinstance(value, Tensor) and value.numel() > 0
        return is_there and self.weights.name_of(value) is None

    def pairs(self, pairs: Iterable[tuple[Any, Any]], scratch: bool = False) -> list[list[Any]]:
        return [[self.value(key, False), self.value(value, scratch)] for key, value in pairs]

    def fields(self, value: Any, is_left_behind: bool) -> dict[str, Any]:
        form = self.forms.form_of(value)
        result: dict[str, Any] = {"class": form.typename, "version": form.version}
        if form.payload is not None:
            return {**result, **payload_of(form.payload)}
        self.kept.append(form)
        fields = form.parts[-1].values
        if not all(isinstance(name, str) and is_unicode(name) for name in fields):
            return {**result, "entries": self.pairs(fields.items())}
        self.gradients |= {id(gradient) for gradient in gradients_among(fields)}
        described = {
            name: self.value(field, is_left_behind or is_scratch(name))
            for name, field in fields.items()
        }
        return {**result, "fields": described}


def gradients_among(fields: Mapping[Any, Any]) -> Iterator[Tensor]:
    """The tensors that are gradients of others: gradWeight of weight."""
    for name, value in fields.items():
        gradient = fields.get(f"grad{name[:1].upper()}{name[1:]}")
        shape = getattr(value, "shape", None)
        if isinstance(gradient, Tensor) and gradient.shape == shape:
            yield gradient


def pairs_of(table: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(table, (list, tuple)):
        return ((key, value) for key, value in enumerate(table, 1) if value is not None)
    pairs = table.items_in_file_order() if isinstance(table, Table) else list(table.items())
    return ((key, value) for key, value in pairs if value is not None)


def payload_of(payload: bytes) -> dict[str, Any]:
    described: dict[str, Any] = {"payload": base64.b64encode(payload).decode()}
    if isinstance(payload, Payload):
        described.update(number=payload.number, form=list(payload.form))
    return described


def text_of(value: bytes) -> dict[str, str]:
    return {"bytes": base64.b64encode(value).decode()}


def is_unicode(text: str) -> bool:
    """Can it be written as UTF-8? A string of Lua may hold any bytes."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)
