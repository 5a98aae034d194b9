"""Modules made of modules: Sequential, Concat, ConcatTable, ParallelTable, ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested, printing, released_gradients
from relume.legacy_nn.counting import positive_dimension
from relume.legacy_nn.errors import locate, name_layer, names_errors, not_runnable
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.nesting import make_room
from relume.legacy_nn.registry import register


@register("nn.Container")
class Container(Module):
    """The base of modules that hold other modules in `modules`, a list.

    >>> from relume import legacy_nn as nn
    >>> net = nn.Sequential().add(nn.Linear(3, 2)).add(nn.Tanh())
    >>> net.size(), net.get(2)
    (2, nn.Tanh)
    """

    __slots__ = ("_drops_grad_inputs", "_has_room")

    parameter_names = ()
    modules: list[Any]
    _drops_grad_inputs: bool | None  # None: those that can be computed again
    _has_room: bool  # on Python's stack, for what is inside

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        self: Any = super().__new__(cls, *arguments, **named)
        self._drops_grad_inputs = None
        self._has_room = False
        return self

    def __init__(self) -> None:
        super().__init__()
        self.modules = []

    # ---- building ----

    def add(self, module: Any) -> Any:
        """Adds a module at the end and returns the container."""
        if isinstance(module, type):
            raise TypeError(
                f"{self.torch_typename}: add an object, {module.__name__}(...), not the class"
            )
        self.modules.append(module)
        return self

    def extend(self, *modules: Any) -> Any:
        """Adds several modules at the end and returns the container."""
        for module in modules:
            self.add(module)
        return self

    def get(self, index: int) -> Any:
        """The module at a place, counted from 1."""
        return self.modules[self._place(index)]

    def size(self) -> int:
        """How many modules it holds."""
        return len(self.modules)

    def __len__(self) -> int:
        return len(self.modules)

    def insert(self, module: Any, index: int | None = None) -> Any:
        """Puts a module at a place (from 1; by default the end), moving the later ones."""
        place = len(self.modules) if index is None else index - 1
        if not 0 <= place <= len(self.modules):
            raise IndexError(
                f"{self.torch_typename}: cannot insert at {index}: there are "
                f"{len(self.modules)} modules"
            )
        self.modules.insert(place, module)
        return self

    def remove(self, index: int | None = None) -> Any:
        """Takes out the module at a place (from 1; by default the last); returns the container."""
        del self.modules[self._place(len(self.modules) if index is None else index)]
        return self

    def _place(self, index: int) -> int:
        if not 1 <= index <= len(self.modules):
            raise IndexError(
                f"{self.torch_typename} has no module {index}: it has {len(self.modules)}, "
                "counted from 1"
            )
        return index - 1

    # ---- what every container does with its modules ----

    def children(self) -> list[Any]:
        return self.modules

    def replace_children(self, function: Callable[[Any], Any]) -> None:
        if not self._has_room:
            make_room(self)
        self.modules[:] = [function(module) for module in self.modules]

    def parameters(self) -> tuple[list, list]:
        if not self._has_room:
            make_room(self)
        parameters, gradients = [], []
        for child in self.children():
            if isinstance(child, Module):
                own_parameters, own_gradients = child.parameters()
                parameters += own_parameters
                gradients += own_gradients
        return parameters, gradients

    def _each(self, method: str, *arguments: Any) -> None:
        if not self._has_room:
            make_room(self)
        for child in self.children():
            if isinstance(child, Module):
                getattr(child, method)(*arguments)

    def zeroGradParameters(self) -> None:
        self._each("zeroGradParameters")

    def updateParameters(self, learningRate: float) -> None:
        self._each("updateParameters", learningRate)

    def training(self) -> Any:
        self._each("training")
        return super().training()

    def evaluate(self) -> Any:
        self._each("evaluate")
        return super().evaluate()

    def reset(self, stdv: float | None = None) -> None:
        self._each("reset", stdv)

    def clearState(self) -> Any:
        self._each("clearState")
        return super().clearState()

    def share(self, other: Any, *fields: str) -> Any:
        if not self._has_room:
            make_room(self)
        for mine, theirs in zip(self.children(), other.children(), strict=False):
            mine.share(theirs, *fields)
        return super().share(other, *fields)

    def noBias(self) -> Any:
        raise AttributeError(f"{self.torch_typename} has no bias")

    # ---- memory ----

    def keepGradInputs(self, keep: bool = True) -> Any:
        """Says whether the modules inside keep their `gradInput` after `backward`.

        Torch7's do, which doubles the memory of a training step. Unless told otherwise, a network
        lets large ones go when they have been used, and computes them again when somebody looks
        at them. True keeps them all. With False each is let go for good as soon as the module
        before it has used it; the network's own `gradInput` stays.

        >>> import relume as rl
        >>> from relume import legacy_nn as nn
        >>> net = nn.Sequential().add(nn.Square()).add(nn.Square()).keepGradInputs(False)
        >>> x = rl.tensor([2.0])
        >>> net.backward(x, net.forward(x)).tolist(), net.get(2).gradInput.shape
        ([512.0], (0,))
        """
        for module in self.walk():
            if isinstance(module, Container):
                module._drops_grad_inputs = not keep
        return self

    def _used_grad_input_of(self, module: Any) -> None:
        """The gradient that a module gave has been used."""
        if self._drops_grad_inputs is not False:
            released_gradients.release(module, bool(self._drops_grad_inputs))

    # ---- running one of them ----

    def _child(self, index: int) -> Any:
        if not self._has_room:
            make_room(self)
        module = self.modules[index]
        if not isinstance(module, Module):
            raise not_runnable(module)
        return module

    def _apply_child(self, index: int, input: Activation) -> Activation:
        """The modern face of module `index` (from 0)."""
        try:
            return self._child(index).__call__(input)
        except Exception as error:
            locate(error, self, index)
            raise

    def _run_child(self, index: int, method: str, *arguments: Any) -> Activation:
        """A method of Torch7's protocol of module `index` (from 0)."""
        try:
            return getattr(self._child(index), method)(*arguments)
        except Exception as error:
            locate(error, self, index)
            raise


