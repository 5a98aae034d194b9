"""Small layers of package rnn."""

from __future__ import annotations

import itertools
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.rnn.abstract_recurrent import AbstractRecurrent
from relume.legacy_nn.rnn.unrolling import active_unrolling
from relume.legacy_nn.table_layers import Identity


@register("nn.SAdd")
class SAdd(Module):
    """Adds a number, then changes the sign if asked to.

    Args:
        addend: the number.
        negate: True for -(x + addend).

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.SAdd(-1, True)(rl.tensor([0.25])).tolist()
    [0.75]
    """

    parameter_names = ()
    addend: float
    negate: bool = False

    def __init__(self, addend: float, negate: bool | None = None) -> None:
        super().__init__()
        self.addend = addend
        self.negate = bool(negate)

    def compute(self, input: Tensor) -> Tensor:
        total = input + self.addend
        return -total if self.negate else total


@register("nn.CopyGrad")
class CopyGrad(Identity):
    """Gives back its input; the gradient of the input is a copy."""

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        self.gradInput = nested.map_tensors(Tensor.clone, gradOutput)
        return self.gradInput


@register("nn.SeqReverseSequence")
class SeqReverseSequence(Module):
    """Turns a sequence around.

    Args:
        dim: the dimension of time, 1, 2 or 3.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.SeqReverseSequence(1)(rl.tensor([[1.0], [2.0]])).tolist()
    [[2.0], [1.0]]
    """

    parameter_names = ()
    dim: int = 1

    def __init__(self, dim: int) -> None:
        super().__init__()
        if dim not in (1, 2, 3):
            raise ValueError(f"nn.SeqReverseSequence: dim must be 1, 2 or 3, not {dim}")
        self.dim = dim

    def compute(self, input: Tensor) -> Tensor:
        return input.flip(int(self.dim) - 1)


@register("nn.NormStabilizer")
class NormStabilizer(AbstractRecurrent):
    """Keeps the norms of successive states alike (Krueger and Memisevic, 2016, Regularizing RNNs
    by stabilizing activations): gives back its input and adds to its gradient.

    `updateLoss` gives the value of the term for the steps so far.

    Args:
        beta: weight of the term, by default 1.
    """

    beta: float

    def __init__(self, beta: float | None = None) -> None:
        super().__init__()
        self.beta = 1 if beta is None else beta
        self.recurrentModule = CopyGrad()
        self.modules = [self.recurrentModule]
        self.sharedClones[1] = self.recurrentModule

    def _keep_output(self, step: int, output: Activation) -> Activation:
        if not isinstance(output, Tensor) or output.ndim != 2:
            raise ValueError(f"nn.NormStabilizer needs a batch, got {nested.describe(output)}")
        if self.train:
            self.getStepModule(step).norm = norms(output)
        return super()._keep_output(step, output)

    def _keep_gradient(self, step: int, gradient: Activation) -> Activation:
        neighbours = [other for other in (step - 1, step + 1) if 1 <= other < self.step]
        here = self.getStepModule(step)
        for other in neighbours:
            difference = here.norm - self.getStepModule(other).norm
            factor = difference * (2 * self.beta / here.output.shape[0]) / here.norm
            gradient = gradient + here.output * factor
        return gradient

    def updateLoss(self) -> float:
        """The term for the steps so far, as the package defines it: the mean over samples of the
        squared *sum* of successive norms, summed over steps, over their number."""
        values = [self.getStepModule(step).norm for step in range(1, int(self.step))]
        pairs = itertools.pairwise(values)
        total = sum(float((one + other).square().mean().item()) for one, other in pairs)
        self.loss = self.beta * total / max(1, len(values))
        return self.loss

    def _apply_step(self, input: Activation) -> Activation:
        states = active_unrolling().states
        before, states[self] = states.get(self), input
        if before is None or not self.train:
            return input
        return StabilizedNorms.apply(input, before, self.beta)

    def __str__(self) -> str:
        return self.torch_typename


def norms(states: Tensor) -> Tensor:
    """The norm of every row, as a column."""
    return states.square().sum(1, keepdim=True).sqrt()


class StabilizedNorms(rl.autograd.Function):
    """Gives back the states of a step; adds the gradient of the term for the step and the one
    before it, beta * mean((norm - norm before)^2)."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, before: Tensor, beta: float) -> Tensor:
        ctx.save_for_backward(states, before)
        ctx.beta = beta
        return states.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        states, before = ctx.saved_tensors
        factor = (norms(states) - norms(before)) * (2 * ctx.beta / states.shape[0])
        of_states = states * (factor / norms(states))
        return gradient + of_states, -before * (factor / norms(before)), None
