"""Networks that play Atari games: DeepMind's deep Q-learner (dqn) and Kaixhin/Atari."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.counting import place_from_one
from relume.legacy_nn.criterion import ElementCriterion
from relume.legacy_nn.models.image_scaling import scaled
from relume.legacy_nn.module import Module
from relume.legacy_nn.pointwise import ReLU
from relume.legacy_nn.registry import register

LUMA = (0.299, 0.587, 0.114)


@register("nn.Rectifier")
class Rectifier(ReLU):
    """`ReLU`.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.Rectifier().forward(rl.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    def __str__(self) -> str:
        return self.torch_typename


@register("nn.Scale")
class Scale(Module):
    """The brightness of an image, 3 x H x W, in another size; of a batch, that of its first image.

    Args:
        height, width: the size.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.Scale(1, 2).forward(rl.ones(3, 4, 4)).shape
    (1, 1, 2)
    """

    parameter_names = ()
    height: int
    width: int

    def __init__(self, height: int, width: int) -> None:
        super().__init__()
        self.height, self.width = height, width

    def compute(self, input: Tensor) -> Tensor:
        image = input[0] if isinstance(input, Tensor) and input.ndim == 4 else input
        if not isinstance(image, Tensor) or image.ndim != 3 or image.shape[0] != 3:
            raise ValueError(
                f"{self}: expected an image 3 x H x W, or some, got {nested.describe(input)}"
            )
        weights = rl.tensor(LUMA, dtype=image.dtype).reshape((3, 1, 1))
        bright = (image * weights).sum(0, keepdim=True)
        return scaled(bright, int(self.height), int(self.width))


class Backtracking(ReLU):
    """The base of rectifiers that can show what a network looked at.

    Args:
        inplace: overwrite the input.
    """

    switch = ""  # the field that says whether they do

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.__dict__[self.switch] = False

    def salientBackprop(self) -> None:
        """Lets backward show what increased the output."""
        self.__dict__[self.switch] = True

    def normalBackprop(self) -> None:
        """Lets backward give the gradient."""
        self.__dict__[self.switch] = False

    def shown(self, gradient: Tensor, gradOutput: Tensor) -> Tensor:
        """What backward gives in the place of the gradient."""
        raise NotImplementedError

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        gradient = super().updateGradInput(input, gradOutput)
        if self.__dict__.get(self.switch):
            self.gradInput = self.shown(gradient, gradOutput)
        return self.gradInput


@register("nn.GuidedReLU")
class GuidedReLU(Backtracking):
    """`ReLU`, whose backward can leave negative gradients out (Springenberg et al. 2014).

    Args:
        inplace: overwrite the input.
    """

    switch = "guide"

    def shown(self, gradient: Tensor, gradOutput: Tensor) -> Tensor:
        return gradient * (gradOutput > 0).to(gradient.dtype)


@register("nn.DeconvnetReLU")
class DeconvnetReLU(Backtracking):
    """`ReLU`, whose backward can be that of a deconvolution network: it rectifies the gradient
    (Zeiler and Fergus 2013).

    Args:
        inplace: overwrite the input.
    """

    switch = "deconv"

    def shown(self, gradient: Tensor, gradOutput: Tensor) -> Tensor:
        return gradOutput.clamp(0)


@register("nn.GradientRescale")
class GradientRescale(Module):
    """Gives back its input; multiplies the gradient.

    Args:
        scaleFactor: the factor.
        inplace: let backward overwrite the gradient it gets.
    """

    parameter_names = ()
    scaleFactor: float
    inplace: bool | None = None

    def __init__(self, scaleFactor: float, inplace: bool | None = None) -> None:
        super().__init__()
        self.scaleFactor, self.inplace = scaleFactor, inplace

    def updateOutput(self, input: Tensor) -> Tensor:
        self.output = input
        return input

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        if self.inplace:
            self.gradInput = gradOutput.mul_(float(self.scaleFactor))
        else:
            self.gradInput = gradOutput * float(self.scaleFactor)
        return self.gradInput


@register("nn.MinDim")
class MinDim(Module):
    """Adds a dimension of size 1 to inputs that have too few.

    Args:
        pos: which dimension becomes it, from 1.
        minInputDims: how many dimensions are enough.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.MinDim(1, 2).forward(rl.ones(3)).shape
    (1, 3)
    """

    parameter_names = ()
    pos: int
    numInputDims: int

    def __init__(self, pos: int, minInputDims: int) -> None:
        super().__init__()
        self.pos, self.numInputDims = pos, minInputDims

    def setMinInputDims(self, numInputDims: int) -> Any:
        """Sets how many dimensions are enough."""
        self.numInputDims = numInputDims
        return self

    def compute(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor):
            raise TypeError(f"{self}: expected a tensor, got {nested.describe(input)}")
        if input.ndim >= int(self.numInputDims):
            return input
        return input.unsqueeze(place_from_one(int(self.pos), input.ndim + 1, "dimensions"))


@register("nn.HuberCriterion")
class HuberCriterion(ElementCriterion):
    """The mean of half the squared differences, which grows linearly where they are large.

    `backward` gives the differences target - input within the bounds, as Kaixhin/Atari does: a
    direction in which the input improves.

    Args:
        delta: where it becomes linear, by default 1.
    """

    delta = 1.0

    def __init__(self, delta: float | None = None) -> None:
        super().__init__()
        self.delta = 1.0 if delta is None else delta

    def of_elements(self, input: Tensor, target: Tensor) -> Tensor:
        distance = (target - input).abs()
        near = distance.clamp(None, float(self.delta))
        return near * (distance * 2 - near) / 2

    def updateGradInput(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        # Torch7's: the sign and the size of the difference the other way, without a mean.
        self.gradInput = (target - input).clamp(-float(self.delta), float(self.delta))
        return self.gradInput
