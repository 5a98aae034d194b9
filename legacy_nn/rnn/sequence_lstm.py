"""LSTM layers that take a whole sequence."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn.registry import register
from relume.legacy_nn.rnn.lstm import FastLSTM
from relume.legacy_nn.rnn.sequence_layers import CELL, OUTPUT, SequenceLayer
from relume.legacy_nn.types import new_empty, new_parameter
from relume.tensor.serialization import find_op_function

# The fused layer itself: it gives the cells of all steps too.
LSTM_LAYER: Callable[..., Any] = find_op_function("lstm_layer", 0)
# Added to a gate, it shuts it whatever the weights say.
SHUT = -1e30


@register("nn.SeqLSTM")
class SeqLSTM(SequenceLayer):
    """An LSTM without peepholes over a whole sequence, time x batch x features.

    `weight` is (inputs + outputs) x (4 * hidden); gates come in the order input, forget, output,
    write. The input may also be a table {c0, h0, sequence} or {h0, sequence}.

    Args:
        inputsize: length of the input vectors.
        hiddensize: length of the cell.
        outputsize: length of the output vectors: a projection of the hidden state (Sak et al.,
            2014) with the weight `weightO`. By default the hidden state itself.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> x = rl.ones(5, 2, 3, dtype=rl.float64)
    >>> nn.SeqLSTM(3, 4).forward(x).shape
    (5, 2, 4)
    """

    parameter_names = ("weight", "bias", "weightO")
    states = (CELL, OUTPUT)
    weightO: Any = None

    def __init__(self, inputsize: int, hiddensize: int, outputsize: int | None = None) -> None:
        super().__init__()
        if outputsize is not None:
            self.weightO = new_parameter(hiddensize, outputsize)
            self.gradWeightO = new_parameter(hiddensize, outputsize)
        self.inputsize = inputsize
        self.hiddensize = hiddensize
        self.outputsize = hiddensize if outputsize is None else outputsize
        rows, columns = inputsize + self.outputsize, 4 * hiddensize
        self.weight = new_parameter(rows, columns)
        self.gradWeight = new_parameter(rows, columns)
        self.bias = new_parameter(columns)
        self.gradBias = new_parameter(columns)
        self.reset()
        self.cell = new_empty()

    def sizes(self) -> tuple[int, ...]:
        # Files of the first version have no hiddensize: it was the outputsize.
        hidden = self.__dict__.get("hiddensize") or self.outputsize
        return int(self.inputsize), int(hidden), int(self.outputsize)

    def run(
        self, sequence: Tensor, first: list[Tensor], *parameters: Any
    ) -> tuple[list[Tensor], list[Tensor]]:
        is_zero = self._is_zero(sequence) if self.maskzero else None
        return run_lstm(sequence, first, parameters, is_zero)

    def _draw_weights(self, inputs: int, outputs: int, std: float | None) -> None:
        hidden = self.sizes()[1]
        self.weight.normal_(0, std or 1 / math.sqrt(hidden + inputs))
        if self.weightO is not None:
            self.weightO.normal_(0, std or 1 / math.sqrt(outputs + hidden))

    def toFastLSTM(self) -> FastLSTM:
        """An nn.FastLSTM with the same parameters and gradients."""
        inputs, hidden, _ = self.sizes()
        cell = FastLSTM(inputs, hidden)
        cell.type(self.weight.torch_typename)
        targets = cell.parameters()
        for (weight, bias, recurrent), kind in zip(targets, ("weight", "gradWeight"), strict=True):
            source = in_order(getattr(self, kind), 1, hidden, (0, 3, 1, 2)).t()
            name = "bias" if kind == "weight" else "gradBias"
            with rl.no_grad():
                weight.copy_(source[:, :inputs])
                recurrent.copy_(source[:, inputs:])
                bias.copy_(in_order(getattr(self, name), 0, hidden, (0, 3, 1, 2)))
        return cell


def in_order(parameter: Tensor, dim: int, size: int, order: tuple[int, ...]) -> Tensor:
    """The parts of a parameter for the gates (each `size` long along `dim`) in another order."""
    return rl.cat([parameter.narrow(dim, gate * size, size) for gate in order], dim)


def run_lstm(
    sequence: Tensor, first: list[Tensor], parameters: tuple, is_zero: Tensor | None
) -> tuple[list[Tensor], list[Tensor]]:
    """An LSTM with the weights of nn.SeqLSTM.

    Args:
        sequence: time x batch x inputs.
        first: cell and output before the first step.
        parameters: weight, bias and, where the output is a projection, its weight (or None).
        is_zero: time x batch x 1: where states become zero.

    Returns:
        Cells and outputs of all steps, and those of the last one. Where the output is a
        projection, the cells are those of the last step alone.
    """
    weight, bias, *projection = parameters
    if sequence.dtype == weight.dtype == rl.float16:
        return run_half_lstm(sequence, first, parameters, is_zero)
    cell, hidden = first
    inputs, size = sequence.shape[2], cell.shape[1]
    weight = in_order(weight, 1, size, (0, 1, 3, 2)).t()  # as rl.lstm has them
    bias = in_order(bias, 0, size, (0, 1, 3, 2))
    from_input, from_output = weight[:, :inputs], weight[:, inputs:]
    if is_zero is not None:
        sequence, from_input = with_shutter(sequence, from_input, is_zero)
    if projection and projection[0] is not None:
        weights = [from_input, from_output, bias, rl.zeros_like(bias), projection[0].t()]
        states = [hidden.unsqueeze(0), cell.unsqueeze(0)]
        output, last_output, last_cell = rl.lstm(sequence, states, weights)
        return [last_cell, output], [last_cell[0], last_output[0]]
    time, batch = sequence.shape[:2]
    rows, sizes = sequence.reshape((time * batch, sequence.shape[2])), [batch] * time
    output, last_output, last_cell, _, cells = LSTM_LAYER(
        rows, hidden, cell, from_input, from_output, bias, None, sizes, False
    )
    shape = (time, batch, size)
    cells = cells.narrow(0, 0, time * batch)
    return [cells.reshape(shape), output.reshape(shape)], [last_cell, last_output]


def run_half_lstm(
    sequence: Tensor, first: list[Tensor], parameters: tuple, is_zero: Tensor | None
) -> tuple[list[Tensor], list[Tensor]]:
    """`run_lstm` in float32, for which there is a kernel, with results in float16."""
    wide = [p if p is None else p.to(rl.float32) for p in parameters]
    states = [state.to(rl.float32) for state in first]
    steps, last = run_lstm(sequence.to(rl.float32), states, tuple(wide), is_zero)
    return [step.to(rl.float16) for step in steps], [state.to(rl.float16) for state in last]


def with_shutter(sequence: Tensor, weight: Tensor, is_zero: Tensor) -> tuple[Tensor, Tensor]:
    """Sequence and weight with one more input: 1 where states become zero, which shuts the gates
    for input, forget and output there."""
    size = weight.shape[0] // 4
    shutter = rl.full((4 * size, 1), SHUT, dtype=weight.dtype)
    shutter.narrow(0, 2 * size, size).zero_()  # what is written is no gate
    return rl.cat([sequence, is_zero.to(sequence.dtype)], 2), rl.cat([weight, shutter], 1)


@register("nn.SeqLSTMP")
class SeqLSTMP(SeqLSTM):
    """A SeqLSTM whose output is a projection of the hidden state.

    Args:
        inputsize: length of the input vectors.
        hiddensize: length of the cell.
        outputsize: length of the output vectors.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.SeqLSTMP(3, 8, 2).forward(rl.ones(5, 2, 3, dtype=rl.float64)).shape
    (5, 2, 2)
    """

    def __init__(self, inputsize: int, hiddensize: int, outputsize: int) -> None:
        super().__init__(inputsize, hiddensize, outputsize)

    def toFastLSTM(self) -> FastLSTM:
        raise AttributeError("nn.SeqLSTMP has no counterpart that takes one step")
