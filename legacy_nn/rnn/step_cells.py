"""The cells of the last version of package rnn (torch/rnn): one module per step, with the weights
of SeqLSTM and SeqGRU."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.converters.table import Table
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.rnn.sequence_gru import run_gru
from relume.legacy_nn.rnn.sequence_lstm import run_lstm
from relume.legacy_nn.rnn.stateful import State, StatefulRecurrent
from relume.legacy_nn.types import new_parameter


class StepCell(Module):
    """The base of StepLSTM and StepGRU: {input, states before} -> states after."""

    gates = 1
    maskzero = False
    v2 = True
    inputsize: int
    hiddensize: int
    outputsize: int

    def _build(self, inputsize: int, hiddensize: int, outputsize: int) -> None:
        self.inputsize, self.outputsize = inputsize, outputsize
        rows, columns = inputsize + outputsize, self.gates * hiddensize
        self.weight = new_parameter(rows, columns)
        self.gradWeight = new_parameter(rows, columns)
        self.bias = new_parameter(columns)
        self.gradBias = new_parameter(columns)
        self.reset()

    def reset(self, std: float | None = None) -> Any:
        """Draws new weights, normal; biases are 0, those of the second gate 1."""
        outputs = int(self.outputsize)
        hidden = self.weight.shape[1] // self.gates
        with rl.no_grad():
            self.bias.zero_()
            self.bias.narrow(0, outputs, outputs).fill_(1)
            self.weight.normal_(0, std or 1 / math.sqrt(hidden + int(self.inputsize)))
        return self

    def maskZero(self, v1: bool | None = None) -> Any:
        """Lets samples of zeros set the states to zero.

        Args:
            v1: True to find them in the input; by default `setZeroMask` says which they are.
        """
        self.maskzero = True
        self.v2 = not v1
        return self

    def setZeroMask(self, zeroMask: Any) -> Any:
        self.zeroMask = zeroMask
        return self

    def _is_zero(self, input: Tensor) -> Tensor | None:
        """Per sample, as for a sequence of one step: do its states become zero?"""
        if not self.maskzero:
            return None
        mask: Any = self.__dict__.get("zeroMask")
        if self.v2 and mask is None:
            raise RuntimeError(f"{self}: setZeroMask comes before forward")
        if self.v2:
            return None if mask is False else mask.reshape((1, -1, 1)) != 0
        return (input.detach().square().sum(1) == 0).reshape((1, -1, 1))

    def _check(self, input: Activation, count: int) -> list[Tensor]:
        values = nested.elements(input) if nested.is_table(input) else []
        first = values[0] if len(values) == count else None
        if first is None or first.ndim != 2 or first.shape[1] != int(self.inputsize):
            raise ValueError(
                f"{self}: expected a table of {count}, the first of size "
                f"Nx{int(self.inputsize)}, got {nested.describe(input)}"
            )
        return values

    def __str__(self) -> str:
        return f"{self.torch_typename}({int(self.inputsize)} -> {int(self.outputsize)})"


@register("nn.StepLSTM")
class StepLSTM(StepCell):
    """One step of nn.SeqLSTM: {input, output before, cell before} -> {output, cell}.

    Args:
        inputsize: length of the input vectors.
        hiddensize: length of the cell.
        outputsize: length of the output, a projection of the hidden state; by default the hidden
            state itself.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> x, zeros = rl.ones(2, 3, dtype=rl.float64), rl.zeros(2, 4, dtype=rl.float64)
    >>> [y.shape for y in nn.StepLSTM(3, 4).forward([x, zeros, zeros])]
    [(2, 4), (2, 4)]
    """

    parameter_names = ("weight", "bias", "weightO")
    gates = 4
    weightO: Any = None

    def __init__(self, inputsize: int, hiddensize: int, outputsize: int | None = None) -> None:
        super().__init__()
        self.hiddensize = hiddensize
        if outputsize is not None:
            self.weightO = new_parameter(hiddensize, outputsize)
            self.gradWeightO = new_parameter(hiddensize, outputsize)
        self._build(inputsize, hiddensize, outputsize or hiddensize)

    def reset(self, std: float | None = None) -> Any:
        super().reset(std)
        if self.weightO is not None:
            with rl.no_grad():
                self.weightO.normal_(0, std or 1 / math.sqrt(sum(self.weightO.shape)))
        return self

    def compute(self, input: Activation, *parameters: Any) -> Activation:
        x, hidden, cell = self._check(input, 3)
        _, (cell, output) = run_lstm(x.unsqueeze(0), [cell, hidden], parameters, self._is_zero(x))
        return nested.table([output, cell])

    def __str__(self) -> str:
        if self.weightO is None:
            return super().__str__()
        sizes = (self.inputsize, self.hiddensize, self.outputsize)
        return f"{self.torch_typename}({' -> '.join(str(int(size)) for size in sizes)})"


@register("nn.StepGRU")
class StepGRU(StepCell):
    """One step of nn.SeqGRU: {input, output before} -> output.

    Args:
        inputsize: length of the input vectors.
        outputsize: length of the output vectors.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> x, zeros = rl.ones(2, 3, dtype=rl.float64), rl.zeros(2, 4, dtype=rl.float64)
    >>> nn.StepGRU(3, 4).forward([x, zeros]).shape
    (2, 4)
    """

    gates = 3

    def __init__(self, inputsize: int, outputsize: int) -> None:
        super().__init__()
        self._build(inputsize, outputsize, outputsize)

    def compute(self, input: Activation, *parameters: Any) -> Tensor:
        x, state = self._check(input, 2)
        return run_gru(x.unsqueeze(0), [state], parameters, self._is_zero(x))[1][0]


class CellRecurrent(StatefulRecurrent):
    """The base of RecLSTM and RecGRU: hands the states of a step cell on."""

    def _build(self, cell: StepCell) -> None:
        self.recurrentModule = cell
        self.modules = [cell]
        self.sharedClones[1] = cell
        self.inputsize, self.outputsize = cell.inputsize, cell.outputsize

    def setHiddenState(self, step: int | None, hiddenState: Any) -> None:
        """Sets the states after a step; step 0 is what every sequence begins with."""
        if self._place(step) == 0:
            self.setStartState(hiddenState)
        else:
            super().setHiddenState(step, hiddenState)

    def maskZero(self, v1: Any = None) -> Any:
        for cell in (self.recurrentModule, *self._copies()):
            cell.maskZero(v1)
        return self

    def __str__(self) -> str:
        return str(self.modules[0]).replace("nn.Step", "nn.Rec", 1)


@register("nn.RecLSTM")
class RecLSTM(CellRecurrent):
    """A StepLSTM that keeps its states from step to step.

    Args:
        inputsize, hiddensize, outputsize: as in `StepLSTM`.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.Sequencer(nn.RecLSTM(3, 4)).forward(rl.ones(5, 2, 3, dtype=rl.float64)).shape
    (5, 2, 4)
    """

    states = (
        State("outputs", "gradOutputs", zeros="zeroOutput", size="outputsize"),
        State("cells", "gradCells", zeros="zeroCell", size="hiddensize"),
    )

    def __init__(self, inputsize: int, hiddensize: int, outputsize: int | None = None) -> None:
        super().__init__()
        self.cells, self.gradCells = Table(), Table()
        self._build(StepLSTM(inputsize, hiddensize, outputsize))
        self.hiddensize = hiddensize


@register("nn.RecGRU")
class RecGRU(CellRecurrent):
    """A StepGRU that keeps its state from step to step.

    Args:
        inputsize, outputsize: as in `StepGRU`.
    """

    states = (State("outputs", "gradOutputs", zeros="zeroOutput", size="outputsize"),)

    def __init__(self, inputsize: int, outputsize: int) -> None:
        super().__init__()
        self._build(StepGRU(inputsize, outputsize))
