"""Layers of tables of vectors and matrices: neural Turing machines (kaishengtai/torch-ntm),
trees (stanfordnlp/treelstm), sentences (castorini/MP-CNN-Torch, shuohangwang/SeqMatchSeq,
yoonkim/lstm-char-cnn).

Rows of a table where they have no fields.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.table_layers import TableLayer
from relume.legacy_nn.types import new_parameter


def outer_product(*vectors: Tensor) -> Tensor:
    """Of two or three vectors, or of two batches of vectors."""
    product = vectors[0]
    for vector in vectors[1:]:
        if vector.ndim == 2:
            product = product.unsqueeze(2) * vector.unsqueeze(1)
        else:
            product = product.unsqueeze(-1) * vector
    return product


def circular_convolution(vector: Tensor, kernel: Tensor) -> Tensor:
    size, half = vector.shape[0], kernel.shape[0] // 2
    places = rl.arange(size).unsqueeze(1) + (half - rl.arange(kernel.shape[0])).unsqueeze(0)
    return vector[places % size] @ kernel


def power(vector: Tensor, exponent: Tensor) -> Tensor:
    """Zeros stay zeros, also for the gradient."""
    is_positive = vector > 0
    safe = rl.where(is_positive, vector, 1)
    return rl.where(is_positive, safe**exponent, vector ** exponent.detach())


def cosine(first: Tensor, second: Tensor) -> Tensor:
    lengths = first.square().sum().sqrt() * second.square().sum().sqrt()
    return ((first * second).sum() / lengths).reshape((1,))


def add_to_rows(matrix: Tensor, *vectors: Tensor) -> Tensor:
    for vector in vectors:
        matrix = matrix + vector.reshape((1, -1))
    return matrix


# Rows: name, function of the elements, their dimensions (the last is repeated; None: any), what
# it is.
FUNCTIONS: list[tuple[str, Callable[..., Tensor], tuple[Any, ...], str]] = [
    (
        "nn.ScalarMulTable",
        lambda values, factor: values * factor.reshape((-1,))[0],
        (None, 1),
        "{values, one number} to their product.",
    ),
    (
        "nn.ScalarDivTable",
        lambda values, divisor: values / divisor.reshape((-1,))[0],
        (None, 1),
        "{values, one number} to values / number.",
    ),
    ("nn.PowTable", power, (1, 1), "{vector, one number} to the powers of its elements."),
    (
        "nn.CircularConvolution",
        circular_convolution,
        (1, 1),
        "{vector, kernel} to their convolution, in which the vector goes on at its other end.",
    ),
    (
        "nn.OuterProd",
        outer_product,
        (None, None),
        "The outer product of two or three vectors, or of two batches of vectors.",
    ),
    ("nn.CsDis", cosine, (None, None), "The cosine of the angle between two vectors."),
    (
        "treelstm.CRowAddTable",
        add_to_rows,
        (2, 1),
        "{matrix, vector} to the matrix with the vector added to every row.",
    ),
    (
        "nn.CAddRepTable",
        add_to_rows,
        (2, None),
        "{matrix, vectors...} to the matrix with the vectors added to every row.",
    ),
]


def make_function(
    typename: str, function: Callable[..., Tensor], dimensions: tuple, documentation: str
) -> type:
    def compute(self: Any, input: Activation) -> Tensor:
        values = self._elements(input, len(dimensions))
        wanted = [*dimensions, *[dimensions[-1]] * (len(values) - len(dimensions))]
        for value, count in zip(values, wanted, strict=True):
            is_right = isinstance(value, Tensor) and value.numel() > 0 and value.ndim > 0
            if not is_right or count not in (None, value.ndim):
                raise ValueError(
                    f"{self}: cannot take {nested.describe(input)}; it makes {documentation}"
                )
        return function(*values)

    members = {"compute": compute, "__doc__": documentation, "__module__": __name__}
    return register(typename)(type(typename.rpartition(".")[2], (TableLayer,), members))


for _row in FUNCTIONS:
    globals()[_row[0].rpartition(".")[2]] = make_function(*_row)


@register("nn.SmoothCosineSimilarity")
class SmoothCosineSimilarity(TableLayer):
    """{rows N x M, vector M} to the N cosines between them, with a number added to what is divided
    by.

    Args:
        smoothen: the number, by default 1e-3.
    """

    smooth = 1e-3

    def __init__(self, smoothen: float | None = None) -> None:
        super().__init__()
        self.smooth = 1e-3 if smoothen is None else smoothen

    def compute(self, input: Activation) -> Tensor:
        rows, vector = self._elements(input, 2)[:2]
        if rows.ndim != 2 or tuple(vector.shape) != (rows.shape[1],):
            raise ValueError(f"{self}: expected N x M and M, got {nested.describe(input)}")
        return (rows @ vector) / (norm(rows, 1) * norm(vector, 0) + float(self.smooth))


def norm(values: Tensor, dim: int) -> Tensor:
    """The 2-norm; its gradient at zero is zero."""
    squares = values.square().sum(dim)
    return rl.where(squares > 0, rl.where(squares > 0, squares, 1).sqrt(), 0)


@register("nn.Print")
class Print(Module):
    """Prints its input and gives it back.

    Args:
        label: printed before it.
    """

    parameter_names = ()
    label: str | None = None

    def __init__(self, label: str | None = None) -> None:
        super().__init__()
        self.label = label

    def updateOutput(self, input: Activation) -> Activation:
        if self.label is not None:
            print(self.label)
        print(input)
        self.output = input
        return input

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        self.gradInput = gradOutput
        return gradOutput


# ---- layers with parameters ----


@register("nn.TensorProd")
class TensorProd(TableLayer):
    """{a, b} to a weight b + bias: one bilinear form per output, for vectors or batches.

    Args:
        vec1_size, vec2_size: lengths of the vectors.
        output_size: how many outputs.
    """

    parameter_names = ("weight", "bias")

    def __init__(self, vec1_size: int, vec2_size: int, output_size: int) -> None:
        super().__init__()
        shape = (output_size, vec1_size, vec2_size)
        self.weight, self.gradWeight = new_parameter(*shape), new_parameter(*shape)
        self.bias, self.gradBias = new_parameter(output_size), new_parameter(output_size)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        bound = 1 / math.sqrt(self.weight.shape[1] + self.weight.shape[2])
        with rl.no_grad():
            self.weight.uniform_(-bound, bound)
            self.bias.uniform_(-bound, bound)

    def compute(self, input: Activation, weight: Tensor, bias: Tensor) -> Tensor:
        first, second = self._elements(input, 2)[:2]
        sizes = (first.shape[-1:], second.shape[-1:])
        if (
            first.ndim not in (1, 2)
            or first.ndim != second.ndim
            or sum(sizes, ()) != weight.shape[1:]
        ):
            raise ValueError(
                f"{self}: expected vectors of size {weight.shape[1]} and {weight.shape[2]}, "
                f"or batches of them, got {nested.describe(input)}"
            )
        return rl.einsum("...i,oij,...j->...o", first, weight, second) + bias

    def __str__(self) -> str:
        outputs, first, second = self.weight.shape
        return f"{self.torch_typename}({first} x {second} -> {outputs})"


@register("nn.Diag")
class Diag(Module):
    """Multiplies every plane of one sample by a learned number of its own; a vector, every element
    (the unsup package).

    Args:
        nFeature: how many numbers; they begin with 1.
    """

    parameter_names = ("weight",)

    def __init__(self, nFeature: int) -> None:
        super().__init__()
        self.weight, self.gradWeight = new_parameter(nFeature), new_parameter(nFeature)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        with rl.no_grad():
            self.weight.fill_(1)

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        """lstm-char-cnn's has a matrix of numbers, for one matrix or a batch."""
        if weight.ndim == 2:
            if not isinstance(input, Tensor) or input.shape[-2:] != weight.shape:
                raise ValueError(
                    f"{self}: expected {nested.describe(weight)}, got {nested.describe(input)}"
                )
            return input * weight
        if not isinstance(input, Tensor) or input.shape[:1] != weight.shape:
            raise ValueError(
                f"{self}: expected {weight.shape[0]} planes, got {nested.describe(input)}"
            )
        return input * weight.reshape((-1, *[1] * (input.ndim - 1)))


