"""Package fbcunn (facebook/fbcunn): the GPU's names of layers."""

from __future__ import annotations

from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.convolution import SpatialConvolution, TemporalConvolution
from relume.legacy_nn.lookup_table import LookupTable
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
