"""A whole step of a standard cell as one function on the tape: fast, and without clones.

A cell that is still built as its constructor builds it computes a known function of its
parameters. In training each step then keeps one small tape instead of a clone of the cell's
thirty modules. Cells that were changed, decorated or watched run as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module, derived
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import lookup
from relume.legacy_nn.tied_gradients import add_all, tie_gradient


def fast_lstm(x: Tensor, before: Tensor, cell: Tensor, *parameters: Tensor) -> list[Tensor]:
    """One step of nn.FastLSTM: output and cell."""
    weight, bias, recurrent = parameters
    sums = rl.linear(x, weight, bias) + rl.linear(before, recurrent)
    input, write, forget, output = sums.split(cell.shape[-1], -1)
    cell = rl.sigmoid(forget) * cell + rl.sigmoid(input) * rl.tanh(write)
    return [rl.sigmoid(output) * rl.tanh(cell), cell]


def lstm(x: Tensor, before: Tensor, cell: Tensor, *parameters: Tensor) -> list[Tensor]:
    """One step of nn.LSTM, with peepholes or without: output and cell."""
    remaining = iter(parameters)
    has_peepholes = len(parameters) == 15

    def sums() -> Tensor:
        return rl.linear(x, next(remaining), next(remaining)) + rl.linear(before, next(remaining))

    def gate(cell: Tensor) -> Tensor:
        own = sums()
        return rl.sigmoid(own + next(remaining) * cell if has_peepholes else own)

    kept = gate(cell) * cell
    cell = kept + gate(cell) * rl.tanh(sums())
    return [gate(cell) * rl.tanh(cell), cell]


def gru(x: Tensor, before: Tensor, *parameters: Tensor) -> list[Tensor]:
    """One step of nn.GRU: the output."""
    weight, bias, recurrent, write_weight, write_bias, write_recurrent = parameters
    sums = rl.sigmoid(rl.linear(x, weight, bias) + rl.linear(before, recurrent))
    reset, update = sums.split(before.shape[-1], -1)
    from_input = rl.linear(x, write_weight, write_bias)
    written = rl.tanh(from_input + rl.linear(reset * before, write_recurrent))
    return [written + update * (before - written)]


# The function of a step, by the class of the cell.
FUNCTIONS: dict[str, Callable[..., list[Tensor]]] = {
    "nn.FastLSTM": fast_lstm,
    "nn.LSTM": lstm,
    "nn.GRU": gru,
}


class FusedStep(Module):
    """One step of a cell: {input, states before} -> output, or {output, further states}.

    Its parameters are those of the cell.
    """

    __slots__ = ("cell", "function", "own")
    parameter_names = ()

    def __init__(self, cell: Any, function: Callable[..., list[Tensor]], own: Any = None) -> None:
        self.cell = cell
        self.function = function
        self.own = cell.recurrentModule.parameters() if own is None else own
        self._type = cell._type
        self.torch_typename = cell.torch_typename

    def next(self) -> FusedStep:
        """The step after this one."""
        return FusedStep(self.cell, self.function, self.own)

    def compute(self, input: Activation, *parameters: Any) -> Activation:
        x, *before = nested.elements(input)
        size = int(self.cell.inputSize)
        if not isinstance(x, Tensor) or x.ndim not in (1, 2) or x.shape[-1] != size:
            raise ValueError(
                f"{self}: expected a vector of size {size} or a batch Nx{size}, "
                f"got {nested.describe(x)}"
            )
        expected = (*x.shape[:-1], int(self.cell.outputSize))
        wrong = [state for state in before if tuple(state.shape) != expected]
        if wrong:
            raise ValueError(
                f"{self}: the step before left a state that does not fit this input "
                f"({nested.describe(wrong[0])}): call forget() before a batch of another size"
            )
        after = self.function(x, *before, *parameters)
        return after[0] if len(after) == 1 else nested.table(after)

    def parameters(self) -> tuple[list[Tensor], list[Tensor]]:
        return self.own

    def _own_parameters(self) -> list:
        return list(self.own[0])

    def _leaves(self) -> list:
        for parameter, gradient in zip(*self.own, strict=True):
            if parameter.grad is None:
                tie_gradient(parameter, gradient, self.cell._gradients_from_file)
        self.cell._gradients_from_file = False
        return self._own_parameters()

    def _accumulate(self, gradients: list, scale: float) -> None:
        self.cell._gradients_from_file = False
        add_all(self.own[1], gradients, scale)

    @derived
    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        self._accumulate(self._differentiate(input, gradOutput, False, True), scale)

    def accUpdateGradParameters(self, input: Activation, gradOutput: Activation, lr: float) -> None:
        add_all(self.own[0], self._differentiate(input, gradOutput, False, True), -lr)

    def __str__(self) -> str:
        return str(self.cell)


class EvaluatedStep(FusedStep):
    """A step in evaluation: without a tape, it remembers what it was given.

    In Torch7 the module of a cell runs all steps of an evaluation, so that a backward call for
    any of them finds what the last step left behind; `replay` brings that about.
    """

    __slots__ = ("given",)

    def next(self) -> EvaluatedStep:
        return EvaluatedStep(self.cell, self.function, self.own)

    def updateOutput(self, input: Activation) -> Activation:
        x, *before = nested.elements(input)
        self.given = [x, *(state.clone() for state in before)]
        with rl.no_grad():
            return self.compute(input, *self.own[0])

    def replay(self, before: list[Tensor]) -> None:
        """Runs the step again in the module of the cell.

        Args:
            before: the tensors of the states before the step; they hold those after it now, as
                Torch7's do, and will again.
        """
        after = [state.clone() for state in before]
        self._fill(before, self.given[1:])
        self.cell.recurrentModule.forward([self.given[0], *before])
        self._fill(before, after)

    @staticmethod
    def _fill(targets: list[Tensor], values: list[Tensor]) -> None:
        for target, value in zip(targets, values, strict=True):
            target.copy_(value)


def fused_step(cell: Any) -> FusedStep | None:
    """A step of a cell as one function; None when the cell is not as its constructor makes it."""
    function = FUNCTIONS.get(cell.torch_typename)
    if function is None or cell.p or not is_standard(cell):
        return None
    return FusedStep(cell, function) if cell.train else EvaluatedStep(cell, function)


def is_standard(cell: Any) -> bool:
    """Is a cell built of the modules, all as they are, that its constructor makes?"""
    module = cell.recurrentModule
    own = [module] if not isinstance(module, Module) else list(module.walk())
    has_peepholes = bool(cell.__dict__.get("cell2gate", True))
    typename = cell.torch_typename
    if lookup(typename) is not type(cell):
        return False
    expected = standard_modules(typename, has_peepholes)
    return [type(part) for part in own] == expected and not any(map(is_changed, own))


def is_changed(module: Module) -> bool:
    """Was a method of this object replaced, or does it drop anything?"""
    is_replaced = module._lua_functions is not None or "updateOutput" in module.__dict__
    return is_replaced or bool(module.__dict__.get("p"))


@cache
def standard_modules(typename: str, has_peepholes: bool) -> list[type]:
    """The classes of the modules that the constructor of a cell makes."""
    cls: Any = lookup(typename)
    state = rl.get_rng_state()
    try:
        sizes = (1, 1, None, has_peepholes) if typename == "nn.LSTM" else (1, 1)
        return [type(module) for module in cls(*sizes).recurrentModule.walk()]
    finally:
        rl.set_rng_state(state)
