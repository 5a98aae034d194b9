"""Package fbnn (facebook/fbnn): layers that its users' networks hold."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.container import Decorator
from relume.legacy_nn.distances import as_batch
from relume.legacy_nn.linear import Linear, draw_uniform, uniform_bound
from relume.legacy_nn.lookup_table import LookupTable
from relume.legacy_nn.module import Module
from relume.legacy_nn.plane_layers import as_planes
from relume.legacy_nn.pointwise import PReLU
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_parameter
from relume.tensor.printing import size_text


@register("fbnn.L2Normalize")
class L2Normalize(Module):
    """Divides vectors by their 2-norm."""

    parameter_names = ()

    def compute(self, input: Tensor) -> Tensor:
        rows = as_batch(self, input)
        return (rows / rows.square().sum(1, keepdim=True).sqrt()).reshape(input.shape)


@register("nn.CrossMapNormalization")
class CrossMapNormalization(Module):
    """Divides elements by (1 + scale * the mean square over neighbouring planes) ** power.

    Args:
        size: how many planes, an odd number.
        scale, power: by default 0.0001 and 0.75.
    """

    parameter_names = ()

    def __init__(self, size: int, scale: float | None = None, power: float | None = None) -> None:
        super().__init__()
        if size % 2 == 0:
            raise ValueError(f"nn.CrossMapNormalization: size must be odd, got {size}")
        self.size = size
        self.scale = 0.0001 if scale is None else scale
        self.power = 0.75 if power is None else power

    def compute(self, input: Tensor) -> Tensor:
        images = as_planes(self, input)
        output = rl.local_response_norm(images, int(self.size), self.scale, self.power, 1.0)
        return output.reshape(input.shape)


@register("nn.LinearNB")
class LinearNB(Linear):
    """y = weight x.

    Args:
        inputSize: length of the input vectors.
        outputSize: length of the output vectors.
    """

    def __init__(self, inputSize: int, outputSize: int) -> None:
        super().__init__(inputSize, outputSize, False)


@register("nn.LinearNoBackprop")
class LinearNoBackprop(Linear):
    """A linear layer that gives no gradient to its input.

    Args:
        inputSize: length of the input vectors.
        outputSize: length of the output vectors.
    """

    def __init__(self, inputSize: int, outputSize: int) -> None:
        super().__init__(inputSize, outputSize)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return super().compute(input.detach(), weight, bias)


@register("nn.LocallyConnected")
class LocallyConnected(Module):
    """A convolution with weights of its own at every place.

    Args:
        nInputPlane: planes of the input.
        iW, iH: its width and height.
        nOutputPlane: planes of the output.
        kW, kH: width and height of the kernel.
        dW, dH: steps, by default 1.
    """

    dW = dH = 1

    def __init__(
        self,
        nInputPlane: int,
        iW: int,
        iH: int,
        nOutputPlane: int,
        kW: int,
        kH: int,
        dW: int | None = None,
        dH: int | None = None,
    ) -> None:
        super().__init__()
        self.nInputPlane, self.iW, self.iH = nInputPlane, iW, iH
        self.nOutputPlane, self.kW, self.kH = nOutputPlane, kW, kH
        self.dW, self.dH = 1 if dW is None else dW, 1 if dH is None else dH
        self.oW = (iW - kW) // self.dW + 1
        self.oH = (iH - kH) // self.dH + 1
        shape = (nOutputPlane, self.oH, self.oW, nInputPlane, kH, kW)
        self.weight = new_parameter(*shape)
        self.gradWeight = new_parameter(*shape)
        self.bias = new_parameter(*shape[:3])
        self.gradBias = new_parameter(*shape[:3])
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        fan_in = self.kW * self.kH * self.nInputPlane
        draw_uniform(uniform_bound(stdv, fan_in), self.weight, self.bias)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        images = as_planes(self, input)
        expected = (self.nInputPlane, self.iH, self.iW)
        if tuple(images.shape[1:]) != expected:
            raise ValueError(
                f"{self}: expected images {size_text(expected)}, got {nested.describe(input)}"
            )
        columns = rl.im2col(images, [self.kH, self.kW], [1, 1], [0, 0], [self.dH, self.dW])
        outputs, places = weight.shape[0], weight.shape[1] * weight.shape[2]
        filters = weight.reshape((outputs, places, -1))
        # (images, 1, places, elements) * (outputs, places, elements)
        output = (columns.transpose(1, 2).unsqueeze(1) * filters).sum(3)
        output = output.reshape((images.shape[0], *weight.shape[:3]))
        output = output if bias is None else output + bias
        return output if input.ndim == 4 else output.squeeze(0)


@register("nn.WeightedLookupTable")
class WeightedLookupTable(LookupTable):
    """The rows that indices name, times weights: rows {index from 1, weight}.

    Args:
        nIndex: rows.
        nOutput: length of a row.
    """

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim not in (2, 3) or input.shape[-1] != 2:
            raise ValueError(
                f"{self}: expected rows {{index, weight}} of size Nx2, got {nested.describe(input)}"
            )
        last = input.ndim - 1
        rows = super().compute(input.detach().select(last, 0), weight)
        return rows * input.select(last, 1).unsqueeze(-1).to(weight.dtype)

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self._set_grad_input(input, self._differentiate(input, gradOutput, True, False))
        return self.gradInput


@register("nn.FasterLookup")
class FasterLookup(LookupTable):
    """The rows of a matrix that indices (from 1) name.

    Args:
        nIndex: rows.
        dim: length of a row.
        skipBoundChecking, concurrentUpdates: unused; kept for files.
        scaleGradByFreq: divide the step of a row by how often it was used.
    """

    uncast_names = ("count",)
    scaleGradByFreq: Any = False  # a field that hides the method, as in Torch7

    def __init__(
        self,
        nIndex: int,
        dim: int,
        skipBoundChecking: bool | None = None,
        scaleGradByFreq: bool | None = None,
        concurrentUpdates: bool | None = None,
    ) -> None:
        super().__init__(nIndex, dim)
        self.count = rl.zeros((nIndex,), dtype=rl.int32)
        self.skipBoundChecking = bool(skipBoundChecking)
        self.scaleGradByFreq = bool(scaleGradByFreq)
        self.concUpdates = bool(concurrentUpdates)

    def zeroGradParameters(self) -> None:
        super().zeroGradParameters()
        self.count.zero_()

    def accGradParameters(self, input: Tensor, gradOutput: Tensor, scale: float = 1) -> None:
        super().accGradParameters(input, gradOutput, scale)
        rows = self._rows(input).reshape((-1,))
        self.count.index_put_([rows], rl.ones((rows.numel(),), dtype=rl.int32), True)

    def updateParameters(self, learningRate: float) -> None:
        step = self.gradWeight
        if self.scaleGradByFreq:
            step = step / self.count.clamp(1).to(step.dtype).unsqueeze(1)
        with rl.no_grad():
            self.weight.add_(step, alpha=-learningRate)

    def accUpdateGradParameters(self, input: Tensor, gradOutput: Tensor, lr: float) -> None:
        held = self.gradWeight
        self.gradWeight = rl.zeros_like(held)
        self.count.zero_()
        self.accGradParameters(input, gradOutput)
        self.updateParameters(lr)
        self.gradWeight = held  # the counts of the last input stay


@register("nn.CachingLookupTable")
class CachingLookupTable(Module):
    """Rows of another lookup table, which it kept close at hand; here there is one memory.

    Args:
        backingLut: the lookup table.
        numRows: how many rows were kept.
    """

    parameter_names = ()
    backing: Any

    def __init__(self, backingLut: Any, numRows: int) -> None:
        super().__init__()
        self.backing = backingLut
        self.numRows = numRows
        self.numCols = backingLut.weight.shape[1]

    def children(self) -> list[Any]:
        return [self.backing]

    def compute(self, input: Tensor) -> Tensor:
        return self.backing(input)

    def updateOutput(self, input: Tensor) -> Tensor:
        self.output = self.backing.forward(input)
        return self.output

    def reset(self, stdv: float | None = None) -> None:
        self.backing.reset(stdv)

    def flush(self) -> None:
        """Does nothing: the rows are up to date."""

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = self.backing.updateGradInput(input, gradOutput)
        return self.gradInput

    def accGradParameters(self, input: Tensor, gradOutput: Tensor, scale: float = 1) -> None:
        raise NotImplementedError(f"{self} learns through accUpdateGradParameters alone")

    def accUpdateGradParameters(self, input: Tensor, gradOutput: Tensor, lr: float) -> None:
        self.backing.accUpdateGradParameters(input, gradOutput, lr)


@register("fbnn.Constant")
class Constant(Module):
    """The same for every sample of a batch.

    Args:
        value: a number or a tensor.

    >>> import relume as rl
    >>> from relume.legacy_nn import fbnn
    >>> fbnn.Constant(7).forward(rl.zeros(2, 5)).tolist()
    [[7.0], [7.0]]
    """

    parameter_names = ()
    value: Tensor

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value if isinstance(value, Tensor) else new_parameter(1).fill_(value)

    def compute(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or not input.ndim:
            raise ValueError(f"{self}: expected a batch, got {nested.describe(input)}")
        shape = (input.shape[0], *self.value.shape)
        return self.value.to(input.dtype).unsqueeze(0).expand(shape).clone()


@register("fbnn.LeakyReLU")
class LeakyReLU(PReLU):
    """x where positive, p * x elsewhere; p is not learnt.

    Args:
        p: the slope.

    >>> from relume.legacy_nn import fbnn
    >>> fbnn.LeakyReLU(0.25)
    fbnn.LeakyReLU(0.25)
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        with rl.no_grad():
            self.weight.fill_(p)

    def accGradParameters(self, input: Tensor, gradOutput: Tensor, scale: float = 1) -> None:
        """Nothing is learnt."""

    def zeroGradParameters(self) -> None:
        """Nothing is learnt."""

    def updateParameters(self, learningRate: float) -> None:
        """Nothing is learnt."""

    def __str__(self) -> str:
        return f"{self.torch_typename}({self.weight[0].item():g})"


