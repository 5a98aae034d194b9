"""Layers that take tables apart, join them, or compute with their elements."""

from __future__ import annotations

from functools import reduce
from operator import mul
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.counting import place_from_one, positive_dimension
from relume.legacy_nn.module import Module, derived
from relume.legacy_nn.nested import Activation, elements, table
from relume.legacy_nn.printing import lua_number
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import long_storage, new_empty


class TableLayer(Module):
    """The base of layers that take a table and have no parameters."""

    parameter_names: tuple[str, ...] = ()

    def __init__(self) -> None:
        super().__init__()
        self.gradInput = table([])

    def _elements(self, input: Activation, at_least: int = 1) -> list:
        if type(input) is list:
            values = input
        elif nested.is_table(input):
            values = elements(input)
        else:
            raise TypeError(f"{self}: expected a table of tensors, got {nested.describe(input)}")
        if len(values) < at_least:
            raise ValueError(
                f"{self}: expected a table of at least {at_least} elements, "
                f"got {nested.describe(input)}"
            )
        return values


@register("nn.Identity")
class Identity(Module):
    """Gives back its input, a tensor or a table."""

    parameter_names = ()
    follows_compute = True

    def compute(self, input: Activation) -> Activation:
        return input

    def updateOutput(self, input: Activation) -> Activation:
        self.output = input
        return input

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        self.gradInput = gradOutput
        return gradOutput

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        pass


# ---- element-wise combinations ----


@register("nn.CAddTable")
class CAddTable(TableLayer):
    """The sum of the elements of a table (numbers count as constants).

    Args:
        inplace: add to the first element.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.CAddTable()([rl.ones(2), rl.ones(2)]).tolist()
    [2.0, 2.0]
    """

    follows_compute = True
    inplace = False

    def __init__(self, inplace: bool | None = None) -> None:
        super().__init__()
        if inplace is not None:
            self.inplace = inplace

    def compute(self, input: Activation) -> Tensor:
        total, *others = in_one_size(self, self._elements(input))
        for value in others:
            total = total + value
        return total

    @derived
    def updateOutput(self, input: Activation) -> Tensor:
        first = elements(input)[0]
        if not self.inplace or not isinstance(first, Tensor):
            return super().updateOutput(input)
        total = first.detach()
        for value in in_one_size(self, self._elements(input))[1:]:
            total.add_(value)
        self._record = None
        self.output = first
        return first

    def _differentiate(self, input: Activation, gradOutput: Activation, *wanted: bool) -> list:
        gradients = super()._differentiate(input, gradOutput, *wanted)
        if self.inplace:
            self._record = None  # it was made for this; the sum does not matter to the gradients
        return gradients


def in_one_size(layer: Any, values: list) -> list:
    """The tensors in the size of the first: Torch7 counts elements and does not broadcast."""
    first = values[0]
    if not isinstance(first, Tensor):
        return values
    shape = first.shape
    for value in values:
        if not isinstance(value, Tensor) or value.shape != shape:
            return reshaped(layer, values)
    return values


def reshaped(layer: Any, values: list) -> list:
    """The tensors in the shape of the first; numbers as they are."""
    first, shape = values[0], values[0].shape
    for value in values:
        if isinstance(value, Tensor) and value.numel() != first.numel():
            raise ValueError(
                f"{layer}: the elements of the table must have one size, got "
                f"{nested.describe(values)}"
            )
    return [
        value.reshape(shape) if isinstance(value, Tensor) and value.shape != shape else value
        for value in values
    ]


# Rows: name, function of the elements, number of elements (None: any), documentation.
COMBINATIONS = [
    ("CSubTable", lambda values: values[0] - values[1], 2, "The first element minus the second."),
    ("CDivTable", lambda values: values[0] / values[1], 2, "The first element over the second."),
    (
        "CMulTable",
        lambda values: reduce(mul, values),
        None,
        "The product of the elements of a table.",
    ),
    (
        "CMaxTable",
        lambda values: reduce(larger, values),
        None,
        "The largest of the elements of a table, place by place.",
    ),
    (
        "CMinTable",
        lambda values: reduce(smaller, values),
        None,
        "The smallest of the elements of a table, place by place.",
    ),
]


# What Torch7's own methods fill, and so look for in a file.
BUFFERS = {
    "CMaxTable": ("maxIdx", "mask", "maxVals", "gradMaxVals"),
    "CMinTable": ("minIdx", "mask", "minVals", "gradMaxVals"),
}


def larger(first: Tensor, second: Tensor) -> Tensor:
    return rl.where(second > first, second, first)


