"""Batch normalisation taken into the layer before it, or behind it.

In evaluate mode it is one scale and one shift per plane, which the weights of a convolution or
linear layer can have as well.

    y = (W x + b - mean) * scale + beta        scale = gamma / sqrt(var + eps)
      = (scale W) x + ((b - mean) * scale + beta)

    y = W (x * scale + shift) + b               shift = beta - mean * scale
      = (W scale) x + (b + W shift)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import relume as rl
from relume import Tensor
from relume.converters.formats import Options
from relume.converters.object_tree import walk
from relume.converters.weights.contents import contents_of, object_of
from relume.legacy_nn.container import Sequential
from relume.legacy_nn.convolution import (
    SpatialConvolution,
    SpatialDilatedConvolution,
    SpatialFullConvolution,
)
from relume.legacy_nn.gmodule import gModule
from relume.legacy_nn.linear import Linear, LinearNoBias
from relume.legacy_nn.module import Module
from relume.legacy_nn.normalization import BatchNormalization
from relume.legacy_nn.table_layers import Identity
from relume.legacy_nn.volumetric import VolumetricConvolution, VolumetricFullConvolution

__all__ = ["folded"]

# The dimension of the weight that counts the outputs.
OUTPUT_DIMENSIONS: dict[Any, int] = {
    Linear: 0,
    SpatialConvolution: 0,
    SpatialDilatedConvolution: 0,
    SpatialFullConvolution: 1,
    VolumetricConvolution: 0,
    VolumetricFullConvolution: 1,
}
PADDING = ("padT", "padH", "padW")


def folded(obj: Any) -> Any:
    """A copy of an object, whose networks have `nn.Identity` where the batch normalisation stood
    that could be taken into a layer beside it.

    >>> from relume import legacy_nn as nn
    >>> net = nn.Sequential().add(nn.Linear(3, 2)).add(nn.BatchNormalization(2)).evaluate()
    >>> folded(net).get(2)
    nn.Identity
    """
    contents = contents_of(obj, Options(everything=True))
    copy = object_of(contents)
    nodes = [node for node in walk(copy) if isinstance(node.value, Module)]
    uses = Counter(id(child) for node in nodes if node.same_as is None for child in inner(node))
    weights = Counter(address(node.value) for node in nodes if node.same_as is None)
    gone: set[int] = set()
    for node in nodes:
        if node.same_as is not None:
            continue
        for first, second in list(pairs(node.value)):
            if id(first) in gone or uses[id(first)] != 1 or uses[id(second)] != 1:
                continue
            for layer, normalization, fits, fold in (
                (first, second, fits_before, fold_into_outputs),
                (second, first, fits_behind, fold_into_inputs),
            ):
                if fits(layer, normalization) and weights[address(layer)] == 1:
                    fold(layer, normalization)
                    replace(node.value, normalization)
                    gone.add(id(normalization))
                    break
    return copy


def inner(node: Any) -> list[Any]:
    return node.value.children()


def address(layer: Any) -> int:
    weight = getattr(layer, "weight", None)
    return weight.data_ptr() if isinstance(weight, Tensor) and weight.numel() else id(layer)


def pairs(container: Any) -> Iterator[tuple[Any, Any]]:
    """Layers, each with the one that alone gets its output."""
    if isinstance(container, gModule):
        steps = container.steps()
        takers = Counter(source for step in steps for source in step.sources)
        for step in steps:
            if len(step.sources) == 1 and takers[step.sources[0]] == 1:
                yield steps[step.sources[0]].data.get("module"), step.data.get("module")
    elif isinstance(container, Sequential):
        children = container.children()
        yield from pairwise(children)


def fits_before(layer: Any, normalization: Any) -> bool:
    """Is it a layer with one weight per output plane, before the normalisation of these planes?"""
    kind = kind_of(layer)
    if kind is None or not isinstance(normalization, BatchNormalization):
        return False
    return layer.weight.shape[OUTPUT_DIMENSIONS[kind]] == normalization.running_mean.numel()


def fits_behind(layer: Any, normalization: Any) -> bool:
    """Is it a layer that multiplies every plane it gets, all of them at every place?

    Not so where an image is padded with zeros, which were not normalised, and where the number of
    products follows the place, as at the borders of transposed convolutions.
    """
    kind = kind_of(layer)
    if kind is None or not isinstance(normalization, BatchNormalization):
        return False
    if OUTPUT_DIMENSIONS[kind] != 0 or any(getattr(layer, name, 0) for name in PADDING):
        return False
    count = normalization.running_mean.numel()
    outputs = layer.weight.shape[0]
    places = math.prod(int(getattr(layer, name, 1)) for name in ("kT", "kH", "kW"))
    return layer.weight.numel() == outputs * count * places


def replace(container: Any, normalization: Any) -> None:
    identity = Identity()
    container.replace_children(lambda child: identity if child is normalization else child)


def scale_and_shift(normalization: Any) -> tuple[Tensor, Tensor]:
    """What a normalisation multiplies every plane by, and adds then."""
    scale = 1 / (normalization.running_var + normalization.eps).sqrt()
    if normalization.weight is not None:
        scale = scale * normalization.weight.detach()
    shift = -normalization.running_mean * scale
    if normalization.bias is not None:
        shift = shift + normalization.bias.detach()
    return scale, shift


def fold_into_outputs(layer: Any, normalization: Any) -> None:
    scale, shift = scale_and_shift(normalization)
    weight = layer.weight.detach()
    shape = [1] * weight.ndim
    shape[OUTPUT_DIMENSIONS[kind_of(layer)]] = -1
    bias = shift if layer.bias is None else layer.bias.detach() * scale + shift
    set_parameters(layer, weight * scale.reshape(shape), bias)


def fold_into_inputs(layer: Any, normalization: Any) -> None:
    scale, shift = scale_and_shift(normalization)
    weight = layer.weight.detach().reshape(layer.weight.shape[0], scale.numel(), -1)
    added = (weight * shift.reshape(1, -1, 1)).sum((1, 2))
    bias = added if layer.bias is None else layer.bias.detach() + added
    scaled = weight * scale.reshape(1, -1, 1)
    set_parameters(layer, scaled.reshape(layer.weight.shape), bias)


def set_parameters(layer: Any, weight: Tensor, bias: Tensor) -> None:
    layer.weight, layer.bias = weight, bias
    layer.gradWeight, layer.gradBias = rl.zeros_like(weight), rl.zeros_like(bias)


def kind_of(layer: Any) -> Any:
    """The class of a layer that can take a normalisation in, or the one that it renames
    (cudnn.SpatialConvolution): it computes as that one does, with a weight for every pair of
    planes, and may have a bias."""
    kind: Any = next((cls for cls in type(layer).__mro__ if cls in OUTPUT_DIMENSIONS), None)
    if kind is None or type(layer).compute is not kind.compute or isinstance(layer, LinearNoBias):
        return None
    return kind if getattr(layer, "groups", 1) == 1 else None
