"""Modules that apply a module to every element of a sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import relume as rl
from relume import Tensor
from relume.converters.table import Table
from relume.legacy_nn import nested, printing
from relume.legacy_nn.container import Container
from relume.legacy_nn.errors import names_errors
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.rnn.abstract_recurrent import AbstractRecurrent, replace_modules
from relume.legacy_nn.rnn.recurrence import Recursor
from relume.legacy_nn.rnn.step_clone import shared_clone
from relume.legacy_nn.rnn.unrolling import Unrolling

# When a sequencer keeps its memory: by name, in training and in evaluation.
REMEMBERING = {
    "both": (True, True),
    "train": (True, False),
    "eval": (False, True),
    "neither": (False, False),
}


def checked_mode(module: Any, mode: str | None) -> str:
    """A mode of `remember`, by default "both".

    Raises:
        ValueError: for any other word.
    """
    mode = "both" if mode is None else mode
    if mode not in REMEMBERING:
        words = ", ".join(REMEMBERING)
        raise ValueError(f"{module.torch_typename}: remember takes {words}, not {mode!r}")
    return mode


def remembers(module: Any) -> bool:
    """Does a module keep its memory for the next forward, in the mode that it is in?"""
    mode = module.__dict__.get("_remember") or "neither"
    return REMEMBERING[mode][0 if module.train else 1]


def as_recurrent(module: Any) -> Any:
    """The module itself when it is recurrent, else a Recursor of it."""
    if not isinstance(module, Module):
        raise TypeError(f"expected a module, got {nested.describe(module)}")
    return module if isinstance(module, AbstractRecurrent) else Recursor(module)


@register("nn.AbstractSequencer")
class AbstractSequencer(Container):
    """The base of modules that take a whole sequence per forward."""

    __slots__ = ("_memory",)
    _memory: dict[Any, Any] | None  # of the modern face: states at the end of the last sequence

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        self: Any = super().__new__(cls)
        self._memory = None
        return self

    def remember(self, mode: str | None = None) -> Any:
        """Says when the memory is kept from one forward to the next, until `forget`.

        Args:
            mode: "both" (the default), "train", "eval" or "neither".
        """
        self._remember = checked_mode(self, mode)
        return self

    def hasMemory(self) -> bool:
        """Is the memory kept for the next forward, in the mode that the module is in?"""
        return remembers(self)

    def forget(self) -> Any:
        self._memory = None
        return super().forget()

    def maxBPTTstep(self, rho: int) -> None:
        # A sequencer sets the reach of its own module by the length of the sequence.
        pass

    def stepClone(self) -> Any:
        return shared_clone(self)

    def replace_children(self, function: Callable[[Any], Any]) -> None:
        replace_modules(self, function)


class Steps:
    """The elements of a sequence: a table's, or the slices of a tensor along the first dimension.

    Slices are made once per forward: backward is given the very tensors that forward was.
    """

    def __init__(self, sequence: Activation) -> None:
        self.sequence = sequence
        self.is_tensor = isinstance(sequence, Tensor)
        self.version = sequence._version if isinstance(sequence, Tensor) else 0
        self.elements = list(sequence) if self.is_tensor else nested.elements(sequence)

    def is_of(self, sequence: Activation) -> bool:
        """Were these steps made from this sequence, as it is now?"""
        if self.is_tensor:
            return sequence is self.sequence and sequence._version == self.version
        return sequence is self.sequence and not self.is_tensor

    def joined(self, values: list[Activation]) -> Activation:
        """Values of all steps in the form of the sequence: a tensor or a table."""
        if self.is_tensor and all(isinstance(value, Tensor) for value in values):
            return rl.stack(values, 0)
        return nested.table(values)


@register("nn.Sequencer")
class Sequencer(AbstractSequencer):
    """Applies a module to every element of a sequence: a table, or a tensor whose first
    dimension is time.

    Args:
        module: recurrent, or any other module, which a `Recursor` makes so.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> net = nn.Sequencer(nn.FastLSTM(3, 4))
    >>> x = rl.ones(5, 2, 3, dtype=rl.float64)             # time x batch x features
    >>> net.forward(x).shape, net.backward(x, rl.ones(5, 2, 4, dtype=rl.float64)).shape
    ((5, 2, 4), (5, 2, 3))
    >>> net(x).shape                                       # the same under the tape
    (5, 2, 4)
    """

    __slots__ = ("_steps",)
    _steps: Steps | None  # of the last forward

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        self: Any = super().__new__(cls)
        self._steps = None
        return self

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.module = as_recurrent(module)
        self.modules = [self.module]
        for name in ("output", "gradInput", "tableoutput", "tablegradInput", "_output"):
            self.__dict__[name] = Table()
        self._remember = "neither"

    def _new_steps(self, input: Activation) -> Steps:
        if not isinstance(input, Tensor) and not nested.is_table(input):
            raise TypeError(
                f"{self.torch_typename}: expected a sequence, a table or a tensor, got "
                f"{nested.describe(input)}"
            )
        if isinstance(input, Tensor) and input.ndim == 0:
            raise ValueError(f"{self.torch_typename}: a single number is no sequence")
        return Steps(input)

    def _steps_of(self, input: Activation) -> Steps:
        if self._steps is None or not self._steps.is_of(input):
            self._steps = self._new_steps(input)
        return self._steps

    def compute(self, input: Activation) -> Activation:
        steps = self._new_steps(input)
        keeps = self.hasMemory()
        with Unrolling(self._memory if keeps else None) as unrolling:
            outputs = [self._apply_child(0, element) for element in steps.elements]
        if keeps:
            self._memory = unrolling.detached_states()
        return steps.joined(outputs)

    def updateOutput(self, input: Activation) -> Activation:
        steps = self._steps = self._new_steps(input)
        self.modules[0].maxBPTTstep(len(steps.elements))
        if not self.hasMemory():
            self.modules[0].forget()
        outputs = [self._run_child(0, "forward", element) for element in steps.elements]
        self.tableoutput = nested.table(outputs)
        self.output = steps.joined(outputs)
        return self.output

    def _gradients_of(self, steps: Steps, gradOutput: Activation) -> list[Activation]:
        is_sequence = isinstance(gradOutput, Tensor) or nested.is_table(gradOutput)
        gradients = Steps(gradOutput).elements if is_sequence else []
        if len(gradients) != len(steps.elements):
            raise ValueError(
                f"{self.torch_typename}: gradOutput must have one gradient for each of the "
                f"{len(steps.elements)} steps, it is {nested.describe(gradOutput)}"
            )
        return gradients

    def _through_time(
        self, method: str, input: Activation, gradOutput: Activation, *more: Any
    ) -> Activation:
        """Calls a backward method for steps T, ..., 1; the gradients of the input."""
        steps = self._steps_of(input)
        gradients = self._gradients_of(steps, gradOutput)
        pairs = list(zip(steps.elements, gradients, strict=True))
        found = [self._run_child(0, method, x, g, *more) for x, g in reversed(pairs)]
        if method.startswith("acc"):
            return None
        found.reverse()
        self.tablegradinput = nested.table(found)
        self.gradInput = steps.joined(found)
        return self.gradInput

    @names_errors
    def backward(self, input: Activation, gradOutput: Activation, scale: float = 1) -> Activation:
        return self._through_time("backward", input, gradOutput, scale)

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        return self._through_time("updateGradInput", input, gradOutput)

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        self._through_time("accGradParameters", input, gradOutput, scale)

    def accUpdateGradParameters(self, input: Activation, gradOutput: Activation, lr: float) -> None:
        self._through_time("accUpdateGradParameters", input, gradOutput, lr)

    def training(self) -> Any:
        if not self.train:
            self.forget()
            self._output = Table()
            self.tableoutput = Table()
        return super().training()

    def evaluate(self) -> Any:
        if self.train:
            self.forget()
            self.tableoutput = Table()
        return super().evaluate()

    def clearState(self) -> Any:
        self._steps = None
        for name in ("_output", "tableoutput", "tablegradinput"):
            self.__dict__[name] = Table()
        return super().clearState()

    def __str__(self) -> str:
        return f"{self.torch_typename} @ {self.modules[0]}"


@register("nn.Repeater")
class Repeater(AbstractSequencer):
    """Gives a recurrent module the same input for a number of steps; the output is a table.

    Args:
        module: recurrent, or any other module, which a `Recursor` makes so.
        rho: how many steps.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> len(nn.Repeater(nn.GRU(3, 4), 5).forward(rl.ones(2, 3, dtype=rl.float64)))
    5
    """

    rho: int

    def __init__(self, module: Any, rho: int) -> None:
        super().__init__()
        self.rho = rho
        self.module = as_recurrent(module)
        self.module.maxBPTTstep(rho)
        self.modules = [self.module]
        self.output = Table()

    def compute(self, input: Activation) -> Activation:
        with Unrolling():
            return nested.table([self._apply_child(0, input) for _ in range(int(self.rho))])

    def updateOutput(self, input: Activation) -> Activation:
        self.modules[0].forget()
        steps = range(int(self.rho))
        self.output = nested.table([self._run_child(0, "forward", input) for _ in steps])
        return self.output

    def _through_time(
        self, method: str, input: Activation, gradOutput: Activation, *more: Any
    ) -> Activation:
        gradients = nested.elements(gradOutput)
        if len(gradients) != int(self.rho):
            raise ValueError(
                f"nn.Repeater: gradOutput must be a table of {int(self.rho)} gradients, "
                f"it is {nested.describe(gradOutput)}"
            )
        total: Activation = None
        for gradient in reversed(gradients):
            found = self._run_child(0, method, input, gradient, *more)
            if not method.startswith("acc"):
                total = nested.add(total, found)
        return nested.table(total) if isinstance(total, list) else total

    @names_errors
    def backward(self, input: Activation, gradOutput: Activation, scale: float = 1) -> Activation:
        self.gradInput = self._through_time("backward", input, gradOutput, scale)
        return self.gradInput

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        self.gradInput = self._through_time("updateGradInput", input, gradOutput)
        return self.gradInput

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        self._through_time("accGradParameters", input, gradOutput, scale)

    def accUpdateGradParameters(self, input: Activation, gradOutput: Activation, lr: float) -> None:
        self._through_time("accUpdateGradParameters", input, gradOutput, lr)

    def maxBPTTstep(self, rho: int) -> None:
        self.rho = rho
        self.modules[0].maxBPTTstep(rho)

    def __str__(self) -> str:
        arrows = "       V         V             V     "
        lines = [
            f"{self.torch_typename} {{",
            "  [  input,    input,  ...,  input  ]",
            arrows,
            f"  {printing.indented(self.modules[0], '  ')}",
            arrows,
            f"  [output(1),output(2),...,output({int(self.rho)})]",
            "}",
        ]
        return "\n".join(lines)