@register("nn.Sequential")
class Sequential(Container):
    """Modules one after the other.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> net = nn.Sequential().add(nn.Linear(4, 2)).add(nn.LogSoftMax())
    >>> net.forward(rl.zeros(3, 4, dtype=rl.float64)).shape
    (3, 2)
    """

    repeats_backward = True

    def compute(self, input: Activation) -> Activation:
        for index in range(len(self.modules)):
            input = self._apply_child(index, input)
        return input

    def updateOutput(self, input: Activation) -> Activation:
        if not self._has_room:
            make_room(self)
        index = 0
        try:
            for index in range(len(self.modules)):
                module = self.modules[index]
                if not isinstance(module, Module):
                    raise not_runnable(module)
                input = module.forward(input)
        except Exception as error:
            locate(error, self, index)
            raise
        self.output = input
        return input

    def _backwards(
        self, method: str, input: Activation, gradOutput: Activation, *more: Any
    ) -> Activation:
        """Calls a backward method of the modules, last first, each with its input."""
        if not self.modules:
            raise ValueError(f"{self.torch_typename}: backward needs at least one module")
        modules, index = self.modules, 0
        try:
            for index in range(len(modules) - 1, -1, -1):
                module = modules[index]
                if not isinstance(module, Module):
                    raise not_runnable(module)
                own_input = modules[index - 1].output if index else input
                gradient = getattr(module, method)(own_input, gradOutput, *more)
                gradOutput = gradient if gradient is not None else module.gradInput
                if method == "backward":
                    self._used_grad_input_of(module)
        except Exception as error:
            locate(error, self, index)
            raise
        return gradOutput

    @names_errors
    def backward(self, input: Activation, gradOutput: Activation, scale: float = 1) -> Activation:
        call = released_gradients.begin(self, input, gradOutput)
        try:
            self.gradInput = self._backwards("backward", input, gradOutput, scale)
        finally:
            released_gradients.end(call)
        return self.gradInput

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        self.gradInput = self._backwards("updateGradInput", input, gradOutput)
        return self.gradInput

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        self._backwards("accGradParameters", input, gradOutput, scale)

    def backwardUpdate(self, input: Activation, gradOutput: Activation, lr: float) -> Activation:
        self.gradInput = self._backwards("backwardUpdate", input, gradOutput, lr)
        return self.gradInput

    def accUpdateGradParameters(self, input: Activation, gradOutput: Activation, lr: float) -> None:
        self._backwards("accUpdateGradParameters", input, gradOutput, lr)

    def updateDiagHessianInput(self, input: Activation, diagHessianOutput: Activation) -> Any:
        self.diagHessianInput = self._backwards("updateDiagHessianInput", input, diagHessianOutput)
        return self.diagHessianInput

    def accDiagHessianParameters(self, input: Activation, diagHessianOutput: Activation) -> None:
        for index in range(len(self.modules) - 1, -1, -1):
            own_input = self.modules[index - 1].output if index else input
            self._run_child(index, "accDiagHessianParameters", own_input, diagHessianOutput)
            diagHessianOutput = self.modules[index].diagHessianInput

    def __str__(self) -> str:
        return printing.chain(self.torch_typename, self.modules)


