"""The base of containers that say what they compute with the modern faces of their modules."""

from __future__ import annotations

from relume.legacy_nn.container import Container
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.record import Record, gradients_now
from relume.legacy_nn.tied_gradients import add_all


class Taped(Container):
    """Runs `compute` on a tape; a module may be used in it any number of times."""

    def _differentiate(
        self, input: Activation, gradOutput: Activation, of_input: bool, of_parameters: bool
    ) -> list:
        """Gradients of the input's tensors, then of all parameters; None where not wanted."""
        record = self._record
        if record is None or not record.is_of(input) or not record.has_tape():
            record = self._rerun(input)
        parameters = self.parameters()[0]

        def take(record: Record) -> list:
            wanted = record.leaves if of_input else [None] * len(record.leaves)
            wanted = wanted + (parameters if of_parameters else [None] * len(parameters))
            return record.gradients_of(wanted, self, gradOutput)

        return gradients_now(record, lambda: self._rerun(input), take)

    def _accumulate(self, gradients: list, scale: float) -> None:
        add_all(self.parameters()[1], gradients, scale)

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        self._accumulate(self._differentiate(input, gradOutput, False, True), scale)

    def __str__(self) -> str:
        return self.torch_typename
