"""Weights as a direction and a length (Salimans and Kingma 2016, "Weight Normalization")."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.container import Decorator
from relume.legacy_nn.linear import draw_uniform, uniform_bound
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.tied_gradients import tie_gradient
from relume.legacy_nn.types import long_storage, new_empty, new_parameter, sizes_of


def row_norms(rows: Tensor, eps: float) -> Tensor:
    """sqrt(sum of squares + eps) of every row, as a column."""
    return (rows.square().sum(1, keepdim=True) + eps).sqrt()


@register("nn.LinearWeightNorm")
class LinearWeightNorm(Module):
    """y = weight x + bias, where every row of the weight is g v / |v|.

    Args:
        inputSize: length of the input vectors.
        outputSize: length of the output vectors.
        bias: False for none.
        eps: added to the squared norm of v, by default 1e-16.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> layer = nn.LinearWeightNorm(3, 2)
    >>> layer.forward(rl.ones(5, 3, dtype=rl.float64)).shape, layer.g.shape
    ((5, 2), (2, 1))
    """

    parameter_names = ("v", "g", "bias")
    buffer_names = ("weight", "norm", "scale")
    v: Any = None
    g: Any = None
    eps = 1e-16

    def __init__(
        self, inputSize: int, outputSize: int, bias: bool | None = None, eps: float | None = None
    ) -> None:
        super().__init__()
        self.eps = 1e-16 if eps is None else eps
        self.outputSize = outputSize
        self.inputSize = inputSize
        self.v = new_parameter(outputSize, inputSize)
        self.gradV = new_parameter(outputSize, inputSize)
        self.weight = new_parameter(outputSize, inputSize)
        self.g = new_parameter(outputSize, 1)
        self.gradG = new_parameter(outputSize, 1)
        self.norm = new_parameter(outputSize, 1)
        self.scale = new_parameter(outputSize, 1)
        if bias is None or bias:
            self.bias = new_parameter(outputSize)
            self.gradBias = new_parameter(outputSize)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        weight = new_parameter(self.outputSize, self.inputSize)
        draw_uniform(uniform_bound(stdv, self.inputSize), weight, self.bias)
        self.initFromWeight(weight)

    def initFromWeight(self, weight: Tensor | None = None) -> LinearWeightNorm:
        """Sets v and g so that the weight is this one; by default the present weight."""
        weight = self.weight if weight is None else weight
        with rl.no_grad():
            self.v.copy_(weight)
            self.g.copy_(row_norms(weight, 0).clamp(self.eps))
        self.updateWeightMatrix()
        return self

    def updateWeightMatrix(self) -> None:
        """Computes the fields `weight`, `norm` and `scale` from v and g."""
        self._weight_of(self.v.detach(), self.g.detach())

    def _weight_of(self, v: Tensor, g: Tensor) -> Tensor:
        norm = row_norms(v, self.eps)
        scale = g / norm
        weight = v * scale
        self.norm, self.scale, self.weight = norm.detach(), scale.detach(), weight.detach()
        return weight

    def compute(self, input: Tensor, v: Tensor, g: Tensor, bias: Tensor | None) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim not in (1, 2):
            raise ValueError(
                f"{self}: expected a vector of size {self.inputSize} or a batch, "
                f"got {nested.describe(input)}"
            )
        return rl.linear(input, self._weight_of(v, g), bias)

    def _accumulate(self, gradients: list, scale: float) -> None:
        # Torch7 overwrites the gradients of v and g; only that of the bias adds up.
        for name, gradient in zip(("v", "g"), gradients[-3:-1], strict=True):
            if gradient is not None:
                self._gradient(name).copy_(gradient * scale)
        super()._accumulate([*gradients[:-3], None, None, gradients[-1]], scale)

    def evaluate(self) -> Any:
        self.updateWeightMatrix()
        return super().evaluate()

    def __str__(self) -> str:
        without = "" if self.bias is not None else " without bias"
        return f"{self.torch_typename}({self.inputSize} -> {self.outputSize}){without}"


@register("nn.WeightNorm")
class WeightNorm(Decorator):
    """A module whose weight is g v / |v|, row by row.

    Args:
        module: a module with a `weight`.
        outputDim: dimension of the weight that counts the outputs, from 1; by default 1.

    >>> from relume import legacy_nn as nn
    >>> nn.WeightNorm(nn.Linear(4, 3))
    nn.WeightNorm @ nn.Linear(4 -> 3)
    """

    eps = 1e-4  # added to the squared norm of v

    def __init__(self, module: Any, outputDim: int | None = None) -> None:
        super().__init__(module)
        self.outputDim = outputDim or 1
        weight = module.weight.detach()
        outputs = weight.shape[self.outputDim - 1]
        self.otherDims = weight.numel() // outputs
        self.weightSize = long_storage(weight.shape)
        self.viewOut = long_storage(self._swapped(weight).shape)
        self.viewIn = long_storage((outputs, self.otherDims))
        self.v = new_parameter(outputs, self.otherDims)
        self.g = new_parameter(outputs, 1)
        self.gradV = new_parameter(*sizes_of(self.viewOut))
        self.gradG = new_parameter(outputs, 1)
        if module.bias is not None:
            self.bias = module.bias
            self.gradBias = module.gradBias
        self.reset()

    def _swapped(self, weight: Tensor) -> Tensor:
        return weight.transpose(0, self.outputDim - 1)

    def _rows(self, weight: Tensor) -> Tensor:
        """A weight of the module as a matrix, one row per output."""
        return self._swapped(weight).reshape((weight.shape[self.outputDim - 1], -1))

    def _weight_of(self, v: Tensor, g: Tensor) -> Tensor:
        norm = row_norms(v, self.eps)
        scale = g / norm
        self._norm, self._scale = norm.detach(), scale.detach().reshape((-1,))
        return self._swapped((v * scale).reshape(tuple(sizes_of(self.viewOut)))).contiguous()

    def _set_weight(self) -> None:
        module = self.modules[0]
        weight = self._weight_of(self.v.detach(), self.g.detach())
        if module.__dict__.get("weight") is None:
            # Files leave it out. Torch7 begins with these gradients, until they are zeroed.
            module.weight, module.gradWeight = weight, weight.clone()
            return
        with rl.no_grad():
            module.weight.copy_(weight)

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        super()._load_fields(fields, version)
        self.gradV = reshaped_or_zeros(self.gradV, tuple(sizes_of(self.viewOut)))
        self.gradG = reshaped_or_zeros(self.gradG, self.g.shape)
        self._set_weight()

    def _save_fields(self) -> dict:
        """A file has the module without its weight, which follows from v and g."""
        module = self.modules[0]
        cls: Any = type(module)
        bare = cls.__new__(cls)
        bare.__dict__.update(module.__dict__)
        for name in ("weight", "gradWeight"):
            bare.__dict__.pop(name, None)
        return {**super()._save_fields(), "modules": [bare]}

    def reset(self, stdv: float | None = None) -> None:
        """Draws new directions; the lengths become those of what was drawn, the bias zero."""
        with rl.no_grad():
            self.v.normal_(0, math.sqrt(2 / self.otherDims) if stdv is None else stdv)
            self.g.copy_(row_norms(self.v, 0))
            if self.modules[0].bias is not None:
                self.modules[0].bias.zero_()
        self._set_weight()

    resetInit = reset

    def parameters(self) -> tuple[list, list]:
        parameters, gradients = [self.v, self.g], [self.gradV, self.gradG]
        module = self.modules[0]
        if module.bias is not None:
            parameters.append(module.bias)
            gradients.append(module.gradBias)
        return parameters, gradients

    def zeroGradParameters(self) -> None:
        for gradient in self.parameters()[1]:
            gradient.zero_()
        self.modules[0].zeroGradParameters()

    def updateParameters(self, learningRate: float) -> None:
        with rl.no_grad():
            for parameter, gradient in zip(*self.parameters(), strict=True):
                parameter.add_(gradient.reshape(parameter.shape), alpha=-learningRate)

    def compute(self, input: Activation) -> Activation:
        parameters, gradients = self.parameters()
        for parameter, gradient in zip(parameters, gradients, strict=True):
            if parameter.grad is None:
                tie_gradient(
                    parameter, gradient.reshape(parameter.shape), self._gradients_from_file
                )
        self._gradients_from_file = False
        module = self.modules[0]
        rest = [
            parameter
            for name, parameter in zip(module.parameter_names, module._leaves(), strict=True)
            if name != "weight"
        ]
        place = module.parameter_names.index("weight")
        rest.insert(place, self._weight_of(self.v, self.g))
        return module.compute(input, *rest)

    def updateOutput(self, input: Activation) -> Activation:
        if self.train:
            self._set_weight()
        return super().updateOutput(input)

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        super().accGradParameters(input, gradOutput, scale)
        gradient = self._rows(self.modules[0].gradWeight)
        norm = row_norms(self.v.detach(), self.eps)
        factor = self.g.detach() / norm
        with rl.no_grad():
            along = (gradient * self.v).sum(1, keepdim=True) / norm
            self.gradG.copy_(along)
            change = gradient * factor - self.v * (along * factor / norm)
            self.gradV.copy_(change.reshape(self.gradV.shape))

    def evaluate(self) -> Any:
        if self.train:
            self._set_weight()
        return super().evaluate()

    def clearState(self) -> Any:
        self._norm = self._scale = new_empty(self._type)
        return super().clearState()


def reshaped_or_zeros(gradient: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A gradient of a file; zeros where the file left it out."""
    if gradient.numel() == 0:
        return rl.zeros(shape, dtype=gradient.dtype)
    return gradient.reshape(shape)
