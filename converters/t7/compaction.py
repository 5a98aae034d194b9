"""Storages reduced to the elements that some tensor looks at.

A first walk notes every tensor; then each storage is cut into pieces: stretches that overlapping
tensors cover. A piece of which only some elements are used, as by one column of a matrix, shrinks
to these elements where strides can still describe the tensors.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from relume import _C, Storage, Tensor
from relume.converters.t7.arrays import Arrays, View
from relume.converters.t7.objects import ObjectForms
from relume.converters.t7.writer import Writer
from relume.tensor.extent import extent

__all__ = ["CompactArrays"]


class CompactArrays(Arrays):
    """Every tensor with no more of its storage than the tensors of the file look at.

    Args:
        objects: all that will be written; a first walk over them finds the tensors.
        forms: what the objects consist of.
        file_form: (is ASCII, bytes of a C long, is big-endian) of the file.
        keep_gpu_types: as for `Arrays`.
    """

    def __init__(
        self,
        objects: Iterable[Any],
        forms: ObjectForms,
        file_form: tuple[bool, int, bool],
        keep_gpu_types: bool = False,
    ) -> None:
        super().__init__(keep_gpu_types)
        self._met: dict[Any, dict[int, View]] = {}  # by storage, then by the tensor's id
        self._needed_whole: set[Any] = set()
        self._plan: dict[int, View] | None = None
        # The walk holds what it makes, so that no id is given again.
        self._walk = Writer(_C.T7Encoder(len, *file_form), self, forms)
        for obj in objects:
            self._walk.write(obj)
        self._plan = {}
        for key, views in self._met.items():
            if key not in self._needed_whole:
                self._plan.update(compacted(views))

    def view_of(self, original: Any, tensor: Tensor) -> View:
        if self._plan is not None and id(original) in self._plan:
            return self._plan[id(original)]
        view = super().view_of(original, tensor)
        if self._plan is not None or view.storage is None or isinstance(view.key, tuple):
            return view
        if view.shape:
            self._met.setdefault(view.key, {})[id(original)] = view
        return replace(view, storage=None)

    def view_of_storage(self, storage: Storage) -> View:
        view = super().view_of_storage(storage)
        if self._plan is not None:
            return view
        self._needed_whole.add(view.key)
        return replace(view, storage=None)


def compacted(views: dict[int, View]) -> dict[int, View]:
    """The views of one storage, on pieces of it."""
    result: dict[int, View] = {}
    for start, stop, members in pieces(views):
        chosen = {identity: views[identity] for identity in members}
        dense = any(dense_size(view) == stop - start for view in chosen.values())
        packed = None if dense else pack(chosen)
        result.update(packed if packed is not None else cut_out(chosen, start, stop))
    return result


def pieces(views: dict[int, View]) -> list[tuple[int, int, list[int]]]:
    """(start, stop, members): the stretches of the storage that overlapping views cover."""
    found: list[tuple[int, int, list[int]]] = []
    for identity, view in sorted(views.items(), key=lambda item: item[1].offset):
        stop = view.offset + reach(view)
        if found and view.offset < found[-1][1]:
            start, before, members = found[-1]
            found[-1] = (start, max(before, stop), [*members, identity])
        else:
            found.append((view.offset, stop, [identity]))
    return found


def reach(view: View) -> int:
    """How many elements there are from a view's first to its last."""
    first, end = extent(view.shape, view.strides)
    return end - first


def dense_size(view: View) -> int:
    """How many elements a view without gaps has, in whatever order; 0 for one with gaps."""
    steps = sorted(
        (stride, size)
        for size, stride in zip(view.shape, view.strides, strict=True)
        if size > 1 and stride > 0
    )
    expected = 1
    for stride, size in steps:
        if stride != expected:
            return 0
        expected *= size
    return expected


def cut_out(views: dict[int, View], start: int, stop: int) -> dict[int, View]:
    """The views on the stretch from start to stop."""
    return {
        identity: replace(
            view,
            offset=view.offset - start,
            first=start,
            count=stop - start,
            key=("piece", view.key, start),
        )
        for identity, view in views.items()
    }


def pack(views: dict[int, View]) -> dict[int, View] | None:
    """The views on those elements only that they look at; None where strides cannot say it."""
    used = {identity: positions_in(view) for identity, view in views.items()}
    union = np.unique(np.concatenate([positions.ravel() for positions in used.values()]))
    result = {}
    for identity, view in views.items():
        ranks = np.searchsorted(union, used[identity])
        first = int(ranks.flat[0])
        strides = tuple(stride_of(ranks, axis) for axis in range(ranks.ndim))
        if not np.array_equal(ranks, first + grid(ranks.shape, strides)):
            return None
        result[identity] = replace(
            view,
            strides=tuple(
                new if old else 0 for new, old in zip(strides, view.strides, strict=True)
            ),
            offset=first,
            positions=union,
            key=("packed", view.key, int(union[0])),
        )
    return result


def positions_in(view: View) -> np.ndarray:
    """Where a view's elements are in the storage; repeated ones once."""
    shape = tuple(
        size if stride else 1 for size, stride in zip(view.shape, view.strides, strict=True)
    )
    return view.offset + grid(shape, view.strides)


def grid(shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """The sum of index times stride over all dimensions, for every element of a shape."""
    total = np.zeros(shape, np.int64)
    for axis, (size, stride) in enumerate(zip(shape, strides, strict=True)):
        steps = np.arange(size, dtype=np.int64) * stride
        total += steps.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return total


def stride_of(ranks: np.ndarray, axis: int) -> int:
    """The step from the first position to the next along an axis."""
    if ranks.shape[axis] == 1:
        return 1
    index = [0] * ranks.ndim
    index[axis] = 1
    return int(ranks[tuple(index)] - ranks.flat[0])