class Branches(Container):
    """The base of containers whose modules stand side by side."""

    def _inputs(self, input: Activation) -> list[Activation]:
        """What each module gets."""
        return [input] * len(self.modules)

    def _merge(self, outputs: list[Activation]) -> Activation:
        """The output, from the outputs of the modules."""
        return nested.table(outputs)

    def _split(self, gradOutput: Activation) -> list[Activation]:
        """What each module gets of the gradient of the output."""
        return nested.elements(gradOutput)

    def _merge_gradients(self, input: Activation, gradients: list[Activation]) -> Activation:
        """The gradient of the input, from those of the modules' inputs."""
        total = gradients[0] if gradients else None
        for gradient in gradients[1:]:
            total = nested.add(total, gradient)
        return nested.fill_gaps(total, input)

    def compute(self, input: Activation) -> Activation:
        inputs = self._inputs(input)
        return self._merge([self._apply_child(i, inputs[i]) for i in range(len(self.modules))])

    def updateOutput(self, input: Activation) -> Activation:
        inputs = self._inputs(input)
        outputs = [self._run_child(i, "forward", inputs[i]) for i in range(len(self.modules))]
        self.output = self._merge(outputs)
        return self.output

    def _for_each(self, method: str, input: Activation, gradOutput: Activation, *more: Any) -> list:
        try:
            inputs, gradients = self._inputs(input), self._split(gradOutput)
        except Exception as error:
            name_layer(error, self, gradOutput)
            raise
        if len(gradients) < len(self.modules):
            raise ValueError(
                f"{self.torch_typename}: gradOutput must have one gradient for each of the "
                f"{len(self.modules)} modules, it has {len(gradients)}"
            )
        return [
            self._run_child(i, method, inputs[i], gradients[i], *more)
            for i in range(len(self.modules))
        ]

    @names_errors
    def backward(self, input: Activation, gradOutput: Activation, scale: float = 1) -> Activation:
        call = released_gradients.begin(self, input, gradOutput)
        try:
            gradients = self._for_each("backward", input, gradOutput, scale)
            self.gradInput = self._merge_gradients(input, gradients)
            for module in self.modules:
                self._used_grad_input_of(module)
        finally:
            released_gradients.end(call)
        return self.gradInput

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        gradients = self._for_each("updateGradInput", input, gradOutput)
        self.gradInput = self._merge_gradients(input, gradients)
        return self.gradInput

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        self._for_each("accGradParameters", input, gradOutput, scale)

    def accUpdateGradParameters(self, input: Activation, gradOutput: Activation, lr: float) -> None:
        self._for_each("accUpdateGradParameters", input, gradOutput, lr)

    def __str__(self) -> str:
        return printing.fan(self.torch_typename, self.modules)


