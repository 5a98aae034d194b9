"""Layers of neural-style, fast-neural-style and CycleGAN.

Losses stand in the middle of a network: they pass their input on, and in training add the gradient
of a loss to what comes back. In a saved network that is only run they are left over from training.
"""

from __future__ import annotations

import warnings
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register, register_also
from relume.legacy_nn.types import new_empty


class Leftover(Module):
    """The base of layers that only matter in training, and pass their input on."""

    parameter_names = ()

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        warnings.warn(
            f"{self.torch_typename} is left over from training: its loss counts only in backward, "
            "and its output is its input",
            stacklevel=2,
        )
        super()._load_fields(fields, version)

    def updateOutput(self, input: Tensor) -> Tensor:
        self.output = input
        return input


def total_variation(input: Tensor) -> Tensor:
    """Half the sum of squared differences between neighbours, right and below; the last row and
    the last column are nobody's left or upper neighbour."""
    inner = input.narrow(-2, 0, input.shape[-2] - 1).narrow(-1, 0, input.shape[-1] - 1)
    right = input.narrow(-2, 0, input.shape[-2] - 1).narrow(-1, 1, input.shape[-1] - 1)
    below = input.narrow(-2, 1, input.shape[-2] - 1).narrow(-1, 0, input.shape[-1] - 1)
    return ((inner - right).square().sum() + (inner - below).square().sum()) / 2


def gradient_of(loss: Any, input: Tensor) -> Tensor:
    """The gradient of a function of one tensor."""
    leaf = input.detach().requires_grad_()
    with rl.enable_grad():
        (gradient,) = rl.grad(loss(leaf), [leaf])
    assert gradient is not None
    return gradient


@register_also("nn.TVLoss")
@register("nn.TotalVariation")
class TotalVariation(Leftover):
    """Adds to the gradient that of `strength` times the total variation of its input.

    Args:
        strength: weight of the loss.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.TotalVariation(0.1).forward(rl.ones(1, 2, 2)).tolist()
    [[[1.0, 1.0], [1.0, 1.0]]]
    """

    strength: float

    def __init__(self, strength: float) -> None:
        super().__init__()
        self.strength = strength

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        own = gradient_of(total_variation, input)
        self.gradInput = own * float(self.strength) + gradOutput
        return self.gradInput


