"""The recurrent attention model (Mnih et al., 2014): a recurrent network that chooses where to
look next."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.converters.table import Table
from relume.legacy_nn import nested, printing
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.rnn.sequencer import AbstractSequencer, as_recurrent
from relume.legacy_nn.rnn.unrolling import Unrolling


@register("nn.RecurrentAttention")
class RecurrentAttention(AbstractSequencer):
    """Runs `rnn` on {input, action} for a number of steps; each action comes from the output of
    the step before, the first one from zeros.

    Args:
        rnn: gets {input, action}.
        action: gets the output of `rnn` and gives the next action; it is trained by reward
            (nn.ReinforceNormal).
        nStep: how many steps.
        hiddenSize: of one sample of the output of `rnn`, a list.

    The output is the table of the outputs of all steps; with `forwardActions` of {output, action}.
    """

    __slots__ = ("_given",)
    _given: list[tuple[Activation, Activation]]  # of every step: to `action`, to `rnn`
    nStep: int
    hiddenSize: Any
    forwardActions = False

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        self: Any = super().__new__(cls)
        self._given = []
        return self

    def __init__(self, rnn: Any, action: Any, nStep: int, hiddenSize: Any) -> None:
        super().__init__()
        self.rnn = as_recurrent(rnn)
        self.action = as_recurrent(action)
        self.hiddenSize = Table(list(nested.elements(hiddenSize)))
        self.nStep = nStep
        self.modules = [self.rnn, self.action]
        self.output = Table()
        self.actions = Table()
        self.forwardActions = False
        self.gradHidden = Table()

    def _first_output(self, input: Activation) -> Tensor:
        first = nested.tensors_in(input)[0]
        sizes = [int(size) for size in self.hiddenSize]
        return rl.zeros((first.shape[0], *sizes), dtype=first.dtype)

    def _shown(self, output: Activation, action: Activation) -> Activation:
        return nested.table([output, action]) if self.forwardActions else output

    def compute(self, input: Activation) -> Activation:
        output, shown = self._first_output(input), []
        with Unrolling():
            for _ in range(int(self.nStep)):
                action = self._apply_child(1, output)
                output = self._apply_child(0, nested.table([input, action]))
                shown.append(self._shown(output, action))
        return nested.table(shown)

    def updateOutput(self, input: Activation) -> Activation:
        for module in self.modules:
            module.forget()
        output, self._given = self._first_output(input), []
        shown, actions = [], []
        for _ in range(int(self.nStep)):
            action = self._run_child(1, "forward", output)
            self._given.append((output, nested.table([input, action])))
            output = self._run_child(0, "forward", self._given[-1][1])
            actions.append(action)
            shown.append(self._shown(output, action))
        self.actions = nested.table(actions)
        self.output = nested.table(shown)
        return self.output

    def _go_back(self, method: str, gradOutput: Activation, *more: Any) -> Activation:
        """Calls a backward method of both modules for steps T, ..., 1; the gradient of the
        input, unless parameters alone are meant."""
        gradients = nested.elements(gradOutput)
        if len(gradients) != len(self._given):
            raise ValueError(
                f"{self.torch_typename}: gradOutput must be a table of {len(self._given)} "
                f"gradients, as forward had steps; it is {nested.describe(gradOutput)}"
            )
        is_for_input = not method.startswith("acc")
        total: Activation = None
        from_action: Activation = None
        for step in range(len(gradients), 0, -1):
            to_action, to_rnn = self._given[step - 1]
            of_output, of_action = self._gradients_of(gradients[step - 1], step)
            if is_for_input:
                self.gradHidden[step] = nested.add(from_action, of_output)
            from_action = self._run_child(1, method, to_action, of_action, *more)
            found = self._run_child(0, method, to_rnn, self.gradHidden[step], *more)
            if is_for_input:
                total = nested.add(total, nested.elements(found)[0])
        return nested.table(total) if isinstance(total, list) else total

    def _gradients_of(self, gradient: Activation, step: int) -> list:
        if self.forwardActions:
            return nested.elements(gradient)
        # Modules that learn from rewards do not look at it.
        return [gradient, nested.zeros_like(self.actions[step])]

    def backward(self, input: Activation, gradOutput: Activation, scale: float = 1) -> Activation:
        self.gradInput = self._go_back("backward", gradOutput, scale)
        return self.gradInput

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        self.gradInput = self._go_back("updateGradInput", gradOutput)
        return self.gradInput

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        self._go_back("accGradParameters", gradOutput, scale)

    def accUpdateGradParameters(self, input: Activation, gradOutput: Activation, lr: float) -> None:
        self._go_back("accUpdateGradParameters", gradOutput, lr)

    def clearState(self) -> Any:
        self._given = []
        self.actions, self.gradHidden = Table(), Table()
        return super().clearState()

    def __str__(self) -> str:
        ext = "  |    "
        return "\n".join(
            [
                f"{self.torch_typename} {{",
                f"  action : {printing.indented(self.action, '  ' + ext)}",
                f"  rnn     : {printing.indented(self.rnn, '  ' + ext)}",
                "}",
            ]
        )
