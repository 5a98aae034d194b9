"""Package nnx: images made larger, smaller, or surrounded."""

from __future__ import annotations

import itertools
import math
from typing import Any, ClassVar

import numpy as np

import relume as rl
from relume import Tensor
from relume.converters.table import Table
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module
from relume.legacy_nn.plane_layers import as_planes
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_empty


@register("nn.SpatialReSampling")
class SpatialReSampling(Module):
    """Images resampled by interpolation between pixels; the corners stay where they are.

    Args:
        settings: a dict with these keys, or the same as named arguments:
            owidth, oheight: size of the output,
            rwidth, rheight: or its ratio to that of the input.
            mode: 'bilinear' (the default) or 'average', of all pixels that come together.
            yDim, xDim: which dimensions are resampled, from 1; by default the last two.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.SpatialReSampling(oheight=1, owidth=3).forward(rl.tensor([[[1.0, 3.0]]])).tolist()
    [[[1.0, 2.0, 3.0]]]
    """

    parameter_names = ()
    rwidth: Any = None
    rheight: Any = None
    owidth: int | None = None
    oheight: int | None = None
    mode: str | None = None
    yDim: int | None = None
    xDim: int | None = None

    def __init__(self, settings: Any = None, **named: Any) -> None:
        super().__init__()
        settings = {**dict((settings or {}).items()), **named}
        for name in ("rwidth", "rheight", "owidth", "oheight", "mode", "yDim", "xDim"):
            if settings.get(name) is not None:
                self.__dict__[name] = settings[name]
        has_width = self.rwidth is not None or self.owidth is not None
        has_height = self.rheight is not None or self.oheight is not None
        if not (has_width and has_height):
            raise ValueError(
                f"{self.torch_typename} needs owidth and oheight (a size) or rwidth and rheight "
                "(a ratio)"
            )

    def _size(self, planes: Tensor) -> list[int]:
        height = self.oheight or int(planes.shape[2] * self.rheight)
        width = self.owidth or int(planes.shape[3] * self.rwidth)
        return [int(height), int(width)]

    def _dims(self, input: Tensor) -> tuple[int, int]:
        """The dimensions of height and width, from 0."""
        y = input.ndim - 2 if self.yDim is None else int(self.yDim) - 1
        x = input.ndim - 1 if self.xDim is None else int(self.xDim) - 1
        return y, x

    def compute(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim < 2:
            raise ValueError(f"{self}: expected images, got {nested.describe(input)}")
        order = [d for d in range(input.ndim) if d not in self._dims(input)]
        order += self._dims(input)
        moved = input.permute(tuple(order))
        planes = moved.reshape((1, -1, *moved.shape[-2:]))
        resampled = self._resample(planes, self._size(planes))
        result = resampled.reshape((*moved.shape[:-2], *resampled.shape[-2:]))
        back = [order.index(d) for d in range(input.ndim)]
        return result.permute(tuple(back)).contiguous()

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        """The gradient of the input; a `gradOutput` of another size is that of a layer which gives
        this size, as in Torch7."""
        y, x = self._dims(input)
        size = [gradOutput.shape[y], gradOutput.shape[x]]
        if size == self._size(input.reshape((1, -1, input.shape[y], input.shape[x]))):
            return super().updateGradInput(input, gradOutput)
        twin = self.clone()
        twin.oheight, twin.owidth = size
        twin.forward(input)
        self.gradInput = twin.updateGradInput(input, gradOutput)
        return self.gradInput

    def _resample(self, planes: Tensor, size: list[int]) -> Tensor:
        if self.mode == "average":
            return rl.adaptive_avg_pool2d(planes, size)
        rows = neighbours(planes.shape[2], size[0])
        columns = neighbours(planes.shape[3], size[1])
        parts = []
        for row, row_weight in rows:
            for column, column_weight in columns:
                # Torch7 has positions and weights in single precision.
                weight = (row_weight.unsqueeze(1) * column_weight).to(planes.dtype)
                parts.append(planes.index_select(2, row).index_select(3, column) * weight)
        return sum(parts[1:], parts[0])


def neighbours(size: int, new_size: int) -> list[tuple[Tensor, Tensor]]:
    """For each of `new_size` places between aligned corners: the element before and the one
    after it, each with its weight."""
    step = rl.tensor((size - 1) / max(1, new_size - 1), dtype=rl.float32)
    places = rl.arange(new_size).to(rl.float32) * step
    before = places.floor().clamp(0, max(0, size - 2))
    after = (before + 1).clamp(0, size - 1)
    weight = places - before
    return [(before.to(rl.int64), 1 - weight), (after.to(rl.int64), weight)]


@register("nn.SpatialReSamplingEx")
class SpatialReSamplingEx(SpatialReSampling):
    """Images made larger or smaller in both directions.

    Args:
        settings: a dict with these keys, or the same as named arguments:
            owidth, oheight: size of the output,
            rwidth, rheight: or its ratio to that of the input.
            mode: 'simple' (the default: pixels repeated or left out), 'average' (of windows, when
                images become smaller) or 'bilinear'.
            yDim, xDim: which dimensions are resampled, from 1, one after the other; by default 2
                and 3.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> layer = nn.SpatialReSamplingEx(rwidth=2, rheight=1)
    >>> layer.forward(rl.tensor([[[1.0, 3.0]]])).tolist()
    [[[1.0, 1.0, 3.0, 3.0]]]
    """

    MODES: ClassVar[dict[str, int]] = {"simple": 0, "average": 1, "bilinear": 2}

    def __init__(self, settings: Any = None, **named: Any) -> None:
        settings = {**dict((settings or {}).items()), **named}
        super().__init__({"mode": "simple", "yDim": 2, "xDim": 3, **settings})
        if self.mode not in self.MODES:
            raise ValueError(
                f"{self.torch_typename}: mode must be one of {', '.join(self.MODES)}, "
                f"got {self.mode!r}"
            )
        if int(self.yDim or 0) + 1 != self.xDim:
            raise ValueError(
                f"{self.torch_typename}: xDim must be yDim + 1, got {self.xDim} and {self.yDim}"
            )
        self.mode_c = self.MODES[self.mode]

    def _size(self, planes: Tensor) -> list[int]:
        height = self.oheight or math.floor(planes.shape[2] * self.rheight + 0.5)
        width = self.owidth or math.floor(planes.shape[3] * self.rwidth + 0.5)
        if min(height, width) < 1 or (height >= planes.shape[2]) != (width >= planes.shape[3]):
            raise ValueError(
                f"{self}: height and width must both grow or both shrink, but "
                f"{planes.shape[2]}x{planes.shape[3]} would become {height:g}x{width:g}"
            )
        return [int(height), int(width)]

    def _resample(self, planes: Tensor, size: list[int]) -> Tensor:
        if self.mode == "bilinear":
            return super()._resample(planes, size)
        steps = [old // new for old, new in zip(planes.shape[2:], size, strict=True)]
        if self.mode == "average" and size[0] < planes.shape[2]:
            return rl.avg_pool2d(planes, steps)[:, :, : size[0], : size[1]]
        for dim, new in enumerate(size, 2):
            old = planes.shape[dim]
            places = rl.arange(new)
            places = places * (old // new) if new < old else places // math.ceil(new / old)
            planes = planes.index_select(dim, places)
        return planes


@register("nn.SpatialMaxSampling")
class SpatialMaxSampling(Module):
    """The largest pixels of windows that cover an image, as many as the output has.

    Args:
        owidth, oheight: size of the output; or a dict with these keys.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.SpatialMaxSampling(2, 1).forward(rl.tensor([[[1.0, 5.0, 3.0, 4.0]]])).tolist()
    [[[5.0, 4.0]]]
    """

    parameter_names = ()

    def __init__(self, owidth: Any = None, oheight: int | None = None) -> None:
        super().__init__()
        if isinstance(owidth, (dict, Table)):
            owidth, oheight = owidth.get("owidth"), owidth.get("oheight")
        if not owidth or not oheight:
            raise ValueError(f"{self.torch_typename} needs owidth and oheight")
        self.owidth, self.oheight = owidth, oheight
        self.indices = new_empty()

    def compute(self, input: Tensor) -> Tensor:
        images = as_planes(self, input)
        height, width = images.shape[2:]
        rows = spans(height, int(self.oheight))
        columns = spans(width, int(self.owidth))
        places = [
            [y * width + x for y in row for x in column] for row in rows for column in columns
        ]
        longest = max(len(window) for window in places)
        # Shorter windows see their first pixel again: of equal ones the first counts.
        filled = [window + window[:1] * (longest - len(window)) for window in places]
        flat = images.reshape((*images.shape[:2], height * width))
        windows = flat.index_select(2, rl.tensor(filled).reshape((-1,)))
        windows = windows.reshape((*images.shape[:2], len(places), longest))
        largest = windows.gather(3, windows.detach().argmax(3, keepdim=True))
        output = largest.reshape((*images.shape[:2], len(rows), len(columns)))
        return output if input.ndim == 4 else output.squeeze(0)


def spans(size: int, count: int) -> list[range]:
    """`count` stretches that cover `size` pixels, computed in single precision as in Torch7.

    >>> spans(5, 2)
    [range(0, 2), range(2, 5)]
    """
    step = np.float32(size) / np.float32(count)
    starts = [int(np.float32(place) * step) for place in range(count + 1)]
    pairs = itertools.pairwise(starts)
    return [range(start, min(size, max(start + 1, stop))) for start, stop in pairs]


@register("nn.PixelSort")
class PixelSort(Module):
    """Squares of pixels become planes: C x H x W to C r^2 x H/r x W/r, what PixelShuffle undoes.

    Args:
        downscaleFactor: r.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.PixelSort(2).forward(rl.tensor([[[1.0, 2.0], [3.0, 4.0]]])).reshape((-1,)).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """

    parameter_names = ()
    buffer_names = ("_intermediateShape", "_outShape", "_shuffleIn", "_shuffleOut")

    def __init__(self, downscaleFactor: int) -> None:
        super().__init__()
        self.downscaleFactor = downscaleFactor
        self.downscaleFactorSquared = downscaleFactor**2

    def compute(self, input: Tensor) -> Tensor:
        images = as_planes(self, input)
        factor = int(self.downscaleFactor)
        count, planes, height, width = images.shape
        if height % factor or width % factor:
            raise ValueError(
                f"{self}: height and width must be multiples of {factor}, "
                f"got {nested.describe(input)}"
            )
        size = (height // factor, width // factor)
        parts = images.reshape((count, planes, size[0], factor, size[1], factor))
        output = parts.permute((0, 1, 3, 5, 2, 4)).reshape((count, planes * factor**2, *size))
        return output if input.ndim == 4 else output.squeeze(0)


@register("nn.SpatialUpSampling")
class SpatialUpSampling(Module):
    """Every pixel repeated.

    Args:
        dW, dH: how often, to the right and down.
        yDim, xDim: unused; kept for files.
    """

    parameter_names = ()

    def __init__(self, dW: int, dH: int, yDim: int | None = None, xDim: int | None = None) -> None:
        super().__init__()
        self.dW = dW
        self.dH = dH
        if yDim is not None:
            self.yDim = yDim
        if xDim is not None:
            self.xDim = xDim

    def compute(self, input: Tensor) -> Tensor:
        as_planes(self, input)
        return rl.repeat_interleave(
            rl.repeat_interleave(input, int(self.dH), input.ndim - 2),
            int(self.dW),
            input.ndim - 1,
        )


@register("nn.SpatialDownSampling")
class SpatialDownSampling(Module):
    """Means of windows that lie side by side.

    Args:
        rW, rH: width and height of a window.
    """

    parameter_names = ()

    def __init__(self, rW: int, rH: int) -> None:
        super().__init__()
        self.rW = rW
        self.rH = rH

    def compute(self, input: Tensor) -> Tensor:
        as_planes(self, input)
        return rl.avg_pool2d(input, [int(self.rH), int(self.rW)])


@register("nn.SpatialPadding")
class SpatialPadding(Module):
    """Zeros (or another number) added around images; negative numbers take pixels away.

    Args:
        pad_l, pad_r, pad_t, pad_b: how many at the left, right, top and bottom; each by default
            as the one before.
        yDim, xDim: dimensions of height and width, from 1; by default the last two.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.SpatialPadding(1, 0, -1, 0).forward(rl.ones(1, 2, 2)).tolist()
    [[[0.0, 1.0, 1.0]]]
    """

    parameter_names = ()
    val: float = 0  # old files do not say
    y_dim = 2
    x_dim = 3

    def __init__(
        self,
        pad_l: int,
        pad_r: int | None = None,
        pad_t: int | None = None,
        pad_b: int | None = None,
        yDim: int | None = None,
        xDim: int | None = None,
    ) -> None:
        super().__init__()
        self.pad_l = pad_l
        self.pad_r = pad_l if pad_r is None else pad_r
        self.pad_t = pad_l if pad_t is None else pad_t
        self.pad_b = pad_l if pad_b is None else pad_b
        self.y_dim = yDim or 2
        self.x_dim = xDim or 3
        self.val = 0

    def compute(self, input: Tensor) -> Tensor:
        as_planes(self, input)
        margins = [int(n) for n in (self.pad_l, self.pad_r, self.pad_t, self.pad_b)]
        if (self.y_dim, self.x_dim) == (2, 3) or input.ndim == 4:
            return rl.pad(input, margins, "constant", self.val)
        y, x = int(self.y_dim) - 1, int(self.x_dim) - 1
        other = ({0, 1, 2} - {x, y}).pop()
        order = (other, y, x)
        padded = rl.pad(input.permute(order), margins, "constant", self.val)
        return padded.permute(tuple(order.index(d) for d in range(3))).contiguous()
