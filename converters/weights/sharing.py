"""Tensors that overlap in memory: which storages they have in common."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

from relume import Tensor
from relume.converters.weights.collecting import Weights
from relume.tensor.extent import span

__all__ = ["SharedStorages"]


class SharedStorages:
    """The storages of which collected tensors, other ones than each other, look at the same part.

    Tensors that are equal views need none of this: they have one name. Overlapping ones are written
    as arrays of their own, for other tools, and are views of one memory again when the network is
    made from the file. A tensor that others cover completely, as the flat vector of `getParameters`
    is by the layers' parameters, is not written at all.
    """

    def __init__(self, weights: Weights) -> None:
        groups: dict[int, dict[str, Tensor]] = defaultdict(dict)
        for name in weights.arrays:
            tensor = weights.tensors[name]
            storage = tensor.storage()
            if storage is not None:
                groups[storage.data_ptr()][name] = tensor
        self._storages: list[dict[str, Any]] = []
        self._numbers: dict[int, int] = {}
        for address, group in groups.items():
            if len(group) > 1 and overlap(list(group.values())):
                self._add(address, group, weights)

    def _add(self, address: int, group: dict[str, Tensor], weights: Weights) -> None:
        tensors = list(group.values())
        first = min(span(tensor)[0] for tensor in tensors)
        last = max(span(tensor)[1] for tensor in tensors)
        self._numbers[address] = len(self._storages)
        dtype = str(tensors[0].dtype).removeprefix("relume.")
        self._storages.append({"dtype": dtype, "size": last - first, "first": first})
        for name in covered(group):
            del weights.arrays[name]

    def view_of(self, tensor: Tensor) -> dict[str, Any] | None:
        """Where a tensor looks at, when it shares its storage with others."""
        storage = tensor.storage() if tensor.numel() else None
        number = None if storage is None else self._numbers.get(storage.data_ptr())
        if number is None:
            return None
        return {
            "storage": number,
            "offset": tensor.storage_offset() - self._storages[number]["first"],
            "shape": list(tensor.shape),
            "stride": list(tensor.stride()),
        }

    def as_json(self) -> list[dict[str, Any]]:
        return [{"dtype": storage["dtype"], "size": storage["size"]} for storage in self._storages]


def overlap(tensors: list[Tensor]) -> bool:
    """Do any two look at the same part of their storage?"""
    if len({tensor.dtype for tensor in tensors}) > 1:
        return False
    spans = sorted(map(span, tensors))
    return any(following[0] < current[1] for current, following in pairwise(spans))


def covered(group: dict[str, Tensor]) -> list[str]:
    """The names of contiguous tensors whose elements the smaller contiguous ones all have.

    >>> import relume as rl
    >>> flat = rl.zeros(5)
    >>> covered({"flat": flat, "weight": flat[:3], "bias": flat[3:]})
    ['flat']
    """
    plain = {name: span(tensor) for name, tensor in group.items() if tensor.is_contiguous()}
    found = []
    for name, (begin, end) in sorted(plain.items(), key=lambda item: item[1][0] - item[1][1]):
        position = begin
        for other, (first, last) in sorted(plain.items(), key=lambda item: item[1]):
            is_smaller = last - first < end - begin and begin <= first and last <= end
            if other != name and other not in found and is_smaller and first <= position:
                position = max(position, last)
        if position >= end:
            found.append(name)
    return found
