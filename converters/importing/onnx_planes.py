"""ONNX's convolutions, poolings and resizing as layers of Torch7."""

from __future__ import annotations

from typing import Any

import numpy as np

from relume import legacy_nn
from relume.converters.importing.onnx_layers import (
    Cannot,
    Operation,
    in_a_row,
    in_float,
    operation,
    set_tensor,
)

nn: Any = legacy_nn  # most layers are rows of its tables


class Window:
    """Kernel, steps, padding and gaps of a convolution or pooling."""

    def __init__(self, op: Operation, kernel: list[int]) -> None:
        dims = len(kernel)
        self.kernel = [int(n) for n in kernel]
        self.steps = [int(n) for n in op.get("strides", [1] * dims)]
        self.gaps = [int(n) for n in op.get("dilations", [1] * dims)]
        pads = [int(n) for n in op.get("pads", [0] * (2 * dims))]
        self.before, self.after = pads[:dims], pads[dims:]
        if op.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
            raise Cannot(f"its padding follows the size of the input ({op.get('auto_pad')})")

    @property
    def is_even(self) -> bool:
        """The same padding at both ends?"""
        return self.before == self.after

    def margin(self) -> Any:
        """A layer for other padding, of planes."""
        if len(self.kernel) != 2:
            raise Cannot("it pads one end more than the other")
        (top, left), (bottom, right) = self.before, self.after
        return nn.SpatialZeroPadding(left, right, top, bottom)

    def pads(self) -> list[int]:
        return self.before if self.is_even else [0] * len(self.kernel)

    def with_margin(self, layer: Any) -> Any:
        return layer if self.is_even else in_a_row([self.margin(), layer])


def reversed_pairs(*lists: list[int]) -> list[int]:
    """Sizes (height, width) as Torch7 takes them: width first."""
    return [n for values in lists for n in values[::-1]]


@operation("Conv")
def convolution(op: Operation) -> Any:
    weight, bias = op.constant(1, "kernel"), op.optional(2)
    window = Window(op, list(weight.shape[2:]))
    makers = {1: frames, 2: planes, 3: volumes}
    make = makers.get(len(window.kernel))
    if make is None:
        raise Cannot(f"Torch7 has no convolution over {len(window.kernel)} dimensions")
    layer = make(op, weight, window, bias)
    return window.with_margin(layer) if len(window.kernel) > 1 else layer


def planes(op: Operation, weight: np.ndarray, window: Window, bias: np.ndarray | None) -> Any:
    outputs, inputs = weight.shape[:2]
    groups = int(op.get("group", 1))
    sizes = reversed_pairs(window.kernel, window.steps, window.pads())
    if groups > 1:
        return grouped(weight, window, bias, groups, sizes)
    if window.gaps != [1, 1]:
        layer: Any = nn.SpatialDilatedConvolution(inputs, outputs, *sizes, *window.gaps[::-1])
    else:
        layer = nn.SpatialConvolution(inputs, outputs, *sizes)
    return with_weights(layer, weight, bias)


def grouped(
    weight: np.ndarray, window: Window, bias: np.ndarray | None, groups: int, sizes: list[int]
) -> Any:
    """Groups side by side, each a convolution of its own planes."""
    if window.gaps != [1, 1]:
        raise Cannot("it has groups and gaps in its kernel")
    outputs, inputs = weight.shape[0] // groups, weight.shape[1]
    parts = nn.Concat(2)
    for group in range(groups):
        rows = slice(group * outputs, (group + 1) * outputs)
        own = nn.SpatialConvolution(inputs, outputs, *sizes)
        with_weights(own, weight[rows], None if bias is None else bias[rows])
        part = nn.Narrow(2, group * inputs + 1, inputs)
        parts.add(nn.Sequential().add(part).add(own))
    return in_float(parts, weight)


def volumes(op: Operation, weight: np.ndarray, window: Window, bias: np.ndarray | None) -> Any:
    if int(op.get("group", 1)) > 1:
        raise Cannot("it has groups")
    outputs, inputs = weight.shape[:2]
    lists = (window.kernel, window.steps, window.pads())
    sizes = [n for t, h, w in lists for n in (t, w, h)]
    if window.gaps != [1, 1, 1]:
        time, high, wide = window.gaps
        layer: Any = nn.VolumetricDilatedConvolution(inputs, outputs, *sizes, time, wide, high)
    else:
        layer = nn.VolumetricConvolution(inputs, outputs, *sizes)
    return with_weights(layer, weight, bias)


def frames(op: Operation, weight: np.ndarray, window: Window, bias: np.ndarray | None) -> Any:
    """Torch7's sequences are time x features, ONNX's features x time."""
    if int(op.get("group", 1)) > 1 or window.gaps != [1]:
        raise Cannot("it has groups or gaps in its kernel")
    outputs, inputs, width = weight.shape
    layer = nn.TemporalConvolution(inputs, outputs, width, window.steps[0])
    set_tensor(layer, "weight", weight.transpose(0, 2, 1).reshape(outputs, -1))
    set_tensor(layer, "bias", np.zeros(outputs) if bias is None else bias)
    layers = [nn.Transpose([2, 3])]
    if window.before[0]:
        layers.append(nn.Padding(2, -window.before[0]))
    if window.after[0]:
        layers.append(nn.Padding(2, window.after[0]))
    return in_a_row([*layers, in_float(layer, weight), nn.Transpose([2, 3])])


