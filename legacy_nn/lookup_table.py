"""Tables of vectors looked up by number."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.counting import from_one
from relume.legacy_nn.module import Module, derived
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_parameter


@register("nn.LookupTable")
class LookupTable(Module):
    """The rows of a matrix that indices (from 1) name.

    Args:
        nIndex: rows.
        nOutput: length of a row.
        paddingValue: an index whose row gets no gradient; 0 for none.
        maxNorm: rows that are used are scaled down to this norm first.
        normType: which norm, by default 2.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.LookupTable(10, 3).forward(rl.tensor([1, 10])).shape
    (2, 3)
    """

    weight_dimensions = (2,)
    torch_version = 4
    parameter_names = ("weight",)
    follows_compute = True
    uncast_names: tuple[str, ...] = ("_count", "_input")
    buffer_names = ("_count", "_input", "_sorted", "_indices", "_gradOutput")
    paddingValue = 0
    maxNorm: float | None = None
    normType: float | None = None
    shouldScaleGradByFreq = False

    def __init__(
        self,
        nIndex: int,
        nOutput: int,
        paddingValue: int | None = None,
        maxNorm: float | None = None,
        normType: float | None = None,
    ) -> None:
        super().__init__()
        self.weight = new_parameter(nIndex, nOutput)
        self.gradWeight = new_parameter(nIndex, nOutput)
        self.paddingValue = paddingValue or 0
        if maxNorm is not None:
            self.maxNorm = maxNorm
        if normType is not None:
            self.normType = normType
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        with rl.no_grad():
            self.weight.normal_(0, 1 if stdv is None else stdv)

    def scaleGradByFreq(self) -> LookupTable:
        """Divides a row's gradient by how often it was used."""
        self.shouldScaleGradByFreq = True
        return self

    def setPadding(self, paddingValue: int) -> LookupTable:
        """Sets the index whose row gets no gradient."""
        self.paddingValue = paddingValue
        return self

    def setMaxNorm(self, maxNorm: float) -> LookupTable:
        """Sets the norm that rows are scaled down to."""
        self.maxNorm = maxNorm
        return self

    def setNormType(self, normType: float) -> LookupTable:
        """Sets which norm."""
        self.normType = normType
        return self

    def _rows(self, input: Tensor) -> Tensor:
        """Indices from 0, checked."""
        count = self.weight.shape[0]
        if not isinstance(input, Tensor) or input.ndim not in (1, 2):
            raise ValueError(
                f"{self}: expected indices in one or two dimensions, got {nested.describe(input)}"
            )
        return from_one(self, input, count)

    def _renormalize(self, rows: Tensor) -> None:
        norm_type = 2 if self.normType is None else self.normType
        weight, used = self.weight.detach(), rows.reshape((-1,))
        with rl.no_grad():
            vectors = weight.index_select(0, used)
            norms = (vectors.abs() ** norm_type).sum(1, keepdim=True) ** (1 / norm_type)
            factors = rl.where(norms > self.maxNorm, self.maxNorm / (norms + 1e-7), 1.0)
            weight.index_copy_(0, used, vectors * factors)

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        rows = self._rows(input)
        if self.maxNorm is not None:
            self._renormalize(rows)
        return rl.embedding(self._limited(weight, rows), rows)

    def _limited(self, weight: Tensor, rows: Tensor) -> Tensor:
        """The weights, with the gradient of the padding row cut and rows scaled by use."""
        is_plain = not self.paddingValue and not self.shouldScaleGradByFreq
        if is_plain or not rl.is_grad_enabled():
            return weight
        factor = rl.ones((weight.shape[0], 1), dtype=weight.dtype)
        if self.shouldScaleGradByFreq:
            for row in rows.reshape((-1,)).tolist():
                factor[row] += 1
            factor = 1 / (factor - 1).clamp(1)
        if self.paddingValue:
            factor[int(self.paddingValue) - 1] = 0
        # The value of `weight`, with `factor` times its gradient.
        return weight * factor + (weight * (1 - factor)).detach()

    @derived
    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = rl.zeros_like(input)
        return self.gradInput

    def backward(self, input: Tensor, gradOutput: Any, scale: float = 1) -> Tensor:
        self.accGradParameters(input, gradOutput, scale)
        return self.updateGradInput(input, gradOutput)
