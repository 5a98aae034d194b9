"""Layers of dpnn that take one line of arithmetic."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.lookup_table import LookupTable
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.reductions import at_least_1d
from relume.legacy_nn.registry import register
from relume.legacy_nn.table_layers import TableLayer
from relume.legacy_nn.types import dtype_of, new_empty


@register("nn.ArgMax")
class ArgMax(Module):
    """The place (from 1) of the largest element along a dimension.

    Args:
        dim: counted from 1.
        nInputDim: dimensions of one sample; with more, the first one is the batch.
        asLong: False for a result in the type of the module.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.ArgMax(1, 1).forward(rl.tensor([[0.0, 9.0], [5.0, 1.0]])).tolist()
    [2, 1]
    """

    parameter_names = ()

    def __init__(
        self, dim: int | None = None, nInputDim: int | None = None, asLong: bool | None = None
    ) -> None:
        super().__init__()
        self.dim = dim or 1
        self.nInputDim = nInputDim or 9999
        self.asLong = True if asLong is None else asLong
        if self.asLong:
            self.output = new_empty("torch.LongTensor")

    def compute(self, input: Tensor) -> Tensor:
        dim = self.dim if input.ndim > self.nInputDim else self.dim - 1
        if not 0 <= dim < input.ndim:
            raise ValueError(f"{self}: there is no dimension {dim + 1} in {input.ndim}")
        places = at_least_1d(input.detach().argmax(dim)) + 1
        return places if self.asLong else places.to(dtype_of(self._type))

    def updateGradInput(self, input: Tensor, gradOutput: Any) -> Tensor:
        self.gradInput = rl.zeros_like(input.detach())
        return self.gradInput

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        pass


@register("nn.Clip")
class Clip(Module):
    """Keeps elements within bounds; the gradient passes unchanged.

    Args:
        minval, maxval: the bounds.
    """

    parameter_names = ()

    def __init__(self, minval: float, maxval: float) -> None:
        super().__init__()
        if minval >= maxval:
            raise ValueError(f"nn.Clip: the bounds must be in order, got {minval} and {maxval}")
        self.minval = minval
        self.maxval = maxval

    def compute(self, input: Tensor) -> Tensor:
        return input.detach().clamp(self.minval, self.maxval) + (input - input.detach())


@register("nn.ReverseTable")
class ReverseTable(TableLayer):
    """The elements of a table, last first."""

    def __init__(self) -> None:
        super().__init__()
        self.output = nested.table([])

    def compute(self, input: Activation) -> Activation:
        return nested.table(self._elements(input, 0)[::-1])


@register("nn.TotalDropout")
class TotalDropout(Module):
    """In training, drops the whole input with probability p.

    Args:
        p: probability of dropping.
    """

    parameter_names = ()

    def __init__(self, p: float | None = None) -> None:
        super().__init__()
        self.p = 0.5 if p is None else p
        self.train = True
        if not 0 <= self.p < 1:
            raise ValueError(f"nn.TotalDropout: p must be at least 0 and less than 1, got {p}")

    def compute(self, input: Tensor) -> Tensor:
        if not self.train:
            return input
        kept = rl.empty((1,), dtype=rl.float64).bernoulli_(1 - self.p)
        self.noise = int(kept.item())
        return input * self.noise

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        if not self.train:
            raise RuntimeError(f"{self}: backward is only defined in training mode")
        self.gradInput = gradOutput * self.noise
        return self.gradInput

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        pass

    def __str__(self) -> str:
        return f"{self.torch_typename}({self.p:f})"


@register("nn.Dictionary")
class Dictionary(LookupTable):
    """The rows of a matrix that indices (from 1) name.

    Args:
        dictSize: rows.
        embeddingSize: length of a row.
        accUpdate: add gradients straight to the rows, through `accUpdateGradParameters`.
    """

    def __init__(self, dictSize: int, embeddingSize: int, accUpdate: bool | None = None) -> None:
        super().__init__(dictSize, embeddingSize)
        if accUpdate:
            self.accUpdate = True
