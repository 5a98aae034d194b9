"""Recurrent modules whose steps hand on states: the base of LSTM, GRU and Recurrence."""

from __future__ import annotations

from typing import Any, NamedTuple

import relume as rl
from relume import Tensor
from relume.converters.table import Table
from relume.legacy_nn import nested
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.rnn.abstract_recurrent import AbstractRecurrent
from relume.legacy_nn.rnn.fused_steps import EvaluatedStep, FusedStep, fused_step, is_changed
from relume.legacy_nn.rnn.unrolling import active_unrolling
from relume.legacy_nn.types import dtype_of, new_empty


class State(NamedTuple):
    """One hidden state: the fields that hold it."""

    values: str  # a table: after step t, at t; what the user set, at 0
    gradients: str  # a table: the gradients of these
    first: str = ""  # a tensor that the user wants before the first step
    last_gradient: str = ""  # a gradient that the user wants after the last step
    zeros: str = "zeroTensor"  # what the first step begins with otherwise
    size: str = "outputSize"  # its length


OUTPUT = State("outputs", "gradOutputs", "userPrevOutput", "userNextGradOutput")
CELL = State("cells", "gradCells", "userPrevCell", "userNextGradCell")


class StatefulRecurrent(AbstractRecurrent):
    """The base of recurrent modules whose step gets {input, states after the step before}.

    The module of a step gives its output, or {output, further states}: the output is the first
    state.
    """

    states: tuple[State, ...] = (OUTPUT,)

    def __init__(self, rho: int | None = None) -> None:
        super().__init__(rho or 9999)
        for state in self.states:
            self.__dict__[state.zeros] = new_empty()
        self.cells = Table()
        self.gradCells = Table()

    def __getattr__(self, name: str) -> Any:
        if name in ("cells", "gradCells"):
            self.__dict__[name] = Table()
            return self.__dict__[name]
        return super().__getattr__(name)

    # ---- states ----

    def _zeros(self, input: Activation, state: State) -> Activation:
        """The state before the first step when nobody set one."""
        size = int(getattr(self, state.size))
        shape = (input.shape[0], size) if input.ndim == 2 else (size,)
        zeros = self.__dict__.get(state.zeros)
        dtype = dtype_of(self._type)
        if not isinstance(zeros, Tensor) or tuple(zeros.shape) != shape or zeros.dtype != dtype:
            zeros = self.__dict__[state.zeros] = rl.zeros(shape, dtype=dtype)
        return zeros

    def _before(self, step: int, input: Activation) -> list[Activation]:
        """The states that a step (from 1) begins with; `input` may be None when they are there."""
        return [self._state_after(step - 1, state, input) for state in self.states]

    def _state_after(self, step: int, state: State, input: Activation) -> Activation:
        value = self._start(state) if step == 0 else None
        if value is None:
            value = getattr(self, state.values).get(step)
        if value is None and step == 0:
            zeros = self.__dict__.get(state.zeros)
            value = zeros if input is None else self._zeros(input, state)
        if value is None:
            raise RuntimeError(f"{self}: there is no state after step {step}")
        return value

    def _start(self, state: State) -> Activation:
        """What the user wants before the first step; None for nothing."""
        start = self.__dict__.get("startState")
        if start is not None:
            return self._as_list(start)[self.states.index(state)]
        return self.__dict__.get(state.first)

    def setStartState(self, startState: Any) -> None:
        """Sets what every sequence begins with, until it is set to None: a table of states, or
        the only one."""
        self.startState = startState

    def _place(self, step: int | None) -> int:
        """The step that a caller means: by default the last one; -1 is the one before it."""
        if step is None:
            return int(self.step) - 1
        return int(self.step) - 1 + int(step) if step < 0 else int(step)

    def getHiddenState(self, step: int | None = None, input: Activation = None) -> Any:
        """The states after a step (0: before the first one): a table of them, or the only one.

        Args:
            step: by default the last one.
            input: of the first step; sets the size of zero states.
        """
        return self._one_or_table(self._before(self._place(step) + 1, input))

    def setHiddenState(self, step: int | None, hiddenState: Any) -> None:
        """Sets the states after a step; step 0 is what the first step begins with."""
        place = self._place(step)
        for state, value in zip(self.states, self._as_list(hiddenState), strict=True):
            getattr(self, state.values)[place] = value

    def getGradHiddenState(self, step: int | None = None, input: Activation = None) -> Any:
        """The gradients of the states after a step."""
        return self._one_or_table([self._gradient_after(self._place(step), s) for s in self.states])

    def setGradHiddenState(self, step: int | None, gradHiddenState: Any) -> None:
        """Sets the gradients of the states after a step."""
        place = self._place(step)
        for state, value in zip(self.states, self._as_list(gradHiddenState), strict=True):
            getattr(self, state.gradients)[place] = value

    def _one_or_table(self, values: list) -> Any:
        return values[0] if len(self.states) == 1 else nested.table(values)

    def _as_list(self, values: Any) -> list:
        return [values] if len(self.states) == 1 else nested.elements(values)

    def _gradient_after(self, step: int, state: State) -> Activation:
        value = self.__dict__.get(state.last_gradient) if step == self.step - 1 else None
        if value is None:
            value = getattr(self, state.gradients).get(step)
        return self._zeros_after(step, state) if value is None else value

    def _zeros_after(self, step: int, state: State) -> Activation:
        return nested.map_tensors(rl.zeros_like, getattr(self, state.values)[step])

    # ---- steps ----

    def _given(self, step: int, input: Activation) -> Activation:
        return [input, *self._before(step, input)]

    def _keep_output(self, step: int, output: Activation) -> Activation:
        values = self._as_list(output)
        for state, value in zip(self.states, values, strict=True):
            table = getattr(self, state.values)
            table[step] = self._shared_in_evaluation(table, step, value)
        return values[0]

    def _output_gradient(self, step: int, gradOutput: Activation) -> Activation:
        self._gradOutputs[step] = self._total_gradient(step, gradOutput)
        return self._known_gradient(step, gradOutput)

    def _total_gradient(self, step: int, gradOutput: Activation) -> Activation:
        """The gradient of the output from above and from the next step."""
        is_last = step == self.step - 1
        later = self.__dict__.get(OUTPUT.last_gradient) if is_last else None
        if later is None:
            later = self.gradOutputs.get(step)
        total = nested.add(later, gradOutput)
        return nested.table(total) if isinstance(total, list) else total

    def _known_gradient(self, step: int, gradOutput: Activation) -> Activation:
        others = [self._gradient_after(step, state) for state in self.states[1:]]
        return self._one_or_table([self._gradOutputs[step], *others])

    def _keep_gradient(self, step: int, gradient: Activation) -> Activation:
        gradients = nested.elements(gradient)
        for state, value in zip(self.states, gradients[1:], strict=True):
            getattr(self, state.gradients)[step - 1] = value
        return gradients[0]

    def _forward_module(self, step: int) -> Any:
        fused = self._next_fused(step)
        if fused is None:
            return super()._forward_module(step)
        self._kept.fused[step] = fused
        out_of_reach = step - int(self.rho) - 1
        self._kept.fused.pop(out_of_reach, None)
        if isinstance(self._kept.fused.get(step - 1), EvaluatedStep):
            del self._kept.fused[step - 1]  # only the last one of an evaluation is ever asked for
        return fused

    def _step_tables(self) -> list[Table]:
        own = [self._gradOutputs] if self._kept.fused else []
        for state in self.states:
            own += [getattr(self, state.values), getattr(self, state.gradients)]
        return [*own, self.gradInputs]

    def _run_step(self, module: Any, method: str, *arguments: Any) -> Activation:
        if isinstance(module, FusedStep):
            return getattr(module, method)(*arguments)
        return super()._run_step(module, method, *arguments)

    def _next_fused(self, step: int) -> FusedStep | None:
        """The next step as one function; None where the module must run as it is."""
        if step == 1:
            return fused_step(self)
        last = self._kept.fused.get(step - 1)
        if last is None or is_changed(self.recurrentModule):
            return None
        is_of_mode = isinstance(last, EvaluatedStep) != bool(self.train)
        return last.next() if is_of_mode else fused_step(self)

    def _backward_module(self, step: int) -> Any:
        if self.train:
            return self._kept.fused.get(step) or super()._backward_module(step)
        last = self._kept.fused.pop(self.step - 1, None)
        if isinstance(last, EvaluatedStep):
            last.replay(self._before(self.step - 1, None))
        return super()._backward_module(step)

    def _apply_step(self, input: Activation) -> Activation:
        unrolling = active_unrolling()
        before = unrolling.states.get(self)
        if before is None:
            before = self._before(1, input)
        module = fused_step(self) or self.recurrentModule
        values = self._as_list(module(nested.table([input, *before])))
        unrolling.states[self] = values
        return values[0]

    # ---- memory ----

    def forget(self) -> Any:
        super().forget()
        if self.train:
            self.cells = Table()
            self.gradCells = Table()
        return self

    def clearState(self) -> Any:
        for state in self.states:
            self.__dict__[state.zeros] = new_empty(self._type)
            self.__dict__.pop(state.first, None)
        for name in ("cell", "gradPrevOutput", "startState"):
            self.__dict__.pop(name, None)
        super().clearState()
        self.cells = Table()
        self.gradCells = Table()
        return self
