"""Diagonals of second derivatives as Torch7's nn.hessian takes them: a backward pass of its own.

Where a layer is linear, squared weights (and squared inputs, for the parameters) pass the
diagonal on; where it works on every element, squared derivatives do. What the layers do to the
curvature itself is left out (the Gauss-Newton approximation of Y. LeCun et al., "Efficient
BackProp", 1998).
"""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import flattening

# Layers whose output is linear in the input, and in the weights.
LINEAR = frozenset(
    """Linear LinearNoBias SpatialConvolution SpatialConvolutionMM SpatialConvolutionLocal
    SpatialConvolutionMap SpatialDilatedConvolution SpatialDepthWiseConvolution
    SpatialFullConvolution SpatialFullConvolutionMap SpatialSubSampling TemporalConvolution
    TemporalSubSampling VolumetricConvolution VolumetricFullConvolution Add CAdd Mul
    CMul""".split()
)
# Layers that only choose or move elements: each element of the output is one of the input.
MOVING = frozenset(
    """Contiguous Identity Narrow Reshape Select Squeeze Transpose Unsqueeze View
    SpatialMaxPooling SpatialZeroPadding TemporalMaxPooling VolumetricMaxPooling""".split()
)


def diagonal_name_of(parameter: str) -> str:
    """weight -> diagHessianWeight"""
    return f"diagHessian{parameter[0].upper()}{parameter[1:]}"


def _name_of(module: Any) -> str:
    return module.torch_typename.rpartition(".")[2]


def _present(module: Any) -> list[str]:
    return [name for name in module.parameter_names if getattr(module, name) is not None]


def _unknown(module: Any) -> NotImplementedError:
    return NotImplementedError(
        f"{module.torch_typename}: nn.hessian knows no rule for this class. It knows "
        "nn.Sequential, nn.MSECriterion, and layers that are linear, work on every element or "
        "move elements; for others write updateDiagHessianInput(self, input, diagHessianOutput)"
    )


class DiagonalHessian:
    """The methods of nn.hessian that every module has; `Module` inherits them.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> net = nn.Linear(2, 1, False)
    >>> net.initDiagHessianParameters()
    >>> x = rl.tensor([2.0, 3.0], dtype=rl.float64)
    >>> net.accDiagHessianParameters(x, rl.ones(1, dtype=rl.float64))
    >>> net.diagHessianWeight.tolist()
    [[4.0, 9.0]]
    """

    __slots__ = ()

    def initDiagHessianParameters(self) -> None:
        """Makes diagHessianWeight, diagHessianBias, ... of zeros in all modules."""
        module: Any = self
        for child in module.children():
            child.initDiagHessianParameters()
        for name in _present(module):
            zeros = rl.zeros_like(getattr(module, name).detach())
            setattr(module, diagonal_name_of(name), zeros)

    def diagHessianParameters(self) -> list[Tensor]:
        """The diagonals in the order of `parameters()`: Torch7's third result of it.

        >>> from relume import legacy_nn as nn
        >>> net = nn.Linear(2, 1)
        >>> net.initDiagHessianParameters()
        >>> [h.shape for h in net.diagHessianParameters()]
        [(1, 2), (1,)]
        """
        module: Any = self
        own = [self._diagonal(name) for name in _present(module)]
        return own + [h for child in module.children() for h in child.diagHessianParameters()]

    def _diagonal(self, name: str) -> Tensor:
        diagonal = vars(self).get(diagonal_name_of(name))
        if diagonal is None:
            typename = self.torch_typename  # type: ignore[attr-defined]
            raise ValueError(f"{typename}: call initDiagHessianParameters() first")
        return diagonal

    def updateDiagHessianInput(self, input: Tensor, diagHessianOutput: Tensor) -> Tensor:
        """The diagonal for the input, from that for the output of the last `forward`.

        Args:
            input: what `forward` was given.
            diagHessianOutput: second derivatives of the loss, in the shape of the output.

        Raises:
            NotImplementedError: a class without a rule.
        """
        module: Any = self
        module.diagHessianInput = _of_input(module, input, diagHessianOutput)
        return module.diagHessianInput

    def accDiagHessianParameters(self, input: Tensor, diagHessianOutput: Tensor) -> None:
        """Adds the diagonals of the parameters to diagHessianWeight, diagHessianBias, ..."""
        module: Any = self
        names = _present(module)
        if not names:
            return
        if _name_of(module) not in LINEAR:
            raise _unknown(module)
        with rl.enable_grad():
            parameters = [
                None if value is None else value.detach().requires_grad_(True)
                for value in (getattr(module, name) for name in module.parameter_names)
            ]
            output = module.compute(input.detach().square(), *parameters)
            wanted = [p for p in parameters if p is not None]
            gradients = rl.grad([output], wanted, [diagHessianOutput], allow_unused=True)
        for name, gradient in zip(names, gradients, strict=True):
            if gradient is not None:
                self._diagonal(name).add_(gradient)

    def backwardDiagHessian(self, input: Tensor, diagHessianOutput: Tensor) -> Tensor:
        """`updateDiagHessianInput`, then `accDiagHessianParameters`."""
        diagHessianInput = self.updateDiagHessianInput(input, diagHessianOutput)
        self.accDiagHessianParameters(input, diagHessianOutput)
        return diagHessianInput


def _of_input(module: Any, input: Tensor, diagonal: Tensor) -> Tensor:
    """The rule of a layer: squared weights, squared derivatives, or the gradient as it is."""
    from relume.legacy_nn.pointwise import PointWise

    name = _name_of(module)
    if name in LINEAR:
        values = [getattr(module, parameter) for parameter in module.parameter_names]
        return _gradient(module, input, diagonal, *map(_square, values))
    if name in MOVING:
        return _gradient(module, input, diagonal)
    if isinstance(module, PointWise):
        slopes = _gradient(module, input, rl.ones(tuple(diagonal.shape), dtype=input.dtype))
        return slopes.square() * diagonal.reshape(slopes.shape)
    raise _unknown(module)


def _square(parameter: Tensor | None) -> Tensor | None:
    return None if parameter is None else parameter.detach().square()


def _gradient(module: Any, input: Tensor, gradient: Tensor, *parameters: Any) -> Tensor:
    """The gradient of the input, as if the module had these parameters."""
    with rl.enable_grad():
        place = input.detach().requires_grad_(True)
        output = module.compute(place, *parameters)
    (found,) = rl.grad([output], [place], [gradient.reshape(output.shape)])
    return rl.zeros_like(input) if found is None else found


def getParameters(module: Any) -> tuple[Tensor, Tensor, Tensor]:
    """`module.getParameters()`, and all diagonals as one flat vector: what it gives in Torch7
    after nn.hessian.enable().

    >>> from relume import legacy_nn as nn
    >>> flat, grad_flat, diagonal = nn.hessian.getParameters(nn.Linear(3, 2))
    >>> diagonal.shape
    (8,)
    """
    flat, flat_gradient = module.getParameters()
    module.initDiagHessianParameters()
    return flat, flat_gradient, flattening.flatten(module.diagHessianParameters())


class hessian:
    """Torch7's table nn.hessian. Modules have its methods from the start.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.hessian.enable()
    >>> c, x = nn.MSECriterion(), rl.zeros(2, dtype=rl.float64)
    >>> c.updateDiagHessianInput(x, rl.ones(2, dtype=rl.float64)).tolist()
    [1.0, 1.0]
    """

    getParameters = staticmethod(getParameters)

    @staticmethod
    def enable() -> None:
        """Does nothing: in Torch7 it adds the methods that are here already."""
