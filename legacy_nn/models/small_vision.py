"""Single layers of networks for images, from smaller projects."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.convolution import SpatialConvolution
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.plane_layers import SpatialSubSampling
from relume.legacy_nn.registry import register
from relume.legacy_nn.table_layers import TableLayer


@register("nn.BatchFlip")
class BatchFlip(Module):
    """In training, mirrors one half of the images of a batch, drawn at random, in place
    (szagoruyko/cifar.torch)."""

    parameter_names = ()

    def updateOutput(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim != 4:
            raise ValueError(f"{self}: expected NxCxHxW, got {nested.describe(input)}")
        if self.train:
            images = input.detach()
            chosen = rl.randperm(len(images))[: len(images) // 2]
            images[chosen] = images[chosen].flip(3)
        self.output = input
        return input

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        # It stands before everything that learns; there it has no backward of its own.
        self.gradInput = gradOutput
        return gradOutput


@register("nn.SpatialConvolutionUpsample")
class SpatialConvolutionUpsample(SpatialConvolution):
    """A convolution that keeps the size of planes and gives factor * factor times as many, which
    are then taken for larger planes, one after the other (facebook/eyescream).

    Args:
        nInputPlane, nOutputPlane: numbers of planes.
        kW, kH: width and height of the kernel, odd numbers.
        factor: how much larger, by default 2.
    """

    factor = 2

    def __init__(
        self, nInputPlane: int, nOutputPlane: int, kW: int, kH: int, factor: int | None = None
    ) -> None:
        if kW % 2 == 0 or kH % 2 == 0:
            raise ValueError(f"{self.torch_typename}: kW and kH must be odd, got {kW} and {kH}")
        factor = factor or 2
        super().__init__(nInputPlane, nOutputPlane * factor**2, kW, kH, 1, 1, (kW - 1) // 2)
        self.factor = factor
        self.nInputPlaneU, self.nOutputPlaneU = nInputPlane, nOutputPlane

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        output = super().compute(input, weight, bias)
        factor = int(self.factor)
        sizes = (int(self.nOutputPlaneU), *(size * factor for size in output.shape[-2:]))
        return output.reshape((*output.shape[:-3], *sizes))


@register("nn.MySpatialAveragePooling")
class MySpatialAveragePooling(SpatialSubSampling):
    """The sum under a window (nagadomi/kaggle-cifar10-torch7).

    Args:
        nInputPlane: planes.
        kW, kH: width and height of the window.
        dW, dH: steps, by default 1.
    """

    def reset(self, stdv: float | None = None) -> None:
        with rl.no_grad():
            self.weight.fill_(1)
            self.bias.fill_(0)

    def accGradParameters(self, input: Tensor, gradOutput: Tensor, scale: float = 1) -> None:
        """Nothing is learnt."""

    def updateParameters(self, learningRate: float) -> None:
        """Nothing is learnt."""


@register("nn.EPECriterion")
class EPECriterion(Criterion):
    """The mean length of the difference of two flow fields, N x 2 x H x W (anuragranj/spynet)."""

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        is_flow = isinstance(input, Tensor) and input.ndim == 4 and input.shape[1] == 2
        if not is_flow or not isinstance(target, Tensor) or target.shape != input.shape:
            raise ValueError(
                f"{self}: expected two flows N x 2 x H x W, got {nested.describe(input)} and "
                f"{nested.describe(target)}"
            )
        squares = (input - target).square().sum(1)
        is_zero = squares == 0
        return rl.where(is_zero, 0, rl.where(is_zero, 1, squares).sqrt()).mean()


@register("nn.TripletEmbeddingCriterion")
class TripletEmbeddingCriterion(Criterion):
    """The mean of max(0, margin + gamma * squared distance to what is alike - squared distance to
    what is not), for {vectors, alike, not alike}, N x size each (Atcold/torch-TripletEmbedding).

    Args:
        margin: by default 0.5 there; 0.2 in older versions.
        gamma: factor of the first distance, by default 1 in files without it.
    """

    margin = 0.5
    gamma = 1.0

    def __init__(self, margin: float | None = None, gamma: float | None = None) -> None:
        super().__init__()
        self.margin = 0.5 if margin is None else margin
        self.gamma = 2.0 if gamma is None else gamma

    def compute(self, input: Activation, target: object = None) -> Tensor:
        vectors, alike, other = nested.elements(input)[:3]
        if vectors.ndim != 2 or not vectors.shape == alike.shape == other.shape:
            raise ValueError(
                f"{self}: expected three batches N x size, got {nested.describe(input)}"
            )
        near, far = (vectors - alike).square().sum(1), (vectors - other).square().sum(1)
        return (near * float(self.gamma) - far + float(self.margin)).clamp(0).mean()


@register("nn.MultiSkipAdd")
class MultiSkipAdd(TableLayer):
    """{x, {outputs}} to a table of the outputs, each with x added (LimBee/NTIRE2017, EDSR).

    Args:
        ip: overwrite the outputs; here it changes nothing.
    """

    inplace: Any = None

    def __init__(self, ip: bool | None = None) -> None:
        super().__init__()
        self.inplace = ip

    def compute(self, input: Activation) -> Activation:
        skipped, outputs = self._elements(input, 2)[:2]
        return nested.table([output + skipped for output in nested.elements(outputs)])


@register("nn.ChannelDropout")
class ChannelDropout(Module):
    """In training, drops planes of a batch with probability p, the same ones of every sample and
    never all; nothing is scaled (fangchangma/sparse-to-dense).

    Args:
        n: how many planes.
        p: the probability, by default 0.5.
        stochasticInference: drop in evaluation too.
    """

    parameter_names = ()
    p = 0.5
    stochastic_inference = False
    nChannels: int

    def __init__(
        self, n: int, p: float | None = None, stochasticInference: bool | None = None
    ) -> None:
        super().__init__()
        self.p = 0.5 if p is None else p
        if n < 1 or not 0 <= self.p < 1:
            raise ValueError(f"nn.ChannelDropout: expected n >= 1 and 0 <= p < 1, got {n} and {p}")
        self.nChannels, self.stochastic_inference = n, bool(stochasticInference)
        self.train = True

    def _drops(self) -> bool:
        return bool(self.train or self.stochastic_inference)

    def compute(self, input: Tensor) -> Tensor:
        if self._drops():
            kept = rl.zeros((int(self.nChannels),), dtype=input.dtype)
            while not kept.any().item():
                kept.bernoulli_(1 - float(self.p))
            self.noise = kept
        return self.recompute(input)

    def recompute(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim != 4 or input.shape[1] != self.nChannels:
            raise ValueError(
                f"{self}: expected N x {int(self.nChannels)} x H x W, got {nested.describe(input)}"
            )
        return input * self.noise.reshape((1, -1, 1, 1)) if self._drops() else input