def with_weights(layer: Any, weight: np.ndarray, bias: np.ndarray | None) -> Any:
    set_tensor(layer, "weight", weight)
    if bias is None:
        layer.noBias()
    else:
        set_tensor(layer, "bias", bias)
    return in_float(layer, weight)


@operation("ConvTranspose")
def transposed(op: Operation) -> Any:
    weight, bias = op.constant(1, "kernel"), op.optional(2)
    window = Window(op, list(weight.shape[2:]))
    if len(window.kernel) != 2 or not window.is_even or window.gaps != [1, 1]:
        raise Cannot("only planes, with even padding and no gaps, are known")
    if int(op.get("group", 1)) > 1 or op.get("output_shape") is not None:
        raise Cannot("it has groups or a fixed size of its output")
    extra = [int(n) for n in op.get("output_padding", [0, 0])]
    sizes = reversed_pairs(window.kernel, window.steps, window.before, extra)
    layer = nn.SpatialFullConvolution(weight.shape[0], weight.shape[1], *sizes)
    return with_weights(layer, weight, bias)


@operation("MaxPool")
def max_pool(op: Operation) -> Any:
    if len(op.outputs) > 1:
        raise Cannot("it gives indices too")
    window = Window(op, op.get("kernel_shape"))
    if not window.is_even:
        raise Cannot("it pads one end more than the other")
    if len(window.kernel) == 1:
        return frame_pool(window)
    if len(window.kernel) == 2:
        sizes = reversed_pairs(window.kernel, window.steps, window.before)
        make = nn.SpatialMaxPooling
        if window.gaps != [1, 1]:
            make, sizes = nn.SpatialDilatedMaxPooling, [*sizes, *window.gaps[::-1]]
    else:
        lists = (window.kernel, window.steps, window.before)
        sizes = [n for t, h, w in lists for n in (t, w, h)]
        make = nn.VolumetricMaxPooling
    layer = make(*sizes)
    return layer.ceil() if op.get("ceil_mode", 0) else layer


def frame_pool(window: Window) -> Any:
    if window.before[0] or window.gaps != [1]:
        raise Cannot("it pads a sequence, or has gaps")
    pool = nn.TemporalMaxPooling(window.kernel[0], window.steps[0])
    return in_a_row([nn.Transpose([2, 3]), pool, nn.Transpose([2, 3])])


@operation("AveragePool")
def average_pool(op: Operation) -> Any:
    window = Window(op, op.get("kernel_shape"))
    if len(window.kernel) != 2 or not window.is_even:
        raise Cannot("only planes with even padding are known")
    sizes = reversed_pairs(window.kernel, window.steps, window.before)
    layer = nn.SpatialAveragePooling(*sizes)
    layer = layer.ceil() if op.get("ceil_mode", 0) else layer
    return layer if op.get("count_include_pad", 0) else layer.setCountExcludePad()


@operation("GlobalAveragePool", "GlobalMaxPool")
def whole_planes(op: Operation) -> Any:
    if op.rank() != 4:
        raise Cannot("only planes are known")
    kind = "Average" if op.name == "GlobalAveragePool" else "Max"
    return getattr(nn, f"SpatialAdaptive{kind}Pooling")(1, 1)


@operation("Pad")
def pad(op: Operation) -> Any:
    pads = op.get("pads")
    pads = [int(n) for n in (op.constant(1, "padding") if pads is None else pads)]
    rank = len(pads) // 2
    before, after = pads[:rank], pads[rank:]
    if rank != 4 or any([*before[:2], *after[:2]]):
        raise Cannot("only planes are padded")
    sides = (before[3], after[3], before[2], after[2])
    mode = op.get("mode", "constant")
    makers = {"reflect": nn.SpatialReflectionPadding, "edge": nn.SpatialReplicationPadding}
    if mode in makers:
        return makers[mode](*sides)
    value = op.optional(2)
    if value is not None and value.size and float(value.reshape(-1)[0]) != 0:
        raise Cannot("it pads with another number than zero")
    return nn.SpatialZeroPadding(*sides)


@operation("Resize", "Upsample")
def resize(op: Operation) -> Any:
    scales = next((c for c in op.constants[:0:-1] if c is not None and c.size == 4), None)
    if scales is None or scales.dtype.kind != "f":
        raise Cannot("it does not say by which factor")
    factor = float(scales[2])
    if scales[3] != factor or not factor.is_integer() or op.get("mode", "nearest") != "nearest":
        raise Cannot("only whole factors, the same for both sides, by repetition are known")
    if op.get("coordinate_transformation_mode", "asymmetric") not in ("asymmetric", "half_pixel"):
        raise Cannot("it counts places of pixels in another way")
    return nn.SpatialUpSamplingNearest(int(factor))


@operation("DepthToSpace")
def depth_to_space(op: Operation) -> Any:
    if op.get("mode", "DCR") != "CRD":
        raise Cannot("it orders planes in another way than nn.PixelShuffle (mode DCR)")
    return nn.PixelShuffle(int(op.get("blocksize")))
