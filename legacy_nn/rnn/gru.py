"""Gated recurrent units that take one step per call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import relume as rl
from relume.converters.table import Table
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.container import Sequential
from relume.legacy_nn.linear import Linear, LinearNoBias
from relume.legacy_nn.registry import register
from relume.legacy_nn.rnn.building import cell_dropout, dropped_sums, fan_out, parallel, sequence
from relume.legacy_nn.rnn.stateful import StatefulRecurrent


@register("nn.GRU")
class GRU(StatefulRecurrent):
    """Gated recurrent units (Cho et al., 2014).

    Args:
        inputSize: length of the input vectors.
        outputSize: length of the output vectors.
        rho: how many steps gradients go back at most.
        p: probability of dropping, one mask for all steps (Moon et al., 2015; Gal, 2015).
        mono: one mask for all samples.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> nn.GRU(3, 4).forward(rl.ones(2, 3, dtype=rl.float64)).shape
    (2, 4)
    >>> nn.GRU(3, 4)
    nn.GRU(3 -> 4, 0.00)
    """

    def __init__(
        self,
        inputSize: int,
        outputSize: int,
        rho: int | None = None,
        p: float | None = None,
        mono: bool | None = None,
    ) -> None:
        super().__init__(rho)
        self.p = p or 0
        self.mono = bool(mono)
        self.inputSize = inputSize
        self.outputSize = outputSize
        self.recurrentModule = self.buildModel()
        self.modules = [self.recurrentModule]
        self.sharedClones[1] = self.recurrentModule

    def buildModel(self) -> Any:
        """The module of a step: {input, output before} -> output."""
        inputs, size = int(self.inputSize or 0), int(self.outputSize)
        if self.p:
            self.i2g = dropped_sums(self, [Linear(inputs, size) for _ in range(2)])
            self.o2g = dropped_sums(self, [LinearNoBias(size, size) for _ in range(2)])
        else:
            self.i2g = Linear(inputs, 2 * size)
            self.o2g = LinearNoBias(size, 2 * size)
        gates = sequence(
            parallel(self.i2g, self.o2g),
            make("CAddTable"),
            make("Reshape", 2, size),
            make("SplitTable", 1, 2),
            parallel(make("Sigmoid"), make("Sigmoid")),
        )
        written = sequence(fan_out(self._candidate(), self._update_gate_open()), make("CMulTable"))
        kept = sequence(make("NarrowTable", 4, 2), make("CMulTable"))
        return sequence(
            fan_out(make("Identity"), gates),
            make("FlattenTable"),  # input, before, reset, update
            fan_out(make("NarrowTable", 1, 4), make("SelectTable", 2)),
            make("FlattenTable"),  # input, before, reset, update, before
            sequence(fan_out(written, kept), make("CAddTable")),
        )

    def _candidate(self) -> Any:
        """What is written, from {input, before, reset, ...}."""
        from_input = sequence(make("SelectTable", 1))
        from_output = sequence(make("NarrowTable", 2, 2), make("CMulTable"))
        if self.p:
            from_input.add(cell_dropout(self))
            from_output.add(cell_dropout(self))
        from_input.add(Linear(int(self.inputSize or 0), int(self.outputSize)))
        from_output.add(LinearNoBias(int(self.outputSize), int(self.outputSize)))
        return sequence(fan_out(from_input, from_output), make("CAddTable"), make("Tanh"))

    @staticmethod
    def _update_gate_open() -> Any:
        """1 - update, from {input, before, reset, update, ...}."""
        return sequence(make("SelectTable", 4), make("SAdd", -1, True))

    def migrate(self, parameters: Any) -> None:
        """Takes over the parameters of a GRU without dropout; this one has dropout.

        Args:
            parameters: the first list that its `parameters()` gives.

        Raises:
            ValueError: this GRU has no dropout, or these are not the six tensors of a GRU.
        """
        sources = nested.elements(parameters)
        targets = self.parameters()[0]
        if not self.p or len(sources) != 6:
            raise ValueError(f"{self}: migrate takes the 6 parameters of a GRU into one with p > 0")
        size = int(self.outputSize)
        reset, update = slice(0, size), slice(size, 2 * size)
        weight, bias, recurrent = sources[:3]
        values = [weight[reset], bias[reset], weight[update], bias[update]]
        values += [recurrent[reset], recurrent[update], *sources[3:]]
        with rl.no_grad():
            for target, value in zip(targets, values, strict=True):
                target.copy_(value)

    def __str__(self) -> str:
        sizes = f"{int(self.inputSize or 0)} -> {int(self.outputSize)}"
        return f"{self.torch_typename}({sizes}, {self.p:.2f})"


def _square_root_of_difference() -> Any:
    return sequence(make("CSubTable"), make("Abs"), make("Sqrt"), make("MulConstant", 0.25))


def _extreme(name: str) -> Callable[[], Any]:
    return lambda: sequence(
        make("MapTable", make("Unsqueeze", 1)), make("JoinTable", 1), make(name, 1)
    )


# The operations of MuFuRu: from {state before, new features} to a next state.
OPERATIONS: dict[str, Callable[[], Any]] = {
    "keep": lambda: make("SelectTable", 1),
    "replace": lambda: make("SelectTable", 2),
    "mul": lambda: make("CMulTable"),
    "diff": lambda: make("CSubTable"),
    "forget": lambda: sequence(make("SelectTable", 1), make("MulConstant", 0)),
    "sqrt_diff": _square_root_of_difference,
    "max": _extreme("Max"),
    "min": _extreme("Min"),
}


@register("nn.MuFuRu")
class MuFuRu(GRU):
    """A recurrent unit that weighs several ways to combine the old state with new features
    (Weissenborn and Rocktäschel, 2016, MuFuRU: the multi-function recurrent unit).

    Args:
        inputSize: length of the input vectors.
        outputSize: length of the output vectors.
        ops: names of operations; by default keep, replace, mul, diff, forget, sqrt_diff, max, min.
        rho: how many steps gradients go back at most.

    >>> from relume import legacy_nn as nn
    >>> nn.MuFuRu(3, 4, ["keep", "replace"])
    nn.MuFuRu(3 -> 4) { keep replace }
    """

    def __init__(
        self, inputSize: int, outputSize: int, ops: Any = None, rho: int | None = None
    ) -> None:
        names = list(OPERATIONS) if ops is None else nested.elements(ops)
        unknown = [name for name in names if name not in OPERATIONS]
        if unknown:
            raise ValueError(f"nn.MuFuRu: there is no {unknown[0]!r}; there are {list(OPERATIONS)}")
        self.ops = Table(list(names))
        self.num_ops = len(names)
        self.operations = Table([OPERATIONS[name]() for name in names])
        super().__init__(inputSize, outputSize, rho)

    def buildModel(self) -> Any:
        inputs, size, count = int(self.inputSize or 0), int(self.outputSize), int(self.num_ops)
        reset = sequence(
            parallel(Linear(inputs, size), Linear(size, size)), make("CAddTable"), make("Sigmoid")
        )
        features = sequence(
            fan_out(make("SelectTable", 1), sequence(make("NarrowTable", 2, 2), make("CMulTable"))),
            make("JoinTable", 2),
            Linear(inputs + size, size),
            make("Sigmoid"),
        )
        weights = sequence(
            make("NarrowTable", 1, 2),
            make("JoinTable", 2),
            Linear(inputs + size, count * size),
            make("View", count, size).setNumInputDims(1),
            make("Transpose", [1, 2]),
            make("SoftMax"),
        )
        results = sequence(
            make("NarrowTable", 1, 2),
            fan_out(*self.operations),
            make("MapTable", make("Unsqueeze", 1)),
            make("JoinTable", 1, 3),
        )
        return sequence(
            fan_out(make("SelectTable", 1), make("SelectTable", 2), reset),
            fan_out(make("SelectTable", 2), features, weights),
            self._combined(results),
        )

    @staticmethod
    def _combined(results: Any) -> Sequential:
        """The weighted sum of the results of all operations."""
        return sequence(
            fan_out(results, make("SelectTable", 3)), make("CMulTable"), make("Sum", 1, 3)
        )

    def migrate(self, parameters: Any) -> None:
        raise AttributeError("nn.MuFuRu has no migrate")

    def __str__(self) -> str:
        sizes = f"{int(self.inputSize or 0)} -> {int(self.outputSize)}"
        return f"{self.torch_typename}({sizes}) {{ {' '.join(nested.elements(self.ops))} }}"