@register("nn.ConcatTable")
class ConcatTable(Branches):
    """Gives its input to every module; the output is the table of their outputs."""

    repeats_backward = True

    def __init__(self) -> None:
        super().__init__()
        self.output = nested.table([])


@register("nn.ParallelTable")
class ParallelTable(Branches):
    """Gives element i of its input to module i; the output is the table of their outputs."""

    repeats_backward = True

    def __init__(self) -> None:
        super().__init__()
        self.output, self.gradInput = nested.table([]), nested.table([])

    def _inputs(self, input: Activation) -> list[Activation]:
        inputs = nested.elements(input)
        if len(inputs) < len(self.modules):
            raise ValueError(
                f"{self.torch_typename}: expected a table of {len(self.modules)} elements, "
                f"got {nested.describe(input)}"
            )
        return inputs

    def _merge_gradients(self, input: Activation, gradients: list[Activation]) -> Activation:
        return nested.table(gradients)


@register("nn.Concat")
class Concat(Branches):
    """Gives its input to every module and joins their outputs along a dimension.

    Args:
        dimension: counted from 1.
    """

    repeats_backward = True

    def __init__(self, dimension: int) -> None:
        super().__init__()
        from relume.legacy_nn.types import long_storage

        self.dimension = dimension
        self.outputSize = long_storage([])

    def _dim(self, like: Tensor) -> int:
        return positive_dimension(self.dimension, like.ndim)

    def _merge(self, outputs: list[Activation]) -> Activation:
        return rl.cat(outputs, self._dim(outputs[0]))

    def _split(self, gradOutput: Activation) -> list[Activation]:
        dim = self._dim(gradOutput)
        sizes = [module.output.shape[dim] for module in self.modules]
        if sum(sizes) != gradOutput.shape[dim]:
            raise ValueError(
                f"{self.torch_typename}: gradOutput must have {sum(sizes)} elements along "
                f"dimension {self.dimension}, got {nested.describe(gradOutput)}"
            )
        return list(rl.split(gradOutput, sizes, dim))


@register("nn.Parallel")
class Parallel(Branches):
    """Gives slice i of its input to module i and joins their outputs.

    Args:
        inputDimension: along which the input is sliced, counted from 1.
        outputDimension: along which the outputs are joined, counted from 1.
    """

    repeats_backward = True

    def __init__(self, inputDimension: int, outputDimension: int) -> None:
        super().__init__()
        self.inputDimension = inputDimension
        self.outputDimension = outputDimension

    def _inputs(self, input: Activation) -> list[Activation]:
        dim = positive_dimension(self.inputDimension, input.ndim)
        return [input.select(dim, i) for i in range(len(self.modules))]

    def _merge(self, outputs: list[Activation]) -> Activation:
        return rl.cat(outputs, positive_dimension(self.outputDimension, outputs[0].ndim))

    def _split(self, gradOutput: Activation) -> list[Activation]:
        dim = positive_dimension(self.outputDimension, gradOutput.ndim)
        return list(rl.split(gradOutput, [m.output.shape[dim] for m in self.modules], dim))

    def _merge_gradients(self, input: Activation, gradients: list[Activation]) -> Activation:
        return rl.stack(gradients, positive_dimension(self.inputDimension, input.ndim))


@register("nn.Decorator")
class Decorator(Container):
    """Holds one module and does what it does; the base of modules that wrap one."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.modules = [module]

    def compute(self, input: Activation) -> Activation:
        return self._apply_child(0, input)

    def updateOutput(self, input: Activation) -> Activation:
        self.output = self._run_child(0, "forward", input)
        return self.output

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        self.gradInput = self._run_child(0, "updateGradInput", input, gradOutput)
        return self.gradInput

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        self._run_child(0, "accGradParameters", input, gradOutput, scale)

    def accUpdateGradParameters(self, input: Activation, gradOutput: Activation, lr: float) -> None:
        self._run_child(0, "accUpdateGradParameters", input, gradOutput, lr)

    def __str__(self) -> str:
        return f"{self.torch_typename} @ {printing.text_of(self.modules[0])}"