@register("nn.DMax")
class DMax(TableLayer):
    """The largest elements of stretches of rows: {rows x M, lengths of the stretches} to
    stretches x M; the last windowSize - 1 rows of a stretch do not count.

    Args:
        dimension: 1.
        windowSize: of the convolution before it.
    """

    windowSize: int

    def __init__(self, dimension: int = 1, windowSize: int = 1, gpu: Any = None) -> None:
        super().__init__()
        self.dimension, self.windowSize = dimension, windowSize

    def compute(self, input: Activation) -> Tensor:
        rows, lengths = self._elements(input, 2)[:2]
        counts = [int(count) for count in lengths.tolist()] if lengths.ndim == 1 else []
        is_right = rows.ndim == 2 and counts and min(counts) >= int(self.windowSize)
        if not is_right or sum(counts) - int(self.windowSize) + 1 > rows.shape[0]:
            raise ValueError(
                f"{self}: expected rows and the lengths of stretches of at least "
                f"{int(self.windowSize)}, got {nested.describe(input)}"
            )
        best, start = [], 0
        for count in counts:
            stretch = rows.narrow(0, start, count - int(self.windowSize) + 1)
            best.append(stretch.amax(0))
            start += count
        return rl.stack(best, 0)


@register("nn.PaddingReshape")
class PaddingReshape(Module):
    """Adds a first dimension of size 1.

    Args:
        *sizes: not used, as there.
    """

    parameter_names = ()

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self.batchMode = False

    def compute(self, input: Tensor) -> Tensor:
        return input.unsqueeze(0)
