"""Random changes of the colours and parts of images, for training."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module
from relume.legacy_nn.plane_layers import as_planes
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_empty


class ColorNoise(Module):
    """The base of layers that, in training, add a random number to every plane of an image."""

    parameter_names = ()
    inputChannels: int

    def draw(self, samples: int, dtype: Any) -> Tensor:
        """One number per sample and plane."""
        raise NotImplementedError

    def compute(self, input: Tensor) -> Tensor:
        images = as_planes(self, input)
        if images.shape[1] != self.inputChannels:
            raise ValueError(
                f"{self}: expected {self.inputChannels} planes, got {nested.describe(input)}"
            )
        if not self.train:
            return input
        self.noise = self.draw(images.shape[0], images.dtype)
        return (images + self.noise.unsqueeze(2).unsqueeze(3)).reshape(input.shape)

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        if not self.train:
            raise RuntimeError(f"{self}: backward is only defined in training mode")
        self.gradInput = gradOutput
        return gradOutput

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        pass


@register("nn.SimpleColorTransform")
class SimpleColorTransform(ColorNoise):
    """In training, adds a uniform random number to every plane of an image.

    Args:
        inputChannels: planes of an image.
        range: of every plane; the numbers lie between -range and range.
    """

    def __init__(self, inputChannels: int, range: Tensor) -> None:
        super().__init__()
        self.inputChannels = inputChannels
        self.range = range

    def draw(self, samples: int, dtype: Any) -> Tensor:
        noise = rl.empty((samples, self.inputChannels), dtype=dtype)
        for plane, bound in enumerate(self.range.tolist()):
            noise[:, plane] = rl.empty((samples,), dtype=dtype).uniform_(-bound, bound)
        return noise

    def __str__(self) -> str:
        return "SimpleColorTransform"


@register("nn.PCAColorTransform")
class PCAColorTransform(ColorNoise):
    """In training, adds noise along the principal components of the colours of all images
    (Krizhevsky, Sutskever and Hinton 2012, section 4.1).

    Args:
        inputChannels: planes of an image.
        eigenVectors: of the covariance of the colours, one per column.
        eigenValues: of the covariance.
        std: standard deviation of the factors, by default 0.1.
    """

    def __init__(
        self,
        inputChannels: int,
        eigenVectors: Tensor,
        eigenValues: Tensor,
        std: float | None = None,
    ) -> None:
        super().__init__()
        self.inputChannels = inputChannels
        self.eigenVectors = eigenVectors
        self.eigenValues = eigenValues
        self.std = 0.1 if std is None else std

    def draw(self, samples: int, dtype: Any) -> Tensor:
        factors = rl.empty((self.inputChannels, samples), dtype=dtype).normal_(0, self.std)
        self.alphas = factors * self.eigenValues.unsqueeze(1)
        return rl.matmul(self.eigenVectors, self.alphas).transpose(0, 1)

    def __str__(self) -> str:
        return f"{self.torch_typename} channels: {self.inputChannels}, std: {self.std:f}"


@register("nn.SpatialFeatNormalization")
class SpatialFeatNormalization(Module):
    """Subtracts a number from every plane and divides it by another.

    Args:
        mean: what to subtract, one number per plane.
        std: what to divide by, by default 1.
    """

    parameter_names = ()

    def __init__(self, mean: Tensor, std: Tensor | None = None) -> None:
        super().__init__()
        self.mean = mean
        self.noOfFeats = mean.numel()
        self.std = rl.ones_like(mean) if std is None else std
        if self.std.numel() != self.noOfFeats:
            raise ValueError(
                f"nn.SpatialFeatNormalization: {self.noOfFeats} means, but "
                f"{self.std.numel()} deviations"
            )

    def compute(self, input: Tensor) -> Tensor:
        as_planes(self, input)
        shape = (int(self.noOfFeats), 1, 1)
        return (input - self.mean.reshape(shape)) / self.std.reshape(shape)


@register("nn.SpatialRegionDropout")
class SpatialRegionDropout(Module):
    """In training, drops a part of the image at one of its sides, and
    scales the rest up.

    Args:
        p: share of the image that is dropped, by default 0.2.
    """

    parameter_names = ()
    buffer_names = ("noise",)

    def __init__(self, p: float | None = None) -> None:
        super().__init__()
        self.p = 0.2 if p is None else p
        self.train = True
        if not 0 <= self.p < 1:
            raise ValueError(f"nn.SpatialRegionDropout: p must be in [0, 1), got {p}")
        self.noise = new_empty()

    def setp(self, p: float) -> None:
        """Sets the share that is dropped."""
        self.p = p

    def compute(self, input: Tensor) -> Tensor:
        as_planes(self, input)
        if not self.train:
            return input
        self.noise = self._draw(input)
        return input * self.noise

    def _draw(self, input: Tensor) -> Tensor:
        """1 / (1 - p), and 0 in a part at the top, the bottom, the left or the right."""
        noise = rl.full(tuple(input.shape), 1 / (1 - self.p), dtype=input.dtype)
        side = int(rl.randint(0, 4, (1,)).item())
        dim = -2 if side < 2 else -1
        size = input.shape[dim]
        dropped = int(size * self.p)
        start = 0 if side in (0, 2) else size - dropped
        noise.narrow(dim, start, dropped).zero_()
        return noise

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        if not self.train:
            raise RuntimeError(f"{self}: backward is only defined in training mode")
        self.gradInput = gradOutput * self.noise
        return self.gradInput

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        pass

    def __str__(self) -> str:
        return f"{self.torch_typename} p: {self.p:f}"
