"""GRU layers that take a whole sequence."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn.registry import register
from relume.legacy_nn.rnn.gru import GRU
from relume.legacy_nn.rnn.sequence_layers import SequenceLayer
from relume.legacy_nn.types import new_parameter


@register("nn.SeqGRU")
class SeqGRU(SequenceLayer):
    """Gated recurrent units over a whole sequence, time x batch x features.

    `weight` is (inputs + outputs) x (3 * outputs); gates come in the order reset, update, write.
    The input may also be a table {h0, sequence}.

    Args:
        inputSize: length of the input vectors.
        outputSize: length of the output vectors.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.SeqGRU(3, 4).forward(rl.ones(5, 2, 3, dtype=rl.float64)).shape
    (5, 2, 4)
    """

    def __init__(self, inputSize: int, outputSize: int) -> None:
        super().__init__()
        self.inputSize = inputSize
        self.outputSize = outputSize
        self.seqLength = 1
        self.miniBatch = 1
        rows, columns = inputSize + outputSize, 3 * outputSize
        self.weight = new_parameter(rows, columns)
        self.gradWeight = new_parameter(rows, columns)
        self.bias = new_parameter(columns)
        self.gradBias = new_parameter(columns)
        self.reset()

    def sizes(self) -> tuple[int, ...]:
        return int(self.inputSize), int(self.outputSize)

    def run(
        self, sequence: Tensor, first: list[Tensor], *parameters: Any
    ) -> tuple[list[Tensor], list[Tensor]]:
        is_zero = self._is_zero(sequence) if self.maskzero else None
        return run_gru(sequence, first, parameters, is_zero)

    def toGRU(self) -> GRU:
        """An nn.GRU with the same parameters and gradients."""
        inputs, size = self.sizes()
        cell = GRU(inputs, size)
        cell.type(self.weight.torch_typename)
        sources = ((self.weight, self.bias), (self.gradWeight, self.gradBias))
        for targets, (weight, bias) in zip(cell.parameters(), sources, strict=True):
            rows = weight.t()
            values = []
            for part in (slice(0, 2 * size), slice(2 * size, 3 * size)):
                values += [rows[part, :inputs], bias[part], rows[part, inputs:]]
            with rl.no_grad():
                for target, value in zip(targets, values, strict=True):
                    target.copy_(value)
        return cell


def run_gru(
    sequence: Tensor, first: list[Tensor], parameters: tuple, is_zero: Tensor | None
) -> tuple[list[Tensor], list[Tensor]]:
    """Gated recurrent units with the weights of nn.SeqGRU.

    Unlike in rl.gru, the reset gate acts before the multiplication with the weight.

    Args:
        sequence: time x batch x inputs.
        first: the output before the first step.
        parameters: weight and bias.
        is_zero: time x batch x 1: where the state becomes zero.

    Returns:
        The outputs of all steps, and that of the last one.
    """
    (state,), (weight, bias) = first, parameters
    inputs, size = sequence.shape[2], state.shape[1]
    from_input, from_output = weight[:inputs], weight[inputs:]
    gate_weight, write_weight = from_output[:, : 2 * size], from_output[:, 2 * size :]
    keeps = None if is_zero is None else 1 - is_zero.to(sequence.dtype)
    sums = sequence.matmul(from_input) + bias
    outputs = []
    for step in range(sequence.shape[0]):
        gate_sums, write_sums = sums[step].split([2 * size, size], 1)
        reset, update = rl.sigmoid(rl.addmm(gate_sums, state, gate_weight)).split(size, 1)
        written = rl.tanh(rl.addmm(write_sums, reset * state, write_weight))
        state = written + update * (state - written)
        if keeps is not None:
            state = state * keeps[step]
        outputs.append(state)
    return [rl.stack(outputs, 0)], [state]
