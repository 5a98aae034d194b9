"""Criterions with parameters of their own."""

from __future__ import annotations

from typing import Any, ClassVar

import relume as rl
from relume import Tensor
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.record import Record


class LearntCriterion(Criterion):
    """The base of criterions with parameters: write `value(input, target, *parameters)`."""

    parameter_names: tuple[str, ...]
    gradient_names: ClassVar[dict[str, str]] = {}  # of every parameter, the field of its gradient

    def value(self, input: Activation, target: Any, *parameters: Tensor) -> Tensor:
        """The value, made with tensor operations."""
        raise NotImplementedError

    def _gradient(self, name: str) -> Tensor:
        return self.__dict__[self.gradient_names[name]]

    def compute(self, input: Activation, target: Any) -> Tensor:
        return self.value(input, target, *self._leaves())

    def _compute_recorded(self, input: Activation, *rest: Any) -> Tensor:
        *parameters, target = rest
        return self.value(input, target, *parameters)

    def updateOutput(self, input: Activation, target: Any = None) -> Any:
        parameters = self._own_parameters()
        record = self._record = Record(input, parameters, self._compute_recorded, target)
        self.output = record.output.item()
        return self.output

    def _gradients(self, input: Activation, target: Any, *wanted: bool) -> list:
        """Of the input and of the parameters, as `wanted`."""
        record = self._record
        if record is None or not record.is_of(input) or not record.is_with(target):
            with rl.enable_grad():
                self.updateOutput(input, target)
                record = self._record
        assert record is not None
        return record.gradients(self, rl.ones_like(record.output.detach()), *wanted)

    def updateGradInput(self, input: Activation, target: Any = None) -> Activation:
        self._set_grad_input(input, self._gradients(input, target, True, False))
        return self.gradInput

    def accGradParameters(self, input: Activation, target: Any, scale: float = 1) -> None:
        self._accumulate(self._gradients(input, target, False, True), scale)

    def backward(self, input: Activation, target: Any = None, scale: float = 1) -> Activation:
        gradients = self._gradients(input, target, True, True)
        self._set_grad_input(input, gradients)
        self._accumulate(gradients, scale)
        return self.gradInput
