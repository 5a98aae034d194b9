"""Package nnx: networks that see an image in several sizes."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.container import Container
from relume.legacy_nn.plane_layers import as_planes
from relume.legacy_nn.registry import register


class Pyramid(Container):
    """The base of networks with one processor per size; they can look at one place only."""

    parameter_names = ()
    ratios: Any
    focused = False
    x: Any = None
    y: Any = None

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        super()._load_fields(fields, version)
        self.modules = list(nested.elements(self.processors))

    def scale_output(self, index: int, images: Tensor) -> Tensor:
        """What the processor of one size gives, in the size of the others."""
        raise NotImplementedError

    def compute(self, input: Tensor) -> Tensor:
        images = as_planes(self, input)
        outputs = [self.scale_output(index, images) for index in range(len(self.modules))]
        output = rl.cat(outputs, 1)
        return output if input.ndim == 4 else output.squeeze(0)


def shrunk(images: Tensor, ratio: int) -> Tensor:
    """Means of squares."""
    return rl.avg_pool2d(images, [int(ratio), int(ratio)])


def grown(images: Tensor, ratio: int) -> Tensor:
    """Every pixel repeated."""
    return make("SpatialUpSampling", int(ratio), int(ratio))(images)


@register("nn.SpatialPyramid")
class SpatialPyramid(Pyramid):
    """An image made smaller by several ratios, each through a network of its own; the outputs
    are made larger again and joined.

    After `focus(x, y)` the networks see only what they need for one place.

    Args:
        ratios: how much smaller, one number per network.
        processors: the networks.
        kW, kH: what a network needs to see for one place.
        dW, dH: its steps.
    """

    def __init__(
        self, ratios: Any, processors: Any, kW: int, kH: int, dW: int = 1, dH: int = 1
    ) -> None:
        super().__init__()
        self.ratios = nested.table([int(ratio) for ratio in nested.elements(ratios)])
        self.processors = nested.table(list(nested.elements(processors)))
        if len(self.ratios) != len(self.processors):
            raise ValueError("nn.SpatialPyramid: there must be one processor per ratio")
        self.modules = list(self.processors)
        self.kW, self.kH, self.dW, self.dH = kW, kH, dW, dH
        self.padLeft, self.padRight = (kW - dW) // 2, math.ceil((kW - dW) / 2)
        self.padTop, self.padBottom = (kH - dH) // 2, math.ceil((kH - dH) / 2)
        self.x = self.y = 0
        self.winWidth = self.winHeight = nested.table([])

    def focus(self, x: int | None = None, y: int | None = None, w: int = 1, h: int = 1) -> None:
        """Looks at one place from now on, or again at all.

        Args:
            x, y: the place in the image, from 1; None for the whole image.
            w, h: width and height of the output there.
        """
        self.focused = x is not None and y is not None
        if not self.focused:
            return
        self.x, self.y = x, y
        widths, heights = ((w - 1) * self.dW + self.kW, (h - 1) * self.dH + self.kH)
        self.winWidth = nested.table([ratio * widths for ratio in self.ratios])
        self.winHeight = nested.table([ratio * heights for ratio in self.ratios])

    def _window(self, index: int, images: Tensor) -> Tensor:
        width, height = self.winWidth[index + 1], self.winHeight[index + 1]
        margins = [
            math.ceil(width / 2) - self.x,
            math.floor(width / 2) + self.x - images.shape[3],
            math.ceil(height / 2) - self.y,
            math.floor(height / 2) + self.y - images.shape[2],
        ]
        return rl.pad(images, [int(margin) for margin in margins])

    def scale_output(self, index: int, images: Tensor) -> Tensor:
        ratio = int(self.ratios[index + 1])
        if images.shape[2] % ratio or images.shape[3] % ratio:
            raise ValueError(
                f"{self.torch_typename}: height and width must be multiples of {ratio}, "
                f"got {nested.describe(images)}"
            )
        if self.focused:
            return self._apply_child(index, shrunk(self._window(index, images), ratio))
        margins = [self.padLeft, self.padRight, self.padTop, self.padBottom]
        padded = rl.pad(shrunk(images, ratio), [int(margin) for margin in margins])
        return grown(self._apply_child(index, padded), ratio)


@register("nn.SpatialFovea")
class SpatialFovea(Pyramid):
    """An image made smaller by several ratios, each through networks of its own; the outputs are
    made larger again and joined.

    After `focus(x, y)` the networks see only a window around one place.

    Args:
        nInputPlane: planes of the image.
        ratios: how much smaller, one number per network.
        processors: the networks.
        preProcessors: networks that come before the image is padded, or None.
        fov: what a processor needs to see for one place.
        sub: its steps.
        bilinear: resample by interpolation.
    """

    bilinear = False

    def __init__(
        self,
        nInputPlane: int,
        ratios: Any,
        processors: Any,
        preProcessors: Any = None,
        fov: int = 1,
        sub: int = 1,
        bilinear: bool | None = None,
    ) -> None:
        super().__init__()
        self.nInputPlane = nInputPlane
        self.ratios = nested.table(list(nested.elements(ratios)))
        self.processors = nested.table(list(nested.elements(processors)))
        self.preProcessors = nested.table(list(nested.elements(preProcessors or [])))
        if len(self.ratios) != len(self.processors):
            raise ValueError("nn.SpatialFovea: there must be one processor per ratio")
        self.modules = list(self.processors)
        self.fov, self.sub = fov, sub
        self.padding = fov - sub
        self.bilinear = bool(bilinear)

    def focus(self, x: int | None = None, y: int | None = None, fov: int | None = None) -> None:
        """Looks at the window around one place (from 1) from now on; None: again at all."""
        self.x, self.y = x, y
        self.fov = fov or self.fov
        self.focused = x is not None and y is not None

    def scale_output(self, index: int, images: Tensor) -> Tensor:
        if images.shape[1] != self.nInputPlane:
            raise ValueError(
                f"{self.torch_typename}: expected {self.nInputPlane} planes, "
                f"got {nested.describe(images)}"
            )
        ratio = self.ratios[index + 1]
        small = resized(images, 1 / ratio) if self.bilinear else shrunk(images, ratio)
        before = self.preProcessors.get(index + 1)
        small = small if before is None else before(small)
        margin = int(self.padding) // 2
        small = rl.pad(small, [margin] * 4)
        if self.focused:
            return self._apply_child(index, self._window(small, ratio))
        output = self._apply_child(index, small)
        return resized(output, ratio) if self.bilinear else grown(output, ratio)

    def _window(self, images: Tensor, ratio: float) -> Tensor:
        left, top = (int((place - 1) // ratio // self.sub * self.sub) for place in (self.x, self.y))
        size = int(self.fov)
        return images.narrow(3, left, size).narrow(2, top, size)


@register("nn.SpatialRecursiveFovea")
class SpatialRecursiveFovea(Pyramid):
    """An image made smaller by several ratios; each size goes through a network of its own, which
    also sees what the network of the next smaller size gave, made larger. The output is that of the
    largest.

    Files have fields of the same names: nInputPlane, nRecursivePlane (planes that a network hands
    on), ratios (from the largest on), processors, preProcessors, postProcessors, fov, sub.

    Args:
        nInputPlane: planes of the image.
        nRecursivePlane: planes that networks hand on.
        ratios: how much smaller, one number per network.
        processors: the networks.
        preProcessors: networks that come before the image is padded.
        postProcessors: networks that come after the processors.
        fov: what a processor needs to see for one place.
        sub: its steps.
        scaleTargetValues: what is handed on grows with the size.
    """

    scaleTargetValues = False
    preProcessors: Any = ()
    postProcessors: Any = ()

    def __init__(
        self,
        nInputPlane: int,
        nRecursivePlane: int,
        ratios: Any,
        processors: Any,
        preProcessors: Any = None,
        postProcessors: Any = None,
        fov: int = 1,
        sub: int = 1,
        scaleTargetValues: bool = False,
    ) -> None:
        super().__init__()
        self.nInputPlane, self.nRecursivePlane = nInputPlane, nRecursivePlane
        self.ratios = nested.table(sorted(nested.elements(ratios), reverse=True))
        self.processors = nested.table(list(nested.elements(processors)))
        self.preProcessors = nested.table(list(nested.elements(preProcessors or [])))
        self.postProcessors = nested.table(list(nested.elements(postProcessors or [])))
        self.modules = list(self.processors)
        if len(self.ratios) != len(self.modules):
            raise ValueError(f"{self.torch_typename}: there must be one processor per ratio")
        self.fov, self.sub, self.scaleTargetValues = fov, sub, scaleTargetValues

    def compute(self, input: Tensor) -> Tensor:
        images = as_planes(self, input)
        if images.shape[1] != int(self.nInputPlane):
            raise ValueError(
                f"{self.torch_typename}: expected {int(self.nInputPlane)} planes, "
                f"got {nested.describe(input)}"
            )
        output: Any = None
        for index in range(len(self.modules)):
            output = self._apply_child(index, self._seen(index, images, output))
        after = nested.spread(self.postProcessors, len(self.modules))[-1]
        output = output if after is None else after(output)
        return output if input.ndim == 4 else output.squeeze(0)

    def _is_whole(self) -> bool:
        return all(float(ratio).is_integer() for ratio in nested.elements(self.ratios))

    def _seen(self, index: int, images: Tensor, before: Tensor | None) -> Tensor:
        """What a processor sees: the image in its size, and what the one before gave."""
        ratios = nested.elements(self.ratios)
        ratio = ratios[index]
        if self._is_whole():
            small = shrunk(images, ratio)
        else:
            small = resized(images, 1 / ratio)
        preparing = nested.spread(self.preProcessors, len(self.modules))[index]
        small = small if preparing is None else preparing(small)
        size = self._room(images, index)
        if before is None:
            shape = (images.shape[0], int(self.nRecursivePlane), *size)
            return rl.cat([centred(small, size), rl.zeros(shape, dtype=images.dtype)], 1)
        growth = ratios[index - 1] / ratio * self.sub
        large = grown(before, growth) if self._is_whole() else resized(before, growth)
        large = centred(large, size)
        if self.scaleTargetValues:
            large = large * (ratios[index - 1] / ratio)
        return rl.cat([centred(small, size), large], 1)

    def _room(self, images: Tensor, index: int) -> list[int]:
        """Height and width that a processor needs to answer for every place."""
        sub, ratios = int(self.sub), nested.elements(self.ratios)
        sizes = []
        for dim in (2, 3):
            places = images.shape[dim] / ratios[index] / sub
            if index + 1 < len(ratios):
                next_size = images.shape[dim] // ratios[index + 1]
                count = math.ceil(math.ceil(next_size * ratios[index + 1] / ratios[index]) / sub)
            else:
                count = math.floor(places)
            sizes.append(count * sub + int(self.fov) - sub)
        return sizes


def resized(images: Tensor, factor: float) -> Tensor:
    """Images in another size, by interpolation."""
    return make("SpatialReSampling", {"rwidth": factor, "rheight": factor})(images)


def centred(images: Tensor, size: list[int]) -> Tensor:
    """Images in the middle of zeros of this height and width, or cut to it at the right."""
    margins = []
    for dim, count in ((3, size[1]), (2, size[0])):
        before = math.floor((count - images.shape[dim]) / 2)
        margins += [before, count - images.shape[dim] - before]
    return rl.pad(images, margins)
