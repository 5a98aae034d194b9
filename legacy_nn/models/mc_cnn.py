"""mc-cnn (jzbontar/mc-cnn): stereo matching."""

from __future__ import annotations

import math

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.criterion import Criterion, ElementCriterion
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_parameter


@register("nn.Normalize2")
class Normalize2(Module):
    """Gives the planes at every place length 1."""

    parameter_names = ()

    def compute(self, input: Tensor) -> Tensor:
        check_batch(self, input)
        return input / (input.square().sum(1, keepdim=True) + 1e-5).sqrt()


@register("nn.SpatialConvolution1_fw")
class SpatialConvolution1_fw(Module):
    """A convolution with a kernel of one element.

    Args:
        inputSize, outputSize: numbers of planes.
    """

    def __init__(self, inputSize: int, outputSize: int) -> None:
        super().__init__()
        self.weight = new_parameter(outputSize, inputSize)
        self.bias = new_parameter(1, outputSize, 1, 1)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        check_batch(self, input)
        kernels = weight.reshape((*weight.shape, 1, 1))
        return rl.conv2d(input, kernels, bias.reshape((-1,)))


@register("nn.StereoJoin1")
class StereoJoin1(Module):
    """The products of the planes of neighbours (left, right, left, right, ...), summed."""

    parameter_names = ()

    def compute(self, input: Tensor) -> Tensor:
        check_batch(self, input)
        pairs = input.reshape((input.shape[0] // 2, 2, *input.shape[1:]))
        return (pairs.select(1, 0) * pairs.select(1, 1)).sum(1, keepdim=True)


@register("nn.StereoJoin")
class StereoJoin(Module):
    """Costs of matching {left, right} (2 x C x H x W) at every disparity: 1 x disp_max x H x W.

    Args:
        disp_max: number of disparities.

    The cost is minus the product of the planes; NaN where there is nothing to match.
    """

    parameter_names = ()
    disp_max: int

    def __init__(self, disp_max: int) -> None:
        super().__init__()
        self.disp_max = disp_max
        self.direction = -1

    def compute(self, input: Tensor) -> Tensor:
        check_batch(self, input)
        left, right = input[0], input[1]
        height, width = left.shape[1:]
        costs = []
        for disparity in range(int(self.disp_max)):
            shown = max(0, width - disparity)
            nothing = rl.full((height, width - shown), math.nan, dtype=input.dtype)
            matched = left.narrow(2, width - shown, shown) * right.narrow(2, 0, shown)
            costs.append(rl.cat([nothing, -matched.sum(0)], 1))
        return rl.stack(costs, 0).unsqueeze(0)


def check_batch(layer: Module, input: Tensor) -> None:
    if not isinstance(input, Tensor) or input.ndim != 4:
        raise ValueError(f"{layer}: expected NxCxHxW, got {nested.describe(input)}")


@register("nn.BCECriterion2")
class BCECriterion2(ElementCriterion):
    """The mean binary cross entropy of probabilities.

    Args:
        sizeAverage: False for the sum.
    """

    def of_elements(self, input: Tensor, target: Tensor) -> Tensor:
        small = 1e-12
        return -(target * (input + small).log() + (1 - target) * (1 - input + small).log())


@register("nn.Margin2")
class Margin2(Criterion):
    """The mean of max(0, second - first + margin) of pairs of scores, one below the other, or of
    half its square. It takes no target.

    Args:
        margin: the margin.
        pow: 1, or 2 for squares.
    """

    margin: float
    pow = 1

    def __init__(self, margin: float, pow: int = 1) -> None:
        super().__init__()
        self.margin, self.pow = margin, pow

    def compute(self, input: Tensor, target: object = None) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim == 0 or input.numel() != input.shape[0]:
            raise ValueError(f"{self}: expected one score per row, got {nested.describe(input)}")
        if input.numel() % 2:
            raise ValueError(f"{self}: expected pairs of scores, got {nested.describe(input)}")
        pairs = input.reshape((-1, 2))
        distance = (pairs[:, 1] - pairs[:, 0] + float(self.margin)).clamp(0)
        return (distance.square() / 2 if int(self.pow) == 2 else distance).mean()
