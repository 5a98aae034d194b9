"""Other inputs for a network: of another size, and with other values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import relume as rl
from relume import Tensor
from relume.converters.graph.model import Axis
from relume.legacy_nn import nested

__all__ = ["candidates", "with_other_values", "with_size"]

# What the dimensions of an input of some rank are usually called.
NAMES = {
    2: ("batch", "features"),
    3: ("batch", "length", "features"),
    4: ("batch", "planes", "height", "width"),
    5: ("batch", "planes", "depth", "height", "width"),
}
IMAGE = 32  # sizes from here on stay multiples of what deep pyramids of planes need


def candidates(inputs: Any) -> list[Axis]:
    """Dimensions that may be free: first those at the same place in all inputs, then those of
    one size in different places.

    >>> [axis.name for axis in candidates([rl.ones(2, 3), rl.ones(2, 5)])]
    ['batch', 'features', 'features_2']
    """
    tensors = nested.tensors_in(inputs)
    groups: dict[tuple[int, int], list[tuple[int, int]]] = {}
    sizes: dict[int, list[tuple[int, int]]] = {}
    for number, tensor in enumerate(tensors):
        for dim, size in enumerate(tensor.shape):
            groups.setdefault((dim, size), []).append((number, dim))
            sizes.setdefault(size, []).append((number, dim))
    found = [(places, size) for (_, size), places in sorted(groups.items(), key=first_dim)]
    found += [
        (places, size)
        for size, places in sizes.items()
        if len({dim for _, dim in places}) > 1 and len({number for number, _ in places}) > 1
    ]
    used: dict[str, int] = {}
    axes = []
    for places, size in found:
        number, dim = max(places, key=lambda place: tensors[place[0]].ndim)
        names = NAMES.get(tensors[number].ndim, ())
        name = names[dim] if dim < len(names) else f"dim{dim}"
        used[name] = used.get(name, 0) + 1
        name = name if used[name] == 1 else f"{name}_{used[name]}"
        axes.append(Axis(name, tuple(places), size, tensors[number].ndim >= 4))
    return axes


def first_dim(group: tuple[tuple[int, int], list]) -> int:
    return group[0][0]


def with_size(inputs: Any, axis: Axis, size: int) -> Any:
    """Inputs whose axis has another size: elements along it are repeated or left out."""
    numbers = iter(range(len(nested.tensors_in(inputs))))

    def change(tensor: Tensor) -> Tensor:
        number = next(numbers)
        for place, dim in axis.places:
            if place == number:
                rows = rl.tensor(np.arange(size) % tensor.shape[dim])
                tensor = tensor.index_select(dim, rows)
        return tensor

    return nested.map_tensors(change, inputs)


def other_size(axis: Axis) -> int:
    """Another size for an axis: so far away that halves and windows show, and for sides of images
    one that pyramids of planes take, too."""
    if not axis.is_spatial:
        return axis.size + 1 if axis.is_of_images else 2 * axis.size + 1
    return axis.size + IMAGE if axis.size >= IMAGE else 2 * axis.size


def with_other_values(inputs: Any) -> Iterator[Any]:
    """Inputs of the same sizes with other values: of the other sign, smaller ones, and those that
    were there in another order. Whole numbers may be indices and stay such."""

    def scaled(tensor: Tensor, factor: float) -> Tensor:
        values = tensor.numpy()
        if values.dtype.kind == "f" and not np.all(values == np.round(values)):
            return rl.tensor((values * factor).astype(values.dtype))
        return rl.tensor(values.reshape(-1)[::-1].reshape(values.shape).copy())

    def negative(tensor: Tensor) -> Tensor:
        return scaled(tensor, -0.6)

    def smaller(tensor: Tensor) -> Tensor:
        return scaled(tensor, 0.9)

    def reordered(tensor: Tensor) -> Tensor:
        return rl.tensor(tensor.numpy()[::-1].copy()) if tensor.ndim else tensor

    for change in (negative, smaller, reordered):
        yield nested.map_tensors(change, inputs)
