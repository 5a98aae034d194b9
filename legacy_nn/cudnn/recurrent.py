"""Recurrent networks of cudnn: several layers over whole sequences, weights in one flat vector."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.cudnn.flat_weights import FlatWeights
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.record import Record
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import new_empty, new_parameter
from relume.tensor.printing import size_text


class Kind(NamedTuple):
    """What a `mode` stands for."""

    function: Callable[..., Any]
    gates: int
    has_cell: bool


KINDS = {
    "CUDNN_RNN_RELU": Kind(rl.rnn_relu, 1, False),
    "CUDNN_RNN_TANH": Kind(rl.rnn_tanh, 1, False),
    "CUDNN_LSTM": Kind(rl.lstm, 4, True),
    "CUDNN_GRU": Kind(rl.gru, 3, False),
}


@register("cudnn.RNN")
class RNN(Module):
    """A recurrent network with rectified states, over sequences of steps x batch x inputSize.

    Args:
        inputSize: size of the input of a step.
        hiddenSize: size of the state.
        numLayers: how many layers.
        batchFirst: True for sequences of batch x steps x inputSize.
        dropout: probability of dropping what goes from one layer to the next, in training.
        rememberStates: True to start a sequence with the last states of the one before.

    The states may be given before forward as `hiddenInput` and `cellInput`, layers x batch x
    hiddenSize; the last ones are in `hiddenOutput` and `cellOutput`. Backward takes gradients of
    the last states from `gradHiddenOutput` and `gradCellOutput`, where there are any, and leaves
    those of the first ones in `gradHiddenInput` and `gradCellInput`.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> net = nn.cudnn.BLSTM(3, 4, 2)
    >>> net.forward(rl.zeros(5, 2, 3, dtype=rl.float64)).shape
    (5, 2, 8)
    >>> net.hiddenOutput.shape
    (4, 2, 4)
    """

    parameter_names = ("weight",)
    buffer_names = ("_input", "_gradOutput", "reserve", "dropoutStates")
    mode = "CUDNN_RNN_RELU"
    bidirectional = "CUDNN_UNIDIRECTIONAL"
    inputMode = "CUDNN_LINEAR_INPUT"
    numDirections = 1
    dropout: float = 0
    batchFirst = False
    rememberStates = False
    hiddenInput: Tensor | None = None
    cellInput: Tensor | None = None
    gradHiddenOutput: Tensor | None = None
    gradCellOutput: Tensor | None = None

    inputSize: int
    hiddenSize: int
    numLayers: int

    def __init__(
        self,
        inputSize: int,
        hiddenSize: int,
        numLayers: int = 1,
        batchFirst: bool | None = None,
        dropout: float | None = None,
        rememberStates: bool | None = None,
    ) -> None:
        super().__init__()
        self.datatype = "CUDNN_DATA_FLOAT"
        self.inputSize = inputSize
        self.hiddenSize = hiddenSize
        self.seqLength = 1
        self.miniBatch = 1
        self.numLayers = numLayers
        self.bidirectional = type(self).bidirectional
        self.numDirections = type(self).numDirections
        self.inputMode = "CUDNN_LINEAR_INPUT"
        self.mode = type(self).mode
        self.dropout = dropout or 0
        self.seed = 0x01234567
        self.batchFirst = bool(batchFirst)
        self.rememberStates = bool(rememberStates)
        self.train = True
        for name in ("hiddenOutput", "cellOutput", "gradHiddenInput", "gradCellInput", "reserve"):
            self.__dict__[name] = new_empty()
        self.weight = new_empty()
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        """Draws all weights anew, uniformly between -stdv and stdv.

        Args:
            stdv: by default 1 / sqrt(hiddenSize).
        """
        stdv = 1 / math.sqrt(self.hiddenSize) if stdv is None else stdv
        count = self._layout(None).count()
        if self.weight.numel() != count:
            self.weight, self.gradWeight = new_parameter(count), new_parameter(count)
        with rl.no_grad():
            self.weight.uniform_(-stdv, stdv)

    # ---- the weights ----

    def weights(self) -> list[list[Tensor]]:
        """Per layer (and direction) the matrices, each as a vector that is a view of `weight`:
        for the input one per gate, then for the state.

        >>> from relume import legacy_nn as nn
        >>> [len(layer) for layer in nn.cudnn.GRU(3, 4, 2).weights()]
        [6, 6]
        """
        return self._layout(self.weight).matrices(self.weight)

    def biases(self) -> list[list[Tensor]]:
        """Per layer (and direction) the biases, in the order of `weights()`; views of `weight`."""
        return self._layout(self.weight).biases(self.weight)

    def _layout(self, weight: Tensor | None) -> FlatWeights:
        kind = self._kind()
        layout = FlatWeights(
            int(self.inputSize),
            int(self.hiddenSize),
            int(self.numLayers),
            2 if self.bidirectional == "CUDNN_BIDIRECTIONAL" else 1,
            kind.gates,
            self.inputMode == "CUDNN_SKIP_INPUT",
        )
        if layout.skips_input and layout.inputs != layout.hidden:
            raise ValueError(
                f"{self}: with inputMode CUDNN_SKIP_INPUT, inputSize ({layout.inputs}) must be "
                f"hiddenSize ({layout.hidden})"
            )
        if weight is not None and weight.numel() != layout.count():
            raise ValueError(
                f"{self}: expected {layout.count()} weights for inputSize {layout.inputs}, "
                f"hiddenSize {layout.hidden}, {layout.layers} layers and {layout.directions} "
                f"directions, got {weight.numel()}; after a change of these, call reset()"
            )
        return layout

    def _kind(self) -> Kind:
        kind = KINDS.get(self.mode)
        if kind is None:
            raise ValueError(f"{self}: mode is {self.mode!r}; there are {', '.join(KINDS)}")
        return kind

    # ---- running ----

    def resetStates(self) -> None:
        """Forgets `hiddenInput` and `cellInput`: the next sequence starts with zeros."""
        self.__dict__.pop("hiddenInput", None)
        self.__dict__.pop("cellInput", None)

    def compute(self, input: Tensor, weight: Tensor, hidden: Any, cell: Any) -> Tensor:
        return nested.elements(self.recompute(input, weight, hidden, cell, keeps=True))[0]

    def recompute(
        self, input: Tensor, weight: Tensor, hidden: Any, cell: Any, keeps: bool = False
    ) -> Activation:
        """A table of the output and the last states; these are also kept when `keeps`."""
        batch = self._check_input(input)
        hidden, cell = self._start(hidden, batch, input), self._start(cell, batch, input)
        kind, layout = self._kind(), self._layout(weight)
        outcome = kind.function(
            input,
            [hidden, cell] if kind.has_cell else hidden,
            layout.unpack(weight.reshape((-1,))),
            True,
            layout.layers,
            float(self.dropout),
            bool(self.train),
            layout.directions == 2,
            bool(self.batchFirst),
        )
        if keeps:
            self._keep([state.detach() for state in outcome[1:]])
        return nested.table(list(outcome))

    def _check_input(self, input: Tensor) -> int:
        """The number of samples."""
        order = "batch x steps" if self.batchFirst else "steps x batch"
        size = int(self.inputSize)
        if not isinstance(input, Tensor) or input.ndim != 3 or input.shape[2] != size:
            raise ValueError(f"{self}: expected {order} x {size}, got {nested.describe(input)}")
        return input.shape[0 if self.batchFirst else 1]

    def _start(self, state: Tensor | None, batch: int, input: Tensor) -> Tensor:
        shape = (int(self.numLayers) * int(self.numDirections), batch, int(self.hiddenSize))
        if state is None or state.numel() == 0:
            return rl.zeros(shape, dtype=input.dtype)
        if tuple(state.shape) != shape:
            raise ValueError(
                f"{self}: hiddenInput and cellInput must be layers x batch x hiddenSize, "
                f"{size_text(shape)}, got {nested.describe(state)}; resetStates() "
                "forgets them"
            )
        return state

    def _keep(self, states: list[Tensor]) -> None:
        names = ("hiddenOutput", "cellOutput")
        for name, state in zip(names, states, strict=False):
            self.__dict__[name] = state
        if self.rememberStates:
            self.hiddenInput = states[0].clone()
            if len(states) == 2:
                self.cellInput = states[1].clone()

    def _own_parameters(self) -> list:
        return [self.weight, self.hiddenInput, self.cellInput]

    def updateOutput(self, input: Activation) -> Activation:
        batch = self._check_input(input)
        hidden = self._start(self.hiddenInput, batch, input)
        cell = self._start(self.cellInput, batch, input)
        if self.train or self._keeps_tape:
            self._record = Record(input, [self.weight, hidden, cell], self.recompute)
            outcome = self._record.output
        else:
            self._record = None
            with rl.no_grad():
                outcome = self.recompute(input, self.weight, hidden, cell)
        output, *states = nested.elements(outcome)
        self.output = output.detach()
        self._keep([state.detach() for state in states])
        return self.output

    def _differentiate(self, input, gradOutput, of_input: bool, of_parameters: bool) -> list:
        given = nested.table([gradOutput])
        for place, gradient in enumerate((self.gradHiddenOutput, self.gradCellOutput), 2):
            if gradient is not None and gradient.numel():
                given[place] = gradient
        of_rest = of_parameters or of_input  # the first states are among the rest
        of_given, of_weight, hidden, cell = super()._differentiate(input, given, of_input, of_rest)
        if of_input:
            for name, gradient in (("gradHiddenInput", hidden), ("gradCellInput", cell)):
                if gradient is not None:
                    self.__dict__[name] = gradient
        return [of_given, of_weight if of_parameters else None]


# Rows: name, mode, is it bidirectional, what it is.
RECURRENT = [
    ("RNNReLU", "CUDNN_RNN_RELU", False, "with rectified states"),
    ("RNNTanh", "CUDNN_RNN_TANH", False, "with states between -1 and 1"),
    ("LSTM", "CUDNN_LSTM", False, "of long short-term memory"),
    ("GRU", "CUDNN_GRU", False, "of gated recurrent units"),
    ("BLSTM", "CUDNN_LSTM", True, "of long short-term memory, in both directions"),
    ("BGRU", "CUDNN_GRU", True, "of gated recurrent units, in both directions"),
]


def make_recurrent(name: str, mode: str, is_bidirectional: bool, what: str) -> type:
    members: dict[str, Any] = {
        "mode": mode,
        "__doc__": f"A recurrent network {what}; arguments and fields are those of `RNN`.",
        "__module__": __name__,
    }
    if is_bidirectional:
        members |= {"bidirectional": "CUDNN_BIDIRECTIONAL", "numDirections": 2}
    return register(f"cudnn.{name}")(type(name, (RNN,), members))


for _row in RECURRENT:
    globals()[_row[0]] = make_recurrent(*_row)
