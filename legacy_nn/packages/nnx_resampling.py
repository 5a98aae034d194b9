"""Package nnx: images made larger, smaller, or surrounded."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register


def as_planes(layer: Any, input: Any) -> Tensor:
    """An image CxHxW or a batch of images, as a batch."""
    if not isinstance(input, Tensor) or input.ndim not in (3, 4):
        raise ValueError(f"{layer}: expected images CxHxW or NxCxHxW, got {nested.describe(input)}")
    return input if input.ndim == 4 else input.unsqueeze(0)


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
                "nn.SpatialReSampling needs owidth and oheight (a size) or rwidth and rheight "
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
