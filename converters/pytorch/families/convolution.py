"""Convolutions over planes, volumes and frames."""

from __future__ import annotations

from typing import Any

from relume.converters.pytorch.families.fields import given, pair, weights
from relume.converters.pytorch.families.learned import COUNT_FROM_ONE, bias_option
from relume.converters.pytorch.layers import Call, Cannot, Form, Weight, reshaped
from relume.converters.pytorch.rules import rule


def unless(value: Any, default: Any) -> Any:
    """None for the default, which is not written."""
    return None if value == default else value


def window(layer: Any, axes: str) -> dict[str, Any]:
    """Kernel, steps and padding."""
    return {
        "kernel_size": pair(layer, "k", axes),
        **given(
            stride=unless(pair(layer, "d", axes), 1),
            padding=unless(pair(layer, "pad", axes), 0),
        ),
    }


def kernel_shape(layer: Any, axes: str) -> tuple[int, ...]:
    return tuple(int(getattr(layer, f"k{axis}")) for axis in axes)


def convolution(layer: Any, axes: str) -> Call:
    groups = int(layer.groups)
    gaps = 1
    if hasattr(layer, f"dilation{axes[-1]}"):
        gaps = pair(layer, "dilation", axes)
    planes = (int(layer.nInputPlane), int(layer.nOutputPlane))
    arguments = {
        "in_channels": planes[0],
        "out_channels": planes[1],
        **window(layer, axes),
        **given(dilation=unless(gaps, 1), groups=unless(groups, 1)),
        **bias_option(layer),
    }
    form = reshaped(planes[1], planes[0] // groups, *kernel_shape(layer, axes))
    return Call(f"nn.Conv{len(axes)}d", arguments, 2, weights(layer, "weight", "bias", form=form))


@rule("nn.SpatialConvolution", "nn.SpatialConvolutionMM", "nn.SpatialDilatedConvolution")
def spatial(layer: Any, around: Any) -> Call:
    return convolution(layer, "HW")


@rule("nn.VolumetricConvolution", "nn.VolumetricDilatedConvolution")
def volumetric(layer: Any, around: Any) -> Call:
    return convolution(layer, "THW")


def transposed(layer: Any, axes: str, after: Any) -> Call:
    groups = int(layer.groups)
    planes = (int(layer.nInputPlane), int(layer.nOutputPlane))
    arguments = {
        "in_channels": planes[0],
        "out_channels": planes[1],
        **window(layer, axes),
        **given(
            output_padding=unless(pair(layer, "adj", axes), 0),
            groups=unless(groups, 1),
        ),
        **bias_option(layer),
    }
    form = reshaped(planes[0], planes[1] // groups, *kernel_shape(layer, axes))
    held = weights(layer, "weight", "bias", form=form)
    call = Call(f"nn.ConvTranspose{len(axes)}d", arguments, 2, held)
    # Where nothing is known of the input it may be a table {input, target}.
    is_plain = after is not None and not gives_table(after)
    return call if is_plain else Call("ConvTranspose", {"layer": call}, 1)


def gives_table(layer: Any) -> bool:
    return getattr(layer, "torch_typename", "") in (
        "nn.ConcatTable",
        "nn.ParallelTable",
        "nn.NarrowTable",
        "nn.FlattenTable",
        "nn.Identity",
        "nn.SelectTable",
        "nn.gModule",
        "nn.Sequential",
    )


@rule("nn.SpatialFullConvolution")
def spatial_full(layer: Any, around: Any) -> Call:
    return transposed(layer, "HW", around.after)


@rule("nn.VolumetricFullConvolution")
def volumetric_full(layer: Any, around: Any) -> Call:
    return transposed(layer, "THW", around.after)


def frames_first(out: int, size: int, width: int) -> Form:
    """Kernels kept frame by frame, as (output, input, frames)."""
    return Form(
        lambda arrays: arrays[0].reshape(out, width, size).transpose(0, 2, 1),
        lambda array, shapes: [array.transpose(0, 2, 1).reshape(shapes[0])],
    )


@rule("nn.TemporalConvolution")
def temporal(layer: Any, around: Any) -> Call:
    size, out, width = int(layer.inputFrameSize), int(layer.outputFrameSize), int(layer.kW)
    if layer.bias is None:
        raise Cannot("it has no bias")
    arguments = {
        "in_features": size,
        "out_features": out,
        "kernel_size": width,
        **given(stride=unless(int(layer.dW), 1), padding=unless(int(layer.padH), 0)),
    }
    held = (
        Weight("conv.weight", (layer.weight,), frames_first(out, size, width)),
        Weight("conv.bias", (layer.bias,)),
    )
    return Call("FrameConv", arguments, 2, held)


@rule("nn.TemporalRowConvolution")
def temporal_row(layer: Any, around: Any) -> Call:
    size, width = int(layer.inputFrameSize), int(layer.kW)
    arguments = {
        "features": size,
        "kernel_size": width,
        **given(stride=unless(int(layer.dW), 1), features_first=True if layer.featFirst else None),
        **bias_option(layer),
    }
    held = [Weight("conv.weight", (layer.weight,), reshaped(size, 1, width))]
    if layer.bias is not None:
        held.append(Weight("conv.bias", (layer.bias,)))
    return Call("RowConv", arguments, 1, tuple(held))


@rule("nn.TemporalSubSampling")
def temporal_sub_sampling(layer: Any, around: Any) -> Call:
    arguments = {
        "features": int(layer.inputFrameSize),
        "kernel_size": int(layer.kW),
        **given(stride=unless(int(layer.dW), 1)),
    }
    return Call("FrameSubsampling", arguments, 1, weights(layer, "weight", "bias"))


@rule("nn.SpatialConvolutionMap", "nn.SpatialFullConvolutionMap")
def mapped(layer: Any, around: Any) -> Call:
    arguments = {
        "inputs": int(layer.nInputPlane),
        "outputs": int(layer.nOutputPlane),
        "kernel_size": (int(layer.kH), int(layer.kW)),
        "pairs": layer.connTable.shape[0],
        **given(
            stride=unless(pair(layer, "d"), 1),
            transposed=True if "Full" in layer.torch_typename else None,
        ),
    }
    connections = Weight("connections", (layer.connTable,), COUNT_FROM_ONE)
    return Call("MappedConv2d", arguments, 2, (*weights(layer, "weight", "bias"), connections))


@rule("nn.SpatialConvolutionLocal")
def local(layer: Any, around: Any) -> Call:
    arguments = {
        "planes": (int(layer.nInputPlane), int(layer.nOutputPlane)),
        "size": (int(layer.oH), int(layer.oW)),
        "kernel_size": (int(layer.kH), int(layer.kW)),
        "stride": (int(layer.dH), int(layer.dW)),
        "padding": (int(layer.padH), int(layer.padW)),
        **bias_option(layer),
    }
    sizes = (*arguments["size"], *arguments["planes"][::-1], *arguments["kernel_size"])
    return Call(
        "LocalConv2d", arguments, 0, weights(layer, "weight", "bias", form=reshaped(*sizes))
    )


def plane_by_plane(inputs: int, outputs: int, high: int, wide: int) -> Form:
    """Kernels kept (output, input), as (input * output, 1)."""
    shape = (outputs, inputs, high, wide)
    return Form(
        lambda arrays: arrays[0].reshape(shape).swapaxes(0, 1).reshape(-1, 1, high, wide),
        lambda array, shapes: [
            array.reshape(inputs, outputs, high, wide).swapaxes(0, 1).reshape(shapes[0])
        ],
    )


@rule("nn.SpatialDepthWiseConvolution")
def depth_wise(layer: Any, around: Any) -> Call:
    inputs, outputs = int(layer.nInputPlane), int(layer.nOutputPlane)
    arguments = {
        "in_channels": inputs,
        "out_channels": inputs * outputs,
        **window(layer, "HW"),
        "groups": inputs,
        **bias_option(layer),
    }
    swap = Form(
        lambda arrays: arrays[0].T.reshape(-1),
        lambda array, shapes: [array.reshape(shapes[0][::-1]).T],
    )
    form = plane_by_plane(inputs, outputs, *kernel_shape(layer, "HW"))
    held = weights(layer, "weight", form=form) + weights(layer, "bias", form=swap)
    return Call("nn.Conv2d", arguments, 2, held)
