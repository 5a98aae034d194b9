"""OpenNMT's recurrent layers: one step of several layers, built as a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn.composite import make
from relume.legacy_nn.dropout import NoiseLayer
from relume.legacy_nn.gmodule import gModule
from relume.legacy_nn.models.opennmt.networks import Network
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_empty

Node = Any
NAIVE, VARIATIONAL = "naive", "variational"


@register("onmt.VariationalDropout")
class VariationalDropout(NoiseLayer):
    """Dropout with one mask for all steps of a sequence (Gal and Ghahramani 2016).

    Args:
        p: probability of dropping, by default 0.5.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> layer, x = nn.onmt.VariationalDropout(0.5), rl.ones(100)
    >>> bool((layer.forward(x) == layer.forward(x)).all())
    True
    """

    noiseInit: Tensor
    sharedNoise: Tensor

    def __init__(self, p: float | None = None) -> None:
        super().__init__()
        self.p = 0.5 if p is None else p
        if not 0 <= self.p < 1:
            raise ValueError(f"{self.torch_typename}: p must be at least 0 and less than 1")
        self.train = True
        self.noiseInit = rl.zeros((1,), dtype=new_empty().dtype)
        self.sharedNoise = new_empty()

    def start(self) -> None:
        """The next forward draws a new mask."""
        self.noiseInit[0] = 0

    @staticmethod
    def initializeNetwork(net: Any) -> None:
        """Lets every dropout of a network draw a new mask."""
        for module in net.find_modules("onmt.VariationalDropout"):
            module.start()

    def compute(self, input: Tensor) -> Tensor:
        if not self.train or self.p <= 0:
            return input
        if self.noiseInit[0].item() == 0 or self.sharedNoise.shape != input.shape:
            drawn = rl.empty(tuple(input.shape), dtype=input.dtype).bernoulli_(1 - self.p)
            self.sharedNoise = drawn / (1 - self.p)
            self.noiseInit[0] = 1
        return input * self.sharedNoise

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        drops = self.train and self.p > 0
        self.gradInput = gradOutput * self.sharedNoise if drops else gradOutput
        return self.gradInput

    def clearState(self) -> Any:
        self.start()
        self.sharedNoise = new_empty(self.sharedNoise.torch_typename)
        return super().clearState()


def input_node() -> Node:
    return make("Identity")()


def dropped(node: Node, dropout: float, kind: str | None) -> Node:
    """A node behind dropout."""
    layer = VariationalDropout(dropout) if kind == VARIATIONAL else make("Dropout", dropout)
    return layer(node)


def gates(count: int, size: int, node: Node) -> list[Node]:
    """A vector of gates, each `size` long, as one node per gate."""
    return make("SplitTable", 2)(make("Reshape", count, size)(node)).split(count)


def lstm_step(inputSize: int, size: int) -> gModule:
    """{c, h, x} to {next c, next h}; gates in the order input, forget, output, candidate."""
    c, h, x = input_node(), input_node(), input_node()
    from_input, from_state = make("Linear", inputSize, 4 * size), make("Linear", size, 4 * size)
    entry, forget, exit, candidate = gates(
        4, size, make("CAddTable")([from_input(x), from_state(h)])
    )
    entry, forget, exit = (make("Sigmoid")(gate) for gate in (entry, forget, exit))
    kept = make("CMulTable")([forget, c])
    fresh = make("CMulTable")([entry, make("Tanh")(candidate)])
    next_c = make("CAddTable")([kept, fresh])
    next_h = make("CMulTable")([exit, make("Tanh")(next_c)])
    return gModule([c, h, x], [next_c, next_h])


def gru_step(inputSize: int, size: int) -> gModule:
    """{h, x} to the next h; gates in the order reset, update, candidate."""
    h, x = input_node(), input_node()
    of_input = gates(3, size, make("Linear", inputSize, 3 * size)(x))
    of_state = gates(3, size, make("Linear", size, 3 * size)(h))
    reset, update = (
        make("Sigmoid")(make("CAddTable")(list(pair)))
        for pair in zip(of_input[:2], of_state[:2], strict=True)
    )
    remembered = make("CMulTable")([reset, of_state[2]])
    candidate = make("Tanh")(make("CAddTable")([of_input[2], remembered]))
    change = make("CAddTable")([h, make("MulConstant", -1)(candidate)])
    next_h = make("CAddTable")([candidate, make("CMulTable")([update, change])])
    return gModule([h, x], [next_h])


class StackedCells(Network):
    """The base of several recurrent layers, one above the other.

    Args:
        layers: how many.
        inputSize: length of the input vectors.
        hiddenSize: of the states.
        dropout: probability, between the layers.
        residual: add the input of a layer to its output.
        dropout_input: dropout before the first layer too.
        dropout_type: "naive", or "variational" for one mask for all steps, of states too.
    """

    states_per_layer = 1
    numStates: int
    outputSize: int

    def __init__(
        self,
        layers: int,
        inputSize: int,
        hiddenSize: int,
        dropout: float | None = None,
        residual: bool | None = None,
        dropout_input: bool | None = None,
        dropout_type: str | None = None,
    ) -> None:
        self.dropout = dropout or 0
        states = [input_node() for _ in range(self.states_per_layer * layers)]
        x = node = input_node()
        size, before = inputSize, None
        outputs: list[Node] = []
        for layer in range(layers):
            if layer and residual and (layer > 1 or inputSize == hiddenSize):
                node = make("CAddTable")([node, before])
            first = self.states_per_layer * layer
            own = states[first : first + self.states_per_layer]
            if dropout_type == VARIATIONAL:
                own[-1] = dropped(own[-1], self.dropout, dropout_type)
            if layer or dropout_input:
                node = dropped(node, self.dropout, dropout_type)
            step, before = self.make_step(size, hiddenSize)([*own, node]), node
            following = step.split(len(own)) if len(own) > 1 else [step]
            outputs += following
            node, size = following[-1], hiddenSize
        super().__init__(gModule([*states, x], outputs))
        self.dropout = dropout or 0
        self.numStates = len(states)
        self.outputSize = hiddenSize

    make_step: Callable[[int, int], gModule]


@register("onmt.LSTM")
class LSTM(StackedCells):
    """Stacked LSTM layers: {c1, h1, ..., cL, hL, x} to the next states.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> cell, zeros = nn.onmt.LSTM(2, 3, 4), rl.zeros(1, 4, dtype=rl.float64)
    >>> len(cell.forward([zeros] * 4 + [rl.ones(1, 3, dtype=rl.float64)]))
    4
    """

    __doc__ += "\n".join((StackedCells.__doc__ or "").split("\n")[1:])
    states_per_layer = 2
    make_step = staticmethod(lstm_step)


@register("onmt.GRU")
class GRU(StackedCells):
    """Stacked GRU layers: {h1, ..., hL, x} to the next states."""

    __doc__ += "\n".join((StackedCells.__doc__ or "").split("\n")[1:])
    make_step = staticmethod(gru_step)