def smaller(first: Tensor, second: Tensor) -> Tensor:
    return rl.where(second < first, second, first)


def make_combination(name: str, function: Any, count: int | None, documentation: str) -> type:
    def compute(self: Any, input: Activation) -> Tensor:
        return function(in_one_size(self, self._elements(input, count or 1)))

    def __init__(self: Any) -> None:
        TableLayer.__init__(self)
        for buffer in BUFFERS.get(name, ()):
            self.__dict__[buffer] = new_empty()

    members = {
        "__init__": __init__,
        "compute": compute,
        "__doc__": documentation,
        "__module__": __name__,
    }
    return register(f"nn.{name}")(type(name, (TableLayer,), members))


for _row in COMBINATIONS:
    globals()[_row[0]] = make_combination(*_row)


# ---- joining and splitting ----


@register("nn.JoinTable")
class JoinTable(TableLayer):
    """Joins the elements of a table along a dimension.

    Args:
        dimension: counted from 1, or from the end when negative.
        nInputDims: dimensions of one sample; with more, the first one is the batch.
    """

    nInputDims: int | None = None

    def __init__(self, dimension: int, nInputDims: int | None = None) -> None:
        super().__init__()
        self.size = long_storage([])
        self.dimension = dimension
        if nInputDims is not None:
            self.nInputDims = nInputDims

    def compute(self, input: Activation) -> Tensor:
        values = self._elements(input)
        dim = positive_dimension(self.dimension, values[0].ndim, self.nInputDims)
        return rl.cat(values, dim)


@register("nn.SplitTable")
class SplitTable(Module):
    """The slices of a tensor along a dimension, as a table.

    Args:
        dimension: counted from 1, or from the end when negative.
        nInputDims: dimensions of one sample; with more, the first one is the batch.
    """

    parameter_names = ()
    nInputDims: int | None = None

    def __init__(self, dimension: int, nInputDims: int | None = None) -> None:
        super().__init__()
        self.dimension = dimension
        if nInputDims is not None:
            self.nInputDims = nInputDims

    def compute(self, input: Tensor) -> Activation:
        dim = positive_dimension(self.dimension, input.ndim, self.nInputDims)
        return table(list(rl.unbind(input, dim)))


@register("nn.SelectTable")
class SelectTable(TableLayer):
    """One element of a table.

    Args:
        index: counted from 1, from the end when negative; or a string key.
    """

    follows_compute = True

    def __init__(self, index: int | str) -> None:
        super().__init__()
        self.index = index

    def compute(self, input: Activation) -> Activation:
        if isinstance(self.index, str):
            return input[self.index]
        values = self._elements(input)
        return values[place_from_one(int(self.index), len(values), "elements")]

    def updateOutput(self, input: Activation) -> Activation:
        self.output = self.compute(input)
        return self.output

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        if isinstance(self.index, str):
            gradient = nested.table([])
            gradient[self.index] = gradOutput
            self.gradInput = gradient
            return gradient
        values = elements(input)
        place = place_from_one(int(self.index), len(values), "elements")
        self.gradInput = table(
            [gradOutput if i == place else nested.zeros_like(v) for i, v in enumerate(values)]
        )
        return self.gradInput

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        pass

    def __str__(self) -> str:
        index = self.index if isinstance(self.index, str) else lua_number(self.index)
        return f"{self.torch_typename}({index})"


@register("nn.NarrowTable")
class NarrowTable(TableLayer):
    """Some neighbouring elements of a table.

    Args:
        offset: the first one, counted from 1.
        length: how many.
    """

    def __init__(self, offset: int, length: int = 1) -> None:
        super().__init__()
        self.offset = offset
        self.length = length
        self.output = table([])

    def compute(self, input: Activation) -> Activation:
        values = self._elements(input, self.offset + self.length - 1)
        if self.offset < 1:
            raise IndexError(f"the offset counts from 1, it is {self.offset}")
        return table(values[self.offset - 1 : self.offset - 1 + self.length])


@register("nn.FlattenTable")
class FlattenTable(TableLayer):
    """All tensors of a nested table, in one flat table."""

    def __init__(self) -> None:
        super().__init__()
        self.output = table([])
        self.input_map = table([])

    def compute(self, input: Activation) -> Activation:
        return table(nested.tensors_in(input))


