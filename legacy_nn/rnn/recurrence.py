"""Recurrent modules made from modules that are not: Recurrent, Recurrence, Recursor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import relume as rl
from relume import Storage, Tensor
from relume.converters.table import Table
from relume.legacy_nn import nested, printing
from relume.legacy_nn.composite import make
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.rnn.abstract_recurrent import AbstractRecurrent, replace_modules
from relume.legacy_nn.rnn.building import parallel, sequence
from relume.legacy_nn.rnn.stateful import State, StatefulRecurrent
from relume.legacy_nn.rnn.step_clone import shared_clone, tie
from relume.legacy_nn.rnn.unrolling import active_unrolling
from relume.legacy_nn.types import dtype_of, new_empty, sizes_of


@register("nn.Recurrent")
class Recurrent(AbstractRecurrent):
    """A simple recurrent layer: transfer(merge(input(x), feedback(output before))).

    The first step is transfer(start(input(x))).

    Args:
        start: size of the output, or the module of the first step.
        input: module for the input.
        feedback: module for the output of the step before.
        transfer: by default nn.Sigmoid().
        rho: how many steps gradients go back at most.
        merge: by default nn.CAddTable().

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> net = nn.Recurrent(4, nn.Linear(3, 4), nn.Linear(4, 4), nn.Tanh())
    >>> net.forward(rl.ones(2, 3, dtype=rl.float64)).shape
    (2, 4)
    """

    initialModule: Any
    gradPrevOutput: Activation = None

    def __init__(
        self,
        start: Any,
        input: Any,
        feedback: Any,
        transfer: Any = None,
        rho: int | None = None,
        merge: Any = None,
    ) -> None:
        super().__init__(rho)
        if isinstance(start, Module):
            self.startModule: Any = start
        else:
            self.startModule = make("Add", start if isinstance(start, int) else sizes_of(start))
        self.inputModule = input
        self.feedbackModule = feedback
        self.transferModule = transfer or make("Sigmoid")
        self.mergeModule = merge or make("CAddTable")
        self.modules = [
            self.startModule,
            self.inputModule,
            self.feedbackModule,
            self.transferModule,
            self.mergeModule,
        ]
        self._build()

    def _build(self) -> None:
        """Makes the modules of the first step and of all others."""
        self.initialModule = sequence(
            shared_clone(self.inputModule), self.startModule, shared_clone(self.transferModule)
        )
        self.recurrentModule = sequence(
            parallel(self.inputModule, self.feedbackModule), self.mergeModule, self.transferModule
        )
        self.sharedClones = Table({2: self.recurrentModule})

    def replace_children(self, function: Callable[[Any], Any]) -> None:
        replace_modules(self, function)
        self._build()

    def getStepModule(self, step: int) -> Any:
        return self.initialModule if step == 1 else super().getStepModule(step)

    def _forward_module(self, step: int) -> Any:
        return self.initialModule if step == 1 else super()._forward_module(step)

    def _given(self, step: int, input: Activation) -> Activation:
        return input if step == 1 else [input, self.outputs[step - 1]]

    def _output_gradient(self, step: int, gradOutput: Activation) -> Activation:
        if step == self.step - 1:
            self.gradPrevOutput = None
        gradient = nested.add(self.gradPrevOutput, gradOutput)
        self._gradOutputs[step] = nested.table(gradient) if isinstance(gradient, list) else gradient
        return self._gradOutputs[step]

    def _known_gradient(self, step: int, gradOutput: Activation) -> Activation:
        return self._gradOutputs[step]

    def _keep_gradient(self, step: int, gradient: Activation) -> Activation:
        if step == 1:
            self.gradPrevOutput = None
            return gradient
        of_input, self.gradPrevOutput = nested.elements(gradient)
        return of_input

    def _apply_step(self, input: Activation) -> Activation:
        states = active_unrolling().states
        if self in states:
            states[self] = self.recurrentModule(nested.table([input, states[self]]))
        else:
            states[self] = self.initialModule(input)
        return states[self]

    def _copies(self) -> list[Any]:
        return [*super()._copies(), self.initialModule]

    def tie_clones(self) -> None:
        if not self._kept.is_tied:
            parts = self.initialModule.modules
            tie(parts[0], self.inputModule)
            tie(parts[2], self.transferModule)
        super().tie_clones()

    def clearState(self) -> Any:
        self.__dict__.pop("gradPrevOutput", None)
        return super().clearState()

    def maskZero(self, nInputDim: int | None = 1) -> Any:
        raise AttributeError("nn.Recurrent begins with another module: use nn.Recurrence")

    def trimZero(self, nInputDim: int = 1) -> Any:
        return self.maskZero(nInputDim)

    def __str__(self) -> str:
        inner = "  |    "
        lines = [
            f"{self.torch_typename} {{",
            "  [{input(t), output(t-1)} -> (1) -> (2) -> (3) -> output(t)]",
            "  (1):  {",
            "    input(t)",
            f"      |`-> (t==0): {printing.indented(self.startModule, '  ' + inner)}",
            f"      |`-> (t~=0): {printing.indented(self.inputModule, '  ' + inner)}",
            "    output(t-1)",
            f"      |`-> {printing.indented(self.feedbackModule, '    ' + inner)}",
            "  }",
            f"  (2): {printing.indented(self.mergeModule, '  ')}",
            f"  (3): {printing.indented(self.transferModule, '  ')}",
            "}",
        ]
        return "\n".join(lines)


@register("nn.Recurrence")
class Recurrence(StatefulRecurrent):
    """Makes a module recurrent that gives the next output for {input, output before}.

    Args:
        recurrentModule: the module of a step.
        outputSize: of one sample of the output: a number, a list of sizes, or a table of these
            when the output is a table.
        nInputDim: dimensions of one sample of the input.
        rho: how many steps gradients go back at most.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> step = nn.Sequential().add(nn.JoinTable(2)).add(nn.Linear(5, 2)).add(nn.Tanh())
    >>> net = nn.Recurrence(step, 2, 1)
    >>> net.forward(rl.ones(4, 3, dtype=rl.float64)).shape
    (4, 2)
    """

    nInputDim: int

    def __init__(
        self, recurrentModule: Any, outputSize: Any, nInputDim: int, rho: int | None = None
    ) -> None:
        super().__init__(rho)
        for name in ("cells", "gradCells", "zeroTensor"):
            del self.__dict__[name]
        self.outputSize = Table([outputSize]) if isinstance(outputSize, int) else outputSize
        self.nInputDim = nInputDim
        self.typeTensor = new_empty()
        self.module = recurrentModule
        self.recurrentModule = recurrentModule
        self.modules = [recurrentModule]
        self.sharedClones[1] = recurrentModule

    def _batch_size(self, input: Activation) -> int | None:
        while nested.is_table(input):
            input = nested.elements(input)[0]
        if input.ndim == self.nInputDim:
            return None
        if input.ndim != self.nInputDim + 1:
            count = int(self.nInputDim)
            raise ValueError(
                f"{self.torch_typename}: expected an input of {count} dimensions, or {count + 1} "
                f"with a batch, got {nested.describe(input)}"
            )
        return input.shape[0]

    def _zeros(self, input: Activation, state: State) -> Activation:
        batch = self._batch_size(input)
        zeros = self._zeros_of(self.outputSize, () if batch is None else (batch,))
        if not same_sizes(self.__dict__.get("zeroTensor"), zeros):
            self.zeroTensor = zeros
        return self.zeroTensor

    def _zeros_of(self, size: Any, batch: tuple[int, ...]) -> Activation:
        parts = [] if isinstance(size, (int, Storage)) else nested.elements(size)
        if parts and not isinstance(parts[0], (int, float)):
            return nested.table([self._zeros_of(part, batch) for part in parts])
        sizes = [size] if isinstance(size, int) else sizes_of(size)
        return rl.zeros((*batch, *(int(n) for n in sizes)), dtype=dtype_of(self._type))

    def getHiddenState(self, step: int | None = None, input: Activation = None) -> Any:
        """The table {output of a step, states of recurrent modules inside}."""
        own = super().getHiddenState(step, input)
        return nested.table([own, self.recurrentModule.getHiddenState(step)])

    def setHiddenState(self, step: int | None, hiddenState: Any) -> None:
        own, *inner = nested.elements(hiddenState)
        super().setHiddenState(step, own)
        if inner and inner[0] is not None:
            self.recurrentModule.setHiddenState(step, inner[0])

    def getGradHiddenState(self, step: int | None = None, input: Activation = None) -> Any:
        own = super().getGradHiddenState(step, input)
        return nested.table([own, self.recurrentModule.getGradHiddenState(step)])

    def setGradHiddenState(self, step: int | None, gradHiddenState: Any) -> None:
        own, *inner = nested.elements(gradHiddenState)
        super().setGradHiddenState(step, own)
        if inner and inner[0] is not None:
            self.recurrentModule.setGradHiddenState(step, inner[0])

    def __str__(self) -> str:
        return f"{self.torch_typename} @ {self.modules[0]}"


def same_sizes(first: Activation, second: Activation) -> bool:
    """Do two activations have one structure, with tensors of one size and type?"""
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        return first.shape == second.shape and first.dtype == second.dtype
    if not nested.is_table(first) or not nested.is_table(second):
        return False
    one, other = nested.elements(first), nested.elements(second)
    return len(one) == len(other) and all(map(same_sizes, one, other))


@register("nn.Recursor")
class Recursor(AbstractRecurrent):
    """Gives any module steps: every step has its own clone, with shared parameters.

    Recurrent modules inside are not cloned: they keep their own steps.

    Args:
        module: what runs a step.
        rho: how many steps gradients go back at most.

    >>> from relume import legacy_nn as nn
    >>> nn.Recursor(nn.Linear(3, 2))
    nn.Recursor @ nn.Linear(3 -> 2)
    """

    def __init__(self, module: Any, rho: int | None = None) -> None:
        super().__init__(rho or 9999999)
        self.module = module
        self.recurrentModule = module
        self.modules = [module]
        self.sharedClones[1] = module

    def _go_back(self, method: str, step: int, input: Activation, gradient: Activation, *more: Any):
        # The recurrent modules inside have gone on since: let them show this step's output.
        self.getStepModule(step).setOutputStep(step)
        return super()._go_back(method, step, input, gradient, *more)

    def forget(self) -> Any:
        super().forget()
        for child in self._inner_modules():
            child.forget()
        return self

    def maxBPTTstep(self, rho: int) -> None:
        self.rho = rho
        for child in self._inner_modules():
            child.maxBPTTstep(rho)

    def getHiddenState(self, step: int | None = None, input: Any = None) -> Any:
        return self.modules[0].getHiddenState(step, input)

    def setHiddenState(self, step: int | None, hiddenState: Any) -> None:
        self.modules[0].setHiddenState(step, hiddenState)

    def getGradHiddenState(self, step: int | None = None, input: Any = None) -> Any:
        return self.modules[0].getGradHiddenState(step, input)

    def setGradHiddenState(self, step: int | None, gradHiddenState: Any) -> None:
        self.modules[0].setGradHiddenState(step, gradHiddenState)

    def __str__(self) -> str:
        return f"{self.torch_typename} @ {self.modules[0]}"
