"""Package nnx: layers that pass things on, in one line of arithmetic or none."""

from __future__ import annotations

import time
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.container import Sequential
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.shape_layers import Copy
from relume.legacy_nn.table_layers import Identity, TableLayer
from relume.legacy_nn.types import get_default_tensor_type
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


# When every Tic last passed something on, by name, in seconds.
_started: dict[str, float] = {}


@register("nn.Tic")
class Tic(Identity):
    """Gives back its input, and starts a clock that `Toc` reads.

    Args:
        name: of the clock.
    """

    def __init__(self, name: str = "default") -> None:
        super().__init__()
        self.name = name

    def compute(self, input: Activation) -> Activation:
        _started[self.name] = time.perf_counter()
        return input

    def updateOutput(self, input: Activation) -> Activation:
        self.output = self.compute(input)
        return self.output


@register("nn.Toc")
class Toc(Identity):
    """Gives back its input, and prints the seconds since the `Tic` of the same name.

    Args:
        name: of the clock.
        comment: printed too.
    """

    comment = ""

    def __init__(self, name: str = "default", comment: str = "") -> None:
        super().__init__()
        self.name = name
        self.comment = comment

    def compute(self, input: Activation) -> Activation:
        if self.name not in _started:
            raise RuntimeError(f"{self}: an nn.Tic named {self.name!r} must run first")
        seconds = time.perf_counter() - _started[self.name]
        print(f"Toc '{self.name}' ({self.comment}) : {seconds:g}")
        return input

    def updateOutput(self, input: Activation) -> Activation:
        self.output = self.compute(input)
        return self.output


@register("nn.FunctionWrapper")
class FunctionWrapper(Module):
    """A layer made of functions.

    Args:
        init: called with the layer, to set its fields.
        updateOutput: gives the output for (layer, input).
        updateGradInput: gives the gradient of the input for (layer, input, gradOutput).

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> double = nn.FunctionWrapper(
    ...     lambda layer: None, lambda layer, x: x * 2, lambda layer, x, gradient: gradient * 2
    ... )
    >>> double.forward(rl.tensor([1.5])).tolist()
    [3.0]
    """

    parameter_names = ()
    fn_updateOutput: Any
    fn_updateGradInput: Any

    def __init__(self, init: Any, updateOutput: Any, updateGradInput: Any) -> None:
        super().__init__()
        init(self)
        self.fn_updateOutput = updateOutput
        self.fn_updateGradInput = updateGradInput

    def updateOutput(self, input: Activation) -> Activation:
        self.output = self.fn_updateOutput(self, input)
        return self.output

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        self.gradInput = self.fn_updateGradInput(self, input, gradOutput)
        return self.gradInput

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        """There are no parameters."""


@register("nn.Type")
class Type(Sequential):
    """Modules one after the other that compute in a type of their own.

    Args:
        type: a Torch7 tensor type, "torch.FloatTensor" or "Float".

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> net = nn.Type("Float").add(nn.Linear(2, 1))
    >>> net.get(1).weight.dtype, net.forward(rl.ones(1, 2, dtype=rl.float64)).dtype
    (relume.float32, relume.float64)
    """

    def __init__(self, type: str) -> None:
        super().__init__()
        inner = type if type.startswith("torch.") else f"torch.{type}Tensor"
        outer = get_default_tensor_type()
        vars(self)["type"] = inner  # a field that hides the method, as in Torch7
        self.defaulttype = outer
        self.convert_input, self.convert_output = Copy(outer, inner), Copy(inner, outer)
        self.convert_gradOutput, self.convert_gradInput = Copy(outer, inner), Copy(inner, outer)

    def add(self, module: Any) -> Any:
        """Adds a module at the end, converted to the type."""
        return super().add(module.type(vars(self)["type"]))

    def compute(self, input: Activation) -> Activation:
        return self.convert_output(super().compute(self.convert_input(input)))

    def updateOutput(self, input: Activation) -> Activation:
        output = super().updateOutput(self.convert_input.forward(input))
        self.output = self.convert_output.forward(output)
        return self.output

    def _backwards(
        self, method: str, input: Activation, gradOutput: Activation, *more: Any
    ) -> Activation:
        own = self.convert_gradOutput.forward(gradOutput)
        gradient = super()._backwards(method, self.convert_input.output, own, *more)
        return self.convert_gradInput.forward(gradient)


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
