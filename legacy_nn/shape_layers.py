"""Layers that only change the shape, the order or the type of elements."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.counting import place_from_one, positive_dimension
from relume.legacy_nn.linear import read_sizes
from relume.legacy_nn.module import Module, derived
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import dtype_of, long_storage, sizes_of


class ShapeLayer(Module):
    """The base of layers without parameters that move elements around."""

    parameter_names = ()


def product(sizes: Any) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


@register("nn.Reshape")
class Reshape(ShapeLayer):
    """The input in another shape.

    Args:
        *sizes: of one sample.
        batchMode: True when the first dimension is always the batch, False when there never
            is one; by default an input with just enough elements is one sample.
    """

    batchMode: bool | None = None

    def __init__(self, *sizes: Any) -> None:
        super().__init__()
        if len(sizes) > 1 and (sizes[-1] is None or isinstance(sizes[-1], bool)):
            *sizes, batch_mode = sizes  # type: ignore[assignment]
            if batch_mode is not None:
                self.batchMode = batch_mode
        shape = read_sizes(tuple(sizes))
        self.size = long_storage(shape)
        self.batchsize = long_storage([0, *shape])
        self.nelement = product(shape)

    def compute(self, input: Tensor) -> Tensor:
        shape = sizes_of(self.size)
        elements = product(shape)
        one_sample = input.numel() == elements and input.shape[0] != 1
        if self.batchMode is False or (self.batchMode is None and one_sample):
            batch: list[int] = []
        else:
            batch = [input.shape[0]]
        if product(batch) * elements != input.numel():
            raise ValueError(
                f"{self}: expected {elements} elements (or a batch), got {nested.describe(input)}"
            )
        return input.reshape((*batch, *shape))

    def __str__(self) -> str:
        return f"{self.torch_typename}({'x'.join(str(n) for n in sizes_of(self.size))})"


@register("nn.View")
class View(ShapeLayer):
    """The input in another shape, on the same memory where that is possible.

    Args:
        *sizes: of one sample; one of them may be -1.
    """

    numInputDims: int | None = None

    def __init__(self, *sizes: Any) -> None:
        super().__init__()
        self.resetSize(*sizes)

    def resetSize(self, *sizes: Any) -> View:
        """Sets the sizes anew."""
        shape = read_sizes(sizes)
        self.size = long_storage(shape)
        self.numElements = product(n for n in shape if n >= 0)
        return self

    def setNumInputDims(self, numInputDims: int) -> View:
        """Says how many dimensions a sample has: more than that, and there is a batch."""
        self.numInputDims = numInputDims
        return self

    def _batch_size(self, input: Tensor, shape: list[int]) -> int | None:
        """How many samples, or None when the input is one."""
        sample_dims = self.numInputDims or input.ndim
        per_sample = product(input.shape[max(0, input.ndim - sample_dims) :])
        elements = product(n for n in shape if n >= 0)
        if elements == 0 or per_sample % elements:
            raise ValueError(
                f"{self}: cannot view {nested.describe(input)} as samples of {elements} elements"
            )
        # What is left over is the batch, or the size that was left open.
        batch = 1 if -1 in shape else per_sample // elements
        batch *= product(input.shape[: max(0, input.ndim - sample_dims)])
        is_sample = not self.numInputDims or input.ndim <= self.numInputDims
        return None if batch == 1 and is_sample else batch

    def compute(self, input: Tensor) -> Tensor:
        shape = sizes_of(self.size)
        batch = self._batch_size(input, shape)
        if batch == 0 and -1 in shape:  # no samples: their sizes say what -1 is
            sample = product(input.shape[input.ndim - int(self.numInputDims or 0) :])
            shape[shape.index(-1)] = sample // product(n for n in shape if n >= 0)
        return input.reshape(tuple(shape) if batch is None else (batch, *shape))

    def __str__(self) -> str:
        return f"{self.torch_typename}({', '.join(str(n) for n in sizes_of(self.size))})"


@register("nn.Transpose")
class Transpose(ShapeLayer):
    """Swaps pairs of dimensions, one pair after the other.

    Args:
        *permutations: pairs of dimensions, counted from 1.
    """

    numInputDims: int | None = None

    def __init__(self, *permutations: Any) -> None:
        super().__init__()
        self.permutations = [list(pair) for pair in permutations]

    def setNumInputDims(self, numInputDims: int) -> Transpose:
        """Says how many dimensions a sample has: one more, and the first is the batch."""
        self.numInputDims = numInputDims
        return self

    def compute(self, input: Tensor) -> Tensor:
        output = input
        for pair in nested.elements(self.permutations):
            first, second = (
                positive_dimension(int(d), input.ndim, self.numInputDims) for d in sizes_of(pair)
            )
            output = output.transpose(first, second)
        return output.contiguous()


@register("nn.Contiguous")
class Contiguous(ShapeLayer):
    """The input, contiguous in memory."""

    def compute(self, input: Tensor) -> Tensor:
        return input.contiguous()


@register("nn.Squeeze")
class Squeeze(ShapeLayer):
    """Drops dimensions of size 1.

    Args:
        dim: the only one to drop, counted from 1; by default all.
        numInputDims: dimensions of one sample; with more, the first one is the batch.
    """

    dim: int | None = None
    numInputDims: int | None = None

    def __init__(self, dim: int | None = None, numInputDims: int | None = None) -> None:
        super().__init__()
        if dim is not None:
            self.dim = dim
        if numInputDims is not None:
            self.numInputDims = numInputDims

    def setNumInputDims(self, numInputDims: int) -> Squeeze:
        """Says how many dimensions a sample has: one more, and the first is the batch."""
        self.numInputDims = numInputDims
        return self

    def compute(self, input: Tensor) -> Tensor:
        is_batch = self.numInputDims is not None and input.ndim == self.numInputDims + 1
        if self.dim is not None:
            dim = positive_dimension(int(self.dim) + is_batch, input.ndim)
            kept = [n for i, n in enumerate(input.shape) if i != dim or n != 1]
        else:
            kept = [n for i, n in enumerate(input.shape) if n != 1 or (i == 0 and is_batch)]
        return input.reshape(tuple(kept) or (1,))


@register("nn.Unsqueeze")
class Unsqueeze(ShapeLayer):
    """Puts in a dimension of size 1.

    Args:
        pos: where, counted from 1.
        numInputDims: dimensions of one sample; with more, they stand before `pos`.
    """

    numInputDims: int | None = None

    def __init__(self, pos: int, numInputDims: int | None = None) -> None:
        super().__init__()
        self.pos = pos
        if numInputDims is not None:
            self.numInputDims = numInputDims

    def setNumInputDims(self, numInputDims: int) -> Unsqueeze:
        """Says how many dimensions a sample has."""
        self.numInputDims = numInputDims
        return self

    def compute(self, input: Tensor) -> Tensor:
        sample_dims = input.ndim if self.numInputDims is None else self.numInputDims
        return input.unsqueeze(
            positive_dimension(self.pos, sample_dims + 1) + input.ndim - sample_dims
        )

    def __str__(self) -> str:
        return f"{self.torch_typename}(dim {self.pos})"


@register("nn.Replicate")
class Replicate(ShapeLayer):
    """Repeats the input along a new dimension, without copying it.

    Args:
        nfeatures: how often.
        dim: where the new dimension goes, counted from 1.
        ndim: dimensions of one sample; with more, they stand before `dim`.
    """

    dim = 1
    ndim: int | None = None

    def __init__(self, nfeatures: int, dim: int | None = None, ndim: int | None = None) -> None:
        super().__init__()
        self.nfeatures = nfeatures
        self.dim = 1 if dim is None else dim
        if ndim is not None:
            self.ndim = ndim

    def compute(self, input: Tensor) -> Tensor:
        dim = positive_dimension(self.dim, input.ndim + 1)
        if self.ndim is not None:
            dim += input.ndim - self.ndim
        if dim > input.ndim:
            raise ValueError(
                f"{self}: dimension {self.dim} is too large for {nested.describe(input)}"
            )
        shape = list(input.shape)
        shape.insert(dim, self.nfeatures)
        return input.unsqueeze(dim).expand(tuple(shape))


class CopyingLayer(ShapeLayer):
    """The base of layers whose output Torch7 copies, although it could be a view: what comes
    after may overwrite it."""

    follows_compute = True

    @derived
    def updateOutput(self, input: Tensor) -> Tensor:
        self.output = super().updateOutput(input).clone()
        return self.output


@register("nn.Select")
class Select(CopyingLayer):
    """One slice of the input.

    Args:
        dimension: counted from 1, from the end when negative.
        index: counted from 1, from the end when negative.
    """

    def __init__(self, dimension: int, index: int) -> None:
        super().__init__()
        self.dimension = dimension
        self.index = index

    def compute(self, input: Tensor) -> Tensor:
        dim = positive_dimension(self.dimension, input.ndim, None)
        output = input.select(dim, place_from_one(int(self.index), input.shape[dim]))
        return output if output.ndim else output.reshape((1,))


@register("nn.Narrow")
class Narrow(CopyingLayer):
    """Some neighbouring slices of the input.

    Args:
        dimension: counted from 1, from the end when negative.
        index: the first slice, counted from 1; when negative, all but the last `length` are taken.
        length: how many; -1 for all up to the last, -2 for all up to the last but one, ...
    """

    length = 1

    def __init__(self, dimension: int, index: int, length: int | None = None) -> None:
        super().__init__()
        self.dimension = dimension
        self.index = index
        self.length = 1 if length is None else length

    def compute(self, input: Tensor) -> Tensor:
        dim = positive_dimension(self.dimension, input.ndim, None)
        size = input.shape[dim]
        if self.index < 0:  # as in Torch7: all but the last `length`
            return input.narrow(dim, 0, size - self.length)
        start = place_from_one(int(self.index), size)
        length = self.length if self.length > 0 else size - start + self.length + 1
        if not 0 < length <= size - start:
            raise IndexError(
                f"there are no {length} slices from {self.index}, counted from 1, in {size}"
            )
        return input.narrow(dim, start, length)


@register("nn.Copy")
class Copy(ShapeLayer):
    """The input in another tensor type.

    Args:
        intype: Torch7 type name of the input; by default the default type.
        outtype: of the output.
        forceCopy: copy even when the types agree.
        dontCast: keep the types when the network is converted.
    """

    outtype: str | None = None

    def __init__(
        self,
        intype: str | None = None,
        outtype: str | None = None,
        forceCopy: bool | None = None,
        dontCast: bool | None = None,
    ) -> None:
        super().__init__()
        intype = intype or self._type
        outtype = outtype or self._type
        if dontCast is not None:
            self.dontCast = dontCast
        self.gradInput = rl.empty((0,), dtype=dtype_of(intype))
        self.output = rl.empty((0,), dtype=dtype_of(outtype))

    def compute(self, input: Tensor) -> Tensor:
        # The type of the output buffer is all that a file says about the target type.
        target = self.output.dtype if isinstance(self.output, Tensor) else input.dtype
        return input.to(target) if input.dtype != target else input

    def _before_cast(self, typename: str, tensors: Any) -> bool:
        return not self.__dict__.get("dontCast")


@register("nn.Padding")
class Padding(ShapeLayer):
    """Puts constant slices before or after the input.

    Args:
        dim: counted from 1.
        pad: how many; negative: before the input.
        nInputDim: dimensions of one sample; with more, the first one is the batch.
        value: of the new elements.
        index: where they go, counted from 1.
    """

    nInputDim: int | None = None

    def __init__(
        self, dim: int, pad: int, nInputDim: int | None = None, value: float = 0, index: int = 1
    ) -> None:
        super().__init__()
        self.value = value or 0
        self.index = index or 1
        self.dim = dim
        self.pad = pad
        self.outputSize = long_storage([])
        if nInputDim is not None:
            self.nInputDim = nInputDim

    def compute(self, input: Tensor) -> Tensor:
        dim = positive_dimension(self.dim, input.ndim)
        if self.nInputDim and input.ndim != self.nInputDim:
            dim += 1
        if not 0 <= dim < input.ndim:
            raise IndexError(f"there is no dimension {self.dim}, counted from 1, in {input.ndim}")
        size = input.shape[dim]
        at = self.index - 1
        if self.pad > 0:
            at = size - at
        shape = list(input.shape)
        shape[dim] = abs(self.pad)
        filling = rl.full(tuple(shape), float(self.value), dtype=input.dtype)
        parts = [input.narrow(dim, 0, at), filling, input.narrow(dim, at, size - at)]
        return rl.cat([part for part in parts if part.numel()], dim)
