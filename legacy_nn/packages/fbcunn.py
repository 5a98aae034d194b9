"""Package fbcunn (facebook/fbcunn): the GPU's names of layers."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested, normalization
from relume.legacy_nn.aliases import make_alias
from relume.legacy_nn.convolution import SpatialConvolution, TemporalConvolution
from relume.legacy_nn.lookup_table import LookupTable
from relume.legacy_nn.module import Module
from relume.legacy_nn.packages.cunn import DataParallel
from relume.legacy_nn.registry import register


@register("nn.LookupTableGPU")
class LookupTableGPU(LookupTable):
    """The rows of a matrix that indices (from 1) name.

    Args:
        nIndex: rows.
        nOutput: length of a row.
        featuresInDim2: for a batch, give (batch, features, indices).
    """

    featuresInDim2 = False

    def __init__(self, nIndex: int, nOutput: int, featuresInDim2: bool | None = None) -> None:
        super().__init__(nIndex, nOutput)
        self.featuresInDim2 = bool(featuresInDim2)

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        output = super().compute(input, weight)
        return output.transpose(1, 2) if self.featuresInDim2 and input.ndim == 2 else output


@register("nn.TemporalConvolutionFB")
class TemporalConvolutionFB(TemporalConvolution):
    """A convolution over sequences, whose weight is outputs x steps x inputs.

    Args:
        inputFrameSize, outputFrameSize: features of a step, in and out.
        kW: steps of the kernel.
        dW: steps from one window to the next.
    """

    def __init__(
        self, inputFrameSize: int, outputFrameSize: int, kW: int, dW: int | None = None
    ) -> None:
        super().__init__(inputFrameSize, outputFrameSize, kW, 1 if dW is None else dW)
        shape = (outputFrameSize, kW, inputFrameSize)
        self.weight = self.weight.reshape(shape)
        self.gradWeight = self.gradWeight.reshape(shape)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if not isinstance(input, Tensor):
            raise TypeError(f"{self}: expected a sequence, got {nested.describe(input)}")
        return super().compute(input, weight.reshape((weight.shape[0], -1)), bias)


@register("nn.SpatialConvolutionCuFFT")
class SpatialConvolutionCuFFT(SpatialConvolution):
    """A convolution over planes, which the GPU did by Fourier transforms."""


@register("nn.HalfPrecision")
class HalfPrecision(Module):
    """Rounds to what half precision holds, forwards and backwards.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.HalfPrecision().forward(rl.tensor([1 + 2.0**-12])).tolist()
    [1.0]
    """

    parameter_names = ()

    def updateOutput(self, input: Tensor) -> Tensor:
        self.output = input.detach().to(rl.float16).to(input.dtype)
        return self.output

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = gradOutput.to(rl.float16).to(gradOutput.dtype)
        return self.gradInput

    def accGradParameters(self, input: Tensor, gradOutput: Tensor, scale: float = 1) -> None:
        """There are no parameters."""


@register("nn.OneBitDataParallel")
class OneBitDataParallel(DataParallel):
    """A container that divides the batch between GPUs, which exchange the signs of gradients (Seide
    et al. 2014, "1-bit stochastic gradient descent"); here it runs undivided.

    Args:
        dimension: along which the batch was divided, from 1.
        config: how gradients were exchanged; unused.
    """

    def __init__(self, dimension: int, config: Any = None) -> None:
        super().__init__(dimension)
        self.config = config if config is not None else nested.table([])
        self.home_device = 1


class Workspace:
    """What layers kept on a GPU; of no use here."""

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        self.__dict__.update(fields)


for _name in ("OneBitQuantization", "CuBLASWrapper", "FFTWrapper"):
    register(f"nn.{_name}")(type(_name, (Workspace,), {"__doc__": Workspace.__doc__}))


def padding_of_sides(fields: dict) -> None:
    """The convolutions of fbcunn name the padding of every side; both sides are the same."""
    fields["padW"], fields["padH"] = fields.get("padLeft", 0), fields.get("padUp", 0)


def chosen_convolution(fields: dict) -> None:
    """fbnn.SpatialConvolution holds the fastest of several layers, which share its weights."""
    padding_of_sides(fields)
    fields["nInputPlane"], fields["nOutputPlane"] = fields["inputPlanes"], fields["outputPlanes"]
    for name in ("cudnnModuleInst", "bestModuleInst"):
        fields.pop(name, None)


# GPU classes that are layers of nn under another name, and how their fields differ.
CONVOLUTIONS: dict[str, Any] = {
    "nn.SpatialConvolutionFFT": padding_of_sides,
    "nn.SpatialConvolutionFBFFT": padding_of_sides,
    "nn.SpatialConvolutionFBFFTGemm": padding_of_sides,
    "nn.SpatialConvolutionFFTTiled": padding_of_sides,
    "nn.SpatialConvolutionFFTTiledAsync": padding_of_sides,
    "nn.SpatialConvolutionFFTTiledIterated": padding_of_sides,
    "nn.SpatialConvolutionFFTTiledSync": padding_of_sides,
    "fbnn.SpatialConvolution": chosen_convolution,
}
for _name, _conversion in CONVOLUTIONS.items():
    make_alias(_name, SpatialConvolution, _conversion)
for _name in ("BatchNormalization", "SpatialBatchNormalization"):
    make_alias(f"fbnn.{_name}", getattr(normalization, _name))
