"""Copies and conversions of object graphs that keep sharing: clone() and type()."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from relume import Storage, Tensor
from relume.converters.table import Table
from relume.converters.torch_object import TorchObject
from relume.legacy_nn.flattening import storage_key
from relume.legacy_nn.tracing import Watched
from relume.legacy_nn.types import DTYPES


class TensorCopier:
    """Copies tensors, each storage once, so that what shared memory still does."""

    def __init__(self, dtype=None):
        self.dtype = dtype  # None: keep each tensor's own
        self.tensors: dict[int, Tensor] = {}
        self.storages: dict[tuple, Tensor] = {}
        self.alive: list[Tensor] = []  # ids and addresses are only good while these live

    def copy(self, tensor: Tensor) -> Tensor:
        known = self.tensors.get(id(tensor))
        if known is None:
            known = self.tensors[id(tensor)] = self._copy(tensor)
            self.alive.append(tensor)
        return known

    def _copy(self, tensor: Tensor) -> Tensor:
        dtype = self.dtype or tensor.dtype
        plain = tensor.detach()
        if tensor.numel() == 0:
            return plain.to(dtype) if dtype != tensor.dtype else plain.clone()
        key = storage_key(tensor)
        storage = self.storages.get(key)
        if storage is None:
            size = len(tensor.storage() or ())
            whole = plain.as_strided((size,), (1,), 0)
            storage = whole.to(dtype) if dtype != tensor.dtype else whole.clone()
            self.storages[key] = storage
        return storage.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()).data


def clone(root: Any, shared_fields: tuple[str, ...] = (), kept: Iterable[Any] = ()) -> Any:
    """A copy of an object graph; tensors in the named fields of modules are not copied, nor are
    the tensors and objects in `kept`.

    Works through a list of things to do instead of recursion: graphs of nodes are deep.
    """
    tensors = TensorCopier()
    copies: dict[int, Any] = {}
    unfilled: list[tuple[Any, Any]] = []
    for value in kept:
        (tensors.tensors if isinstance(value, Tensor) else copies)[id(value)] = value
    if shared_fields:
        _keep_shared(root, shared_fields, tensors)

    def copy(value: Any) -> Any:
        if isinstance(value, Tensor):
            return tensors.copy(value)
        known = copies.get(id(value))
        if known is not None:
            return known
        if hasattr(type(value), "_copy"):  # it is more than its fields
            return copies.setdefault(id(value), value._copy(shared_fields))
        if isinstance(value, Storage):
            return copies.setdefault(id(value), value.tensor().clone().storage())
        if isinstance(value, tuple):
            return tuple(copy(element) for element in value)
        shell = new_shell(value)
        if shell is None:
            return value
        copies[id(value)] = shell
        unfilled.append((value, shell))
        return shell

    result = copy(root)
    while unfilled:
        source, target = unfilled.pop()
        fill(source, target, copy)
    if shared_fields:
        for original, duplicate in zip(_objects(root), _objects(result), strict=False):
            if any(name in vars(original) for name in shared_fields):
                vars(original)["shared"] = vars(duplicate)["shared"] = True
    return result


def _keep_shared(root: Any, names: tuple[str, ...], tensors: TensorCopier) -> None:
    for module in _objects(root):
        for name in names:
            value = vars(module).get(name)
            if isinstance(value, Tensor):
                tensors.tensors[id(value)] = value
                tensors.alive.append(value)


def _objects(root: Any) -> list[Any]:
    return root.listModules() if hasattr(root, "listModules") else []


def is_object(value: Any) -> bool:
    """Is this an object with fields (a module, a graph node, an unknown Torch object)?"""
    return hasattr(type(value), "torch_typename") or hasattr(value, "torch_typename")


def fields_of(value: Any) -> dict:
    """The fields of an object, as they may be read and changed."""
    fields = getattr(value, "fields", None)
    if isinstance(fields, dict):
        return fields
    return getattr(value, "__dict__", {})  # a TorchObject with a payload has none


def new_shell(value: Any) -> Any:
    """An empty thing of the same kind to be filled later; None for what is not copied."""
    if isinstance(value, Table):
        return Table()
    if isinstance(value, list):
        return []
    if isinstance(value, dict):
        return {}
    if isinstance(value, (Tensor, Storage, type)) or not is_object(value):
        return None
    if isinstance(value, TorchObject):
        return TorchObject(value.torch_typename, {}, value.torch_version, value.payload)
    cls: Any = type(value)
    shell = cls.__new__(cls)
    if hasattr(cls, "_gradients_from_file"):
        shell._gradients_from_file = value._gradients_from_file
    return shell


def fill(source: Any, target: Any, copy: Callable[[Any], Any]) -> None:
    """Copies what is inside."""
    if isinstance(source, Table):
        for key, value in source.items():
            target[copy(key)] = copy(value)
    elif isinstance(source, list):
        target.extend(copy(value) for value in source)
    elif isinstance(source, dict):
        for key, value in source.items():
            target[copy(key)] = copy(value)
    else:
        fields = fields_of(target)
        for key, value in fields_of(source).items():
            fields[key] = value.for_copy(target) if isinstance(value, Watched) else copy(value)
        if getattr(source, "_released", None) is not None:
            fields.setdefault("gradInput", source._released.empty(source))


def cast(root: Any, typename: str, copier: TensorCopier | None = None) -> None:
    """Converts every tensor below an object to a Torch7 type, in place in the graph.

    Args:
        root: a module, or a table of anything.
        typename: such as "torch.FloatTensor".
        copier: remembers what has been converted; give it again for other objects that share
            memory with this one.
    """
    tensors = copier or TensorCopier(DTYPES[typename])
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if hasattr(value, "_before_cast") and not value._before_cast(typename, tensors):
            continue
        items = contents(value)
        if items is None:
            continue
        if is_object(value) and "_type" in items:
            items["_type"] = typename
        if hasattr(value, "_record"):
            value._record = None
        kept = getattr(type(value), "uncast_names", ())
        pairs = enumerate(list(items)) if isinstance(items, list) else list(items.items())
        for key, element in pairs:
            if key in kept:
                continue
            if not isinstance(element, Tensor):
                waiting.append(element)
            elif element.dtype != tensors.dtype:
                items[key] = tensors.copy(element)


def contents(value: Any) -> Any:
    """What can hold tensors inside a value: its fields, items or elements; else None."""
    if isinstance(value, (Table, list, dict)):
        return value
    if isinstance(value, (Tensor, Storage, type, str, bytes, int, float, tuple)) or value is None:
        return None
    return fields_of(value) if is_object(value) else None
