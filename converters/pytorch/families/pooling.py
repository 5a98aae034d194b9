"""Poolings over planes, volumes, frames and features."""

from __future__ import annotations

from typing import Any

from relume.converters.pytorch.families.convolution import unless
from relume.converters.pytorch.families.fields import given, number, pair
from relume.converters.pytorch.layers import Call, Cannot
from relume.converters.pytorch.rules import rule


def window(layer: Any, axes: str) -> dict[str, Any]:
    kernel = pair(layer, "k", axes)
    return {
        "kernel_size": kernel,
        **given(
            stride=unless(pair(layer, "d", axes), kernel),
            padding=unless(pair(layer, "pad", axes), 0),
        ),
    }


def max_pool(layer: Any, axes: str) -> Call:
    gaps = pair(layer, "dilation", axes) if hasattr(layer, "dilationW") else 1
    options = given(dilation=unless(gaps, 1), ceil_mode=True if layer.ceil_mode else None)
    return Call(f"nn.MaxPool{len(axes)}d", {**window(layer, axes), **options}, 1)


@rule("nn.SpatialMaxPooling", "nn.SpatialDilatedMaxPooling")
def spatial_max(layer: Any, around: Any) -> Call:
    return around.builder.remembered(layer, max_pool(layer, "HW"))


@rule("nn.VolumetricMaxPooling", "nn.VolumetricDilatedMaxPooling")
def volumetric_max(layer: Any, around: Any) -> Call:
    return around.builder.remembered(layer, max_pool(layer, "THW"))


@rule("nn.SpatialAveragePooling", "nn.VolumetricAveragePooling")
def average(layer: Any, around: Any) -> Call:
    axes = "THW" if "Volumetric" in layer.torch_typename else "HW"
    options = given(
        ceil_mode=True if layer.ceil_mode else None,
        count_include_pad=None if layer.count_include_pad else False,
    )
    arguments = {**window(layer, axes), **options}
    if getattr(layer, "divide", True):
        return Call(f"nn.AvgPool{len(axes)}d", arguments, 1)
    arguments["kernel_size"] = (int(layer.kH), int(layer.kW))
    return Call("SumPool2d", arguments, 1)


@rule("nn.SpatialAdaptiveAveragePooling")
def adaptive_average(layer: Any, around: Any) -> Call:
    return Call("nn.AdaptiveAvgPool2d", {"output_size": (int(layer.H), int(layer.W))}, 1)


@rule("nn.SpatialAdaptiveMaxPooling")
def adaptive_max(layer: Any, around: Any) -> Call:
    return Call("nn.AdaptiveMaxPool2d", {"output_size": (int(layer.H), int(layer.W))}, 1)


@rule("nn.SpatialFractionalMaxPooling", "nn.VolumetricFractionalMaxPooling")
def fractional(layer: Any, around: Any) -> Call:
    raise Cannot("it draws other regions in every call, with random numbers of its own")


@rule("nn.TemporalMaxPooling")
def temporal_max(layer: Any, around: Any) -> Call:
    return Call("FrameMaxPool", {"kernel_size": int(layer.kW), "stride": int(layer.dW)}, 2)


@rule("nn.TemporalDynamicKMaxPooling")
def dynamic_k(layer: Any, around: Any) -> Call:
    arguments = {"smallest": int(layer.minK), "factor": number(layer.factor)}
    return Call("DynamicKMaxPool", arguments, 2)


@rule("nn.FeatureLPPooling")
def feature_lp(layer: Any, around: Any) -> Call:
    arguments = {
        "width": int(layer.width),
        "stride": int(layer.stride),
        "power": number(layer.power),
        **given(batch=True if layer.batch_mode else None),
    }
    return Call("FeatureLPPool", arguments, 3)
