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
        outputsize: length of the output vectors, by default as long as the cell.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> x = rl.ones(5, 2, 3, dtype=rl.float64)
    >>> nn.SeqLSTM(3, 4).forward(x).shape
    (5, 2, 4)
    """

    states = (CELL, OUTPUT)

    def __init__(self, inputsize: int, hiddensize: int, outputsize: int | None = None) -> None:
        super().__init__()
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

    def _weights(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Weights for input and output before, and bias, in the gate order of rl.lstm."""
        inputs, hidden, _ = self.sizes()
        weight = in_order(weight, 1, hidden, (0, 1, 3, 2)).t()
        return weight[:, :inputs], weight[:, inputs:], in_order(bias, 0, hidden, (0, 1, 3, 2))

    def _masked(self, sequence: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        """With one more input, which is 1 for samples of zeros and shuts their gates."""
        hidden = self.sizes()[1]
        is_shut = self._is_zero(sequence).to(sequence.dtype)
        shuts = rl.full((4 * hidden, 1), SHUT, dtype=weight.dtype)
        shuts.narrow(0, 2 * hidden, hidden).zero_()  # not what is written: only gates shut
        return rl.cat([sequence, is_shut], 2), rl.cat([weight, shuts], 1)

    def run(
        self, sequence: Tensor, first: list[Tensor], *parameters: Any
    ) -> tuple[list[Tensor], list[Tensor]]:
        from_input, from_output, bias = self._weights(*parameters)
        if self.maskzero:
            sequence, from_input = self._masked(sequence, from_input)
        cell, hidden = first
        time, batch, inputs = sequence.shape
        rows = sequence.reshape((time * batch, inputs))
        sizes = [batch] * time
        output, last_output, last_cell, _, cells = LSTM_LAYER(
            rows, hidden, cell, from_input, from_output, bias, None, sizes, False
        )
        shape = (time, batch, hidden.shape[1])
        cells = cells.narrow(0, 0, time * batch)
        return [cells.reshape(shape), output.reshape(shape)], [last_cell, last_output]

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


@register("nn.SeqLSTMP")
class SeqLSTMP(SeqLSTM):
    """A SeqLSTM whose output is a projection of the hidden state (Sak et al., 2014).

    `weightO` is hidden x outputs.

    Args:
        inputsize: length of the input vectors.
        hiddensize: length of the cell.
        outputsize: length of the output vectors.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.SeqLSTMP(3, 8, 2).forward(rl.ones(5, 2, 3, dtype=rl.float64)).shape
    (5, 2, 2)
    """

    parameter_names = ("weight", "bias", "weightO")

    def __init__(self, inputsize: int, hiddensize: int, outputsize: int) -> None:
        self.weightO = new_parameter(hiddensize, outputsize)
        self.gradWeightO = new_parameter(hiddensize, outputsize)
        super().__init__(inputsize, hiddensize, outputsize)

    def _draw_weights(self, inputs: int, outputs: int, std: float | None) -> None:
        hidden = self.sizes()[1]
        self.weight.normal_(0, std or 1 / math.sqrt(hidden + inputs))
        self.weightO.normal_(0, std or 1 / math.sqrt(outputs + hidden))

    def run(
        self, sequence: Tensor, first: list[Tensor], *parameters: Any
    ) -> tuple[list[Tensor], list[Tensor]]:
        weight, bias, projection = parameters
        from_input, from_output, bias = self._weights(weight, bias)
        if self.maskzero:
            sequence, from_input = self._masked(sequence, from_input)
        cell, hidden = (value.unsqueeze(0) for value in first)
        biases = [bias, rl.zeros_like(bias)]
        weights = [from_input, from_output, *biases, projection.t()]
        output, last_output, last_cell = rl.lstm(sequence, [hidden, cell], weights)
        return [last_cell, output], [last_cell[0], last_output[0]]

    def toFastLSTM(self) -> FastLSTM:
        raise AttributeError("nn.SeqLSTMP has no counterpart that takes one step")
