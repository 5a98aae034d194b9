"""Checks of modules against finite differences: Torch7's nn.Jacobian and nn.SparseJacobian."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor

STEP = 1e-6  # of finite differences


def _flat(tensor: Tensor) -> Tensor:
    return tensor.detach().reshape((-1,))


def backward(
    module: Any, input: Tensor, param: Tensor | None = None, dparam: Tensor | None = None
) -> Tensor:
    """The Jacobian that backward gives: rows are elements of the input (or of a parameter),
    columns elements of the output.

    Args:
        module: the module.
        input: the input.
        param: a parameter of the module; by default the input.
        dparam: its gradient.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.Jacobian.backward(nn.Square(), rl.tensor([1.0, 3.0], dtype=rl.float64)).tolist()
    [[2.0, 0.0], [0.0, 6.0]]
    """
    output = module.forward(input)
    jacobian = rl.zeros(
        ((input if param is None else param).numel(), output.numel()), dtype=output.dtype
    )
    for column in range(output.numel()):
        gradient = rl.zeros_like(output.detach())
        gradient.reshape((-1,))[column] = 1
        module.zeroGradParameters()
        found = module.updateGradInput(input, gradient)
        module.accGradParameters(input, gradient)
        jacobian[:, column] = _flat(found if dparam is None else dparam)
    return jacobian


def forward(
    module: Any, input: Tensor, param: Tensor | None = None, perturbation: float = STEP
) -> Tensor:
    """The Jacobian by central differences.

    Args:
        module: the module.
        input: the input; changed for a while.
        param: a parameter of the module; by default the input.
        perturbation: the step.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.Jacobian.forward(nn.Mul(), rl.ones(1, dtype=rl.float64)).shape
    (1, 1)
    """
    place = (input if param is None else param).detach()
    if not place.is_contiguous():
        raise ValueError("nn.Jacobian.forward needs a contiguous input or parameter")
    values, rows = place.reshape((-1,)), []
    for index in range(values.numel()):
        held = values[index].item()
        values[index] = held - perturbation
        below = _flat(module.forward(input)).clone()
        values[index] = held + perturbation
        above = _flat(module.forward(input)).clone()
        values[index] = held
        rows.append((above - below) / (2 * perturbation))
    return rl.stack(rows, 0)


def backwardUpdate(module: Any, input: Tensor, param: str) -> Tensor:
    """The Jacobian of a parameter that accUpdateGradParameters gives.

    Args:
        module: the module.
        input: the input.
        param: name of the parameter's field.
    """
    output = module.forward(input)
    parameter = getattr(module, param)
    columns = []
    for column in range(output.numel()):
        gradient = rl.zeros_like(output.detach())
        gradient.reshape((-1,))[column] = 1
        held = parameter.detach().clone()
        module.forward(input)
        module.updateGradInput(input, gradient)
        module.accUpdateGradParameters(input, gradient, 1)
        columns.append(_flat(held - parameter.detach()))
        with rl.no_grad():
            parameter.copy_(held)
    return rl.stack(columns, 1)


def _fill(tensor: Tensor, low: float, high: float) -> None:
    with rl.no_grad():
        tensor.uniform_(low, high)


def testJacobian(
    module: Any,
    input: Tensor,
    minval: float = -2,
    maxval: float = 2,
    perturbation: float = STEP,
) -> float:
    """The largest difference between the two Jacobians of the input, which is filled at random.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.Jacobian.testJacobian(nn.Tanh(), rl.zeros(4, dtype=rl.float64)) < 1e-7
    True
    """
    _fill(input, minval, maxval)
    difference = forward(module, input, None, perturbation) - backward(module, input)
    return difference.abs().amax().item()


def testJacobianParameters(
    module: Any,
    input: Tensor,
    param: Tensor,
    dparam: Tensor,
    minval: float = -2,
    maxval: float = 2,
    perturbation: float = STEP,
) -> float:
    """The same for a parameter, which is filled at random too.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> m = nn.Linear(3, 2)
    >>> x = rl.zeros(3, dtype=rl.float64)
    >>> nn.Jacobian.testJacobianParameters(m, x, m.weight, m.gradWeight) < 1e-7
    True
    """
    _fill(input, minval, maxval)
    _fill(param, minval, maxval)
    difference = forward(module, input, param, perturbation) - backward(
        module, input, param, dparam
    )
    return difference.abs().amax().item()


def testJacobianUpdateParameters(
    module: Any,
    input: Tensor,
    param: str,
    minval: float = -2,
    maxval: float = 2,
    perturbation: float = STEP,
) -> float:
    """The same for what accUpdateGradParameters does to the parameter with this name."""
    _fill(input, minval, maxval)
    parameter = getattr(module, param)
    _fill(parameter, minval, maxval)
    by_differences = forward(module, input, parameter, perturbation)
    return (by_differences - backwardUpdate(module, input, param)).abs().amax().item()


def testIO(
    module: Any, input: Tensor, minval: float = -2, maxval: float = 2
) -> tuple[float, float]:
    """How much output and gradInput differ after the module has been copied.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.Jacobian.testIO(nn.Linear(3, 2), rl.zeros(3, dtype=rl.float64))
    (0.0, 0.0)
    """
    _fill(input, minval, maxval)
    copy = rl.loads(rl.dumps(module))
    output = module.forward(input).detach().clone()
    gradient = rl.rand(*output.shape, dtype=output.dtype)
    own = module.updateGradInput(input, gradient).detach().clone()
    other_output = copy.forward(input).detach()
    other = copy.updateGradInput(input, gradient).detach()
    return (
        (output - other_output).abs().amax().item(),
        (own - other).abs().amax().item(),
    )


class Jacobian:
    """Torch7's table nn.Jacobian: functions that compare backward with finite differences."""

    backward = staticmethod(backward)
    forward = staticmethod(forward)
    backwardUpdate = staticmethod(backwardUpdate)
    testJacobian = staticmethod(testJacobian)
    testJacobianParameters = staticmethod(testJacobianParameters)
    testJacobianUpdateParameters = staticmethod(testJacobianUpdateParameters)
    testIO = staticmethod(testIO)


