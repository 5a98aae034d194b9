"""Batch normalisation taken into the layer before it.

In evaluate mode it is one scale and one shift per plane, which the weights of a convolution or
linear layer can have as well.

    y = (W x + b - mean) * scale + beta        scale = gamma / sqrt(var + eps)
      = (scale W) x + ((b - mean) * scale + beta)
"""

from __future__ import annotations

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
from relume.legacy_nn.convolution import SpatialConvolution, SpatialFullConvolution
from relume.legacy_nn.gmodule import gModule
from relume.legacy_nn.linear import Linear
from relume.legacy_nn.module import Module
from relume.legacy_nn.normalization import BatchNormalization
from relume.legacy_nn.table_layers import Identity
from relume.legacy_nn.volumetric import VolumetricConvolution, VolumetricFullConvolution

__all__ = ["folded"]

# The dimension of the weight that counts the outputs.
OUTPUT_DIMENSIONS: dict[type, int] = {
    Linear: 0,
    SpatialConvolution: 0,
    SpatialFullConvolution: 1,
    VolumetricConvolution: 0,
    VolumetricFullConvolution: 1,
}


def folded(obj: Any) -> Any:
    """A copy of an object, whose networks have `nn.Identity` where the batch normalisation stood
    that could be taken into the layer before it.

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
    for node in nodes:
        if node.same_as is not None:
            continue
        for layer, normalization in list(pairs(node.value)):
            is_alone = uses[id(layer)] == uses[id(normalization)] == weights[address(layer)] == 1
            if is_alone and fits(layer, normalization):
                fold(layer, normalization)
                replace(node.value, normalization)
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


def fits(layer: Any, normalization: Any) -> bool:
    """Is it a layer with one weight per output plane, before the normalisation of these planes?"""
    if not isinstance(normalization, BatchNormalization):
        return False
    kind = kind_of(layer)
    if kind is None or getattr(layer, "groups", 1) != 1:
        return False
    return layer.weight.shape[OUTPUT_DIMENSIONS[kind]] == normalization.running_mean.numel()


def replace(container: Any, normalization: Any) -> None:
    identity = Identity()
    container.replace_children(lambda child: identity if child is normalization else child)


def fold(layer: Any, normalization: Any) -> None:
    mean, variance = normalization.running_mean, normalization.running_var
    scale = 1 / (variance + normalization.eps).sqrt()
    if normalization.weight is not None:
        scale = scale * normalization.weight.detach()
    bias = mean * 0 if layer.bias is None else layer.bias.detach()
    shift = (bias - mean) * scale
    if normalization.bias is not None:
        shift = shift + normalization.bias.detach()
    weight = layer.weight.detach()
    shape = [1] * weight.ndim
    shape[OUTPUT_DIMENSIONS[kind_of(layer)]] = -1
    layer.weight = weight * scale.reshape(shape)
    layer.bias = shift
    layer.gradWeight, layer.gradBias = rl.zeros_like(layer.weight), rl.zeros_like(shift)


def kind_of(layer: Any) -> Any:
    """The class of a layer, or the one that it renames (cudnn.SpatialConvolution)."""
    return next((cls for cls in type(layer).__mro__ if cls in OUTPUT_DIMENSIONS), None)
