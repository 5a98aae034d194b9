"""Package fbnn (facebook/fbnn): layers that its users' networks hold."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.criterion import ClassNLLCriterion, Criterion
from relume.legacy_nn.distances import as_batch
from relume.legacy_nn.dropout import NoiseLayer
from relume.legacy_nn.linear import Linear, draw_uniform, uniform_bound
from relume.legacy_nn.lookup_table import LookupTable
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.packages.nnx_resampling import as_planes
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_empty, new_parameter


@register("nn.L2Normalize")
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
            size = "x".join(str(n) for n in expected)
            raise ValueError(f"{self}: expected images {size}, got {nested.describe(input)}")
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


def largest_in_order(scores: Tensor, k: int) -> Tensor:
    """The places of the k largest scores along the last dimension, in their order."""
    places = scores.detach().topk(min(k, scores.shape[-1]), -1)[1]
    return places.sort(-1)[0]


class SequencePooling(Module):
    """The base of layers that keep some of the steps of a sequence: steps x features, or a batch.

    Args:
        k: how many steps.
        k_dynamic: or which share of the steps, when that is more.
    """

    parameter_names = ()
    k_dynamic: float | None = None

    def __init__(self, k: int, k_dynamic: float | None = None) -> None:
        super().__init__()
        self.k = k
        if k_dynamic is not None and k_dynamic >= 0:
            self.k_dynamic = k_dynamic
        self.switches = rl.empty((0,), dtype=rl.int64)

    def kept(self, steps: int) -> int:
        """How many steps are kept."""
        share = 0 if self.k_dynamic is None else int(steps * self.k_dynamic)
        return min(steps, max(int(self.k), share))

    def choose(self, sequences: Tensor) -> Tensor:
        """Places (batch, kept, features or 1) of what is kept."""
        raise NotImplementedError

    def compute(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim not in (2, 3):
            raise ValueError(
                f"{self}: expected a sequence TxF or a batch BxTxF, got {nested.describe(input)}"
            )
        sequences = input if input.ndim == 3 else input.unsqueeze(0)
        places = self.choose(sequences)
        self.switches = places + 1
        shape = (*places.shape[:2], sequences.shape[2])
        output = sequences.gather(1, places.expand(shape))
        return output if input.ndim == 3 else output.squeeze(0)


@register("nn.TemporalKMaxPooling")
class TemporalKMaxPooling(SequencePooling):
    """The k largest values of every feature of a sequence, in their order."""

    __doc__ += "\n".join((SequencePooling.__doc__ or "").split("\n")[1:])

    def choose(self, sequences: Tensor) -> Tensor:
        kept = self.kept(sequences.shape[1])
        return largest_in_order(sequences.transpose(1, 2), kept).transpose(1, 2)


@register("nn.GroupKMaxPooling")
class GroupKMaxPooling(SequencePooling):
    """The k steps of a sequence with the largest 2-norm, in their order."""

    __doc__ += "\n".join((SequencePooling.__doc__ or "").split("\n")[1:])

    def choose(self, sequences: Tensor) -> Tensor:
        norms = sequences.square().sum(2)
        return largest_in_order(norms, self.kept(sequences.shape[1])).unsqueeze(2)


@register("nn.IndividualDropout")
class IndividualDropout(NoiseLayer):
    """In training, drops every feature with a probability of its own, and scales the rest up.

    Args:
        ps: the probabilities, one per feature.
    """

    def __init__(self, ps: Tensor) -> None:
        super().__init__()
        if ps.ndim != 1 or ps.amin().item() < 0 or ps.amax().item() >= 1:
            raise ValueError("nn.IndividualDropout: ps must be a vector of numbers in [0, 1)")
        self.ps = ps
        self.train = True
        self.noise = new_empty()

    def compute(self, input: Tensor) -> Tensor:
        if not self.train:
            return input
        if input.shape[-1] != self.ps.numel():
            raise ValueError(
                f"{self}: expected {self.ps.numel()} features, got {nested.describe(input)}"
            )
        kept = (1 - self.ps).to(input.dtype)
        uniform = rl.empty(tuple(input.shape), dtype=input.dtype).uniform_(0, 1)
        self.noise = (uniform < kept).to(input.dtype) / kept
        return input * self.noise

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = gradOutput * self.noise if self.train else gradOutput
        return self.gradInput

    def __str__(self) -> str:
        return self.torch_typename


@register("nn.TrueNLLCriterion")
class TrueNLLCriterion(ClassNLLCriterion):
    """The negative log-probability of the right class (labels count from 1).

    Args:
        weights: one per class, or None.
        sizeAverage: False for the sum instead of the (weighted) mean.
        ignoreIndex: a label that does not count.
    """


@register("nn.SequentialCriterion")
class SequentialCriterion(Criterion):
    """A criterion of what a module makes of the input; the module's parameters are its own.

    Args:
        module: the module.
        criterion: the criterion.
    """

    def __init__(self, module: Any, criterion: Any) -> None:
        super().__init__()
        self.module = module
        self.criterion = criterion

    def children(self) -> list[Any]:
        return [self.module, self.criterion]

    def parameters(self) -> tuple[list[Tensor], list[Tensor]]:
        return self.module.parameters()

    def compute(self, input: Activation, target: Any) -> Tensor:
        return self.criterion(self.module(input), target)

    def updateOutput(self, input: Activation, target: Any = None) -> Any:
        self.output = self.criterion.forward(self.module.forward(input), target)
        return self.output

    def updateGradInput(self, input: Activation, target: Any = None) -> Activation:
        gradient = self.criterion.updateGradInput(self.module.output, target)
        self.gradInput = self.module.updateGradInput(input, gradient)
        return self.gradInput

    def accGradParameters(self, input: Activation, target: Any, scale: float = 1) -> None:
        self.module.accGradParameters(input, self.criterion.gradInput, scale)

    def backward(  # type: ignore[override]
        self, input: Activation, target: Any = None
    ) -> Activation:
        gradient = self.criterion.backward(self.module.output, target)
        self.gradInput = self.module.backward(input, gradient)
        return self.gradInput