class SparseJacobian:
    """Torch7's table nn.SparseJacobian: the same for rows {index, value}, of which only the
    values change.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> rows = rl.tensor([[2.0, 0.5], [5.0, -1.0]], dtype=rl.float64)
    >>> nn.SparseJacobian.testJacobian(nn.SparseLinear(6, 3, True), rows) < 1e-7
    True
    """

    @staticmethod
    def forward(module: Any, input: Tensor, perturbation: float = STEP) -> Tensor:
        """The Jacobian of the values by central differences, one row per pair."""
        rows = []
        for pair in input.detach().unbind(0):
            held = pair[1].item()
            pair[1] = held - perturbation
            below = _flat(module.forward(input)).clone()
            pair[1] = held + perturbation
            above = _flat(module.forward(input)).clone()
            pair[1] = held
            rows.append((above - below) / (2 * perturbation))
        return rl.stack(rows, 0)

    @staticmethod
    def backward(module: Any, input: Tensor) -> Tensor:
        """The Jacobian of the values that backward gives."""
        output = module.forward(input)
        places = input.detach().select(1, 0).to(rl.int64) - 1
        columns = []
        for column in range(output.numel()):
            gradient = rl.zeros_like(output.detach())
            gradient.reshape((-1,))[column] = 1
            full = module.updateGradInput(input, gradient)
            columns.append(full.select(1, 1).index_select(0, places))
        return rl.stack(columns, 1)

    @staticmethod
    def testJacobian(module: Any, input: Tensor, minval: float = -2, maxval: float = 2) -> float:
        """The largest difference between the two; the values are filled at random."""
        _fill(input.detach().select(1, 1), minval, maxval)
        difference = SparseJacobian.forward(module, input) - SparseJacobian.backward(module, input)
        return difference.abs().amax().item()
