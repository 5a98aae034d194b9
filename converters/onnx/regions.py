"""Pooling of regions of images, whose places are part of the input, as ONNX nodes."""

from __future__ import annotations

import numpy as np

from relume.converters.graph import Size
from relume.converters.onnx.call import Call, Rows

__all__ = ["ROWS"]


def region_pooling(call: Call) -> list[str]:
    """Maxima over the parts of every region: along the height, then along the width, among the
    elements whose place is in the part."""
    if call.is_used(1):
        raise call.refuse("its indices")
    dtype, parts = call.output.dtype, call.all_fixed(call["output_size"])
    regions = call.as_type("rois", dtype)
    image = call.squeezed(call.cast(call.sliced(regions, 1, 0, 1), dtype, "int64"), 1)
    planes = call.add("Gather", call.as_type("input", dtype), image, axis=0)
    nothing = call.number(np.finfo(call.builder.numpy_type(dtype)).min)
    # regions x 1 x parts x height x 1, then regions x 1 x 1 x parts x width
    for place, (count, size) in enumerate(zip(parts, call.value().shape[-2:], strict=True)):
        first, last = part_bounds(call, regions, 2 - place, count)
        within = inside(call, first, last, size)
        within = call.unsqueezed(within, 1, 4) if place == 0 else call.unsqueezed(within, 1, 2)
        spread = call.unsqueezed(planes, 2 + place)
        kept = call.add("Where", within, spread, nothing)
        planes = call.add("ReduceMax", kept, call.ints([3 + place]), keepdims=0)
    is_empty = call.add("Equal", planes, nothing)
    return [call.add("Where", is_empty, call.number(0), planes), ""]


def part_bounds(call: Call, regions: str, column: int, count: int) -> tuple[str, str]:
    """Where the parts of each region begin and end (behind the last): regions x parts.

    Args:
        column: of the region's first place; the last one is two further.
        count: of parts.
    """
    scale, half = call.number(call["spatial_scale"]), call.number(0.5)

    def pixel(at: int) -> str:
        scaled = call.add("Mul", call.sliced(regions, 1, at, at + 1), scale)
        return call.add("Floor", call.add("Add", scaled, half))

    start, one = pixel(column), call.number(1)
    length = call.add("Add", call.add("Sub", pixel(column + 2), start), one)
    step = call.add("Div", call.add("Max", length, one), call.number(count))
    bounds = []
    for op_type, first in (("Floor", 0), ("Ceil", 1)):
        places = call.builder.constant(np.arange(first, count + first)[None], call.output.dtype)
        bounds.append(call.add("Add", start, call.add(op_type, call.add("Mul", places, step))))
    return bounds[0], bounds[1]


def inside(call: Call, first: str, last: str, size: int | Size) -> str:
    """Which places of an axis are in the parts: regions x parts x size."""
    limit = call.squeezed(call.builder.size(size), 0)
    places = call.add("Range", call.builder.constant(0), limit, call.builder.constant(1))
    places = call.cast(places, "int64", call.output.dtype)
    is_behind = call.add("GreaterOrEqual", places, call.unsqueezed(first, 2))
    is_before = call.add("Less", places, call.unsqueezed(last, 2))
    return call.add("And", is_behind, is_before)


ROWS: Rows = {"roi_pool": region_pooling}
