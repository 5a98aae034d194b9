"""Package stn (qassemoquab/stnbhwd): spatial transformer networks (Jaderberg et al. 2015).

Images are BxHxWxD. Coordinates are pairs (y, x) from -1 (top, left) to 1.
"""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.table_layers import TableLayer


@register("nn.AffineGridGeneratorBHWD")
class AffineGridGeneratorBHWD(Module):
    """Where each pixel of the output comes from, for matrices Bx2x3: a grid BxHxWx2.

    Args:
        height, width: of the output.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> stay = rl.tensor([[[1.0, 0, 0], [0, 1, 0]]])
    >>> nn.AffineGridGeneratorBHWD(2, 2).forward(stay).tolist()
    [[[[-1.0, -1.0], [-1.0, 1.0]], [[1.0, -1.0], [1.0, 1.0]]]]
    """

    parameter_names = ()

    def __init__(self, height: int, width: int) -> None:
        super().__init__()
        if height < 2 or width < 2:
            raise ValueError(
                f"nn.AffineGridGeneratorBHWD: height and width must be at least 2, got "
                f"{height} and {width}"
            )
        self.height = height
        self.width = width
        rows, columns = rl.meshgrid(
            [rl.linspace(-1, 1, size, dtype=rl.float64) for size in (height, width)], indexing="ij"
        )
        grid = rl.stack([rows, columns, rl.ones_like(rows)], 2)
        self.baseGrid = grid.to(self.output.dtype)

    def compute(self, input: Tensor) -> Tensor:
        matrices = input if input.ndim == 3 else input.unsqueeze(0)
        if matrices.ndim != 3 or tuple(matrices.shape[1:]) != (2, 3):
            raise ValueError(
                f"{self}: expected matrices 2x3 or Bx2x3, got {nested.describe(input)}"
            )
        places = self.baseGrid.to(matrices.dtype).reshape((1, -1, 3))
        grid = rl.matmul(places, matrices.transpose(1, 2))
        grid = grid.reshape((matrices.shape[0], int(self.height), int(self.width), 2))
        return grid if input.ndim == 3 else grid.squeeze(0)


@register("nn.BilinearSamplerBHWD")
class BilinearSamplerBHWD(TableLayer):
    """The pixels of images at the places of a grid: {images BxHxWxD, grid Bxhxwx2}; zero outside.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> image, middle = rl.tensor([[[[1.0], [3.0]]]]), rl.zeros(1, 1, 1, 2)
    >>> nn.BilinearSamplerBHWD().forward([image, middle]).tolist()
    [[[[2.0]]]]
    """

    def compute(self, input: Activation) -> Tensor:
        image, grid = self._elements(input, 2)[:2]
        images = image if image.ndim == 4 else image.unsqueeze(0)
        grids = grid if grid.ndim == 4 else grid.unsqueeze(0)
        if images.ndim != 4 or grids.ndim != 4 or grids.shape[3] != 2:
            raise ValueError(
                f"{self}: expected images BxHxWxD and a grid Bxhxwx2, got {nested.describe(input)}"
            )
        if images.shape[0] != grids.shape[0]:
            raise ValueError(
                f"{self}: images and grids must be as many, got {nested.describe(input)}"
            )
        sampled = rl.grid_sample(
            images.permute((0, 3, 1, 2)), grids.flip(3), "bilinear", "zeros", True
        )
        output = sampled.permute((0, 2, 3, 1)).contiguous()
        return output if image.ndim == 4 else output.squeeze(0)


@register("nn.AffineTransformMatrixGenerator")
class AffineTransformMatrixGenerator(Module):
    """Matrices Bx2x3 from the parameters of the transformations that are switched on, in this
    order: an angle, a scale, two shifts. With none switched on, six numbers as they are.

    Args:
        useRotation, useScale, useTranslation: which transformations.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> layer = nn.AffineTransformMatrixGenerator(False, True, True)
    >>> layer.forward(rl.tensor([[2.0, 0.5, 1.0]])).tolist()
    [[[2.0, 0.0, 1.0], [0.0, 2.0, 2.0]]]
    """

    parameter_names = ()
    useRotation = useScale = useTranslation = False

    def __init__(
        self, useRotation: Any = None, useScale: Any = None, useTranslation: Any = None
    ) -> None:
        super().__init__()
        self.fullMode = not (useRotation or useScale or useTranslation)
        if not self.fullMode:
            self.useRotation = bool(useRotation)
            self.useScale = bool(useScale)
            self.useTranslation = bool(useTranslation)

    def _count(self) -> int:
        if self.fullMode:
            return 6
        return int(self.useRotation) + int(self.useScale) + 2 * int(self.useTranslation)

    def compute(self, input: Tensor) -> Tensor:
        rows = input if input.ndim == 2 else input.unsqueeze(0)
        if rows.ndim != 2 or rows.shape[1] != self._count():
            raise ValueError(
                f"{self}: expected {self._count()} parameters or a batch of them, "
                f"got {nested.describe(input)}"
            )
        output = rows.reshape((-1, 2, 3)) if self.fullMode else self._matrices(rows)
        return output if input.ndim == 2 else output.squeeze(0)

    def _matrices(self, rows: Tensor) -> Tensor:
        remaining = iter(rows.unbind(1))
        zero = rl.zeros_like(rows.select(1, 0))
        one = zero + 1
        linear = [[one, zero], [zero, one]]
        shift = [zero, zero]
        if self.useRotation:
            angle = next(remaining)
            cosine, sine = angle.cos(), angle.sin()
            linear = [[cosine, -sine], [sine, cosine]]
        if self.useScale:
            factor = next(remaining)
            linear = [[entry * factor for entry in row] for row in linear]
        if self.useTranslation:
            # The shift comes first: the other transformations apply to it.
            before = [next(remaining), next(remaining)]
            shift = [row[0] * before[0] + row[1] * before[1] for row in linear]
        lines = [[*row, last] for row, last in zip(linear, shift, strict=True)]
        return rl.stack([rl.stack(line, 1) for line in lines], 1)
