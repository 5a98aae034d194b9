"""Convolution, as ONNX nodes."""

from __future__ import annotations

import numpy as np

from relume.converters.onnx.call import Call, Row, Rows

__all__ = ["ROWS", "batched", "setting"]


def batched(call: Call, dims: int) -> tuple[str, bool]:
    """The input with a batch dimension, and whether it had none."""
    name, is_single = call.name(), call.value().rank == dims + 1
    return (call.unsqueezed(name, 0) if is_single else name), is_single


def setting(call: Call, name: str, dims: int) -> list[int]:
    """An argument with one number for each dimension, or one for all."""
    values = call.all_fixed(call[name])
    return values * dims if len(values) == 1 else values


def convolution(dims: int) -> Row:
    def row(call: Call) -> str:
        name, is_single = batched(call, dims)
        given = [name, call.name("weight")] + ([call.name("bias")] if call["bias"] else [])
        result = call.add(
            "Conv",
            *given,
            strides=setting(call, "stride", dims),
            pads=setting(call, "padding", dims) * 2,
            dilations=setting(call, "dilation", dims),
            group=call.fixed(call["groups"]),
        )
        return call.squeezed(result, 0) if is_single else result

    return row


def transposed_convolution(call: Call) -> str:
    name, is_single = batched(call, 2)
    given = [name, call.name("weight")] + ([call.name("bias")] if call["bias"] else [])
    result = call.add(
        "ConvTranspose",
        *given,
        strides=setting(call, "stride", 2),
        pads=setting(call, "padding", 2) * 2,
        output_padding=setting(call, "output_padding", 2),
        dilations=setting(call, "dilation", 2),
        group=call.fixed(call["groups"]),
    )
    return call.squeezed(result, 0) if is_single else result


def unstack_frames(call: Call) -> str:
    """Frames (batch * steps, channels * kernel, height, width), added up where they came from
    in volumes (batch, channels, depth, height, width): a transposed convolution along the depth
    whose kernel is the identity."""
    batch, channels, depth, height, width = call.output.shape
    kernel, stride, padding, dilation = (
        call.fixed(call[name]) for name in ("kernel", "stride", "padding", "dilation")
    )
    channels, depth = call.fixed(channels), call.fixed(depth)
    pixels = call.fixed(height) * call.fixed(width)
    reach = dilation * (kernel - 1) + 1
    steps = (depth + 2 * padding - reach) // stride + 1
    shape = call.ints([-1, steps, channels, kernel, pixels])
    frames = call.add("Reshape", call.name(), shape)
    frames = call.add("Transpose", frames, perm=[0, 2, 3, 1, 4])
    frames = call.add("Reshape", frames, call.ints([-1, kernel, steps, pixels]))
    identity = call.builder.constant(np.eye(kernel)[:, None, :, None], call.output.dtype)
    added = call.add(
        "ConvTranspose",
        frames,
        identity,
        strides=[stride, 1],
        pads=[padding, 0, padding, 0],
        dilations=[dilation, 1],
        output_padding=[depth - ((steps - 1) * stride - 2 * padding + reach), 0],
    )
    return call.reshape(added, (), (batch, channels, depth, height, width))


def one_hot_kernels(call: Call, channels: int, kernel: list[int]) -> str:
    """Weights that pick each element of a window, for every channel by itself."""
    count = kernel[0] * kernel[1]
    picks = np.tile(np.eye(count), (channels, 1)).reshape(-1, 1, *kernel)
    return call.builder.constant(picks, call.output.dtype)


def columns(call: Call) -> str:
    """im2col: (batch, channels * kernel, windows); a convolution that picks elements."""
    name, is_single = batched(call, 2)
    channels = call.fixed(call.value().shape[-3])
    kernel = setting(call, "kernel_size", 2)
    picked = call.add(
        "Conv",
        name,
        one_hot_kernels(call, channels, kernel),
        strides=setting(call, "stride", 2),
        pads=setting(call, "padding", 2) * 2,
        dilations=setting(call, "dilation", 2),
        group=channels,
    )
    rows = channels * kernel[0] * kernel[1]
    result = call.add("Reshape", picked, call.ints([0, rows, -1]))
    return call.squeezed(result, 0) if is_single else result


def from_columns(call: Call) -> str:
    """col2im: every element added where it came from."""
    kernel, stride, padding, dilation = (
        setting(call, name, 2) for name in ("kernel_size", "stride", "padding", "dilation")
    )
    size = call.all_fixed(call["output_size"])
    channels = call.fixed(call.value().shape[-2]) // (kernel[0] * kernel[1])
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    padded = [s + 2 * p for s, p in zip(size, padding, strict=True)]
    steps = [(s - r) // t + 1 for s, r, t in zip(padded, reach, stride, strict=True)]
    rest = [s - r - (n - 1) * t for s, r, n, t in zip(padded, reach, steps, stride, strict=True)]
    rows = channels * kernel[0] * kernel[1]
    planes = call.add("Reshape", call.name(), call.ints([-1, rows, *steps]))
    added = call.add(
        "ConvTranspose",
        planes,
        one_hot_kernels(call, channels, kernel),
        strides=stride,
        pads=padding * 2,
        dilations=dilation,
        output_padding=rest,
        group=channels,
    )
    return call.squeezed(added, 0) if call.value().rank == 2 else added


ROWS: Rows = {
    "conv1d": convolution(1),
    "conv2d": convolution(2),
    "conv3d": convolution(3),
    "conv_transpose2d": transposed_convolution,
    "unstack_frames": unstack_frames,
    "im2col": columns,
    "col2im": from_columns,
}
