"""Layers that pick, mark or make elements."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.counting import from_one, positive_dimension
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.table_layers import TableLayer
from relume.legacy_nn.types import new_empty, new_parameter


@register("nn.Index")
class Index(TableLayer):
    """The slices that indices (from 1) name: {tensor, indices}.

    Args:
        dimension: counted from 1.
    """

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.dimension = dimension
        self.gradInput = nested.table([new_empty(), new_empty()])

    def compute(self, input: Activation) -> Tensor:
        tensor, indices = self._elements(input, 2)[:2]
        dim = positive_dimension(self.dimension, tensor.ndim, None)
        return tensor.index_select(dim, from_one(self, indices, tensor.shape[dim]))

    def _set_grad_input(self, input: Activation, gradients: list) -> None:
        tensor, indices = nested.elements(input)[:2]
        zeros = rl.zeros(tuple(indices.shape), dtype=tensor.dtype)
        gradient = rl.zeros_like(tensor) if gradients[0] is None else gradients[0]
        self.gradInput = nested.table([gradient, zeros])


@register("nn.MaskedSelect")
class MaskedSelect(TableLayer):
    """The elements that a mask of ones and zeros marks: {tensor, mask}."""

    def __init__(self) -> None:
        super().__init__()
        self.gradInput = new_empty()
        self._maskIndices = rl.empty((0,), dtype=rl.int64)
        self._maskIndexBuffer = rl.empty((0,), dtype=rl.int64)
        self._maskIndexBufferCPU = rl.empty((0,), dtype=rl.float32)
        self._gradBuffer = new_empty()
        self._gradMask = rl.empty((0,), dtype=rl.uint8)

    def compute(self, input: Activation) -> Tensor:
        tensor, mask = self._elements(input, 2)[:2]
        return rl.masked_select(tensor, mask != 0)


@register("nn.OneHot")
class OneHot(Module):
    """Indices (from 1) as vectors that are 1 at the index and 0 elsewhere.

    Args:
        outputSize: length of the vectors.
    """

    parameter_names = ()

    def __init__(self, outputSize: int) -> None:
        super().__init__()
        self.outputSize = outputSize

    def compute(self, input: Any) -> Tensor:
        dtype = self.output.dtype if isinstance(self.output, Tensor) else rl.float64
        indices = input if isinstance(input, Tensor) else rl.tensor(int(input), dtype=rl.int64)
        rows = from_one(self, indices, int(self.outputSize)).unsqueeze(-1)
        shape = (*indices.shape, int(self.outputSize))
        return rl.zeros(shape, dtype=dtype).scatter(rows.ndim - 1, rows, 1.0)

    def updateGradInput(self, input: Any, gradOutput: Tensor) -> Any:
        shape = tuple(input.shape) if isinstance(input, Tensor) else (0,)
        self.gradInput = rl.zeros(shape, dtype=gradOutput.dtype)
        return self.gradInput

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        pass


@register("nn.Constant")
class Constant(Module):
    """Always the same tensor.

    Args:
        value: a number or a tensor.
        nInputDim: dimensions of one sample; with more, there is one copy per sample.
    """

    parameter_names = ()
    nInputDim: int | None = None

    def __init__(self, value: Any, nInputDim: int | None = None) -> None:
        super().__init__()
        self.value = value if isinstance(value, Tensor) else new_parameter(1).fill_(value)
        if nInputDim is not None:
            self.nInputDim = nInputDim

    def compute(self, input: Tensor) -> Tensor:
        if self.nInputDim and input.ndim > self.nInputDim:
            return self.value.expand((input.shape[0], *self.value.shape)).clone()
        return self.value.clone()


@register("nn.PixelShuffle")
class PixelShuffle(Module):
    """Moves planes into larger planes: (C * r * r, H, W) to (C, H * r, W * r).

    Args:
        upscaleFactor: r.
    """

    parameter_names = ()

    def __init__(self, upscaleFactor: int) -> None:
        super().__init__()
        self.upscaleFactor = upscaleFactor
        self.upscaleFactorSquared = upscaleFactor**2

    def compute(self, input: Tensor) -> Tensor:
        factor = int(self.upscaleFactor)
        if not isinstance(input, Tensor) or input.ndim < 3 or input.shape[-3] % factor**2:
            raise ValueError(
                f"{self}: expected CxHxW, or NxCxHxW for a batch, where C is a multiple of "
                f"{factor**2}, got {nested.describe(input)}"
            )
        *batch, planes, height, width = input.shape
        count = len(batch)
        parts = input.reshape((*batch, planes // factor**2, factor, factor, height, width))
        order = [*range(count), count, count + 3, count + 1, count + 4, count + 2]
        shape = (*batch, planes // factor**2, height * factor, width * factor)
        return parts.permute(tuple(order)).reshape(shape)


@register("nn.Collapse")
class Collapse(Module):
    """Makes one dimension of the last ones.

    Args:
        nInputDim: dimensions of one sample.
    """

    parameter_names = ()

    def __init__(self, nInputDim: int) -> None:
        super().__init__()
        self.nInputDim = nInputDim

    def compute(self, input: Tensor) -> Tensor:
        kept = input.shape[: input.ndim - int(self.nInputDim)]
        return input.reshape((*kept, -1))


@register("nn.GradientReversal")
class GradientReversal(Module):
    """Gives back its input, and -`lambda` times the gradient.

    Args:
        lambda_: the factor, by default 1.
    """

    torch_version = 2
    parameter_names = ()

    def __init__(self, lambda_: float | None = None) -> None:
        super().__init__()
        self.__dict__["lambda"] = 1 if lambda_ is None else lambda_

    def setLambda(self, lambda_: float) -> None:
        """Sets the factor."""
        self.__dict__["lambda"] = lambda_

    def compute(self, input: Tensor) -> Tensor:
        factor = self.__dict__.get("lambda", 1)
        return input * -factor + (input * (1 + factor)).detach()


@register("nn.ZeroGrad")
class ZeroGrad(Module):
    """Gives back its input, and a gradient of zero."""

    parameter_names = ()

    def compute(self, input: Activation) -> Activation:
        return nested.map_tensors(lambda tensor: tensor.detach(), input)

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        self.gradInput = nested.zeros_like(gradOutput)
        return self.gradInput

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        pass


@register("nn.L1Penalty")
class L1Penalty(Module):
    """Gives back its input; adds the gradient of its 1-norm on the way back.

    Args:
        l1weight: weight of the norm.
        sizeAverage: divide by the number of elements.
        provideOutput: False: the gradient of the norm is all there is.
    """

    parameter_names = ()
    sizeAverage = False
    provideOutput = True

    def __init__(
        self, l1weight: float, sizeAverage: bool | None = None, provideOutput: bool | None = None
    ) -> None:
        super().__init__()
        self.l1weight = l1weight
        self.sizeAverage = bool(sizeAverage)
        self.provideOutput = True if provideOutput is None else provideOutput

    def _weight(self, input: Tensor) -> float:
        return self.l1weight / input.numel() if self.sizeAverage else self.l1weight

    def updateOutput(self, input: Tensor) -> Tensor:
        self.loss = self._weight(input) * input.detach().abs().sum().item()
        self.output = input
        return input

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        gradient = rl.sign(input.detach()) * self._weight(input)
        self.gradInput = gradient + gradOutput if self.provideOutput else gradient
        return self.gradInput

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        pass
