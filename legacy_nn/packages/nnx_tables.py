"""Package nnx: layers that pass things on, in one line of arithmetic or none."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.table_layers import Identity, TableLayer
from relume.legacy_nn.wrappers import printed_size


@register("nn.Minus")
class Minus(Module):
    """-x of every element x."""

    parameter_names = ()

    def compute(self, input: Tensor) -> Tensor:
        return -input


@register("nn.MultiSoftMax")
class MultiSoftMax(Module):
    """A softmax over the last of two or three dimensions."""

    parameter_names = ()

    def compute(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim not in (2, 3):
            raise ValueError(
                f"{self}: expected two or three dimensions, got {nested.describe(input)}"
            )
        return rl.softmax(input, input.ndim - 1)


@register("nn.Probe")
class Probe(Identity):
    """Gives back its input, and prints what goes through.

    Args:
        name: what the lines begin with.
        content: print the tensors.
        display: unused; kept for files.
        size: print their sizes.
        backw: print gradients too.
    """

    content: bool | None = None
    size: bool | None = None
    backw: bool | None = None

    def __init__(
        self,
        name: str,
        content: bool | None = None,
        display: bool | None = None,
        size: bool | None = None,
        backw: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = name
        self.content, self.display = bool(content), bool(display)
        self.size, self.backw = bool(size), bool(backw)

    def _show(self, direction: str, value: Activation) -> None:
        if self.content or self.size:
            text = value if self.content else printed_size(value)
            print(f"\n<probe::{self.name}> {direction}()\n{text}")

    def compute(self, input: Activation) -> Activation:
        self._show("forward", input)
        return input

    def updateOutput(self, input: Activation) -> Activation:
        self.output = self.compute(input)
        return self.output

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        if self.backw:
            self._show("backward", gradOutput)
        return super().updateGradInput(input, gradOutput)


@register("nn.PushTable")
class PushTable(TableLayer):
    """A table without one of its elements, which goes to the PullTables that `pull` makes.

    Args:
        index: of the element, from 1.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> push = nn.PushTable(2)
    >>> net = nn.Sequential().add(push).add(nn.SelectTable(1)).add(nn.Tanh()).add(push.pull(1))
    >>> net.forward([rl.zeros(3), rl.ones(2)])[1].tolist()
    [1.0, 1.0]
    """

    def __init__(self, index: int) -> None:
        super().__init__()
        self._index = index
        self._pulls = nested.table([])
        self.output = nested.table([])

    def pull(self, index: int) -> PullTable:
        """A layer for later in the network that puts the element back, at `index`."""
        pull = PullTable(self, index)
        self._pulls[len(self._pulls) + 1] = pull
        return pull

    def compute(self, input: Activation) -> Activation:
        values = list(self._elements(input, int(self._index)))
        pushed = values.pop(int(self._index) - 1)
        for pull in self._pulls:
            pull._output = pushed
        return nested.table(values)

    def updateOutput(self, input: Activation) -> Activation:
        self._gradients: list = []
        self.output = self.compute(input)
        return self.output

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        gradients = list(nested.elements(gradOutput))
        total: Activation = None
        for gradient in self.__dict__.get("_gradients", []):
            total = nested.add(total, gradient)
        place = int(self._index) - 1
        like = nested.elements(input)[place]
        gradients.insert(place, nested.fill_gaps(total, like))
        self.gradInput = nested.table(gradients)
        return self.gradInput

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        pass


@register("nn.PullTable")
class PullTable(TableLayer):
    """A table, or a tensor, with the element that a PushTable took out; made by `push.pull`.

    Args:
        push: the PushTable.
        index: where the element goes, from 1.
    """

    def __init__(self, push: Any, index: int) -> None:
        super().__init__()
        self._push = push
        self._index = index
        self.output = nested.table([])

    def compute(self, input: Activation) -> Activation:
        if "_output" not in self.__dict__:
            raise RuntimeError(f"{self}: its PushTable must run first")
        values = [input] if isinstance(input, Tensor) else list(nested.elements(input))
        values.insert(int(self._index) - 1, self._output)
        return nested.table(values)

    def updateOutput(self, input: Activation) -> Activation:
        self.output = self.compute(input)
        return self.output

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        gradients = list(nested.elements(gradOutput))
        self._push._gradients.append(gradients.pop(int(self._index) - 1))
        is_one = isinstance(input, Tensor)
        self.gradInput = gradients[0] if is_one else nested.table(gradients)
        return self.gradInput

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        pass
