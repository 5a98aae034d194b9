"""The convolutions of ResNet-18, VGG-16 and MobileNet, forward and both gradients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..case import Arrays, Case, Names, Settings, Topic
from ..timing import timed


@dataclass(frozen=True)
class Layer:
    """A convolution of square images by square kernels."""

    network: str
    inputs: int
    outputs: int
    size: int
    kernel: int = 3
    stride: int = 1
    groups: int = 1

    @property
    def padding(self) -> int:
        return self.kernel // 2

    @property
    def output_size(self) -> int:
        return (self.size + 2 * self.padding - self.kernel) // self.stride + 1

    def __str__(self) -> str:
        kind = "depthwise " if self.groups > 1 else ""
        stride = f"/{self.stride}" if self.stride > 1 else ""
        shape = f"{self.inputs}-{self.outputs} at {self.size}"
        return f"{self.network} {kind}{self.kernel}x{self.kernel}{stride} {shape}"


def depthwise(channels: int, size: int, stride: int = 1) -> Layer:
    return Layer("MobileNet", channels, channels, size, 3, stride, channels)


def pointwise(inputs: int, outputs: int, size: int) -> Layer:
    return Layer("MobileNet", inputs, outputs, size, 1)


LAYERS = [
    Layer("ResNet-18", 3, 64, 224, 7, 2),
    Layer("ResNet-18", 64, 64, 56),
    Layer("ResNet-18", 64, 128, 56, 3, 2),
    Layer("ResNet-18", 64, 128, 56, 1, 2),
    Layer("ResNet-18", 128, 128, 28),
    Layer("ResNet-18", 128, 256, 28, 3, 2),
    Layer("ResNet-18", 128, 256, 28, 1, 2),
    Layer("ResNet-18", 256, 256, 14),
    Layer("ResNet-18", 256, 512, 14, 3, 2),
    Layer("ResNet-18", 256, 512, 14, 1, 2),
    Layer("ResNet-18", 512, 512, 7),
    Layer("VGG-16", 3, 64, 224),
    Layer("VGG-16", 64, 64, 224),
    Layer("VGG-16", 64, 128, 112),
    Layer("VGG-16", 128, 128, 112),
    Layer("VGG-16", 128, 256, 56),
    Layer("VGG-16", 256, 256, 56),
    Layer("VGG-16", 256, 512, 28),
    Layer("VGG-16", 512, 512, 28),
    Layer("VGG-16", 512, 512, 14),
    Layer("MobileNet", 3, 32, 224, 3, 2),
    depthwise(32, 112),
    pointwise(32, 64, 112),
    depthwise(64, 112, 2),
    pointwise(64, 128, 56),
    depthwise(128, 56),
    pointwise(128, 128, 56),
    depthwise(128, 56, 2),
    pointwise(128, 256, 28),
    depthwise(256, 28),
    pointwise(256, 256, 28),
    depthwise(256, 28, 2),
    pointwise(256, 512, 14),
    depthwise(512, 14),
    pointwise(512, 512, 14),
    depthwise(512, 14, 2),
    pointwise(512, 1024, 7),
    depthwise(1024, 7),
    pointwise(1024, 1024, 7),
]
PASSES = {
    "forward": "conv2d(x, w, None, stride, padding, [1, 1], groups)",
    "input gradient": "gradient(g, x, w, True)",
    "weight gradient": "gradient(g, x, w, False)",
}


def names(layer: Layer, batch: int, lib: Any) -> Names:
    arrays = Arrays(lib)
    stride, padding = [layer.stride] * 2, [layer.padding] * 2

    def relume_gradient(g: Any, x: Any, w: Any, of_input: bool) -> Any:
        ops = lib._C.ops
        name = "conv2d_input_gradient" if of_input else "conv2d_weight_gradient"
        like, other = (x, w) if of_input else (w, x)
        return ops[name](g, other, list(like.shape), stride, padding, [1, 1], layer.groups)

    def torch_gradient(g: Any, x: Any, w: Any, of_input: bool) -> Any:
        wanted = [of_input, not of_input, False]
        return lib.ops.aten.convolution_backward(
            g, x, w, None, stride, padding, [1, 1], False, [0, 0], layer.groups, wanted
        )

    is_torch = lib.__name__ == "torch"
    return {
        "x": arrays.floats(batch, layer.inputs, layer.size, layer.size),
        "w": arrays.floats(layer.outputs, layer.inputs // layer.groups, layer.kernel, layer.kernel),
        "g": arrays.floats(batch, layer.outputs, layer.output_size, layer.output_size),
        "stride": stride,
        "padding": padding,
        "groups": layer.groups,
        "conv2d": lib.conv2d,
        "gradient": torch_gradient if is_torch else relume_gradient,
    }


def cases(settings: Settings) -> Iterator[Case]:
    for batch in (1, 16):
        for layer in LAYERS:
            if settings.quick and (batch > 1 or layer.size > 14):
                continue
            for label, statement in PASSES.items():
                made = partial(names, layer, batch)
                yield Case(f"{layer}, batch {batch}, {label}", statement, made)


TOPIC = Topic("convolution", "Convolution layers", timed(cases), worst=1.1, mean=0.9)
