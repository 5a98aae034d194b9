"""The base of modules that keep the network they run in a field of its own."""

from __future__ import annotations

from typing import Any

from relume.legacy_nn.container import Container
from relume.legacy_nn.nested import Activation


class Holder(Container):
    """Runs the network in the field that `held_name` says."""

    held_name = "net"

    @property
    def held(self) -> Any:
        """The network."""
        return getattr(self, self.held_name)

    def children(self) -> list[Any]:
        return [self.held]

    def __len__(self) -> int:
        return 1

    def replace_children(self, function: Any) -> None:
        setattr(self, self.held_name, function(self.held))

    def compute(self, input: Activation) -> Activation:
        return self.held(input)

    def updateOutput(self, input: Activation) -> Activation:
        self.output = self.held.forward(input)
        return self.output

    def backward(self, input: Activation, gradOutput: Activation, scale: float = 1) -> Activation:
        self.gradInput = self.held.backward(input, gradOutput, scale)
        return self.gradInput

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        self.gradInput = self.held.updateGradInput(input, gradOutput)
        return self.gradInput

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        self.held.accGradParameters(input, gradOutput, scale)

    def __str__(self) -> str:
        return self.torch_typename
