"""Containers of one module that watch it, time it, or keep its type; and PrintSize."""

from __future__ import annotations

import itertools
import time
from typing import Any

import relume as rl
from relume import Tensor
from relume.converters.torch_object import TorchObject
from relume.legacy_nn import nested
from relume.legacy_nn.container import Decorator
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register
from relume.legacy_nn.types import dtype_of


def convert(value: Activation, typename: str) -> Activation:
    """An activation with its floating tensors in a Torch7 type."""
    dtype = dtype_of(typename)

    def converted(tensor: Tensor) -> Tensor:
        return tensor.to(dtype) if tensor.dtype.is_floating_point else tensor

    return nested.map_tensors(converted, value)


@register("nn.DontCast")
class DontCast(Decorator):
    """Keeps the type of a module when the network around it is converted.

    Args:
        module: the module.
        castin: convert the input (and the gradient of the input) between the types.
        castout: convert the output (and its gradient) too; by default as `castin`.
        moduleType: the Torch7 type of the module; by default that of its parameters.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> net = nn.Sequential().add(nn.DontCast(nn.Linear(2, 2), True)).float()
    >>> net.forward(rl.ones(1, 2)).dtype, net.get(1).get(1).weight.dtype
    (relume.float32, relume.float64)
    """

    castin: bool | None = None
    castout: bool | None = None

    def __init__(
        self,
        module: Any,
        castin: bool | None = None,
        castout: bool | None = None,
        moduleType: str | None = None,
    ) -> None:
        super().__init__(module)
        if castin is None and castout is None:
            return
        self.castin = bool(castin)
        self.castout = self.castin if castout is None else castout
        if self.castin or self.castout:
            parameters = module.parameters()[0]
            held = parameters[0] if parameters else module.output
            self.moduleType = moduleType or held.torch_typename

    def _enter(self, value: Activation, is_cast: bool | None) -> Activation:
        return convert(value, self.moduleType) if is_cast else value

    def _leave(self, value: Activation, is_cast: bool | None) -> Activation:
        return convert(value, self._type) if is_cast else value

    def compute(self, input: Activation) -> Activation:
        output = super().compute(self._enter(input, self.castin))
        return self._leave(output, self.castout)

    def updateOutput(self, input: Activation) -> Activation:
        self._input = self._enter(input, self.castin)
        output = self._run_child(0, "forward", self._input)
        self.output = self._leave(output, self.castout)
        return self.output

    def backward(self, input: Activation, gradOutput: Activation, scale: float = 1) -> Activation:
        inner = self._enter(gradOutput, self.castout)
        gradient = self._run_child(0, "backward", self._inner_input(input), inner, scale)
        self.gradInput = self._leave(gradient, self.castin)
        return self.gradInput

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        inner = self._enter(gradOutput, self.castout)
        gradient = self._run_child(0, "updateGradInput", self._inner_input(input), inner)
        self.gradInput = self._leave(gradient, self.castin)
        return self.gradInput

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        inner = self._enter(gradOutput, self.castout)
        super().accGradParameters(self._inner_input(input), inner, scale)

    def _inner_input(self, input: Activation) -> Activation:
        """What the module got in forward: the same tensors, so that its tape is found."""
        return self.__dict__.get("_input", input) if self.castin else input

    def clearState(self) -> Any:
        self.__dict__.pop("_input", None)
        return super().clearState()

    def _before_cast(self, typename: str, tensors: Any) -> bool:
        """Takes the place of the conversion: the module stays as it is."""
        if self.castin or self.castout:
            self._type = typename
            for name, is_cast in (("output", self.castout), ("gradInput", self.castin)):
                if is_cast:
                    self.__dict__[name] = convert(self.__dict__.get(name), typename)
        return False


def has_nan(value: Activation) -> bool:
    """Is any element of an activation not a number?"""
    return any(
        tensor.dtype.is_floating_point and bool(rl.isnan(tensor.detach()).any().item())
        for tensor in nested.tensors_in(value)
    )


_next_identity = itertools.count(1)


