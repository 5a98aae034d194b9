"""Memory networks (facebookarchive/MemNN).

Sentences come as rows of all sentences, one below the other, and the number of rows of each.
"""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.counting import from_one
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.table_layers import TableLayer
from relume.legacy_nn.types import new_parameter


@register("nn.Normalization")
class Normalization(Module):
    """Vectors of length 1; those that are no longer than `thresh` stay as they are."""

    parameter_names = ()
    thresh: float = 0

    def compute(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim == 0:
            raise ValueError(f"{self}: expected vectors, got {nested.describe(input)}")
        squares = input.square().sum(-1, keepdim=True)
        is_small = squares <= float(self.thresh) ** 2
        return input / rl.where(is_small, (1 + float(self.thresh)) ** 2, squares).sqrt()


class Sentences(TableLayer):
    """The base of layers of {rows, numbers of rows}."""

    def _rows_and_lengths(self, input: Activation) -> tuple[Tensor, list[int]]:
        rows, lengths = self._elements(input, 2)[:2]
        counts = [int(count) for count in lengths.flatten().tolist()]
        if rows.ndim != 2 or sum(counts) != rows.shape[0] or min(counts, default=0) < 0:
            raise ValueError(
                f"{self}: expected rows of sentences and their numbers, "
                f"got {nested.describe(input)}"
            )
        return rows, counts


@register("nn.PositionalEncoder")
class PositionalEncoder(Sentences):
    """Weights the words of sentences by their places (Sukhbaatar et al. 2015).

    Args:
        forwardLen: give {rows, numbers} in the place of the rows.
    """

    forwardLen: Any = None

    def __init__(self, forwardLen: bool | None = None) -> None:
        super().__init__()
        self.forwardLen = forwardLen

    def compute(self, input: Activation) -> Activation:
        rows, counts = self._rows_and_lengths(input)
        size = rows.shape[1]
        shares = [(place + 1) / count for count in counts for place in range(count)]
        at = rl.tensor(shares, dtype=rows.dtype).reshape((-1, 1))
        features = (rl.arange(size, dtype=rows.dtype) + 1) / size
        encoded = rows * (1 - at - features * (1 - 2 * at))
        return nested.table([encoded, nested.elements(input)[1]]) if self.forwardLen else encoded


@register("nn.SumVecarr")
class SumVecarr(Sentences):
    """The sums of the rows of every sentence."""

    def compute(self, input: Activation) -> Tensor:
        rows, counts = self._rows_and_lengths(input)
        owners = [place for place, count in enumerate(counts) for _ in range(count)]
        sums = rl.zeros((len(counts), rows.shape[1]), dtype=rows.dtype)
        return sums.index_add(0, rl.tensor(owners, dtype=rl.int64), rows)


@register("nn.WeightedLookupTableSkinny")
class WeightedLookupTableSkinny(Module):
    """Rows of a matrix, times weights: an input N x 2 of {number from 1, weight}, or N numbers.

    Args:
        nIndex: how many rows.
        embDim: their length.
    """

    parameter_names = ("weight",)

    def __init__(self, nIndex: int = 1, embDim: int = 1) -> None:
        super().__init__()
        self.weight = new_parameter(nIndex, embDim)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        with rl.no_grad():
            self.weight.normal_(0, 1 if stdv is None else stdv)

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        # There, gradWeight is a list of rows that were met.
        super()._load_fields({k: v for k, v in fields.items() if k != "gradWeight"}, version)

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        is_right = isinstance(input, Tensor) and input.ndim in (1, 2)
        if not is_right or (input.ndim == 2 and input.shape[1] != 2):
            raise ValueError(
                f"{self}: expected numbers, or rows of a number and a weight, "
                f"got {nested.describe(input)}"
            )
        numbers = input if input.ndim == 1 else input[:, 0]
        rows = weight[from_one(self, numbers, weight.shape[0])]
        return rows if input.ndim == 1 else rows * input[:, 1:].detach().to(weight.dtype)