@register("fbnn.NormalizedLinearNoBias")
class NormalizedLinearNoBias(Linear):
    """y = weight x, where training keeps the norm of the weights at the root of the number of
    outputs.

    Args:
        inputSize: length of the input vectors.
        outputSize: length of the output vectors.
    """

    def __init__(self, inputSize: int, outputSize: int) -> None:
        super().__init__(inputSize, outputSize)
        with rl.no_grad():
            self.bias.zero_()

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.__dict__.get("train"):  # a new layer is in neither mode
            with rl.no_grad():
                values = self.weight.detach()
                values.mul_(math.sqrt(values.shape[0]) / values.norm().item())
        return super().compute(input, weight, None if bias is None else bias.detach())


@register("fbnn.ProjectiveGradientNormalization")
class ProjectiveGradientNormalization(Module):
    """Gives back its input; what comes back loses its part in the direction of the input.

    Args:
        eps: unused; kept for files.
    """

    parameter_names = ()

    def __init__(self, eps: float | None = None) -> None:
        super().__init__()
        self.eps = 1e-5 if eps is None else eps

    def updateOutput(self, input: Tensor) -> Tensor:
        self.output = input.detach().clone()
        return self.output

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        norm = input.norm().item()
        direction = input.detach() / norm if norm else rl.zeros_like(input.detach())
        self.gradInput = gradOutput - direction * (direction * gradOutput).sum()
        return self.gradInput

    def accGradParameters(self, input: Tensor, gradOutput: Tensor, scale: float = 1) -> None:
        """There are no parameters."""


@register("fbnn.Probe")
class Probe(Decorator):
    """A layer with a name, which was looked at while it ran.

    Args:
        module: the layer.
        name: by default "unnamed".
    """

    def __init__(self, module: Any, name: str | None = None) -> None:
        super().__init__(module)
        self.name = name or "unnamed"
