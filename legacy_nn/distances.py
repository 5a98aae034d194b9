"""Layers that measure: norms, cosines, distances, and products of two inputs."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.finite_gradients import root, sum_of_powers
from relume.legacy_nn.linear import draw_uniform, uniform_bound
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.table_layers import TableLayer
from relume.legacy_nn.types import new_empty, new_parameter


def as_batch(layer: Any, input: Tensor) -> Tensor:
    """A vector as a batch of one."""
    if input.ndim not in (1, 2):
        raise ValueError(f"{layer}: expected a vector or a batch, got {nested.describe(input)}")
    return input if input.ndim == 2 else input.unsqueeze(0)


def with_gradient_of(value: Tensor, other: Tensor) -> Tensor:
    """A value with the gradient of something else: Torch7 adds small numbers on the way back."""
    return value.detach() + (other - other.detach())


@register("nn.Normalize")
class Normalize(Module):
    """Divides vectors by their p-norm.

    Args:
        p: which norm; math.inf for the largest element.
        eps: added before the root is taken.
    """

    parameter_names = ()
    eps = 1e-10

    def __init__(self, p: float, eps: float | None = None) -> None:
        super().__init__()
        if p <= 0:
            raise ValueError(f"nn.Normalize: p must be positive, got {p}")
        self.p = p
        self.eps = 1e-10 if eps is None else eps

    def compute(self, input: Tensor) -> Tensor:
        rows = as_batch(self, input)
        if math.isinf(self.p):
            norm = rl.max_with_indices(rows.abs(), 1, True)[0] + self.eps
            norm = with_gradient_of(norm, norm * (norm / (norm + self.eps)).detach())
        else:
            if self.p < 2:
                sums = sum_of_powers(rows, self.p, self.eps)
            else:
                sums = (rows.abs() ** self.p).sum(1, keepdim=True)
            norm = (sums + self.eps) ** (1 / self.p)
        return (rows / norm).reshape(input.shape)

    def __str__(self) -> str:
        if math.isinf(self.p):
            return f"{self.torch_typename}(inf)"
        text = f"{self.p:.0f}" if self.p % 1 == 0 else f"{self.p:f}"
        return f"{self.torch_typename}({text})"


@register("nn.Cosine")
class Cosine(Module):
    """The cosines of the input with learned vectors.

    Args:
        inputSize: length of the vectors.
        outputSize: how many.
    """

    weight_dimensions = (2,)
    parameter_names = ("weight",)

    def __init__(self, inputSize: int, outputSize: int) -> None:
        super().__init__()
        self.weight = new_parameter(outputSize, inputSize)
        self.gradWeight = new_parameter(outputSize, inputSize)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        bound = 1 / math.sqrt(self.weight.shape[0]) if stdv is None else stdv * math.sqrt(3)
        draw_uniform(bound, self.weight)

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        rows = as_batch(self, input)
        lengths = rows.square().sum(1, keepdim=True).sqrt() + 1e-12
        weight_lengths = weight.square().sum(1).sqrt() + 1e-12
        output = rl.linear(rows, weight) / lengths / weight_lengths
        return output if input.ndim == 2 else output.reshape((-1,))

    def _accumulate(self, gradients: list, scale: float) -> None:
        # Torch7 ignores the scale for a batch.
        super()._accumulate(gradients, 1 if self.output.ndim == 2 else scale)


@register("nn.CosineDistance")
class CosineDistance(TableLayer):
    """The cosine of the two vectors in a table (or of the rows of two batches)."""

    def compute(self, input: Activation) -> Tensor:
        first, second = (as_batch(self, x) for x in self._elements(input, 2)[:2])
        products = (first * second).sum(1)
        lengths = (first.square().sum(1) + 1e-12) * (second.square().sum(1) + 1e-12)
        return products / lengths.sqrt()


@register("nn.PairwiseDistance")
class PairwiseDistance(TableLayer):
    """The p-norm of the difference of the two vectors in a table (or of rows).

    Args:
        p: which norm, by default 2.
    """

    norm: float = 2

    def __init__(self, p: float | None = None) -> None:
        super().__init__()
        self.diff = new_empty()
        self.norm = 2 if p is None else p

    def compute(self, input: Activation) -> Tensor:
        first, second = (as_batch(self, x) for x in self._elements(input, 2)[:2])
        difference = (first - second).abs()
        if self.norm == 1:
            return difference.sum(1)
        return root((difference**self.norm).sum(1), self.norm, 1e-6)


@register("nn.Euclidean")
class Euclidean(Module):
    """The distances of the input from learned points.

    Args:
        inputSize: dimensions of a point.
        outputSize: how many points.
    """

    weight_dimensions = (2,)
    parameter_names = ("weight",)

    def __init__(self, inputSize: int, outputSize: int) -> None:
        super().__init__()
        self.weight = new_parameter(inputSize, outputSize)
        self.gradWeight = new_parameter(inputSize, outputSize)
        self.reset()
        self.fastBackward = True

    def reset(self, stdv: float | None = None) -> None:
        draw_uniform(uniform_bound(stdv, self.weight.shape[0]), self.weight)

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        rows = as_batch(self, input)
        difference = rows.unsqueeze(2) - weight.unsqueeze(0)
        output = root(difference.square().sum(1), 2, 1e-7)
        return output if input.ndim == 2 else output.reshape((-1,))


@register("nn.WeightedEuclidean")
class WeightedEuclidean(Module):
    """The distances of the input from learned points, with learned scales.

    Args:
        inputSize: dimensions of a point.
        outputSize: how many points.
    """

    weight_dimensions = (2,)
    parameter_names = ("weight", "diagCov")
    diagCov: Any = None

    def __init__(self, inputSize: int, outputSize: int) -> None:
        super().__init__()
        for name in ("weight", "gradWeight", "diagCov", "gradDiagCov"):
            self.__dict__[name] = new_parameter(inputSize, outputSize)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        draw_uniform(uniform_bound(stdv, self.weight.shape[0]), self.weight)
        with rl.no_grad():
            self.diagCov.fill_(1)

    def compute(self, input: Tensor, weight: Tensor, scales: Tensor) -> Tensor:
        rows = as_batch(self, input)
        difference = (rows.unsqueeze(2) - weight.unsqueeze(0)) * scales.unsqueeze(0)
        output = root(difference.square().sum(1), 2, 1e-7)
        return output if input.ndim == 2 else output.reshape((-1,))


@register("nn.Bilinear")
class Bilinear(Module):
    """x1 weight x2 + bias, for a table {x1, x2} of batches.

    Args:
        inputSize1, inputSize2: lengths of the vectors.
        outputSize: of the output.
        bias: False for none.
    """

    weight_dimensions = (3,)

    def __init__(
        self, inputSize1: int, inputSize2: int, outputSize: int, bias: bool | None = None
    ) -> None:
        super().__init__()
        self.weight = new_parameter(outputSize, inputSize1, inputSize2)
        self.gradWeight = new_parameter(outputSize, inputSize1, inputSize2)
        if bias is None or bias:
            self.bias = new_parameter(outputSize)
            self.gradBias = new_parameter(outputSize)
        self.gradInput = nested.table([new_empty(), new_empty()])
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        draw_uniform(uniform_bound(stdv, self.weight.shape[1]), self.weight, self.bias)

    def compute(self, input: Activation, weight: Tensor, bias: Tensor | None) -> Tensor:
        first, second = nested.elements(input)[:2]
        outputs, size1, size2 = weight.shape
        if first.ndim != 2 or first.shape[1] != size1 or second.shape[1] != size2:
            raise ValueError(
                f"{self}: expected a table of Nx{size1} and Nx{size2}, got {nested.describe(input)}"
            )
        # (samples, outputs, size2)
        half = rl.matmul(first, weight.transpose(0, 1).reshape((size1, outputs * size2)))
        output = (half.reshape((-1, outputs, size2)) * second.unsqueeze(1)).sum(2)
        return output if bias is None else output + bias

    def _accumulate(self, gradients: list, scale: float) -> None:
        # Torch7 ignores the scale for the weight.
        super()._accumulate([*gradients[:-1], None], 1)
        super()._accumulate([None] * (len(gradients) - 1) + gradients[-1:], scale)

    def __str__(self) -> str:
        outputs, size1, size2 = self.weight.shape
        without = "" if self.bias is not None else " without bias"
        return f"{self.torch_typename}({size1}x{size2} -> {outputs}) {without}"


@register("nn.CAddTensorTable")
class CAddTensorTable(TableLayer):
    """Adds a tensor to every tensor of a table: {tensor, table}."""

    def compute(self, input: Activation) -> Activation:
        tensor, values = self._elements(input, 2)[:2]
        return nested.table([value + tensor for value in nested.elements(values)])


@register("nn.GatedLinearUnit")
class GatedLinearUnit(Module):
    """One half of the input, times the sigmoid of the other.

    Args:
        dim: along which the halves lie, counted from 1; by default the last one.
    """

    parameter_names = ()
    dim: int | None = None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        if dim is not None:
            self.dim = dim

    def compute(self, input: Tensor) -> Tensor:
        dim = input.ndim - 1 if self.dim is None else self.dim - 1
        size = input.shape[dim]
        if size % 2:
            raise ValueError(
                f"{self}: the size along dimension {dim + 1} must be even, it is {size}"
            )
        first, second = input.narrow(dim, 0, size // 2), input.narrow(dim, size // 2, size // 2)
        return first * rl.sigmoid(second)
