"""Text in images (bgshih/crnn; Shi, Bai and Yao 2015): layers over tables of steps.

Files hold clones of one unit, a step each, which share its weights; one unit is enough here.
"""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.counting import from_one
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.models.taped import Taped
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register

SPREAD = 0.08  # of the first weights


class Unrolled(Taped):
    """The base of layers that apply one unit at every step.

    Attributes:
        maxT: how many steps a file has clones for; here there may be more.
    """

    unit_name = "unit"

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        dropped = ("rnnState", "drnnState", "clones", "initState")
        super()._load_fields({k: v for k, v in fields.items() if k not in dropped}, version)
        self.clones = nested.table([])

    def children(self) -> list[Any]:
        return [getattr(self, self.unit_name)]

    def replace_children(self, function: Any) -> None:
        setattr(self, self.unit_name, function(self.children()[0]))

    def reset(self, stdv: float | None = None) -> None:
        with rl.no_grad():
            for place, parameter in enumerate(self.parameters()[0]):
                if place % 2:
                    parameter.zero_()
                else:
                    parameter.uniform_(-SPREAD, SPREAD)


@register("nn.SharedParallelTable")
class SharedParallelTable(Unrolled):
    """Applies one module to every element of a table.

    Args:
        unit: the module.
        maxT: how many elements at most, in Torch7.
    """

    def __init__(self, unit: Any, maxT: int = 0) -> None:
        super().__init__()
        self.unit, self.maxT = unit, maxT
        self.reset()

    def compute(self, input: Activation) -> Activation:
        return nested.table([self.unit(element) for element in nested.elements(input)])


@register("nn.BiRnnJoin")
class BiRnnJoin(Unrolled):
    """Sums linear functions of two directions: {table of steps, table of steps} to a table.

    Args:
        nIn, nOut: sizes of a step.
        maxT: how many steps at most, in Torch7.
    """

    unit_name = "joinUnit"
    joinUnit: Any

    def __init__(self, nIn: int, nOut: int, maxT: int = 0) -> None:
        super().__init__()
        self.maxT = maxT
        inputs = [make("Identity")(), make("Identity")()]
        both = [make("Linear", nIn, nOut)(node) for node in inputs]
        self.joinUnit = make("gModule", inputs, [make("CAddTable")(both)])
        self.reset()

    def compute(self, input: Activation) -> Activation:
        forwards, backwards = (nested.elements(part) for part in nested.elements(input)[:2])
        if len(forwards) != len(backwards):
            raise ValueError(
                f"{self}: both directions must have as many steps, got {nested.describe(input)}"
            )
        pairs = zip(forwards, backwards, strict=True)
        return nested.table([self.joinUnit(list(pair)) for pair in pairs])


@register("nn.LstmLayer")
class LstmLayer(Unrolled):
    """An LSTM over a table of steps, N x inputs each, that begins with zeros.

    Args:
        nIn, nHidden: sizes of a step and of the states.
        maxT: how many steps at most, in Torch7.
        dropout: probability of dropping inputs.
        reverse: go from the last step to the first.
    """

    unit_name = "lstmUnit"
    lstmUnit: Any
    nHidden: int
    reverse = False

    def __init__(
        self,
        nIn: int,
        nHidden: int,
        maxT: int = 0,
        dropout: float | None = None,
        reverse: bool | None = None,
    ) -> None:
        super().__init__()
        self.dropout, self.reverse = dropout or 0, bool(reverse)
        self.nHidden, self.maxT = nHidden, maxT
        self.lstmUnit = lstm_unit(nIn, nHidden, self.dropout)
        self.reset()

    def compute(self, input: Activation) -> Activation:
        steps = nested.elements(input)
        if not steps:
            return nested.table([])
        shape = (steps[0].shape[0], int(self.nHidden))
        states = [rl.zeros(shape, dtype=steps[0].dtype) for _ in range(2)]
        outputs = []
        for step in reversed(steps) if self.reverse else steps:
            *states, output = nested.elements(self.lstmUnit([step, *states]))
            outputs.append(output)
        return nested.table(outputs[::-1] if self.reverse else outputs)


def lstm_unit(inputs: int, hidden: int, dropout: float) -> Any:
    """A graph from {input, cell, state} to {cell, state, state}: gates in, forget, out, and what
    is written."""
    x, cell, state = given = [make("Identity")() for _ in range(3)]
    if dropout > 0:
        x = make("Dropout", dropout)(x)
    sums = make("CAddTable")(
        [make("Linear", inputs, 4 * hidden)(x), make("Linear", hidden, 4 * hidden)(state)]
    )
    gates = make("Sigmoid")(make("Narrow", 2, 1, 3 * hidden)(sums))
    enter, forget, leave = (
        make("Narrow", 2, place * hidden + 1, hidden)(gates) for place in range(3)
    )
    written = make("Tanh")(make("Narrow", 2, 3 * hidden + 1, hidden)(sums))
    kept = [make("CMulTable")([forget, cell]), make("CMulTable")([enter, written])]
    new_cell = make("CAddTable")(kept)
    new_state = make("CMulTable")([leave, make("Tanh")(new_cell)])
    return make("gModule", given, [new_cell, new_state, make("Identity")(new_state)])


@register("nn.CtcCriterion")
class CtcCriterion(Criterion):
    """The sum of minus the log-likelihoods of texts over all alignments (Graves et al. 2006):
    log-probabilities N x steps x (1 + classes), the first class is the blank; texts N x length,
    numbers from 1, and 0 after their ends.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> loss = nn.CtcCriterion().forward(rl.zeros(1, 1, 4).log_softmax(2), rl.tensor([[2, 0]]))
    >>> round(loss, 4)                           # one of four classes
    1.3863
    """

    def compute(self, input: Tensor, target: Tensor) -> Tensor:
        is_right = isinstance(input, Tensor) and input.ndim == 3 and isinstance(target, Tensor)
        if not is_right or target.ndim != 2 or target.shape[0] != input.shape[0]:
            raise ValueError(
                f"{self}: expected log-probabilities N x steps x classes and texts N x length, "
                f"got {nested.describe(input)} and {nested.describe(target)}"
            )
        numbers = [int(number) for number in target.flatten().tolist() if number]
        labels = from_one(self, rl.tensor(numbers, dtype=rl.int64), input.shape[2] - 1) + 1
        lengths = [sum(number != 0 for number in text) for text in target.tolist()]
        steps = [input.shape[1]] * input.shape[0]
        return rl.ctc_loss(input.transpose(0, 1), labels, steps, lengths, reduction="sum")
