"""Parts of images: around a location, or at random."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.plane_layers import as_planes
from relume.legacy_nn.registry import register
from relume.legacy_nn.table_layers import TableLayer
from relume.legacy_nn.types import sizes_of

MOST_DOUBLINGS = 24  # of the size of a part: no image is larger


def make_scaler(height: int, width: int) -> Any:
    """A layer that resamples images to a size."""
    return make("SpatialReSampling", {"oheight": height, "owidth": width})


@register("nn.SpatialGlimpse")
class SpatialGlimpse(TableLayer):
    """Parts of growing size around a location of an image, scaled to one size: {image, location}
    (Mnih et al. 2014, "Recurrent models of visual attention").

    A location is a pair between (-1, -1), the top left, and (1, 1); the first number counts
    down, the second to the right. No gradient goes to it.

    Args:
        size: height and width of a part.
        depth: number of parts, by default 3.
        scale: each part is so much larger than the one before, by default 2.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> layer = nn.SpatialGlimpse(4, 3, 2)
    >>> layer.forward([rl.zeros(5, 1, 28, 28), rl.zeros(5, 2)]).shape
    (5, 3, 4, 4)
    """

    def __init__(self, size: Any, depth: int | None = None, scale: float | None = None) -> None:
        super().__init__()
        height, width = (size, size) if isinstance(size, int) else sizes_of(size)
        self.height, self.width = height, width
        self.depth = depth or 3
        self.scale = scale or 2
        if self.scale == 2:
            self.module = make("SpatialAveragePooling", 2, 2, 2, 2)
        else:
            self.module = make_scaler(height, width)
        self.modules = [self.module]

    def compute(self, input: Activation) -> Tensor:
        image, location = self._elements(input, 2)[:2]
        images = as_planes(self, image)
        self._check_depth()
        places = (location if location.ndim == 2 else location.unsqueeze(0)).detach().tolist()
        glimpses = rl.stack(
            [
                rl.cat([self._part(one, place, depth) for depth in range(int(self.depth))], 0)
                for one, place in zip(images.unbind(0), places, strict=True)
            ],
            0,
        )
        return glimpses if image.ndim == 4 else glimpses.squeeze(0)

    def _check_depth(self) -> None:
        """Refuses parts that are larger than any image, or smaller than a pixel."""
        depth, scale = int(self.depth), float(self.scale)
        doublings = (depth - 1) * math.log2(scale) if scale > 0 else -math.inf
        smallest = min(self.height, self.width)
        if depth < 1 or not math.log2(1 / smallest) <= doublings <= MOST_DOUBLINGS:
            raise ValueError(
                f"{self}: {depth} parts, each {scale:g} times as large as the one before: the "
                f"last would be {self.height}x{self.width} times {scale:g}^{depth - 1}"
            )

    def _part(self, image: Tensor, place: list[float], depth: int) -> Tensor:
        height, width = (int(n * self.scale**depth) for n in (self.height, self.width))
        above, left = (height - 1) // 2, (width - 1) // 2
        padded = rl.pad(image, [left, left, above, above])
        sizes = (height, width)
        corner = []
        for position, whole, size in zip(place, padded.shape[1:], sizes, strict=True):
            room = whole - size
            corner.append(int(min(room, max(0, (position + 1) / 2 * room))))
        part = padded.narrow(1, corner[0], height).narrow(2, corner[1], width)
        if depth == 0:
            return part
        if self.module.torch_typename == "nn.SpatialAveragePooling":
            return rl.avg_pool2d(part, [height // int(self.height), width // int(self.width)])
        return self.module(part)


@register("nn.SpatialUniformCrop")
class SpatialUniformCrop(Module):
    """In training, a part of the image at a random place; in evaluation, its middle.

    Args:
        oheight, owidth: size of the part; by default a square.
        scale: None, a number, or {min, max}: the part is taken so much larger or smaller, by a
            random factor, and resampled.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.SpatialUniformCrop(3, 4).forward(rl.zeros(2, 1, 9, 9)).shape
    (2, 1, 3, 4)
    """

    parameter_names = ()
    scale: Any = None
    uncast_names = ("coord", "scales")

    def __init__(self, oheight: int, owidth: int | None = None, scale: Any = None) -> None:
        super().__init__()
        self.oheight = oheight
        self.owidth = owidth or oheight
        if scale is not None:
            if isinstance(scale, (int, float)):
                scale = {"min": -scale, "max": scale}
            self.scale = nested.table([])
            self.scale["min"], self.scale["max"] = scale["min"], scale["max"]
            self.scaler = make_scaler(self.oheight, self.owidth)

    def compute(self, input: Tensor) -> Tensor:
        images = as_planes(self, input)
        corners = self._draw(images) if self.train else self._middle(images)
        parts = rl.stack(
            [self._crop(image, *corner) for image, corner in zip(images, corners, strict=True)], 0
        )
        return parts if input.ndim == 4 else parts.squeeze(0)

    def recompute(self, input: Tensor) -> Tensor:
        raise RuntimeError(f"{self}: backward needs the forward before it, in training mode")

    def _crop(self, image: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
        part = image.narrow(1, top, height).narrow(2, left, width)
        return part if self.scale is None else self.scaler(part)

    def _draw(self, images: Tensor) -> list[tuple[int, int, int, int]]:
        """Top, left, height and width of each part; Torch7's random numbers."""
        corners, scales = [], []
        for _ in range(images.shape[0]):
            height, width = int(self.oheight), int(self.owidth)
            if self.scale is not None:
                scales.append(draw_uniform(self.scale["min"], self.scale["max"]))
                height, width = (math.ceil(n * scales[-1]) for n in (height, width))
            rooms = (images.shape[2] - height, images.shape[3] - width)
            if min(rooms) < 0:
                raise ValueError(
                    f"{self}: a part of {height}x{width} does not fit {nested.describe(images)}"
                )
            top, left = (max(0, math.ceil(draw_uniform(1e-2, room)) - 1) for room in rooms)
            corners.append((top, left, height, width))
        places = [[top + 1, left + 1] for top, left, _, _ in corners]
        self.coord = rl.tensor(places, dtype=rl.int32)
        if scales:
            self.scales = rl.tensor(scales, dtype=rl.float32)
        return corners

    def _middle(self, images: Tensor) -> list[tuple[int, int, int, int]]:
        height, width = int(self.oheight), int(self.owidth)
        rooms = (images.shape[2] - height, images.shape[3] - width)
        top, left = (max(0, math.ceil(room / 2) - 1) for room in rooms)
        return [(top, left, height, width)] * images.shape[0]


def draw_uniform(low: float, high: float) -> float:
    """One of Torch7's uniform random numbers."""
    return rl.empty((1,), dtype=rl.float64).uniform_(low, high).item()
