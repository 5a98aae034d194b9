"""Networks of `nn` as networks of cudnn, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relume.legacy_nn import registry
from relume.legacy_nn.module import Module

# What cudnn can do faster, and so what conversion is about.
CONVERTIBLE = (
    "BatchNormalization",
    "SpatialBatchNormalization",
    "SpatialConvolution",
    "SpatialCrossMapLRN",
    "SpatialFullConvolution",
    "SpatialMaxPooling",
    "SpatialAveragePooling",
    "ReLU",
    "Tanh",
    "Sigmoid",
    "SoftMax",
    "LogSoftMax",
    "VolumetricBatchNormalization",
    "VolumetricConvolution",
    "VolumetricMaxPooling",
    "VolumetricAveragePooling",
)
# Layers under other names that cudnn has one layer for.
ALSO = {"nn.SpatialConvolutionMM": "SpatialConvolution"}
AVERAGE = "CUDNN_POOLING_AVERAGE_COUNT_{}_PADDING"


def convert(net: Module, to: str, exclude: Callable[[Module], bool] | None = None) -> Module:
    """Makes the layers of a network those of cudnn or those of nn; tensors are not copied.

    Args:
        net: the network; its containers are changed in place.
        to: "cudnn" or "nn".
        exclude: says of a layer whether to leave it as it is.

    Returns:
        The network, or another layer when it is a single one.

    >>> from relume import legacy_nn as nn
    >>> net = nn.Sequential().add(nn.SpatialConvolution(1, 2, 3, 3)).add(nn.ReLU())
    >>> net = nn.cudnn.convert(net, "cudnn")
    >>> net.get(1)
    cudnn.SpatialConvolution(1 -> 2, 3x3)
    >>> nn.cudnn.convert(net, "nn").get(1)
    nn.SpatialConvolution(1 -> 2, 3x3)
    """
    if to not in ("cudnn", "nn"):
        raise ValueError(f'cudnn.convert: to is "cudnn" or "nn", got {to!r}')
    change = to_cudnn if to == "cudnn" else to_nn

    def replace(layer: Any) -> Any:
        if not isinstance(layer, Module) or (exclude is not None and exclude(layer)):
            return layer
        return change(layer)

    return net.replace(replace)


def to_cudnn(layer: Module) -> Module:
    """The layer as one of cudnn, if there is one."""
    package, _, name = layer.torch_typename.rpartition(".")
    name = ALSO.get(layer.torch_typename, name)
    if package != "nn" or name not in CONVERTIBLE:
        return layer
    converted = relabelled(layer, f"cudnn.{name}")
    fields = vars(converted)
    if name == "SpatialConvolution":
        fields.setdefault("groups", 1)
        planes = int(layer.nInputPlane) // int(fields["groups"])
        shape = (layer.nOutputPlane, planes, layer.kH, layer.kW)
        for key in ("weight", "gradWeight"):
            if fields.get(key) is not None and fields[key].numel() > 0:
                fields[key] = fields[key].reshape(tuple(map(int, shape)))
    elif name.endswith("AveragePooling"):
        fields["mode"] = AVERAGE.format("INCLUDE" if layer.count_include_pad else "EXCLUDE")
    return converted


def to_nn(layer: Module) -> Module:
    """The layer as one of nn, if it is one of cudnn."""
    target = getattr(layer, "_nn_class", None)
    if target is None or not layer.torch_typename.startswith("cudnn."):
        return layer
    converted = relabelled(layer, target.torch_typename)
    vars(converted).pop("mode", None)
    return converted


def relabelled(layer: Module, typename: str) -> Module:
    """An object of another class with the same fields."""
    cls: Any = registry.lookup(typename)
    other = cls.__new__(cls)
    vars(other).update(vars(layer))
    return other
