"""Package fbnn (facebook/fbnn): fixed filters of images, and images made larger."""

from __future__ import annotations

import math

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.packages.nnx_pyramids import SpatialFovea
from relume.legacy_nn.plane_layers import as_planes, tables
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_parameter


def planes_of(layer: Module, input: Tensor, count: int) -> Tensor:
    """The images of a batch as planes of their own: N x 1 x H x W."""
    images = as_planes(layer, input)
    if images.shape[1] != count:
        raise ValueError(f"{layer}: expected {count} planes, got {nested.describe(input)}")
    return images.reshape((-1, 1, *images.shape[2:]))


def bell(size: int, sigma: float, middle: float) -> Tensor:
    """A matrix of exp(-distance^2 / (2 sigma^2)) from a point, with the sum 1.

    Args:
        middle: row and column of the point, from 1.
    """
    squares = (rl.arange(1, size + 1).to(rl.float64) - middle).square()
    line = (-squares / (2 * sigma**2)).exp()
    matrix = line.unsqueeze(1) * line
    return (matrix / matrix.sum()).to(new_parameter(1).dtype)


@register("nn.DifferenceOfGaussian")
class DifferenceOfGaussian(Module):
    """Differences of images that are blurred more and more (Lowe 2004, "Distinctive image
    features"): a table with one tensor per octave, each half the size of the one before, with the
    scales of the first plane, then those of the second, ...

    Args:
        nInputPlane: planes of the image.
        nOctaves: by default 3.
        nScalesPerOctave: by default 5.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> output = nn.DifferenceOfGaussian(1, 2, 3).forward(rl.ones(1, 8, 8, dtype=rl.float64))
    >>> [octave.shape for octave in output]
    [(3, 8, 8), (3, 4, 4)]
    """

    parameter_names = ()

    def __init__(
        self, nInputPlane: int, nOctaves: int | None = None, nScalesPerOctave: int | None = None
    ) -> None:
        super().__init__()
        self.nInputPlane = nInputPlane
        self.nOctaves = nOctaves or 3
        self.nScalesPerOctave = nScalesPerOctave or 5
        self.nOutputPlane = self.nOctaves
        self.dW = self.dH = 1
        ratio = 2 ** (1 / self.nScalesPerOctave)
        sigmas = [ratio**step for step in range(self.nScalesPerOctave)] + [2.0]
        self.sigma = new_parameter(len(sigmas)).copy_(rl.tensor(sigmas, dtype=rl.float64))
        size = math.ceil(max(sigmas) * 2.5) | 1  # the next odd number
        self.filter = rl.stack([bell(size, sigma, size // 2) for sigma in sigmas], 0)
        self.kH = self.kW = size
        self.padH = self.padW = size // 2

    def compute(self, input: Tensor) -> Activation:
        planes = planes_of(self, input, int(self.nInputPlane))
        kernels = self.filter.to(planes.dtype).unsqueeze(1)
        scales = int(self.nScalesPerOctave)
        octaves = []
        for _ in range(int(self.nOctaves)):
            blurred = rl.conv2d(planes, kernels, None, [1, 1], [int(self.padH), int(self.padW)])
            differences = blurred.narrow(1, 0, scales) - blurred.narrow(1, 1, scales)
            size = differences.shape[2:]
            octaves.append(differences.reshape((-1, int(self.nInputPlane) * scales, *size)))
            planes = blurred.narrow(1, scales, 1)[:, :, 1::2, 1::2]
        return nested.table([o if input.ndim == 4 else o.squeeze(0) for o in octaves])


@register("nn.LaplacianOfGaussian")
class LaplacianOfGaussian(Module):
    """The second derivatives of a blurred image (Marr and Hildreth 1980, "Theory of edge
    detection").

    Args:
        nInputPlane: planes of the image.
        sigma: width of the blur in pixels.
        k: size of the filter, by default ten times sigma.
        padding: of zeros around the image, by default half of the filter.
    """

    parameter_names = ()
    weight: Tensor
    padding: int

    def __init__(
        self, nInputPlane: int, sigma: float, k: int | None = None, padding: int | None = None
    ) -> None:
        super().__init__()
        # The filter is a tenth of its size wide, whatever sigma is: so it is in fbnn.
        size = (k or math.ceil(sigma * 10)) | 1
        blur = bell(size, 0.1 * size, 0.5 * size + 0.5)
        down = blur.narrow(0, 0, size - 1) - blur.narrow(0, 1, size - 1)
        right = blur.narrow(1, 0, size - 1) - blur.narrow(1, 1, size - 1)
        twice = down.narrow(0, 0, size - 2) - down.narrow(0, 1, size - 2)
        mixed = right.narrow(0, 0, size - 1) - right.narrow(0, 1, size - 1)
        filter = twice.narrow(1, 1, size - 1) + mixed.narrow(0, 1, size - 2)
        self.nInputPlane = self.nOutputPlane = nInputPlane
        self.kH, self.kW = filter.shape
        self.weight = filter.unsqueeze(0).expand((nInputPlane, *filter.shape)).clone()
        self.bias = new_parameter(1)
        self.padding = self.kH // 2 if padding is None else padding
        self.dW = self.dH = 1
        self.connTable = tables.oneToOne(nInputPlane)

    def compute(self, input: Tensor) -> Tensor:
        count = int(self.nInputPlane)
        images = planes_of(self, input, count).reshape((-1, count, *input.shape[-2:]))
        kernels = self.weight.to(images.dtype).unsqueeze(1)
        padding = [int(self.padding)] * 2
        output = rl.conv2d(images, kernels, None, [1, 1], padding, [1, 1], count)
        return output if input.ndim == 4 else output.squeeze(0)


@register("nn.Upsample")
class Upsample(Module):
    """Every pixel repeated, to the right and down.

    Args:
        factor: how often, a whole number.

    >>> from relume import legacy_nn as nn
    >>> nn.Upsample(2)
    nn.Upsample(factor 2)
    """

    parameter_names = ()

    def __init__(self, factor: int) -> None:
        super().__init__()
        if factor != int(factor) or factor < 1:
            raise ValueError(
                f"{self.torch_typename}: factor must be a positive whole number, got {factor}"
            )
        self.factor = factor

    def compute(self, input: Tensor) -> Tensor:
        as_planes(self, input)
        return rl.upsample_nearest2d(input, int(self.factor))

    def __str__(self) -> str:
        return f"{self.torch_typename}(factor {int(self.factor)})"


@register("fbnn.SpatialFoveaCuda")
class SpatialFoveaCuda(SpatialFovea):
    """nnx's SpatialFovea, as the GPU had it."""
