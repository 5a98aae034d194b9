"""Pooling, as ONNX nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from relume.converters.onnx.call import Call, Row, Rows
from relume.converters.onnx.convolutions import batched, setting

__all__ = ["ROWS"]


@dataclass
class Windows:
    """The windows of a pooling op."""

    kernel: list[int]
    stride: list[int]
    padding: list[int]
    dilation: list[int]
    extra: list[int]  # how far the last windows reach beyond the padding at the end


def windows_of(call: Call, dims: int) -> Windows:
    kernel = setting(call, "kernel_size", dims)
    stride = setting(call, "stride", dims) if call["stride"] else kernel
    padding = setting(call, "padding", dims)
    has_dilation = "dilation" in call.node.arguments
    dilation = setting(call, "dilation", dims) if has_dilation else [1] * dims
    extra = [0] * dims
    if call["ceil_mode"]:
        sizes = call.value().shape[-dims:], call.output.shape[-dims:]
        for dim, (size, steps) in enumerate(zip(*sizes, strict=True)):
            reach = dilation[dim] * (kernel[dim] - 1) + 1
            last = (call.fixed(steps) - 1) * stride[dim] + reach
            extra[dim] = max(0, last - call.fixed(size) - 2 * padding[dim])
    return Windows(kernel, stride, padding, dilation, extra)


def max_pooling(dims: int) -> Row:
    def row(call: Call) -> list[str]:
        name, is_single = batched(call, dims)
        windows = windows_of(call, dims)
        ends = [p + e for p, e in zip(windows.padding, windows.extra, strict=True)]
        wants_indices = call.is_used(1)
        found = call.add(
            "MaxPool",
            name,
            kernel_shape=windows.kernel,
            strides=windows.stride,
            pads=windows.padding + ends,
            dilations=windows.dilation,
            outputs=2 if wants_indices else 1,
        )
        names = found if wants_indices else [found]
        if is_single:
            names = [call.squeezed(result, 0) for result in names]
        if wants_indices:  # ONNX counts over the whole tensor, we count in each plane
            plane = math.prod(call.all_fixed(call.value().shape[-dims:]))
            names[1] = call.add("Mod", names[1], call.builder.constant(plane))
        return [*names, ""][:2]

    return row


def average_pooling(dims: int) -> Row:
    def row(call: Call) -> str:
        name, is_single = batched(call, dims)
        windows = windows_of(call, dims)
        includes_padding = call["count_include_pad"] and any(windows.padding)
        padding = windows.padding
        if includes_padding and any(windows.extra):
            # The padding counts, but what the last windows have beyond it does not.
            widths = [0, 0, *padding] * 2
            name = call.add("Pad", name, call.ints(widths), call.number(0))
            padding, includes_padding = [0] * dims, False
        ends = [p + e for p, e in zip(padding, windows.extra, strict=True)]
        override = call.node.arguments.get("divisor_override")
        result = call.add(
            "AveragePool",
            name,
            kernel_shape=windows.kernel,
            strides=windows.stride,
            pads=padding + ends,
            count_include_pad=int(bool(includes_padding or override)),
        )
        if override:
            factor = math.prod(windows.kernel) / call.fixed(override)
            result = call.add("Mul", result, call.number(factor))
        return call.squeezed(result, 0) if is_single else result

    return row


def windows_for(size: int, steps: int) -> list[tuple[int, int]]:
    """Start and end of the windows that cover a size in some steps."""
    return [(i * size // steps, -(-(i + 1) * size // steps)) for i in range(steps)]


def adaptive_average(dims: int) -> Row:
    """Means over windows that cover the input: a product with a constant matrix for each
    dimension, unless all windows are equal."""

    def row(call: Call) -> str:
        name, rank = call.name(), call.value().rank
        steps = call.all_fixed(call.output.shape[-dims:])
        if steps == [1] * dims:
            return call.add("ReduceMean", name, call.ints(range(rank - dims, rank)), keepdims=1)
        sizes = call.all_fixed(call.value().shape[-dims:])
        for place, (size, count) in enumerate(zip(sizes, steps, strict=True), rank - dims):
            matrix = np.zeros((size, count))
            for column, (start, end) in enumerate(windows_for(size, count)):
                matrix[start:end, column] = 1 / (end - start)
            weights = call.builder.constant(matrix, call.output.dtype)
            name = along(call, name, place, rank, weights)
        return name

    return row


def along(call: Call, name: str, dim: int, rank: int, matrix: str) -> str:
    """A product with a matrix along one dimension."""
    if dim == rank - 1:
        return call.add("MatMul", name, matrix)
    order = list(range(rank))
    order[dim], order[-1] = order[-1], order[dim]
    moved = call.add("MatMul", call.add("Transpose", name, perm=order), matrix)
    return call.add("Transpose", moved, perm=order)


def adaptive_max(dims: int) -> Row:
    """Maxima over windows that cover the input, one dimension after the other."""

    def row(call: Call) -> list[str]:
        if call.is_used(1):
            raise call.refuse("its indices")
        name, rank = call.name(), call.value().rank
        steps = call.all_fixed(call.output.shape[-dims:])
        if steps == [1] * dims:
            given = call.ints(range(rank - dims, rank))
            return [call.add("ReduceMax", name, given, keepdims=1), ""]
        sizes = call.all_fixed(call.value().shape[-dims:])
        for place, (size, count) in enumerate(zip(sizes, steps, strict=True), rank - dims):
            windows = windows_for(size, count)
            longest = max(end - start for start, end in windows)
            within = np.arange(longest)
            rows = [np.minimum(start + within, end - 1) for start, end in windows]
            gathered = call.add("Gather", name, call.builder.constant(rows), axis=place)
            name = call.add("ReduceMax", gathered, call.ints([place + 1]), keepdims=0)
        return [name, ""]

    return row


def to_planes(call: Call) -> str:
    """Elements at places in planes of zeros: max unpooling."""
    shape = call.output.shape
    dims = call.fixed(call["dims"])
    plane = math.prod(call.all_fixed(shape[-dims:]))
    flat = []
    for argument in ("input", "indices"):
        elements = math.prod(call.all_fixed(call.value(argument).shape[-dims:]))
        flat.append(call.add("Reshape", call.name(argument), call.ints([-1, elements])))
    rows = call.add("Shape", flat[0], start=0, end=1)
    zeros = call.add("Expand", call.number(0), call.add("Concat", rows, call.ints([plane]), axis=0))
    reduction = "add" if call["accumulate"] else "none"
    indices = call.cast(flat[1], call.value("indices").dtype, "int64")
    filled = call.add("ScatterElements", zeros, indices, flat[0], axis=1, reduction=reduction)
    return call.reshape(filled, (), shape)


ROWS: Rows = {
    **{f"max_pool{dims}d_with_indices": max_pooling(dims) for dims in (1, 2, 3)},
    **{f"avg_pool{dims}d": average_pooling(dims) for dims in (1, 2, 3)},
    **{f"adaptive_avg_pool{dims}d": adaptive_average(dims) for dims in (1, 2, 3)},
    **{f"adaptive_max_pool{dims}d": adaptive_max(dims) for dims in (1, 2, 3)},
    "scatter_to_planes": to_planes,
}
