"""Style transfer with any style: AdaIN-style (xunhuang1995/AdaIN-style), UniversalStyleTransfer
(Yijunmaverick/UniversalStyleTransfer), MSG-Net (zhanghang1989/MSG-Net)."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.models.style_transfer import Leftover, gradient_of
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.plane_layers import as_planes
from relume.legacy_nn.registry import register
from relume.legacy_nn.table_layers import TableLayer
from relume.legacy_nn.types import new_parameter


def mean_and_deviation(planes: Tensor) -> tuple[Tensor, Tensor]:
    """Of every plane of N x C x H x W: N x C x 1, the deviation of a sample of the plane."""
    flat = planes.reshape((*planes.shape[:2], -1))
    mean = flat.mean(2, keepdim=True)
    count = flat.shape[2] - 1
    return mean, ((flat - mean).square().sum(2, keepdim=True) / count).sqrt()


@register("nn.AdaptiveInstanceNormalization")
class AdaptiveInstanceNormalization(TableLayer):
    """Gives the planes of the first element the means and deviations of those of the second:
    {content, style}, both C x H x W or batches (Huang and Belongie 2017).

    Args:
        nOutput: how many planes.
        disabled: give back the content.
        eps: added to the variance of the content, by default 1e-5.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> content, style = rl.tensor([[[-1.0, 1.0]]]), rl.tensor([[[3.0, 5.0, 7.0]]])
    >>> nn.AdaptiveInstanceNormalization(1, False, 0).forward([content, style]).tolist()
    [[[3.0, 7.0]]]
    """

    disabled: bool | None = None
    eps = 1e-5
    buffer_names = ("bn",)

    def __init__(
        self, nOutput: int, disabled: bool | None = None, eps: float | None = None
    ) -> None:
        super().__init__()
        self.nOutput, self.disabled = nOutput, disabled
        self.eps = 1e-5 if eps is None else eps

    def compute(self, input: Activation) -> Tensor:
        content, style = self._elements(input, 2)[:2]
        if self.disabled:
            return content
        planes, others = as_planes(self, content), as_planes(self, style)
        if planes.shape[:2] != others.shape[:2] or planes.shape[1] != int(self.nOutput):
            raise ValueError(
                f"{self}: expected {int(self.nOutput)} planes of content and of style, "
                f"got {nested.describe(input)}"
            )
        shift, scale = (part.unsqueeze(3) for part in mean_and_deviation(others))
        centred = planes - planes.mean((2, 3), keepdim=True)
        variance = centred.square().mean((2, 3), keepdim=True)
        output = centred * (variance + float(self.eps)) ** -0.5 * scale + shift
        return output if content.ndim == 4 else output.squeeze(0)


@register("nn.MaxCoord")
class MaxCoord(Module):
    """One in the plane with the largest element of every place, zero in the others.

    Args:
        inplace: overwrite the input.
    """

    parameter_names = ()
    inplace = False

    def __init__(self, inplace: bool | None = None) -> None:
        super().__init__()
        self.inplace = bool(inplace)

    def updateOutput(self, input: Tensor) -> Tensor:
        planes = as_planes(self, input.detach())
        largest = planes.argmax(1, keepdim=True)
        numbers = rl.arange(planes.shape[1]).reshape((1, -1, 1, 1))
        marks = (numbers == largest).to(input.dtype).reshape(input.shape)
        self.output = input.detach().copy_(marks) if self.inplace else marks
        return self.output

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = rl.zeros_like(input)
        return self.gradInput


# ---- losses ----


class TargetLoss(Leftover):
    """The base of losses that have an effect once a target is set.

    Args:
        strength: weight of the loss.
        normalize: divide its gradient by its 1-norm.
        nChannel: how many planes.

    Attributes:
        loss: the value of the last forward.
    """

    strength = 1.0
    normalize = False

    def __init__(
        self,
        strength: float | None = None,
        normalize: bool | None = None,
        nChannel: int | None = None,
    ) -> None:
        super().__init__()
        self.strength = 1.0 if strength is None else strength
        self.normalize, self.nC = bool(normalize), nChannel
        self.loss = 0

    def has_target(self) -> bool:
        raise NotImplementedError

    def value(self, input: Tensor) -> Tensor:
        """How far N x C x H x W is from the target."""
        raise NotImplementedError

    def updateOutput(self, input: Tensor) -> Tensor:
        if self.has_target():
            with rl.no_grad():
                self.loss = self.value(as_planes(self, input)).item() * self.strength
        return super().updateOutput(input)

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = gradOutput
        if self.has_target():
            own = gradient_of(self.value, as_planes(self, input)).reshape(input.shape)
            if self.normalize:
                own = own / (own.abs().sum() + 1e-8)
            self.gradInput = own * float(self.strength) + gradOutput
        return self.gradInput


@register("nn.ContentLossModule")
class ContentLossModule(TargetLoss):
    """The mean squared difference of features from those of another image.

    Args:
        strength: weight of the loss.
        normalize: divide its gradient by its 1-norm.
        nChannel: how many planes.
    """

    target: Any = None

    def setTarget(self, target: Tensor) -> None:
        """Compares with these features from now on."""
        self.target = as_planes(self, target).detach().clone()

    def unsetTarget(self) -> None:
        """Compares no more."""
        self.target = None

    def has_target(self) -> bool:
        return self.target is not None

    def value(self, input: Tensor) -> Tensor:
        if input.shape != self.target.shape:
            raise ValueError(
                f"{self}: the target is {nested.describe(self.target)}, "
                f"got {nested.describe(input)}"
            )
        return (input - self.target).square().mean()


@register("nn.StyleINLossModule")
class StyleINLossModule(TargetLoss):
    """The squared differences of the means and the deviations of planes from those of another
    image, per sample.

    Args:
        strength: weight of the loss.
        normalize: divide its gradient by its 1-norm.
        nChannel: how many planes.
    """

    target_mean: Any = None
    target_std: Any = None

    def setTarget(self, target: Tensor) -> StyleINLossModule:
        """Compares with the means and deviations of these features from now on."""
        self.target_mean, self.target_std = mean_and_deviation(as_planes(self, target).detach())
        return self

    def unsetTarget(self) -> StyleINLossModule:
        """Compares no more."""
        self.target_mean = self.target_std = None
        return self

    def has_target(self) -> bool:
        return self.target_mean is not None and self.target_std is not None

    def value(self, input: Tensor) -> Tensor:
        flat = input.reshape((*input.shape[:2], -1))
        mean = flat.mean(2, keepdim=True)
        deviation = ((flat - mean).square().mean(2, keepdim=True) + 1e-6).sqrt()
        parts = ((mean, self.target_mean), (deviation, self.target_std))
        shape = (-1, input.shape[1], 1)
        return (
            sum((own - other.reshape(shape)).square().sum() for own, other in parts)
            / input.shape[0]
        )


@register("nn.TVLossCriterion")
class TVLossCriterion(Criterion):
    """The sum of the squared differences between neighbours in planes; it takes no target."""

    def compute(self, input: Tensor, target: Any = None) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim not in (3, 4):
            raise ValueError(
                f"{self}: expected CxHxW, or N samples of it, got {nested.describe(input)}"
            )
        total: Any = 0
        for dim in (-2, -1):
            size = input.shape[dim] - 1
            total = total + (input.narrow(dim, 1, size) - input.narrow(dim, 0, size)).square().sum()
        return total


@register("nn.TVLossModule")
class TVLossModule(Leftover):
    """Adds to the gradient that of the squared differences between neighbours.

    Args:
        strength: weight of the loss, by default 1.
    """

    strength = 1.0

    def __init__(self, strength: float | None = None) -> None:
        super().__init__()
        self.strength = 1.0 if strength is None else strength
        self.crit = TVLossCriterion()
        self.loss = 0

    def updateOutput(self, input: Tensor) -> Tensor:
        self.loss = self.crit.forward(input) * self.strength
        return super().updateOutput(input)

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = self.crit.backward(input) * float(self.strength) + gradOutput
        return self.gradInput


# ---- MSG-Net ----


@register("nn.Calibrate")
class Calibrate(Module):
    """Gives back its input, and keeps its Gram matrix for `Inspiration` layers."""

    parameter_names = ()

    def __init__(self) -> None:
        super().__init__()
        self.calibrator = make("GramMatrix")

    def updateOutput(self, input: Tensor) -> Tensor:
        self.gram = self.calibrator.forward(input).squeeze()
        self.output = input
        return input

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = gradOutput
        return gradOutput

    def getGram(self) -> Tensor:
        """A copy of the Gram matrix."""
        return self.gram.clone()


@register("nn.Inspiration")
class Inspiration(Module):
    """Planes mixed by a learned matrix times the Gram matrix of a style (Zhang and Dana 2017).

    Args:
        C: how many planes.

    Attributes:
        Weight: the learned matrix, which is none of `parameters()`.
        target: the Gram matrix.
    """

    parameter_names = ()
    Weight: Tensor
    target: Tensor

    def __init__(self, C: int) -> None:
        super().__init__()
        self.C = C
        for name in ("Weight", "target", "gradWeight"):
            self.__dict__[name] = new_parameter(C, C)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        bound = 1 / float(self.C) ** 0.5 if stdv is None else stdv * 2**0.5
        with rl.no_grad():
            self.Weight.uniform_(-bound, bound)
            self.target.uniform_(-bound, bound)

    def setTarget(self, nT: Tensor) -> None:
        """Sets the Gram matrix."""
        self.target = nT

    def compute(self, input: Tensor) -> Tensor:
        planes = as_planes(self, input)
        if planes.shape[1] != int(self.C):
            raise ValueError(f"{self}: expected {int(self.C)} planes, got {nested.describe(input)}")
        mixing = (self.Weight @ self.target).transpose(0, 1)
        flat = planes.reshape((*planes.shape[:2], -1))
        return (mixing.unsqueeze(0) @ flat).reshape(input.shape)

    def __str__(self) -> str:
        return f"{self.torch_typename}({int(self.C)}xHxW, -> {int(self.C)}xHxW)"
