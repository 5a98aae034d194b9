"""Layers with a matrix or a vector of weights."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor, linear
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import long_storage, new_parameter, sizes_of
from relume.tensor.printing import size_text


def uniform_bound(stdv: float | None, fan_in: int) -> float:
    """Torch7 draws weights from uniform(-bound, bound): of this standard deviation, or
    1 / sqrt(fan_in)."""
    return 1 / math.sqrt(fan_in) if stdv is None else stdv * math.sqrt(3)


def draw_uniform(bound: float, *parameters: Tensor | None) -> None:
    """Fills parameters, in this order."""
    with rl.no_grad():
        for parameter in parameters:
            if parameter is not None:
                parameter.uniform_(-bound, bound)


@register("nn.Linear")
class Linear(Module):
    """y = weight x + bias, for a vector or a batch of vectors.

    Args:
        inputSize: length of the input vectors.
        outputSize: length of the output vectors.
        bias: False for none.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.Linear(3, 2).forward(rl.ones(5, 3, dtype=rl.float64)).shape
    (5, 2)
    """

    weight_dimensions = (2,)

    def __init__(self, inputSize: int, outputSize: int, bias: bool = True) -> None:
        super().__init__()
        self.weight = new_parameter(outputSize, inputSize)
        self.gradWeight = new_parameter(outputSize, inputSize)
        if bias or bias is None:
            self.bias = new_parameter(outputSize)
            self.gradBias = new_parameter(outputSize)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        draw_uniform(uniform_bound(stdv, self.weight.shape[1]), self.weight, self.bias)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        size = weight.shape[1]
        shape = input.shape if isinstance(input, Tensor) else ()
        if 1 <= len(shape) <= 2 and shape[-1] == size:
            return linear(input, weight, bias)
        raise ValueError(
            f"{self}: expected a vector of size {size} or a batch Nx{size}, "
            f"got {nested.describe(input)}"
        )

    def __str__(self) -> str:
        if self.weight.ndim != 2:  # damaged
            return self.torch_typename
        outputs, inputs = self.weight.shape
        without = "" if self.bias is not None else " without bias"
        return f"{self.torch_typename}({inputs} -> {outputs}){without}"


@register("nn.LinearNoBias")
class LinearNoBias(Linear):
    """y = weight x.

    Args:
        inputSize: length of the input vectors.
        outputSize: length of the output vectors.
    """

    def __init__(self, inputSize: int, outputSize: int) -> None:
        super().__init__(inputSize, outputSize, False)


@register("nn.Add")
class Add(Module):
    """Adds a learned vector (or one learned number).

    Args:
        inputSize: length of the vector.
        scalar: True for one number, added everywhere.
    """

    parameter_names = ("bias",)
    scalar = False

    def __init__(self, inputSize: int, scalar: bool = False) -> None:
        super().__init__()
        size = 1 if scalar else inputSize
        if scalar:
            self.scalar = True
        self.bias = new_parameter(size)
        self.gradBias = new_parameter(size)
        self._ones = new_parameter(1).fill_(1)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        draw_uniform(uniform_bound(stdv, self.bias.shape[0]), self.bias)

    def compute(self, input: Tensor, bias: Tensor) -> Tensor:
        if self.scalar:
            return input + bias
        if input.numel() == bias.numel():
            return input + bias.reshape(input.shape)
        return (input.reshape((input.shape[0], -1)) + bias).reshape(input.shape)


@register("nn.Mul")
class Mul(Module):
    """Multiplies by one learned number."""

    parameter_names = ("weight",)

    def __init__(self) -> None:
        super().__init__()
        self.weight = new_parameter(1)
        self.gradWeight = new_parameter(1)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        draw_uniform(uniform_bound(stdv, 1), self.weight)

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        return input * weight


def read_sizes(sizes: tuple) -> list[int]:
    """Sizes given one by one, or as one list or LongStorage."""
    return [int(n) for n in sizes] if isinstance(sizes[0], int) else sizes_of(sizes[0])


def match_sizes(layer: Module, input: Tensor, parameter: Tensor) -> tuple[Tensor, Tensor]:
    """Input and parameter in shapes that combine: as they are when they have as many
    dimensions (size 1 is repeated), else the parameter once per sample of the batch."""
    if input.ndim == parameter.ndim:
        return input, parameter
    if input.numel() == parameter.numel():
        return input, parameter.reshape(input.shape)
    if input.numel() != input.shape[0] * parameter.numel():
        size = size_text(parameter.shape)
        raise ValueError(f"{layer}: expected samples of size {size}, got {nested.describe(input)}")
    return input.reshape((input.shape[0], -1)), parameter.reshape((1, -1))


@register("nn.CMul")
class CMul(Module):
    """Multiplies every element of a sample by a learned number of its own.

    Args:
        *sizes: of the weights; size 1 is repeated over the input.
    """

    parameter_names = ("weight",)

    def __init__(self, *sizes: Any) -> None:
        super().__init__()
        shape = read_sizes(sizes)
        self.size = long_storage(shape)
        self.weight = new_parameter(*shape)
        self.gradWeight = new_parameter(*shape)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        draw_uniform(uniform_bound(stdv, self.weight.numel()), self.weight)

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        values, factors = match_sizes(self, input, weight)
        return (values * factors).reshape(input.shape)


@register("nn.CAdd")
class CAdd(Module):
    """Adds a learned number to every element of a sample.

    Args:
        *sizes: of the numbers; size 1 is repeated over the input.
    """

    parameter_names = ("bias",)

    def __init__(self, *sizes: Any) -> None:
        super().__init__()
        shape = read_sizes(sizes)
        self.size = long_storage(shape)
        self.bias = new_parameter(*shape)
        self.gradBias = new_parameter(*shape)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        draw_uniform(uniform_bound(stdv, self.bias.numel()), self.bias)

    def compute(self, input: Tensor, bias: Tensor) -> Tensor:
        values, summands = match_sizes(self, input, bias)
        return (values + summands).reshape(input.shape)