@register("nn.NaN")
class NaN(Decorator):
    """Raises an error as soon as a NaN shows up in a module's results or parameters.

    Args:
        module: the module.
        id: how errors name it; by default a running number.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> layer = nn.NaN(nn.Log(), 7)
    >>> layer
    nn.NaN(7) @ nn.Log
    >>> layer.forward(rl.tensor([-1.0]))
    Traceback (most recent call last):
        ...
    ValueError: nn.NaN(7) @ nn.Log: NaN in the output; the input was a torch.FloatTensor of size 1
    """

    def __init__(self, module: Any, id: Any = None) -> None:
        super().__init__(module)
        self.id = next(_next_identity) if id is None else id

    def _check(self, **values: Activation) -> None:
        for name, value in values.items():
            if has_nan(value):
                raise ValueError(f"{self}: NaN in the {name.replace('_', ' ')}")

    def compute(self, input: Activation) -> Activation:
        output = super().compute(input)
        self._check(output=output)
        return output

    def updateOutput(self, input: Activation) -> Activation:
        self._check(parameters=self.parameters()[0])
        output = super().updateOutput(input)
        self._check(output=output)
        return output

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        gradient = super().updateGradInput(input, gradOutput)
        self._check(gradient_of_the_input=gradient)
        return gradient

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        super().accGradParameters(input, gradOutput, scale)
        self._check(gradients_of_the_parameters=self.parameters()[1])

    def __str__(self) -> str:
        return f"{self.torch_typename}({self.id}) @ {self.modules[0]}"


@register("nn.GPU")
class GPU(Decorator):
    """A module that Torch7 ran on a certain GPU; here it runs where its tensors are.

    Args:
        module: the module.
        device: number of the GPU of the module, from 1.
        outdevice: number of the GPU of its output, by default the same.
    """

    def __init__(self, module: Any, device: int, outdevice: int | None = None) -> None:
        super().__init__(module)
        self.device = device
        self.outdevice = device if outdevice is None else outdevice

    def setDevice(self, device: int | None = None) -> GPU:
        """Sets the number of the GPU."""
        self.device = device or self.device
        return self

    def __str__(self) -> str:
        return f"{self.torch_typename}({self.device}) @ {self.modules[0]}"


@register("nn.Profile")
class Profile(Decorator):
    """Measures the time that a module takes and prints it now and then.

    Args:
        module: the module.
        print_interval: calls from one printed line to the next, by default 100.
        name: how the lines call it, by default its class.
    """

    def __init__(
        self, module: Any, print_interval: int | None = None, name: str | None = None
    ) -> None:
        super().__init__(module)
        self.print_interval = 100 if print_interval is None else print_interval
        self.name = name or module.torch_typename
        self.module = module
        self.numFwds = self.numBwds = 0
        self.summedFwdTime: float = 0
        self.summedBwdTime: float = 0
        self.timer = TorchObject("torch.Timer", {})

    def compute(self, input: Activation) -> Activation:
        return super().compute(input)  # the modern face is not timed

    def updateOutput(self, input: Activation) -> Activation:
        start = time.perf_counter()
        output = super().updateOutput(input)
        self.summedFwdTime += time.perf_counter() - start
        self.numFwds += 1
        if self.numFwds % self.print_interval == 0:
            self._report("forward", self.summedFwdTime, self.numFwds)
        return output

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        start = time.perf_counter()
        gradient = super().updateGradInput(input, gradOutput)
        self.summedBwdTime += time.perf_counter() - start
        self.numBwds += 1
        if self.numBwds % self.print_interval == 0:
            self._report("backward", self.summedBwdTime, self.numBwds)
        return gradient

    def _report(self, direction: str, seconds: float, calls: int) -> None:
        print(f"{self.name}: {direction} took {seconds / calls:.6f} s on average of {calls} calls")


def printed_size(value: Activation) -> str:
    """The sizes of an activation as Lua prints a LongStorage."""
    if not isinstance(value, Tensor):
        return nested.describe(value)
    width = max((len(str(size)) for size in value.shape), default=0) + 1
    lines = "".join(f"{size:{width}d}\n" for size in value.shape)
    return f"{lines}[torch.LongStorage of size {value.ndim}]\n"


@register("nn.PrintSize")
class PrintSize(Module):
    """Gives back its input, and prints the sizes that go through.

    Args:
        prefix: what the lines begin with.
    """

    parameter_names = ()

    def __init__(self, prefix: str | None = None) -> None:
        super().__init__()
        self.prefix = prefix or "PrintSize"

    def compute(self, input: Activation) -> Activation:
        print(f"{self.prefix}:input\n\t{printed_size(input)}")
        return input

    def updateOutput(self, input: Activation) -> Activation:
        self.output = self.compute(input)
        return self.output

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        print(f"{self.prefix}:gradOutput\n\t{printed_size(gradOutput)}")
        self.gradInput = gradOutput
        return gradOutput

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        pass
