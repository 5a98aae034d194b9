"""Other layers of the last version of package rnn (torch/rnn)."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.container import Decorator
from relume.legacy_nn.linear import Linear
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.rnn.bidirectional import BiSequencer
from relume.legacy_nn.rnn.building import fan_out, parallel, sequence
from relume.legacy_nn.rnn.recurrence import Recurrence
from relume.legacy_nn.rnn.sequence_gru import SeqGRU
from relume.legacy_nn.rnn.sequence_layers import SequenceLayer
from relume.legacy_nn.rnn.sequence_lstm import SeqLSTM
from relume.legacy_nn.rnn.sequencer import AbstractSequencer, Sequencer
from relume.legacy_nn.table_layers import TableLayer


@register("nn.LinearRNN")
class LinearRNN(Recurrence):
    """A simple recurrent layer: transfer(weight {x, output before} + bias).

    Args:
        inputsize: length of the input vectors.
        outputsize: length of the output vectors.
        transfer: by default nn.Sigmoid().

    >>> from relume import legacy_nn as nn
    >>> nn.LinearRNN(3, 4)
    nn.LinearRNN(3 -> 4)
    """

    def __init__(self, inputsize: int, outputsize: int, transfer: Any = None) -> None:
        join = make("JoinTable", 1, 1)
        linear = Linear(inputsize + outputsize, outputsize)
        super().__init__(sequence(join, linear, transfer or make("Sigmoid")), outputsize, 1)
        self.inputsize = inputsize
        self.outputsize = outputsize

    def __str__(self) -> str:
        return f"{self.torch_typename}({int(self.inputsize)} -> {int(self.outputsize)})"


@register("nn.LookupRNN")
class LookupRNN(Recurrence):
    """A simple recurrent layer whose input is an index: transfer(merge(row, weight output before)).

    Args:
        nindex: how many indices; index 0 means a vector of zeros.
        outputsize: length of the output vectors.
        transfer: by default nn.Sigmoid().
        merge: by default nn.CAddTable().
    """

    def __init__(
        self, nindex: int, outputsize: int, transfer: Any = None, merge: Any = None
    ) -> None:
        rows = make("LookupTableMaskZero", nindex, outputsize)
        step = sequence(
            parallel(rows, Linear(outputsize, outputsize)),
            merge or make("CAddTable"),
            transfer or make("Sigmoid"),
        )
        super().__init__(step, outputsize, 0)
        self.nindex = nindex
        self.outputsize = outputsize

    def __str__(self) -> str:
        return f"{self.torch_typename}({int(self.nindex)} -> {int(self.outputsize)})"


@register("nn.ExpandAs")
class ExpandAs(TableLayer):
    """{x, y} -> {x, y repeated to the size of x}.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.ExpandAs().forward([rl.zeros(3, 2), rl.ones(1, 2)])[2].shape
    (3, 2)
    """

    def compute(self, input: Activation) -> Activation:
        first, second = self._elements(input, 2)[:2]
        return nested.table([first, second.expand(tuple(first.shape))])


@register("nn.ReverseSequence")
class ReverseSequence(Module):
    """Turns a sequence around: a table, or a tensor along its first dimension.

    >>> from relume import legacy_nn as nn
    >>> nn.ReverseSequence().forward([1, 2, 3]).as_list()
    [3, 2, 1]
    """

    parameter_names = ()

    def compute(self, input: Activation) -> Activation:
        if isinstance(input, Tensor):
            return input.flip(0)
        return nested.table(nested.elements(input)[::-1])


@register("nn.ReverseUnreverse")
class ReverseUnreverse(Decorator):
    """Applies a sequencer to a sequence in reverse.

    Args:
        sequencer: a module that takes a whole sequence.
    """

    def __init__(self, sequencer: Any) -> None:
        super().__init__(sequence(ReverseSequence(), sequencer, ReverseSequence()))

    def getModule(self) -> Any:
        """The sequencer."""
        return self.modules[0].get(2)

    def setZeroMask(self, zeroMask: Any) -> Any:
        self.modules[0].setZeroMask(zeroMask if zeroMask is False else zeroMask.flip(0))
        return self


class BothDirections(BiSequencer):
    """The base of SeqBLSTM and SeqBGRU."""

    def _build(self, forward: SequenceLayer, merge: Any) -> None:
        AbstractSequencer.__init__(self)
        backward = forward.clone()
        backward.reset()
        both = fan_out(as_sequence_module(forward), ReverseUnreverse(as_sequence_module(backward)))
        self.modules = [sequence(both, merge or make("CAddTable"))]


def as_sequence_module(module: Any) -> Any:
    """The module itself when it takes whole sequences, else a Sequencer of it."""
    is_sequencer = isinstance(module, (AbstractSequencer, SequenceLayer))
    return module if is_sequencer else Sequencer(module)


@register("nn.SeqBLSTM")
class SeqBLSTM(BothDirections):
    """Two nn.SeqLSTM, one for each direction of a sequence, merged.

    Args:
        inputsize, hiddensize, outputsize: as in `SeqLSTM`; `outputsize` may be left out.
        merge: gets {output, output of the reverse}; by default adds them.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.SeqBLSTM(3, 4).forward(rl.ones(5, 2, 3, dtype=rl.float64)).shape
    (5, 2, 4)
    """

    def __init__(
        self, inputsize: int, hiddensize: int, outputsize: Any = None, merge: Any = None
    ) -> None:
        if isinstance(outputsize, Module):
            outputsize, merge = None, outputsize
        self._build(SeqLSTM(inputsize, hiddensize, outputsize), merge)


@register("nn.SeqBGRU")
class SeqBGRU(BothDirections):
    """Two nn.SeqGRU, one for each direction of a sequence, merged.

    Args:
        inputsize, outputsize: as in `SeqGRU`.
        merge: gets {output, output of the reverse}; by default adds them.
    """

    def __init__(self, inputsize: int, outputsize: int, merge: Any = None) -> None:
        self._build(SeqGRU(inputsize, outputsize), merge)


@register("nn.VariableLength")
class VariableLength(Decorator):
    """Lets a module for sequences take a table of sequences of any lengths.

    Args:
        module: takes time x batch x features; is told to mask.
        lastOnly: True for the last output of each sequence, as one batch, instead of the table of
            all outputs.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> net = nn.VariableLength(nn.SeqGRU(3, 4))
    >>> [y.shape for y in net.forward([rl.ones(n, 3, dtype=rl.float64) for n in (5, 2)])]
    [(5, 4), (2, 4)]
    """

    lastOnly: bool | None = None

    def __init__(self, module: Any, lastOnly: bool | None = None) -> None:
        super().__init__(module.maskZero(False))
        self.lastOnly = bool(lastOnly)

    def _lengths(self, input: Activation) -> list[int]:
        if not nested.is_table(input) or not nested.elements(input):
            raise TypeError(
                f"{self.torch_typename}: expected a table of sequences, "
                f"got {nested.describe(input)}"
            )
        return [sample.shape[0] for sample in nested.elements(input)]

    def _padded(self, samples: list[Tensor], longest: int) -> Tensor:
        """The sequences side by side, time x batch, zeros after their ends."""
        padded = []
        for sample in samples:
            rest = (longest - sample.shape[0], *sample.shape[1:])
            padded.append(rl.cat([sample, rl.zeros(rest, dtype=sample.dtype)], 0))
        return rl.stack(padded, 1)

    def _prepare(self, input: Activation) -> tuple[Tensor, list[int]]:
        lengths = self._lengths(input)
        ends = rl.tensor(lengths).reshape((1, -1))
        steps = rl.arange(max(lengths)).reshape((-1, 1))
        self.modules[0].setZeroMask((steps >= ends).to(rl.uint8))
        return self._padded(nested.elements(input), max(lengths)), lengths

    def _result(self, output: Tensor, lengths: list[int]) -> Activation:
        if self.lastOnly:
            return rl.stack([output[length - 1, i] for i, length in enumerate(lengths)], 0)
        return nested.table([output[:length, i] for i, length in enumerate(lengths)])

    def compute(self, input: Activation) -> Activation:
        sequences, lengths = self._prepare(input)
        return self._result(self._apply_child(0, sequences), lengths)

    def updateOutput(self, input: Activation) -> Activation:
        self._input, lengths = self._prepare(input)
        self.output = self._result(self._run_child(0, "forward", self._input), lengths)
        return self.output

    def _inner_gradient(self, input: Activation, gradOutput: Activation) -> Tensor:
        """The gradient of what the module gave."""
        gradients = nested.elements(gradOutput) if not self.lastOnly else list(gradOutput)
        lengths = self._lengths(input)
        if self.lastOnly:
            pairs = zip(gradients, lengths, strict=True)
            gradients = [rl.cat([zeros_before(g, n), g.unsqueeze(0)], 0) for g, n in pairs]
        return self._padded(gradients, max(lengths))

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        self._gradOutput = self._inner_gradient(input, gradOutput)
        gradient = self._run_child(0, "updateGradInput", self._input, self._gradOutput)
        lengths = self._lengths(input)
        self.gradInput = nested.table([gradient[:n, i] for i, n in enumerate(lengths)])
        return self.gradInput

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        self._run_child(0, "accGradParameters", self._input, self._gradOutput, scale)

    def clearState(self) -> Any:
        for name in ("_input", "_gradOutput"):
            self.__dict__.pop(name, None)
        return super().clearState()


def zeros_before(gradient: Tensor, length: int) -> Tensor:
    """The gradients of all steps before the last one of a sequence."""
    return rl.zeros((length - 1, *gradient.shape), dtype=gradient.dtype)
