"""Tensors by name into an existing old network: retrained weights for Lua code."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from relume import Tensor
from relume.converters.pytorch import generate
from relume.converters.pytorch.layers import SAME, Weight
from relume.converters.weights import collect, with_aliases
from relume.tensor.printing import size_text

__all__ = ["WrongWeights", "fill_weights"]

Names = Mapping[str, str] | Callable[[str], str | None] | None
MOST_LISTED = 8
# What PyTorch counts and Torch7 does not.
IGNORED_ENDINGS = ("num_batches_tracked",)


class WrongWeights(ValueError):
    """Tensors and a network do not belong together; nothing was changed."""


@dataclass(frozen=True)
class Placement:
    """Where tensors go: a place in the network for every name.

    Attributes:
        kind: how the names were understood, in words.
        weights: places by name.
        is_partial: the names say which tensors are meant: the others stay as they are.
    """

    kind: str
    weights: dict[str, Weight]
    is_partial: bool = False


def fill_weights(network: Any, tensors: Mapping[str, Any], names: Names = None) -> str:
    """Puts tensors into a network, in place.

    Names may be those of the PyTorch source that `relume.convert` writes for this network, the
    paths that its .safetensors, .npz and .h5 files have, or any others: `names` says what they
    mean or, without it, tensors are taken in their order, layer by layer, when all shapes fit.

    Args:
        network: a layer with all that is in it.
        tensors: arrays or tensors by name.
        names: a name of the network (a path such as "modules.1.weight", or the name in its
            PyTorch source) for each name of `tensors`; a dict, or a function, None for tensors
            that are not needed.

    Returns:
        How the names were understood.

    Raises:
        WrongWeights: (a ValueError) names or shapes do not fit; lists them. Nothing was changed.

    >>> import numpy as np
    >>> from relume import legacy_nn as nn
    >>> net = nn.Sequential().add(nn.Linear(2, 1)).add(nn.Tanh())
    >>> fill_weights(net, {"layers.0.weight": np.ones((1, 2)), "layers.0.bias": np.zeros(1)})
    'names of the PyTorch source'
    >>> net.get(1).weight.tolist()
    [[1.0, 1.0]]
    """
    given = {
        name: as_array(tensor)
        for name, tensor in tensors.items()
        if not name.endswith(IGNORED_ENDINGS)
    }
    placement = find_placement(network, given, names)
    parts = checked_parts(placement, given)
    for tensor, array in parts:
        target = tensor.detach().numpy()
        target[...] = array.reshape(target.shape)
    return placement.kind


def as_array(tensor: Any) -> np.ndarray:
    if hasattr(tensor, "detach"):
        tensor = tensor.detach()
    if hasattr(tensor, "cpu"):
        tensor = tensor.cpu()
    return np.asarray(tensor.numpy() if hasattr(tensor, "numpy") else tensor)


# ---- what names mean ----


def find_placement(network: Any, given: Mapping[str, np.ndarray], names: Names) -> Placement:
    known = [places_of_source(network), places_of_paths(network)]
    if names is not None:
        return renamed(known, given, names)
    for placement in known:
        if given.keys() & placement.weights.keys():
            return placement
    in_order = known[0] if known[0].weights else known[1]
    return by_order(in_order, given)


def places_of_source(network: Any) -> Placement:
    """By the names of the PyTorch source; none where there is no such source."""
    source = generate(network)
    placed = with_aliases(source.weights, source.aliases)
    return Placement("names of the PyTorch source", placed)


def places_of_paths(network: Any) -> Placement:
    """By the paths of the tensors; a shared one by any of its paths."""
    kept = collect(network)
    own = {name: Weight(name, (tensor,), SAME) for name, tensor in kept.tensors.items()}
    return Placement("paths in the network", with_aliases(own, kept.aliases))


def renamed(known: list[Placement], given: Mapping[str, np.ndarray], names: Names) -> Placement:
    translate = names if callable(names) else dict(names or {}).get
    weights: dict[str, Weight] = {}
    wrong = []
    for name in given:
        meant = translate(name)
        if meant is None:
            continue
        place = next((p.weights[meant] for p in known if meant in p.weights), None)
        if place is None:
            wrong.append(f"{name} -> {meant}")
        else:
            weights[name] = place
    if wrong:
        raise WrongWeights("the network has no tensors of these names:\n" + listed(wrong))
    return Placement("the names that were given", weights, is_partial=True)


def by_order(placement: Placement, given: Mapping[str, np.ndarray]) -> Placement:
    """Names that mean nothing here: the first tensor for the first place, and so on."""
    pairs = itertools.zip_longest(given.items(), placement.weights.items())
    weights: dict[str, Weight] = {}
    for tensor, place in pairs:
        if tensor is None or place is None or not fits(tensor[1], place[1]):
            raise WrongWeights(
                "the names are none of this network's, and the tensors do not fit it in their "
                f"order either: it wants {describe(place)} where the file has "
                f"{describe(tensor)}; say with `names` what the names mean. The network has:\n"
                + listed([describe(item) for item in placement.weights.items()])
            )
        weights[tensor[0]] = place[1]
    return Placement("in their order", weights)


def shape_of(item: np.ndarray | Weight) -> tuple[int, ...]:
    return item.shape if isinstance(item, np.ndarray) else item.array().shape


def fits(array: np.ndarray, weight: Weight) -> bool:
    """Same shape, or the same rows seen in another shape (as nn.SpatialConvolutionMM does)."""
    shape = shape_of(weight)
    if array.shape == shape or array.shape == tuple(weight.tensors[0].shape):
        return array.shape == shape or weight.form.keeps_order
    is_regrouped = (
        array.ndim > 0 and array.shape[:1] == shape[:1] and array.size == math.prod(shape)
    )
    return is_regrouped and weight.form.keeps_order


def describe(item: Any) -> str:
    if item is None:
        return "nothing"
    name, value = item
    return f"{name} ({size_text(shape_of(value))})"


def listed(lines: list[str]) -> str:
    shown = [f"  {line}" for line in lines[:MOST_LISTED]]
    rest = len(lines) - len(shown)
    return "\n".join([*shown, *([f"  and {rest} more"] if rest else [])])


# ---- the tensors in the form of the old network ----


def checked_parts(
    placement: Placement, given: Mapping[str, np.ndarray]
) -> list[tuple[Tensor, np.ndarray]]:
    """Every old tensor with its new numbers."""
    problems = [
        f"{name}: {size_text(array.shape)} instead of {describe_shape(place)}"
        for name, array in given.items()
        if (place := placement.weights.get(name)) is not None and not fits(array, place)
    ]
    if not placement.is_partial:
        problems += [
            f"{name}: not in the network" for name in given if name not in placement.weights
        ]
        held = {id(w) for n, w in placement.weights.items() if n in given}
        missing = [n for n, w in placement.weights.items() if n not in given and id(w) not in held]
        problems += [f"{name}: not in the file" for name in missing]
    if problems:
        raise WrongWeights(f"the weights do not fit ({placement.kind}):\n" + listed(problems))
    parts = []
    for name, array in given.items():
        weight = placement.weights.get(name)
        if weight is not None:
            shapes = [tuple(tensor.shape) for tensor in weight.tensors]
            parts += list(zip(weight.tensors, weight.form.part(array, shapes), strict=True))
    return parts


def describe_shape(weight: Weight) -> str:
    return size_text(shape_of(weight))
