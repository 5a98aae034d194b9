"""Recurrent layers that take a whole sequence, time x batch x features, in one call."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module, derived
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.record import Record, gradients_now
from relume.legacy_nn.rnn.sequencer import checked_mode, remembers
from relume.legacy_nn.types import new_empty


class SequenceState(NamedTuple):
    """One hidden state of a sequence layer: the fields that hold it."""

    first: str  # what the last sequence began with; empty once forgotten
    steps: str  # after every step of the last sequence
    user_first: str  # what the user wants the next sequence to begin with
    user_gradient: str  # a gradient that the user adds to that of the last step
    first_gradient: str  # the gradient of what the last sequence began with


OUTPUT = SequenceState("h0", "_output", "userPrevOutput", "gradPrevOutput", "userGradPrevOutput")
CELL = SequenceState("c0", "cell", "userPrevCell", "userNextGradCell", "userGradPrevCell")

# What Torch7's own methods fill, and so look for in a file.
BUFFERS = ("buffer1", "buffer2", "buffer3", "gates", "grad_a_buffer", "grad_x")


class SequenceLayer(Module):
    """The base of SeqLSTM, SeqLSTMP and SeqGRU.

    The input is a sequence, or a table {first states, sequence}. With `batchfirst` sequences are
    batch x time x features; with `maskzero` a sample that is all zeros at a step sets its states
    to zero there, so that independent sequences can follow each other. With `remember` a
    sequence begins with the last states of the one before.

    A subclass says how states follow each other in `run`.
    """

    states: tuple[SequenceState, ...] = (OUTPUT,)
    batchfirst = False
    maskzero = False
    v2 = False  # of later versions: samples of zeros are those of `setZeroMask`

    def __init__(self) -> None:
        super().__init__()
        self._remember = "neither"
        self.batchfirst = False
        self.maskzero = False
        for state in self.states:
            self.__dict__[state.first] = new_empty()
            self.__dict__[f"grad_{state.first}"] = new_empty()
        for name in BUFFERS:
            self.__dict__[name] = new_empty()

    def sizes(self) -> tuple[int, ...]:
        """Length of the input vectors, then of every state, in the order of `states`."""
        raise NotImplementedError

    def run(
        self, sequence: Tensor, first: list[Tensor], *parameters: Any
    ) -> tuple[list[Tensor], list[Tensor]]:
        """The states after all steps (time x batch x size), and those after the last one.

        Args:
            sequence: time x batch x inputs.
            first: the states before the first step, in the order of `states`.
            *parameters: one per name in `parameter_names`.
        """
        raise NotImplementedError

    def reset(self, std: float | None = None) -> Any:
        """Draws new weights, normal; biases are 0, those of the second gate 1.

        Args:
            std: by default 1 / sqrt(inputs + outputs).
        """
        inputs, outputs = self.sizes()[0], self.sizes()[-1]
        with rl.no_grad():
            self.bias.zero_()
            self.bias.narrow(0, outputs, outputs).fill_(1)
            self._draw_weights(inputs, outputs, std)
        return self

    def _draw_weights(self, inputs: int, outputs: int, std: float | None) -> None:
        self.weight.normal_(0, std or 1 / math.sqrt(outputs + inputs))

    # ---- what goes in ----

    def _split(self, input: Activation) -> tuple[list[Activation], Tensor]:
        """The first states that the input has (None for the others), and the sequence."""
        given = nested.elements(input) if nested.is_table(input) else [input]
        missing = len(self.states) + 1 - len(given)
        if missing < 0 or not given or not isinstance(given[-1], Tensor):
            names = ", ".join(state.first for state in self.states)
            raise TypeError(
                f"{self.torch_typename}: expected a sequence or a table {{{names}, sequence}}, "
                f"got {nested.describe(input)}"
            )
        return [None] * missing + given[:-1], given[-1]

    def _check(self, sequence: Tensor, first: list[Tensor]) -> None:
        inputs, *sizes = self.sizes()
        if sequence.ndim != 3 or sequence.shape[2] != inputs:
            order = "batch x time" if self.batchfirst else "time x batch"
            raise ValueError(
                f"{self.torch_typename}: expected a sequence {order} x {inputs}, got "
                f"{nested.describe(sequence)}"
            )
        batch = self._batch_size(sequence)
        for state, value, size in zip(self.states, first, sizes, strict=True):
            if tuple(value.shape) != (batch, size):
                raise ValueError(
                    f"{self.torch_typename}: expected {state.first} of size {batch}x{size}, got "
                    f"{nested.describe(value)} (after forget() a batch may have another size)"
                )

    def _batch_size(self, sequence: Tensor) -> int:
        return sequence.shape[0 if self.batchfirst else 1]

    def _begin(self, given: list[Activation], sequence: Tensor) -> list[Tensor]:
        """The states before the first step: given, set by the user, remembered, or zeros."""
        first = []
        for state, value, size in zip(self.states, given, self.sizes()[1:], strict=True):
            if value is None:
                value = self.__dict__.get(state.user_first)
            if value is None and remembers(self):
                value = self._remembered(state)
            if value is None:
                batch = self._batch_size(sequence)
                value = rl.zeros((batch, size), dtype=self.weight.dtype)
            first.append(value)
        return first

    def _remembered(self, state: SequenceState) -> Tensor | None:
        before = self.__dict__.get(state.steps)
        is_forgotten = not self.__dict__[state.first].numel()
        return None if is_forgotten or before is None or not before.numel() else before[-1]

    def _keep(self, given: list[Activation], first: list[Tensor], steps: list[Tensor]) -> None:
        for state, value, begin, values in zip(self.states, given, first, steps, strict=True):
            if value is None:
                self.__dict__[state.first] = begin
            self.__dict__[state.steps] = values.detach()

    def setZeroMask(self, zeroMask: Any) -> Any:
        """Sets which samples count as zeros, time x batch; False for none."""
        self.v2 = True
        self.zeroMask = zeroMask
        return self

    def _is_zero(self, sequence: Tensor) -> Tensor:
        """Per step and sample, time x batch x 1: does the input count as zeros?"""
        if self.v2:
            time, batch = sequence.shape[:2]
            mask = self.__dict__.get("zeroMask")
            if mask is False:
                return rl.zeros((time, batch, 1), dtype=rl.bool)
            if mask is None or tuple(mask.shape[:2]) != (time, batch):
                raise ValueError(
                    f"{self.torch_typename}: setZeroMask must be given a mask of size "
                    f"{time}x{batch} before forward"
                )
            return mask.reshape((time, batch, 1)) != 0
        return sequence.detach().square().sum(2, keepdim=True) == 0

    # ---- forward ----

    def _run(self, values: list[Tensor], parameters: tuple) -> tuple[list[Tensor], list[Tensor]]:
        *first, sequence = values
        self._check(sequence, first)
        return self.run(self._turned(sequence), first, *parameters)

    def _turned(self, sequence: Tensor) -> Tensor:
        """Time first for the layer, or batch first again for the caller."""
        return sequence.transpose(0, 1) if self.batchfirst else sequence

    def compute(self, input: Activation, *parameters: Any) -> Tensor:
        given, sequence = self._split(input)
        first = self._begin(given, sequence)
        steps, last = self._run([*first, sequence], parameters)
        if remembers(self):
            begin = [value.detach() for value in first]
            self._keep(given, begin, [value.unsqueeze(0) for value in last])
        return self._turned(steps[-1])

    @derived
    def updateOutput(self, input: Activation) -> Tensor:
        given, sequence = self._split(input)
        for state in self.states:
            self.__dict__.pop(state.user_gradient, None)
        first = self._begin(given, sequence)
        steps = self._record_run([*first, sequence])
        self._keep(given, first, steps)
        for state in self.states:
            self.__dict__.pop(state.user_first, None)
        self.output = self._turned(self.__dict__[self.states[-1].steps])
        return self.output

    def _record_run(self, values: list[Tensor]) -> list[Tensor]:
        """Runs the layer on a tape whose outputs are that of the layer and the last states."""
        all_steps: list[Tensor] = []

        def compute(inputs: Activation, *parameters: Any) -> Activation:
            steps, last = self._run(nested.elements(inputs), parameters)
            all_steps.extend(steps)
            return nested.table([self._turned(steps[-1]), *last])

        self._record = Record(values, self._own_parameters(), compute)
        return all_steps

    # ---- backward ----

    def _differentiate(self, input, gradOutput, of_input: bool, of_parameters: bool) -> list:
        given, sequence = self._split(input)
        first = [
            self.__dict__[state.first] if value is None else value
            for state, value in zip(self.states, given, strict=True)
        ]
        values = [*first, sequence]

        def run_anew() -> Record:
            with rl.enable_grad():
                self._record_run(values)
            assert self._record is not None
            return self._record

        record = self._record
        if record is None or not record.is_of(values) or not record.has_tape():
            record = run_anew()
        later = [self.__dict__.get(state.user_gradient) for state in self.states]
        given_gradients = [gradOutput, *later]
        return gradients_now(
            record,
            run_anew,
            lambda found: found.gradients(self, given_gradients, of_input, of_parameters),
        )

    def _set_grad_input(self, input: Activation, gradients: list) -> None:
        assert self._record is not None
        firsts = zip(self.states, gradients, self._record.inputs, strict=False)
        for state, gradient, value in firsts:
            gradient = rl.zeros_like(value) if gradient is None else gradient
            self.__dict__[state.first_gradient] = gradient
        names = [state.first_gradient for state in self.states]
        own = [self.__dict__[name] for name in names] + [gradients[len(self.states)]]
        count = len(nested.elements(input)) if nested.is_table(input) else 1
        self.gradInput = nested.table(own[-count:]) if nested.is_table(input) else own[-1]

    # ---- memory and modes ----

    def remember(self, mode: str | None = None) -> Any:
        """Says when a sequence begins with the last states of the one before.

        Args:
            mode: "both" (the default), "train", "eval" or "neither".
        """
        self._remember = checked_mode(self, mode)
        return self

    def forget(self) -> Any:
        for state in self.states:
            self.__dict__[state.first] = new_empty(self.weight.torch_typename)
        return self

    def resetStates(self) -> None:
        """The old name of `forget`."""
        self.forget()

    def maskZero(self, v1: bool | None = True) -> Any:
        """Lets samples of zeros set their states to zero; see the class.

        Args:
            v1: False when `setZeroMask` says which samples these are, as in later versions.
        """
        self.maskzero = True
        self.v2 = v1 is False
        return self

    def training(self) -> Any:
        if not self.train:
            self.forget()
        return super().training()

    def evaluate(self) -> Any:
        if self.train:
            self.forget()
        return super().evaluate()

    def clearState(self) -> Any:
        self.forget()
        for state in self.states:
            for name in (state.steps, state.user_gradient, state.first_gradient):
                self.__dict__.pop(name, None)
        return super().clearState()
