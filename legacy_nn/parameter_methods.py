"""The parameters of a module and their gradients: lists of them, steps, one flat vector."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import flattening
from relume.legacy_nn.module_tree import ModuleTree

# What a parameter's gradient is called: weight -> gradWeight.
GRADIENT_NAMES = {"weight": "gradWeight", "bias": "gradBias"}


def gradient_name_of(parameter: str) -> str:
    """weight -> gradWeight"""
    return GRADIENT_NAMES.get(parameter) or f"grad{parameter[0].upper()}{parameter[1:]}"


@cache
def getter_of(names: tuple[str, ...]) -> Callable[[Any], Any]:
    """What takes the values of several attributes at once."""
    if any("." in name for name in names):  # of a Python module's inner ones: no path here
        return lambda module: [getattr(module, name) for name in names]
    return attrgetter(*names)


class ParameterMethods(ModuleTree):
    """What Torch7's modules do with their parameters."""

    __slots__ = ()

    parameter_names: tuple[str, ...]
    weight_dimensions: tuple[int, ...] = ()  # how many a weight has, where that is always so

    _record: Any

    def _own_parameters(self) -> list:
        names = self.parameter_names
        if len(names) == 2:  # mostly; `attrgetter` is fastest
            return [*getter_of(names)(self)]
        return [getattr(self, name) for name in names]

    def _gradient(self, name: str) -> Tensor:
        """Where the gradient of a parameter is added up; made when a file left it out."""
        fields = self.__dict__
        gradient_name = GRADIENT_NAMES.get(name) or gradient_name_of(name)
        parameter, gradient = getattr(self, name), fields.get(gradient_name)
        if gradient is None or gradient.shape != parameter.shape:
            gradient = fields[gradient_name] = rl.zeros_like(parameter.detach())
        return gradient

    def parameters(self) -> tuple[list[Tensor], list[Tensor]]:
        """The parameters and their gradients, two lists in Torch7's order.

        >>> from relume import legacy_nn as nn
        >>> params, grad_params = nn.Linear(3, 2).parameters()
        >>> [p.shape for p in params]
        [(2, 3), (2,)]
        """
        present = [name for name in self.parameter_names if getattr(self, name) is not None]
        return [getattr(self, name) for name in present], [self._gradient(n) for n in present]

    def getParameters(self) -> tuple[Tensor, Tensor]:
        """All parameters as one flat vector, and all gradients; the parameters become views.

        Memory shared between layers appears once. Calling it again, or on a part of the
        network, gives views of the same memory.

        >>> from relume import legacy_nn as nn
        >>> net = nn.Sequential().add(nn.Linear(3, 2)).add(nn.Linear(2, 1))
        >>> flat, grad_flat = net.getParameters()
        >>> flat.shape
        (11,)
        """
        for module in list(self.walk()):
            if isinstance(module, ParameterMethods):
                module.tie_clones()  # type: ignore[attr-defined]
        parameters, gradients = self.parameters()
        flat = flattening.flatten(parameters)
        flat_gradient = flattening.flatten(gradients)
        for parameter, gradient in zip(parameters, gradients, strict=False):
            if parameter.grad is not None:
                parameter.grad = gradient
        return flat, flat_gradient

    def zeroGradParameters(self) -> None:
        """Sets all gradients of parameters to zero."""
        for gradient in self.parameters()[1]:
            gradient.zero_()

    def updateParameters(self, learningRate: float) -> None:
        """Takes one gradient step: parameter = parameter - learningRate * gradient."""
        with rl.no_grad():
            for parameter, gradient in zip(*self.parameters(), strict=False):
                parameter.add_(gradient, alpha=-learningRate)

    def noBias(self) -> Any:
        """Drops the bias."""
        self.__dict__.pop("bias", None)
        self.__dict__.pop("gradBias", None)
        self._record = None
        return self
