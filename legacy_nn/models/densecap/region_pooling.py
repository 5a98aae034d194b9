"""The pixels of boxes, by interpolation (Jaderberg et al. 2015)."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.models.densecap.boxes import check_boxes
from relume.legacy_nn.models.holder import Holder
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.packages.stn import BilinearSamplerBHWD
from relume.legacy_nn.registry import register, register_also


@register("nn.BoxToAffine")
class BoxToAffine(Module):
    """Matrices B x 2 x 3 that map the square from -1 to 1 to boxes, B x 4, of an image whose size
    `setSize(height, width)` says."""

    parameter_names = ()
    H: float | None = None
    W: float | None = None

    def setSize(self, H: float, W: float) -> BoxToAffine:
        """Says how large the image is."""
        self.H, self.W = H, W
        return self

    def compute(self, input: Tensor) -> Tensor:
        x, y, width, height = check_boxes(self, input).unbind(-1)
        if self.H is None or self.W is None:
            raise ValueError(
                f"{self}: call setSize(height, width) of the image first; "
                f"the input was {nested.describe(input)}"
            )
        zero = rl.zeros_like(x)
        down = rl.stack([height / self.H, zero, (2 * y - self.H - 1) / (self.H - 1)], -1)
        right = rl.stack([zero, width / self.W, (2 * x - self.W - 1) / (self.W - 1)], -1)
        return rl.stack([down, right], -2)


@register_also("nn.NaiveBatchBilinearSamplerBHWD")
@register("nn.BatchBilinearSamplerBHWD")
class BatchBilinearSamplerBHWD(BilinearSamplerBHWD):
    """The pixels of one image at the places of many grids: {H x W x C, N x h x w x 2}."""

    def compute(self, input: Activation) -> Tensor:
        image, grids = self._elements(input, 2)[:2]
        if image.ndim != 3 or grids.ndim != 4:
            raise ValueError(
                f"{self}: expected an image H x W x C and grids N x h x w x 2, "
                f"got {nested.describe(input)}"
            )
        images = image.unsqueeze(0).expand((grids.shape[0], *image.shape))
        return super().compute([images, grids])


@register("nn.BilinearRoiPooling")
class BilinearRoiPooling(Holder):
    """The features inside of boxes in one size: {C x H x W, boxes B x 4} to
    B x C x height x width.

    Boxes are in pixels of the image, whose size `setImageSize(height, width)` says.

    Args:
        height, width: the size.
    """

    image_height: float | None = None
    image_width: float | None = None
    box_to_affine: Any

    def __init__(self, height: int, width: int) -> None:
        super().__init__()
        del self.modules
        self.height, self.width = height, width
        self.box_to_affine = BoxToAffine()
        grids = make("Sequential").add(self.box_to_affine)
        grids.add(make("AffineGridGeneratorBHWD", height, width))
        last = make("Transpose", [1, 2], [2, 3])
        self.net = make("Sequential").add(make("ParallelTable").add(last).add(grids))
        self.net.add(BatchBilinearSamplerBHWD()).add(make("Transpose", [3, 4], [2, 3]))

    def setImageSize(self, image_height: float, image_width: float) -> BilinearRoiPooling:
        """Says how large the image is."""
        self.image_height, self.image_width = image_height, image_width
        return self

    def _prepare(self, input: Activation) -> Activation:
        if self.image_height is None or self.image_width is None:
            raise ValueError(
                f"{self.torch_typename}: call setImageSize(height, width) of the image first; "
                f"the input was {nested.describe(input)}"
            )
        self.box_to_affine.setSize(self.image_height, self.image_width)
        return input

    def compute(self, input: Activation) -> Tensor:
        return super().compute(self._prepare(input))

    def updateOutput(self, input: Activation) -> Tensor:
        return super().updateOutput(self._prepare(input))
