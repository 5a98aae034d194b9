"""Two-dimensional convolutions, and convolutions over sequences."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.linear import draw_uniform, uniform_bound
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_empty, new_parameter


class PlaneLayer(Module):
    """The base of convolutions over planes: one sample is planes x height x width."""

    dW = dH = 1
    padW = padH = 0
    groups = 1

    nInputPlane: int
    nOutputPlane: int
    kW: int
    kH: int

    def _set_geometry(self, nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH) -> None:
        self.nInputPlane = nInputPlane
        self.nOutputPlane = nOutputPlane
        self.kW = kW
        self.kH = kH
        self.dW = 1 if dW is None else dW
        self.dH = 1 if dH is None else dH
        self.padW = 0 if padW is None else padW
        self.padH = self.padW if padH is None else padH

    def _make_parameters(self, *shape: int) -> None:
        self.weight = new_parameter(*shape)
        self.bias = new_parameter(self.nOutputPlane)
        self.gradWeight = new_parameter(*shape)
        self.gradBias = new_parameter(self.nOutputPlane)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        fan_in = self.kW * self.kH * self.nInputPlane
        draw_uniform(uniform_bound(stdv, fan_in), self.weight, self.bias)

    def _check_input(self, input: Tensor) -> None:
        if (
            not isinstance(input, Tensor)
            or input.ndim not in (3, 4)
            or (input.shape[-3] != self.nInputPlane)
        ):
            planes = self.nInputPlane
            raise ValueError(
                f"{self}: expected {planes} planes ({planes}xHxW, or Nx{planes}xHxW for a batch), "
                f"got {nested.describe(input)}"
            )

    def _kernel(self, weight: Tensor) -> Tensor:
        """The weights as (output planes, input planes, kH, kW), whichever way they are kept."""
        shape = (self.nOutputPlane, self.nInputPlane // self.groups, self.kH, self.kW)
        return weight if tuple(weight.shape) == shape else weight.reshape(shape)

    def _geometry_text(self) -> str:
        text = f"{self.nInputPlane} -> {self.nOutputPlane}, {self.kW}x{self.kH}"
        padded = self.padW != 0 or self.padH != 0
        if self.dW != 1 or self.dH != 1 or padded:
            text += f", {self.dW},{self.dH}"
        if padded:
            text += f", {self.padW},{self.padH}"
        return text

    def __str__(self) -> str:
        without = "" if self.bias is not None else " without bias"
        return f"{self.torch_typename}({self._geometry_text()}){without}"


@register("nn.SpatialConvolution")
class SpatialConvolution(PlaneLayer):
    """Convolution over planes.

    Args:
        nInputPlane: planes of the input.
        nOutputPlane: planes of the output.
        kW, kH: width and height of the kernel.
        dW, dH: steps.
        padW, padH: zeros added at each side; padH is padW by default.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> layer = nn.SpatialConvolution(3, 8, 5, 5, 1, 1, 2, 2)
    >>> layer
    nn.SpatialConvolution(3 -> 8, 5x5, 1,1, 2,2)
    >>> layer.forward(rl.zeros(1, 3, 6, 6, dtype=rl.float64)).shape
    (1, 8, 6, 6)
    """

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        kW: int,
        kH: int,
        dW: int | None = None,
        dH: int | None = None,
        padW: int | None = None,
        padH: int | None = None,
    ) -> None:
        super().__init__()
        self._set_geometry(nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
        self._make_parameters(nOutputPlane, nInputPlane, kH, kW)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        self._check_input(input)
        return rl.conv2d(
            input,
            self._kernel(weight),
            bias,
            (self.dH, self.dW),
            (self.padH, self.padW),
            (1, 1),
            self.groups,
        )


@register("nn.SpatialConvolutionMM")
class SpatialConvolutionMM(SpatialConvolution):
    """`SpatialConvolution` with its weights kept as a matrix."""

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        kW: int,
        kH: int,
        dW: int | None = None,
        dH: int | None = None,
        padW: int | None = None,
        padH: int | None = None,
    ) -> None:
        Module.__init__(self)
        self._set_geometry(nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
        self._make_parameters(nOutputPlane, nInputPlane * kH * kW)


@register("nn.SpatialDilatedConvolution")
class SpatialDilatedConvolution(SpatialConvolution):
    """Convolution over planes with gaps in the kernel.

    Args:
        nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH: as in `SpatialConvolution`.
        dilationW, dilationH: distance of the kernel's elements.
    """

    dilationW = dilationH = 1

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        kW: int,
        kH: int,
        dW: int | None = None,
        dH: int | None = None,
        padW: int | None = None,
        padH: int | None = None,
        dilationW: int | None = None,
        dilationH: int | None = None,
    ) -> None:
        super().__init__(nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
        self.dilationW = 1 if dilationW is None else dilationW
        self.dilationH = 1 if dilationH is None else dilationH

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        self._check_input(input)
        return rl.conv2d(
            input,
            self._kernel(weight),
            bias,
            (self.dH, self.dW),
            (self.padH, self.padW),
            (self.dilationH, self.dilationW),
            self.groups,
        )

    def _geometry_text(self) -> str:
        text = f"{self.nInputPlane} -> {self.nOutputPlane}, {self.kW}x{self.kH}"
        if self.dW != 1 or self.dH != 1 or self.padW != 0 or self.padH != 0:
            text += f", {self.dW},{self.dH}"
        if self.padW != 0 or self.padH != 0:
            text += f", {self.padW},{self.padH}"
        return f"{text}, {self.dilationW},{self.dilationH}"


@register("nn.SpatialFullConvolution")
class SpatialFullConvolution(PlaneLayer):
    """The transpose of a convolution over planes: upsamples by dW x dH.

    Args:
        nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH: as in `SpatialConvolution`.
        adjW, adjH: extra columns and rows of the output.

    The input may be a table {input, target}: the output then has the target's size.
    """

    adjW = adjH = 0

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        kW: int,
        kH: int,
        dW: int | None = None,
        dH: int | None = None,
        padW: int | None = None,
        padH: int | None = None,
        adjW: int | None = None,
        adjH: int | None = None,
    ) -> None:
        super().__init__()
        self._set_geometry(
            nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, 0 if padH is None else padH
        )
        self.adjW = 0 if adjW is None else adjW
        self.adjH = 0 if adjH is None else adjH
        if self.adjW > self.dW - 1 or self.adjH > self.dH - 1:
            raise ValueError(
                "nn.SpatialFullConvolution: adjW and adjH must be smaller than dW and dH"
            )
        self._make_parameters(nInputPlane, nOutputPlane, kH, kW)
        self.ones = new_empty()

    def compute(self, input: Any, weight: Tensor, bias: Tensor | None) -> Tensor:
        adj_h, adj_w = self.adjH, self.adjW
        if nested.is_table(input):
            input, target = nested.elements(input)[:2]
            adj_h = (target.shape[-2] + 2 * self.padH - self.kH) % self.dH
            adj_w = (target.shape[-1] + 2 * self.padW - self.kW) % self.dW
        self._check_input(input)
        return rl.conv_transpose2d(
            input,
            weight,
            bias,
            (self.dH, self.dW),
            (self.padH, self.padW),
            (adj_h, adj_w),
            self.groups,
        )

    def _geometry_text(self) -> str:
        text = super()._geometry_text()
        return f"{text}, {self.adjW},{self.adjH}" if self.adjW or self.adjH else text


@register("nn.TemporalConvolution")
class TemporalConvolution(Module):
    """Convolution over a sequence of frames.

    Args:
        inputFrameSize: length of a frame of the input (frames x inputFrameSize).
        outputFrameSize: of the output.
        kW: frames under the kernel.
        dW: step.
    """

    dW = 1
    padH = 0  # frames of zeros at both ends, which only cudnn's class has

    def __init__(
        self, inputFrameSize: int, outputFrameSize: int, kW: int, dW: int | None = None
    ) -> None:
        super().__init__()
        self.inputFrameSize = inputFrameSize
        self.outputFrameSize = outputFrameSize
        self.kW = kW
        self.dW = 1 if dW is None else dW
        self.weight = new_parameter(outputFrameSize, inputFrameSize * kW)
        self.bias = new_parameter(outputFrameSize)
        self.gradWeight = new_parameter(outputFrameSize, inputFrameSize * kW)
        self.gradBias = new_parameter(outputFrameSize)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        draw_uniform(uniform_bound(stdv, self.kW * self.inputFrameSize), self.weight, self.bias)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        size = self.inputFrameSize
        if self.padH and isinstance(input, Tensor) and input.ndim in (2, 3):
            input = rl.pad(input, [0, 0, int(self.padH), int(self.padH)])
        if input.ndim not in (2, 3) or input.shape[-1] != size or input.shape[-2] < self.kW:
            raise ValueError(
                f"{self}: expected at least {self.kW} frames of size {size} (Tx{size}, or "
                f"NxTx{size} for a batch), got {nested.describe(input)}"
            )
        windows = input.unfold(-2, self.kW, self.dW).transpose(-1, -2)
        frames = windows.reshape((-1, self.kW * size))
        output = rl.linear(frames, weight, bias)
        return output.reshape((*windows.shape[:-2], self.outputFrameSize))


@register("nn.TemporalSubSampling")
class TemporalSubSampling(Module):
    """The sum under a window of frames, times a learned number per feature, plus another.

    Args:
        inputFrameSize: length of a frame.
        kW: frames under the window.
        dW: step.
    """

    dW = 1

    def __init__(self, inputFrameSize: int, kW: int, dW: int | None = None) -> None:
        super().__init__()
        self.inputFrameSize, self.kW, self.dW = inputFrameSize, kW, 1 if dW is None else dW
        for name in ("weight", "bias", "gradWeight", "gradBias"):
            self.__dict__[name] = new_parameter(inputFrameSize)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        draw_uniform(uniform_bound(stdv, self.kW), self.weight, self.bias)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        frames = input if input.ndim == 3 else input.unsqueeze(0)  # the rows of an image
        window, step = (int(self.kW), 1), (int(self.dW), 1)
        sums = rl.avg_pool2d(frames, window, step, divisor_override=1)
        sums = sums if input.ndim == 3 else sums.squeeze(0)
        return sums * weight + bias


@register("nn.TemporalRowConvolution")
class TemporalRowConvolution(Module):
    """Convolution over a sequence of frames, every feature on its own.

    Args:
        inputFrameSize: length of a frame.
        kW: frames under the kernel.
        dW: step.
        featFirst: True for inputs of size features x frames.
    """

    dW = 1
    featFirst = False

    def __init__(
        self, inputFrameSize: int, kW: int, dW: int | None = None, featFirst: bool | None = None
    ) -> None:
        super().__init__()
        self.inputFrameSize, self.kW, self.dW = inputFrameSize, kW, 1 if dW is None else dW
        self.featFirst = bool(featFirst)
        self.weight = new_parameter(inputFrameSize, 1, kW)
        self.gradWeight = new_parameter(inputFrameSize, 1, kW)
        self.bias, self.gradBias = new_parameter(inputFrameSize), new_parameter(inputFrameSize)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        draw_uniform(uniform_bound(stdv, self.kW * self.inputFrameSize), self.weight, self.bias)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        features = input if self.featFirst else input.transpose(-1, -2)
        size = int(self.inputFrameSize)
        kernels = weight.reshape((size, 1, int(self.kW)))
        output = rl.conv1d(features, kernels, bias, int(self.dW), groups=size)
        return output if self.featFirst else output.transpose(-1, -2).contiguous()

    def __str__(self) -> str:
        step = f", {self.dW}" if self.dW != 1 else ""
        without = "" if self.bias is not None else " without bias"
        return f"{self.torch_typename}({self.inputFrameSize}, {self.kW}{step}){without}"


@register("nn.SpatialConvolutionLocal")
class SpatialConvolutionLocal(PlaneLayer):
    """Convolution over planes with kernels of its own at every place.

    Args:
        nInputPlane, nOutputPlane: planes of input and output.
        iW, iH: width and height of the input.
        kW, kH, dW, dH, padW, padH: as in `SpatialConvolution`.
    """

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        iW: int,
        iH: int,
        kW: int,
        kH: int,
        dW: int | None = None,
        dH: int | None = None,
        padW: int | None = None,
        padH: int | None = None,
    ) -> None:
        super().__init__()
        self._set_geometry(nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
        self.iW, self.iH = iW, iH
        self.oW = (iW + 2 * self.padW - kW) // self.dW + 1
        self.oH = (iH + 2 * self.padH - kH) // self.dH + 1
        shape = (self.oH, self.oW, nOutputPlane, nInputPlane, kH, kW)
        places = (nOutputPlane, self.oH, self.oW)
        self.weight, self.gradWeight = new_parameter(*shape), new_parameter(*shape)
        self.bias, self.gradBias = new_parameter(*places), new_parameter(*places)
        self.reset()

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        self._check_input(input)
        batch = input if input.ndim == 4 else input.unsqueeze(0)
        padded = rl.pad(batch, (self.padW, self.padW, self.padH, self.padH))
        windows = padded.unfold(2, self.kH, self.dH).unfold(3, self.kW, self.dW)
        # (places, samples, elements) x (places, elements, output planes)
        high, wide = int(self.oH), int(self.oW)
        rows = windows.permute((2, 3, 0, 1, 4, 5)).reshape((high * wide, batch.shape[0], -1))
        kernels = weight.reshape((high * wide, int(self.nOutputPlane), -1)).transpose(1, 2)
        output = rl.matmul(rows, kernels).reshape((high, wide, batch.shape[0], -1))
        output = output.permute((2, 3, 0, 1))
        output = output if bias is None else output + bias
        return output.contiguous() if input.ndim == 4 else output.squeeze(0).contiguous()

    def __str__(self) -> str:
        text = (
            f"{self.nInputPlane} -> {self.nOutputPlane}, {self.iW}x{self.iH}, {self.kW}x{self.kH}"
        )
        padded = self.padW != 0 or self.padH != 0
        if self.dW != 1 or self.dH != 1 or padded:
            text += f", {self.dW},{self.dH}"
        return f"{self.torch_typename}({text}{f', {self.padW},{self.padH}' if padded else ''})"


@register("nn.SpatialDepthWiseConvolution")
class SpatialDepthWiseConvolution(PlaneLayer):
    """Convolution over planes, every plane on its own with `nOutputPlane` kernels.

    Args:
        nInputPlane: planes of the input.
        nOutputPlane: planes of the output for each of them.
        kW, kH, dW, dH, padW, padH: as in `SpatialConvolution`.

    As in Torch7, the first forward gives the weights four dimensions.
    """

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        kW: int,
        kH: int,
        dW: int | None = None,
        dH: int | None = None,
        padW: int | None = None,
        padH: int | None = None,
    ) -> None:
        super().__init__()
        self._set_geometry(nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
        for name in ("weight", "gradWeight"):
            self.__dict__[name] = new_parameter(nOutputPlane, nInputPlane * kH * kW)
        for name in ("bias", "gradBias"):
            self.__dict__[name] = new_parameter(nOutputPlane, nInputPlane)
        self.reset()

    def _kernel_shape(self) -> tuple:
        sizes = (self.nOutputPlane, self.nInputPlane, self.kH, self.kW)
        return tuple(int(size) for size in sizes)

    def _own_parameters(self) -> list:
        for kept in (self.weight, self.gradWeight):
            if kept.ndim == 2 and not kept.requires_grad:
                kept.resize_(self._kernel_shape())
        return super()._own_parameters()

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        self._check_input(input)
        outputs, inputs, *window = self._kernel_shape()
        kernels = weight.reshape(self._kernel_shape()).transpose(0, 1)
        return rl.conv2d(
            input,
            kernels.reshape((inputs * outputs, 1, *window)),
            bias if bias is None else bias.transpose(0, 1).reshape((-1,)),
            (self.dH, self.dW),
            (self.padH, self.padW),
            1,
            inputs,
        )
