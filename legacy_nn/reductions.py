"""Layers that reduce a dimension: Mean, Sum, Max, Min."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn.counting import positive_dimension
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register


def at_least_1d(tensor: Tensor) -> Tensor:
    """Torch7 has no tensors without dimensions: one number has size 1."""
    return tensor if tensor.ndim else tensor.reshape((1,))


@register("nn.Sum")
class Sum(Module):
    """The sum along a dimension.

    Args:
        dimension: counted from 1, from the end when negative.
        nInputDims: dimensions of one sample; with more, the first one is the batch.
        sizeAverage: divide by the size.
        squeeze: False to keep the dimension, with size 1.
    """

    parameter_names = ()
    dimension = 1
    nInputDims: int | None = None
    sizeAverage = False
    squeeze = True

    def __init__(
        self,
        dimension: int | None = None,
        nInputDims: int | None = None,
        sizeAverage: bool | None = None,
        squeeze: bool | None = None,
    ) -> None:
        super().__init__()
        self.dimension = 1 if dimension is None else dimension
        if nInputDims is not None:
            self.nInputDims = nInputDims if nInputDims > 0 else None
        self.sizeAverage = bool(sizeAverage)
        self.squeeze = True if squeeze is None else squeeze

    def compute(self, input: Tensor) -> Tensor:
        dim = positive_dimension(self.dimension, input.ndim, self.nInputDims)
        if not 0 <= dim < input.ndim:
            raise ValueError(f"{self}: there is no dimension {self.dimension} in {input.ndim}")
        output = input.sum(dim, keepdim=not self.squeeze)
        if self.sizeAverage:
            output = output / input.shape[dim]
        return at_least_1d(output)


@register("nn.Mean")
class Mean(Sum):
    """The mean along a dimension.

    Args:
        dimension: counted from 1, from the end when negative.
        nInputDims: dimensions of one sample; with more, the first one is the batch.
    """

    sizeAverage = True

    def __init__(self, dimension: int | None = None, nInputDims: int | None = None) -> None:
        super().__init__(dimension, nInputDims, True)


class Extreme(Module):
    """The base of Max and Min along a dimension; of equal elements the first is taken.

    Args:
        dimension: counted from 1, from the end when negative.
        nInputDims: dimensions of one sample; with more, the first one is the batch.
    """

    parameter_names = ()
    dimension = 1
    nInputDims: int | None = None
    buffer_names = ("_indices", "_output")

    def __init__(self, dimension: int | None = None, nInputDims: int | None = None) -> None:
        super().__init__()
        self.dimension = 1 if dimension is None else dimension
        if nInputDims is not None:
            self.nInputDims = nInputDims

    def _find(self, input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        raise NotImplementedError

    def compute(self, input: Tensor) -> Any:
        dim = positive_dimension(self.dimension, input.ndim, self.nInputDims)
        return at_least_1d(self._find(input, dim)[0])


@register("nn.Max")
class Max(Extreme):
    __doc__ = Extreme.__doc__

    def _find(self, input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        return rl.max_with_indices(input, dim)


@register("nn.Min")
class Min(Extreme):
    __doc__ = Extreme.__doc__

    def _find(self, input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        return rl.min_with_indices(input, dim)