@register("nn.GramMatrix")
class GramMatrix(Module):
    """The products of all pairs of planes, summed over places.

    Args:
        normalize: divide by the number of elements of a sample. (In fast-neural-style it always
            is; neural-style's has no such field and never does.)

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.GramMatrix().forward(rl.ones(2, 3, 3)).shape
    (2, 2)
    """

    parameter_names = ()
    normalize = False

    def __init__(self, normalize: bool = True) -> None:
        super().__init__()
        self.normalize = normalize

    def compute(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim not in (3, 4):
            raise ValueError(
                f"{self}: expected CxHxW, or N samples of it, got {nested.describe(input)}"
            )
        planes = input.reshape((*input.shape[:-2], -1))
        products = planes @ planes.transpose(-1, -2)
        return products / (planes.shape[-1] * planes.shape[-2]) if self.normalize else products


class Loss(Leftover):
    """The base of losses on the features of a network.

    Attributes:
        mode: "none" does nothing, "capture" takes the features as the target, "loss" compares
            with it. Files without a mode (older neural-style) always compare.
        loss: the value of the last forward.
    """

    mode = "loss"
    normalize = False
    strength: float
    target: Any = None

    def __init__(self, strength: float | None = None, loss_type: str | None = None) -> None:
        super().__init__()
        self.strength = 1.0 if strength is None else strength
        self.loss = 0
        self.target = new_empty()
        self.mode = "none"
        criterions = {"L2": "MSECriterion", "SmoothL1": "SmoothL1Criterion"}
        if (loss_type or "L2") not in criterions:
            raise ValueError(f"{self}: loss_type is one of {', '.join(criterions)}")
        self.crit = make(criterions[loss_type or "L2"])

    def setMode(self, mode: str) -> None:
        """Sets `mode`."""
        if mode not in ("capture", "loss", "none"):
            raise ValueError(f"{self}: mode is capture, loss or none, got {mode!r}")
        self.mode = mode

    def features(self, input: Tensor) -> Tensor:
        """What is compared."""
        return input

    def fits(self, features: Tensor) -> bool:
        """Can they be compared with the target?"""
        target = self.target
        return isinstance(target, Tensor) and target.shape[1:] == features.shape[1:]

    def value(self, input: Tensor) -> Tensor:
        """The loss, on the tape."""
        features = self.features(input)
        target = self.target.expand(features.shape)
        return self.crit(features, target)

    def updateOutput(self, input: Tensor) -> Tensor:
        with rl.no_grad():
            features = self.features(input)
            if self.mode == "capture":
                self.target = features.detach().clone()
            elif self.mode == "loss" and self.fits(features):
                self.loss = self.value(input).item() * self.strength
        return super().updateOutput(input)

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = gradOutput
        if self.mode == "loss" and self.fits(self.features(input)):
            own = gradient_of(self.value, input)
            if self.normalize:
                own = own / (own.abs().sum() + 1e-8)
            self.gradInput = own * float(self.strength) + gradOutput
        return self.gradInput


@register("nn.ContentLoss")
class ContentLoss(Loss):
    """Compares the features of a network with those of another image.

    Args:
        strength: weight of the loss.
        loss_type: "L2" or "SmoothL1".

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> layer = nn.ContentLoss(2.0)
    >>> layer.setMode("capture")
    >>> _ = layer.forward(rl.zeros(1, 2, 2))
    >>> layer.setMode("loss")
    >>> _ = layer.forward(rl.ones(1, 2, 2))
    >>> layer.loss
    2.0
    """


@register("nn.StyleLoss")
class StyleLoss(Loss):
    """Compares the Gram matrix of features (or their means) with those of another image.

    Args:
        strength: weight of the loss.
        loss_type: "L2" or "SmoothL1".
        agg_type: "gram" or "mean".
    """

    def __init__(
        self,
        strength: float | None = None,
        loss_type: str | None = None,
        agg_type: str | None = None,
    ) -> None:
        super().__init__(strength, loss_type)
        self.agg_type = agg_type or "gram"
        if self.agg_type not in ("gram", "mean"):
            raise ValueError(f"{self}: agg_type is gram or mean, got {agg_type!r}")
        means = make("Sequential").add(make("Mean", 3)).add(make("Mean", 3))
        self.agg = GramMatrix() if self.agg_type == "gram" else means

    def features(self, input: Tensor) -> Tensor:
        aggregate = self.__dict__.get("agg")
        if aggregate is not None:
            return aggregate(input)
        return self.gram(input) / input.numel()  # neural-style


@register("nn.DeepDreamLoss")
class DeepDreamLoss(Leftover):
    """Lets features grow: subtracts `strength` times the input from the gradient.

    Args:
        strength: how much.
    """

    strength: float

    def __init__(self, strength: float) -> None:
        super().__init__()
        self.strength = strength

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = gradOutput - input * float(self.strength)
        return self.gradInput


@register("nn.ShaveImage")
class ShaveImage(Module):
    """Cuts a border off planes.

    Args:
        size: of the border.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.ShaveImage(2).forward(rl.zeros(1, 3, 8, 9)).shape
    (1, 3, 4, 5)
    """

    parameter_names = ()
    size: int

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def compute(self, input: Tensor) -> Tensor:
        border = int(self.size)
        if not isinstance(input, Tensor) or input.ndim < 2 or min(input.shape[-2:]) <= 2 * border:
            raise ValueError(
                f"{self}: expected planes larger than twice {border}, got {nested.describe(input)}"
            )
        height, width = input.shape[-2] - 2 * border, input.shape[-1] - 2 * border
        return input.narrow(-2, border, height).narrow(-1, border, width).contiguous()


@register("nn.PerceptualCriterion")
class PerceptualCriterion(Criterion):
    """The losses of the `ContentLoss` and `StyleLoss` layers in a network.

    The target is a table with `content_target` or `style_target`, images whose features the input
    is compared with.
    """

    net: Any

    def children(self) -> list[Any]:
        return [self.net]

    def _layers(self, name: str) -> list[Any]:
        return nested.elements(self.__dict__.get(name) or [])

    def _set_modes(self, content: str, style: str) -> None:
        for layer in self._layers("content_loss_layers"):
            layer.setMode(content)
        for layer in self._layers("style_loss_layers"):
            layer.setMode(style)

    def setContentTarget(self, target: Tensor) -> None:
        """Takes the features of an image as the content to compare with."""
        self._set_modes("capture", "none")
        self.net.forward(target)

    def setStyleTarget(self, target: Tensor) -> None:
        """Takes the features of an image as the style to compare with."""
        self._set_modes("none", "capture")
        self.net.forward(target)

    def updateOutput(self, input: Tensor, target: Any = None) -> float:
        target = target or {}
        if target.get("content_target") is not None:
            self.setContentTarget(target["content_target"])
        if target.get("style_target") is not None:
            self.setStyleTarget(target["style_target"])
        self._set_modes("loss", "loss")
        self.net.forward(input)
        losses = [*self._layers("content_loss_layers"), *self._layers("style_loss_layers")]
        self.output = sum(layer.loss for layer in losses)
        return self.output

    def updateGradInput(self, input: Tensor, target: Any = None) -> Tensor:
        zeros = rl.zeros_like(self.net.output)
        self.gradInput = self.net.updateGradInput(input, zeros)
        return self.gradInput


@register("nn.VGG_postprocess")
class VGG_postprocess(Module):
    """Images from -1 to 1 as VGG networks want them: from 0 to 255, less the mean colour
    (junyanz/CycleGAN)."""

    parameter_names = ()
    MEAN = (103.939, 116.779, 123.68)

    def compute(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim != 4 or input.shape[1] != 3:
            raise ValueError(f"{self}: expected images Nx3xHxW, got {nested.describe(input)}")
        mean = rl.tensor(self.MEAN, dtype=input.dtype).reshape((1, 3, 1, 1))
        return (input + 1) * 127.5 - mean

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        # As there: divided where the derivative multiplies.
        self.gradInput = gradOutput / 127.5
        return self.gradInput
