"""Package inn (szagoruyko/imagine-nn): pooling of regions, pyramids and random pooling."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.container import Concat, Sequential
from relume.legacy_nn.counting import from_one
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.plane_layers import as_planes, check_planes
from relume.legacy_nn.registry import register
from relume.legacy_nn.table_layers import TableLayer
from relume.legacy_nn.types import new_empty, sizes_of


@register("inn.ROIPooling")
class ROIPooling(TableLayer):
    """The largest elements of the parts of regions: {images, regions} (Girshick 2015, "Fast
    R-CNN").

    A region is a row {image, left, top, right, bottom}, all counted from 1, ends included.

    Args:
        W, H: number of parts, across and down.
        spatial_scale: what coordinates are multiplied by, by default 1.

    >>> import relume as rl
    >>> from relume.legacy_nn import inn
    >>> images = rl.arange(16.0).reshape((1, 1, 4, 4))
    >>> inn.ROIPooling(1, 1).forward([images, rl.tensor([[1.0, 1, 1, 2, 2]])]).tolist()
    [[[[5.0]]]]
    """

    spatial_scale: float = 1

    def __init__(self, W: int, H: int, spatial_scale: float | None = None) -> None:
        super().__init__()
        self.W = W
        self.H = H
        self.spatial_scale = 1 if spatial_scale is None else spatial_scale
        self.gradInput = nested.table([new_empty(), new_empty()])
        self.indices = new_empty()

    def setSpatialScale(self, scale: float) -> ROIPooling:
        """Sets what coordinates are multiplied by."""
        self.spatial_scale = scale
        return self

    def compute(self, input: Activation) -> Tensor:
        images, regions = self._elements(input, 2)[:2]
        check_planes(self, images)
        if regions.ndim != 2 or regions.shape[1] != 5:
            raise ValueError(f"{self}: expected regions of size Nx5, got {nested.describe(input)}")
        rows = regions.detach().to(images.dtype) - 1
        size = [int(self.H), int(self.W)]
        output, _ = rl.roi_pool(images, rows, size, float(self.spatial_scale))
        return output


def moved_regions(regions: Tensor, changes: Tensor) -> Tensor:
    """Regions {left, top, right, bottom} after {shift right, down, growth of width, height}: shifts
    as parts of the size, growth as logarithms (Girshick et al. 2014)."""
    corner, size = regions.narrow(1, 0, 2), regions.narrow(1, 2, 2) - regions.narrow(1, 0, 2) + 1
    middle = corner + (size - 1) / 2 + changes.narrow(1, 0, 2) * size
    half = (size * changes.narrow(1, 2, 2).exp() - 1) / 2
    return rl.cat([middle - half, middle + half], 1)


@register("inn.ROIWarping")
class ROIWarping(TableLayer):
    """Weighted means of the surroundings of a grid of places in regions: {images, regions} or
    {images, regions, changes of the regions} (Dai, He and Sun 2016, "Instance-aware semantic
    segmentation"). Regions are rows as in `ROIPooling`; changes are rows {image, shift right, shift
    down, growth of width, growth of height} and get a gradient.

    Args:
        H, W: number of places, down and across.

    >>> import relume as rl
    >>> from relume.legacy_nn import inn
    >>> images = rl.ones(1, 2, 8, 8)
    >>> inn.ROIWarping(2, 3).forward([images, rl.tensor([[1.0, 2, 2, 7, 7]])]).shape
    (1, 2, 2, 3)
    """

    spatial_scale: float = 1  # in files of older versions
    LEAST = 2  # surroundings are at least so many pixels wide

    def __init__(self, H: int, W: int) -> None:
        super().__init__()
        self.H, self.W = H, W

    def setSpatialScale(self, scale: float) -> ROIWarping:
        """Sets what coordinates are multiplied by."""
        self.spatial_scale = scale
        return self

    def compute(self, input: Activation) -> Tensor:
        images, regions, *changes = self._elements(input, 2)[:3]
        given = (regions, *changes)
        if images.ndim != 4 or any(rows.ndim != 2 or rows.shape[1] != 5 for rows in given):
            raise ValueError(
                f"{self}: expected images NxCxHxW and regions Nx5, got {nested.describe(input)}"
            )
        places = from_one(self, regions.select(1, 0), images.shape[0])
        corners = regions.detach().narrow(1, 1, 4).to(images.dtype)
        if changes:
            corners = moved_regions(corners, changes[0].narrow(1, 1, 4).to(images.dtype))
        corners = (corners - 1) * float(self.spatial_scale)
        down, across = (
            self._weights(corners.select(1, axis), corners.select(1, axis + 2), count, size)
            for axis, count, size in (
                (1, int(self.H), images.shape[2]),
                (0, int(self.W), images.shape[3]),
            )
        )
        rows = rl.matmul(down.unsqueeze(1), images.index_select(0, places))
        return rl.matmul(rows, across.unsqueeze(1).transpose(2, 3))

    def _weights(self, first: Tensor, last: Tensor, count: int, size: int) -> Tensor:
        """How much every pixel of a line counts for every place: regions x places x pixels."""
        step = ((last - first) / count).unsqueeze(1).unsqueeze(2)
        numbers = rl.arange(count).to(first.dtype).unsqueeze(0).unsqueeze(2)
        middle = first.unsqueeze(1).unsqueeze(2) + (numbers + 0.5) * step
        width = step.clamp(self.LEAST)
        # Pixels around the image, which count as zero, take part in the sum of the weights.
        margin = math.ceil((middle.abs() + width).detach().amax().item())
        pixels = rl.arange(-margin, size + margin).to(first.dtype)
        distance = rl.where(pixels >= middle, pixels - middle, middle - pixels)
        weights = rl.where(distance <= width / 2, width - distance, 0.0)
        weights = weights / weights.sum(2, keepdim=True)
        return weights.narrow(2, margin, size)


@register("inn.SpatialPyramidPooling")
class SpatialPyramidPooling(Concat):
    """The largest elements of ever finer grids over an image, as one vector (He et al. 2014,
    "Spatial pyramid pooling").

    Args:
        *grids: {width, height} of each grid, or one list of them.

    >>> import relume as rl
    >>> from relume.legacy_nn import inn
    >>> inn.SpatialPyramidPooling([1, 1], [2, 2]).forward(rl.zeros(5, 3, 7, 9)).shape
    (5, 15)
    """

    def __init__(self, *grids: Any) -> None:
        super().__init__(1)
        first = nested.elements(grids[0])
        given = first if nested.is_table(first[0]) else grids
        self.pyr = nested.table([nested.table(sizes_of(grid)) for grid in given])
        for grid in given:
            width, height = sizes_of(grid)
            pooled = Sequential().add(make("SpatialAdaptiveMaxPooling", width, height))
            pooled.add(make("View", -1).setNumInputDims(3)).add(make("Contiguous"))
            self.add(pooled)

    def _face(self, input: Tensor) -> Tensor:
        check_planes(self, input)
        self.dimension = input.ndim - 2
        return input

    def compute(self, input: Tensor) -> Tensor:
        return super().compute(self._face(input))

    def updateOutput(self, input: Tensor) -> Tensor:
        return super().updateOutput(self._face(input))


@register("inn.SpatialSameResponseNormalization")
class SpatialSameResponseNormalization(Sequential):
    """Divides elements by (1 + alpha * the mean square around them in their plane) ** beta.

    Args:
        size: of the surroundings, by default 3.
        alpha, beta: by default 0.00005 and 0.75.
    """

    def __init__(
        self, size: int | None = None, alpha: float | None = None, beta: float | None = None
    ) -> None:
        super().__init__()
        self.size = size or 3  # type: ignore[assignment, method-assign]
        self.alpha = 5e-5 if alpha is None else alpha
        self.beta = 0.75 if beta is None else beta
        window, margin = int(self.size), int(self.size) // 2  # type: ignore[call-overload]
        divisor = Sequential().add(make("Square"))
        divisor.add(make("SpatialAveragePooling", window, window, 1, 1, margin, margin))
        divisor.add(make("MulConstant", self.alpha, True)).add(make("AddConstant", 1, True))
        divisor.add(make("Power", self.beta))
        self.add(make("ConcatTable").add(make("Identity")).add(divisor)).add(make("CDivTable"))


@register("inn.MeanSubtraction")
class MeanSubtraction(Module):
    """Subtracts an image from every image.

    Args:
        mean: the image, CxHxW or of any size that repeats over it.
    """

    parameter_names = ()

    def __init__(self, mean: Tensor) -> None:
        super().__init__()
        self.mean = mean

    def compute(self, input: Tensor) -> Tensor:
        check_planes(self, input)
        mean = self.mean
        if mean.ndim == 4:  # old files hold it repeated
            mean = mean.select(0, 0)
        return input - mean


@register("inn.SpatialStochasticPooling")
class SpatialStochasticPooling(Module):
    """In training, one element of every window, drawn with a probability in proportion to its
    size; in evaluation, the mean of the elements with these probabilities (Zeiler and Fergus
    2013). Elements must not be negative.

    Args:
        kW, kH: width and height of the windows.
        dW, dH: steps, by default the size.
    """

    parameter_names = ()
    train = True

    def __init__(self, kW: int, kH: int, dW: int | None = None, dH: int | None = None) -> None:
        super().__init__()
        self.kW, self.kH = kW, kH
        self.dW = kW if dW is None else dW
        self.dH = kH if dH is None else dH
        self.train = True
        self.indices = new_empty()

    def _windows(self, images: Tensor) -> tuple[Tensor, int, int]:
        """All windows (images, planes, elements, windows) and how many there are."""
        counts, margins = [], []
        for dim, window, step in ((2, self.kH, self.dH), (3, self.kW, self.dW)):
            length = images.shape[dim]
            count = math.ceil(max(0, length - window) / step) + 1
            counts.append(count)
            margins.append(max(0, (count - 1) * int(step) + int(window) - length))
        padded = rl.pad(images, [0, margins[1], 0, margins[0]])
        size, steps = [int(self.kH), int(self.kW)], [int(self.dH), int(self.dW)]
        columns = rl.im2col(padded, size, [1, 1], [0, 0], steps)
        shape = (*images.shape[:2], size[0] * size[1], counts[0] * counts[1])
        return columns.reshape(shape), counts[0], counts[1]

    def compute(self, input: Tensor) -> Tensor:
        images = as_planes(self, input)
        windows, height, width = self._windows(images)
        totals = windows.sum(2, keepdim=True)
        if self.train:
            chosen = self._draw(windows.detach(), totals.detach())
            output = windows.gather(2, chosen)
        else:
            safe = rl.where(totals > 0, totals, rl.ones_like(totals))
            output = (windows * (windows / safe)).sum(2, keepdim=True)
        output = output.reshape((*images.shape[:2], height, width))
        return output if input.ndim == 4 else output.squeeze(0)

    def recompute(self, input: Tensor) -> Tensor:
        raise RuntimeError(f"{self}: backward needs the forward before it")

    def _draw(self, windows: Tensor, totals: Tensor) -> Tensor:
        """Which element of every window."""
        threshold = rl.empty(tuple(totals.shape), dtype=totals.dtype).uniform_(0, 1) * totals
        below = (windows.cumsum(2) < threshold).to(rl.int64).sum(2, keepdim=True)
        self.indices = (below + 1).to(windows.dtype)
        return below.clamp(0, windows.shape[2] - 1)
