"""Single layers that public models of smaller projects carry."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.counting import from_one
from relume.legacy_nn.criterion import MSECriterion
from relume.legacy_nn.dropout import Dropout
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_parameter


class Sign(Module):
    """The base of binary activations: the sign, with the gradient where it is not saturated."""

    parameter_names = ()

    def updateOutput(self, input: Tensor) -> Tensor:
        self.output = input.detach().sign()
        return self.output

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = gradOutput * (input.abs() < 1).to(gradOutput.dtype)
        return self.gradInput


@register("nn.BinActiveZ")
class BinActiveZ(Sign):
    """XNOR-Net's activation (allenai/XNOR-Net): the sign; gradients pass between -1 and 1.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.BinActiveZ().forward(rl.tensor([-0.5, 2.0])).tolist()
    [-1.0, 1.0]
    """


@register("bnn.Binary")
class Binary(Sign):
    """The activation of binary human pose networks (1adrianb/binary-human-pose-estimation)."""


@register("nn.Unpool")
class Unpool(Module):
    """Planes k times as large, with the elements at the upper left of k x k zeros (Fangchang Ma's
    depth prediction).

    Args:
        nInputPlane, nOutputPlane: number of planes, twice.
        iheight, iwidth: size of the input's planes.
        k: the factor.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.Unpool(1, 1, 1, 2, 2).forward(rl.ones(1, 1, 1, 2)).tolist()
    [[[[1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]]]]
    """

    parameter_names = ()
    k: int

    def __init__(
        self, nInputPlane: int, nOutputPlane: int, iheight: int, iwidth: int, k: int
    ) -> None:
        super().__init__()
        if nInputPlane != nOutputPlane or k < 1:
            raise ValueError(f"{self}: nInputPlane must be nOutputPlane, and k at least 1")
        self.nInputPlane, self.k = nInputPlane, k
        self.oheight, self.owidth = k * iheight, k * iwidth

    def compute(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim != 4:
            raise ValueError(f"{self}: expected NxCxHxW, got {nested.describe(input)}")
        kernel = rl.zeros((input.shape[1], 1, int(self.k), int(self.k)), dtype=input.dtype)
        kernel[:, :, 0, 0] = 1
        step = (int(self.k), int(self.k))
        return rl.conv_transpose2d(input, kernel, None, step, (0, 0), (0, 0), input.shape[1])


@register("nn.CostVolMulti")
class CostVolMulti(Module):
    """How well frames match the first one at every shift within a window: a table of F frames
    (N x C x H x W) to N x win*win x H x W (Janai, Guney et al., multi-frame optical flow).

    Args:
        win: size of the window, by default 3. Frame f is shifted f - 1 times as far.
        fwd: False for frames of the past, which are shifted the other way.
    """

    parameter_names = ()
    win = 3
    fwd = True

    def __init__(self, win: int | None = None, fwd: bool | None = None) -> None:
        super().__init__()
        self.win = 3 if win is None else win
        self.fwd = True if fwd is None else fwd

    def compute(self, input: Activation) -> Tensor:
        first, *others = nested.elements(input)
        reach = (int(self.win) - 1) // 2
        shifts = [(x, y) for x in range(-reach, reach + 1) for y in range(-reach, reach + 1)]
        direction = 1 if self.fwd else -1
        costs = []
        for x, y in shifts:
            total: Any = 0
            for distance, frame in enumerate(others, 1):
                moved = shifted(frame, direction * distance * y, direction * distance * x)
                total = total + (first * moved).sum(1)
            costs.append(total)
        return rl.stack(costs, 1) / (first.shape[1] * len(others))


def shifted(planes: Tensor, down: int, right: int) -> Tensor:
    """Planes moved down and right, with zeros where nothing comes from."""
    for dim, by in ((2, down), (3, right)):
        size = planes.shape[dim]
        if by == 0:
            continue
        kept = max(0, size - abs(by))
        shape = list(planes.shape)
        shape[dim] = size - kept
        zeros = rl.zeros(tuple(shape), dtype=planes.dtype)
        part = planes.narrow(dim, 0 if by > 0 else size - kept, kept)
        planes = rl.cat([zeros, part] if by > 0 else [part, zeros], dim)
    return planes


@register("nn.ExpOut")
class ExpOut(Module):
    """The expected label: probabilities (N x labels) times the labels (age estimation).

    Args:
        labelset: the labels, a vector.
    """

    parameter_names = ()
    constant_vector: Tensor

    def __init__(self, labelset: Tensor) -> None:
        super().__init__()
        self.constant_vector = labelset

    def compute(self, input: Tensor) -> Tensor:
        return input @ self.constant_vector


@register("nn.DropoutEx")
class DropoutEx(Dropout):
    """The Dropout of Torch7's tutorials, which drops in evaluation too.

    Args:
        p: probability of dropping, by default 0.5.
    """

    def __init__(self, p: float | None = None) -> None:
        super().__init__(p)

    def _drops(self) -> bool:
        return True

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = gradOutput * self.noise if self.p > 0 else gradOutput
        return self.gradInput

    def __str__(self) -> str:
        return self.torch_typename


@register("Embedding")
class Embedding(Module):
    """Rows of a matrix that numbers (from 1) name; a class of many character models
    (oxford-cs-ml-2015/practical6, wojciechz/learning_to_execute).

    Args:
        inputSize: how many rows.
        outputSize: their length.
    """

    parameter_names = ("weight",)

    def __init__(self, inputSize: int, outputSize: int) -> None:
        super().__init__()
        self.outputSize = outputSize
        self.weight = new_parameter(inputSize, outputSize)
        self.gradWeight = new_parameter(inputSize, outputSize)

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        # In shuohangwang/SeqMatchSeq, gradients are a table of the rows that were met.
        is_whole = isinstance(fields.get("gradWeight"), Tensor)
        kept = fields if is_whole else {k: v for k, v in fields.items() if k != "gradWeight"}
        super()._load_fields(kept, version)

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim != 1:
            raise ValueError(f"{self}: expected a vector of numbers, got {nested.describe(input)}")
        return weight[from_one(self, input, weight.shape[0])]


@register("autograd.nn.criterion.AutoMSE")
class AutoMSE(MSECriterion):
    """The mean of the squared differences, as torch-autograd's documentation writes it in Lua; the
    function that a file has is kept, and not run."""
