"""LSTM cells that take one step per call."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume.legacy_nn.composite import make
from relume.legacy_nn.container import Sequential
from relume.legacy_nn.linear import Linear, LinearNoBias
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.rnn.building import dropped_sums, fan_out, parallel, sequence, with_dropout
from relume.legacy_nn.rnn.stateful import CELL, OUTPUT, StatefulRecurrent


@register("nn.LSTM")
class LSTM(StatefulRecurrent):
    """Long short-term memory with peepholes (Graves et al., 2013, Speech recognition with deep
    recurrent neural networks).

    Args:
        inputSize: length of the input vectors.
        outputSize: length of output and cell, by default as long.
        rho: how many steps gradients go back at most.
        cell2gate: False for gates that do not see the cell.
        p: probability of dropping, one mask for all steps (Gal, 2015).
        mono: one mask for all samples.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> lstm, x = nn.LSTM(3, 4), rl.ones(2, 3, dtype=rl.float64)
    >>> lstm.forward(x).shape, lstm.forward(x).shape, lstm.step
    ((2, 4), (2, 4), 3)
    >>> g = rl.ones(2, 4, dtype=rl.float64)
    >>> lstm.backward(x, g).shape, lstm.backward(x, g).shape      # step 2, then step 1
    ((2, 3), (2, 3))
    """

    states = (OUTPUT, CELL)

    def __init__(
        self,
        inputSize: int,
        outputSize: int | None = None,
        rho: int | None = None,
        cell2gate: bool | None = None,
        p: float | None = None,
        mono: bool | None = None,
    ) -> None:
        super().__init__(rho)
        self.p = p or 0
        self.mono = bool(mono)
        self.inputSize = inputSize
        self.outputSize = outputSize or inputSize
        self.cell2gate = cell2gate is None or bool(cell2gate)
        self.recurrentModule = self.buildModel()
        self.modules = [self.recurrentModule]
        self.sharedClones[1] = self.recurrentModule

    def _keep_output(self, step: int, output: Activation) -> Activation:
        value = super()._keep_output(step, output)
        self.cell = self.cells[step]
        return value

    # ---- the module of a step: {input, output before, cell before} -> {output, cell} ----

    def buildGate(self) -> Any:
        """A gate, from {input, output, cell}."""
        gate = Sequential() if self.cell2gate else sequence(make("NarrowTable", 1, 2))
        sources = self._sources()
        if self.cell2gate:
            sources.append(make("CMul", self.outputSize))
        return gate.add(parallel(*sources)).add(make("CAddTable")).add(make("Sigmoid"))

    def buildHidden(self) -> Any:
        """What is written into the cell, from {input, output, cell}."""
        self.hiddenLayer = sequence(
            make("NarrowTable", 1, 2), parallel(*self._sources()), make("CAddTable"), make("Tanh")
        )
        return self.hiddenLayer

    def _sources(self) -> list[Any]:
        inputs, outputs = int(self.inputSize or 0), int(self.outputSize)
        return [
            with_dropout(self, Linear(inputs, outputs)),
            with_dropout(self, LinearNoBias(outputs, outputs)),
        ]

    def buildCell(self) -> Any:
        """The next cell, from {input, output, cell}."""
        self.inputGate = self.buildGate()
        self.forgetGate = self.buildGate()
        hidden = self.buildHidden()
        kept = sequence(fan_out(self.forgetGate, make("SelectTable", 3)), make("CMulTable"))
        written = sequence(fan_out(self.inputGate, hidden), make("CMulTable"))
        self.cellLayer = sequence(fan_out(kept, written), make("CAddTable"))
        return self.cellLayer

    def buildModel(self) -> Any:
        """The module of a step."""
        cell = self.buildCell()
        self.outputGate = self.buildGate()
        squashed = sequence(make("SelectTable", 3), make("Tanh"))
        output = sequence(fan_out(self.outputGate, squashed), make("CMulTable"))
        return sequence(
            fan_out(make("NarrowTable", 1, 2), cell),
            make("FlattenTable"),
            fan_out(output, make("SelectTable", 3)),
        )


@register("nn.FastLSTM")
class FastLSTM(LSTM):
    """An LSTM without peepholes, whose gates are computed in one go.

    Gates come in the order input, write, forget, output. With `FastLSTM.bn = True` the sums are
    batch-normalised (Cooijmans et al., 2016), with `FastLSTM.usenngraph = True` the step is an
    nn.gModule.

    Args:
        inputSize, outputSize, rho: as in `LSTM`.
        eps, momentum, affine: of the batch normalisation.
        p, mono: as in `LSTM`.

    >>> from relume import legacy_nn as nn
    >>> nn.FastLSTM(3, 4)
    nn.FastLSTM(3 -> 4)
    """

    usenngraph = False
    bn = False

    def __init__(
        self,
        inputSize: int,
        outputSize: int | None = None,
        rho: int | None = None,
        eps: float | None = None,
        momentum: float | None = None,
        affine: bool | None = None,
        p: float | None = None,
        mono: bool | None = None,
    ) -> None:
        self.affine = affine is None or bool(affine)
        for name, value in (("eps", eps), ("momentum", momentum)):
            if value is not None:
                self.__dict__[name] = value
        super().__init__(inputSize, outputSize, rho, None, p, mono)

    def _sums(self) -> None:
        """The layers that compute all four gates from the input and from the output before."""
        inputs, outputs = int(self.inputSize or 0), int(self.outputSize)
        if self.p:
            self.i2g = dropped_sums(self, [Linear(inputs, outputs) for _ in range(4)])
            self.o2g = dropped_sums(self, [LinearNoBias(outputs, outputs) for _ in range(4)])
        else:
            self.i2g = Linear(inputs, 4 * outputs)
            self.o2g = LinearNoBias(outputs, 4 * outputs)

    def buildModel(self) -> Any:
        self._sums()
        if self.usenngraph or self.bn:
            return self.nngraphModel()
        size = int(self.outputSize)
        transfer = parallel(make("Sigmoid"), make("Tanh"), make("Sigmoid"), make("Sigmoid"))
        gates = sequence(
            make("NarrowTable", 1, 2),
            parallel(self.i2g, self.o2g),
            make("CAddTable"),
            make("Reshape", 4, size),
            make("SplitTable", 1, 2),
            transfer,
        )
        written = sequence(make("NarrowTable", 1, 2), make("CMulTable"))
        kept = sequence(fan_out(make("SelectTable", 3), make("SelectTable", 5)), make("CMulTable"))
        cell = sequence(fan_out(written, kept), make("CAddTable"))
        squashed = sequence(make("SelectTable", 1), make("Tanh"))
        output = sequence(fan_out(squashed, make("SelectTable", 2)), make("CMulTable"))
        return sequence(
            fan_out(gates, make("SelectTable", 3)),  # then: input, write, forget, output, cell
            make("FlattenTable"),
            fan_out(cell, make("SelectTable", 4)),
            make("FlattenTable"),
            fan_out(output, make("SelectTable", 1)),
        )

    def nngraphModel(self) -> Any:
        """The module of a step as a graph."""
        x, before, cell_before = (make("Identity")() for _ in range(3))
        from_input = self.i2g(x).annotate(name="i2h")
        from_output = self.o2g(before).annotate(name="h2h")
        size = int(self.outputSize)
        if self.bn:
            normalize_input, normalize_output, normalize_cell = (
                self._batch_normalization(count) for count in (4 * size, 4 * size, size)
            )
            from_input = normalize_input(from_input).annotate(name="bn_wx")
            from_output = normalize_output(from_output).annotate(name="bn_wh")
            from_output = make("Add", 4 * size)(from_output)
        sums = make("CAddTable")([from_input, from_output])
        parts = make("SplitTable", 2)(make("Reshape", 4, size)(sums)).split(4)
        functions = ("Sigmoid", "Tanh", "Sigmoid", "Sigmoid")
        gates = [make(name)(part) for name, part in zip(functions, parts, strict=True)]
        kept = make("CMulTable")([gates[2], cell_before])
        written = make("CMulTable")([gates[0], gates[1]])
        cell = make("CAddTable")([kept, written])
        squashed = normalize_cell(cell).annotate(name="bn_c") if self.bn else cell
        output = make("CMulTable")([gates[3], make("Tanh")(squashed)])
        return make("gModule", [x, before, cell_before], [output, cell])

    def _batch_normalization(self, size: int) -> Any:
        eps, momentum = self.__dict__.get("eps"), self.__dict__.get("momentum")
        layer = make("BatchNormalization", size, eps, momentum, self.affine)
        with rl.no_grad():
            layer.weight.fill_(0.1)
        return layer
