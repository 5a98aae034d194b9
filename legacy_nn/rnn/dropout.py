"""nn.Dropout as package rnn replaces it: lazy, with one mask for a whole sequence."""

from __future__ import annotations

import relume as rl
from relume import Tensor
from relume.legacy_nn import dropout
from relume.legacy_nn.rnn.unrolling import active_unrolling
from relume.legacy_nn.types import new_empty


class Dropout(dropout.Dropout):
    """The nn.Dropout of package rnn, which files also call nn.Dropout.

    Args:
        p: probability of dropping.
        v1: True for the old way: no scaling in training, scaling down in evaluation.
        inplace: overwrite the input.
        lazy: keep the mask until backward, so that all steps of a sequence have the same.
        mono: one mask for all samples of a batch.

    >>> from relume.legacy_nn.rnn.dropout import Dropout
    >>> Dropout(0.25, False, False, True)
    nn.Dropout(0.2, lazy)
    """

    torch_typename = "nn.Dropout"
    lazy: bool = False
    mono: bool = False
    flag: bool = True  # is a new mask due?

    def __init__(
        self,
        p: float | None = None,
        v1: bool | None = None,
        inplace: bool | None = None,
        lazy: bool | None = None,
        mono: bool | None = None,
    ) -> None:
        super().__init__(p, v1, inplace)
        del self.__dict__["stochastic_inference"]
        self.lazy = bool(lazy)
        self.mono = bool(mono)
        self.flag = True

    def compute(self, input: Tensor) -> Tensor:
        """The modern face: a lazy mask lasts as long as the unrolling of the sequence."""
        if not self.p or not self.train:
            return input if self.v2 or not self.p else input * (1 - self.p)
        if not self.lazy:
            return input * self._new_mask(input)
        masks = active_unrolling().states
        if self not in masks:
            masks[self] = self._new_mask(input)
        return input * masks[self]

    def updateOutput(self, input: Tensor) -> Tensor:
        source = input.detach()
        output = source.clone()
        if self.p and self.train:
            if not self.lazy or self.flag:
                self.noise = self._new_mask(source)
                self.flag = False
            if self.noise.shape != source.shape:
                self.noise = self.noise[:1].expand(tuple(source.shape))
            output = source * self.noise
        elif self.p and not self.v2:
            output = source * (1 - self.p)
        self.output = source.copy_(output) if self.inplace else output
        return input if self.inplace else output

    def _new_mask(self, input: Tensor) -> Tensor:
        shape = (1, *input.shape[1:]) if self.mono else tuple(input.shape)
        mask = rl.empty(shape, dtype=input.dtype).bernoulli_(1 - self.p)
        return mask.div_(1 - self.p) if self.v2 else mask

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        if self.lazy:
            self.flag = True
        gradient = gradOutput.clone()
        if self.train and self.p:
            gradient = gradOutput * self.noise
        elif self.p and not self.v2:
            gradient = gradOutput * (1 - self.p)
        self.gradInput = gradOutput.copy_(gradient) if self.inplace else gradient
        return self.gradInput

    def clearState(self) -> Dropout:
        super().clearState()
        self.noise = new_empty(self.noise.torch_typename)
        self.flag = True
        return self

    def __str__(self) -> str:
        return f"{self.torch_typename}({self.p:.1f}, {'lazy' if self.lazy else 'busy'})"