@register("nn.MM")
class MM(TableLayer):
    """The matrix product of the two elements of a table: matrices or batches of matrices.

    Args:
        transA: transpose the first.
        transB: transpose the second.
    """

    transA = False
    transB = False

    def __init__(self, transA: bool = False, transB: bool = False) -> None:
        super().__init__()
        self.transA = bool(transA)
        self.transB = bool(transB)

    def compute(self, input: Activation) -> Tensor:
        first, second = self._elements(input, 2)[:2]
        if first.ndim not in (2, 3) or first.ndim != second.ndim:
            raise ValueError(
                f"{self}: expected two matrices or two batches of matrices, "
                f"got {nested.describe(input)}"
            )
        first = first.transpose(-1, -2) if self.transA else first
        second = second.transpose(-1, -2) if self.transB else second
        return rl.matmul(first, second)


@register("nn.MV")
class MV(TableLayer):
    """The product of a matrix and a vector (or batches of both) in a table.

    Args:
        trans: transpose the matrix.
    """

    trans = False

    def __init__(self, trans: bool = False) -> None:
        super().__init__()
        self.gradInput = table([new_empty(), new_empty()])
        self.trans = bool(trans)

    def compute(self, input: Activation) -> Tensor:
        matrix, vector = self._elements(input, 2)[:2]
        if matrix.ndim not in (2, 3) or vector.ndim != matrix.ndim - 1:
            raise ValueError(
                f"{self}: expected a matrix and a vector, or batches of both, "
                f"got {nested.describe(input)}"
            )
        matrix = matrix.transpose(-1, -2) if self.trans else matrix
        return rl.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


@register("nn.DotProduct")
class DotProduct(TableLayer):
    """The dot product of the two elements of a table, row by row for batches."""

    def compute(self, input: Activation) -> Tensor:
        first, second = self._elements(input, 2)[:2]
        return (first * second).sum(-1).reshape((-1,))


@register("nn.MixtureTable")
class MixtureTable(TableLayer):
    """Mixes experts by a gater: {gater, experts}.

    Args:
        dim: of the experts, when they come as one tensor.
    """

    dim: int | None = None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        if dim is not None:
            self.dim = dim
        self.size, self.size2 = long_storage([]), long_storage([])
        self.batchSize = 0
        self.backwardSetup = False

    def compute(self, input: Activation) -> Tensor:
        gater, experts = self._elements(input, 2)[:2]
        batched = gater.ndim == 2
        if nested.is_table(experts):
            values = elements(experts)
            dim = 1 if batched else 0
            experts = rl.stack(values, dim)
        else:
            dim = (self.dim or (2 if batched else 1)) - 1
        shape = [1] * experts.ndim
        shape[dim] = gater.shape[-1]
        if batched:
            shape[0] = gater.shape[0]
        return (experts * gater.reshape(tuple(shape))).sum(dim)


@register("nn.ZipTable")
class ZipTable(TableLayer):
    """A table of tables, turned: {{a1, a2}, {b1, b2}} to {{a1, b1}, {a2, b2}}."""

    def __init__(self) -> None:
        super().__init__()
        self.output = table([])

    def compute(self, input: Activation) -> Activation:
        rows = [elements(row) for row in self._elements(input)]
        return table([table(list(column)) for column in zip(*rows, strict=True)])


@register("nn.ZipTableOneToMany")
class ZipTableOneToMany(TableLayer):
    """One value with each of a table: {v, {a, b}} to {{v, a}, {v, b}}."""

    def __init__(self) -> None:
        super().__init__()
        self.output = table([])
        self.gradInputEl = new_empty()

    def compute(self, input: Activation) -> Activation:
        value, others = self._elements(input, 2)[:2]
        return table([table([value, other]) for other in elements(others)])


@register("nn.CriterionTable")
class CriterionTable(TableLayer):
    """The value of a criterion for {input, target}; no gradient goes to the target.

    Args:
        criterion: the criterion.
    """

    def __init__(self, criterion: Any) -> None:
        super().__init__()
        self.criterion = criterion
        self.gradInput = table([criterion.gradInput])

    def children(self) -> list[Any]:
        return [self.criterion]

    def compute(self, input: Activation) -> Tensor:
        value, target = self._elements(input, 2)[:2]
        return self.criterion(value, nested.map_tensors(Tensor.detach, target))

    def updateOutput(self, input: Activation) -> Any:
        value, target = self._elements(input, 2)[:2]
        self.output = self.criterion.forward(value, target)
        return self.output

    def updateGradInput(self, input: Activation, gradOutput: Any) -> Activation:
        value, target = self._elements(input, 2)[:2]
        gradient = self.criterion.backward(value, target)
        if len(self.gradInput):  # clearState empties the table, and Torch7 leaves it so
            self.gradInput = table([gradient])
        return self.gradInput

    def accGradParameters(self, input: Activation, gradOutput: Any, scale: float = 1) -> None:
        pass
