"""The small tape of one forward call, which Torch7's backward runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relume import _C, Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.nested import Activation


def as_leaf(tensor: Tensor) -> Tensor:
    """A leaf on the same memory; one that wants a gradient when it can have one."""
    leaf = tensor.detach()
    try:
        return leaf.requires_grad_()
    except RuntimeError:  # integers have none
        return leaf


class Record:
    """Runs `compute(input, *parameters)` on leaves of its own, which share memory with the
    input and the parameters, and keeps the tape.

    Attributes:
        inputs: the caller's tensors.
        leaves: of the tape: those of the input, then the parameters (None where absent).
        output: what `compute` gave, on the tape.
    """

    __slots__ = ("extra", "input_count", "inputs", "leaves", "output", "versions")

    def __init__(self, input: Activation, parameters: list, compute: Callable, *extra: Any) -> None:
        tape_input: Activation
        if type(input) is Tensor:
            tape_input = as_leaf(input)
            self.inputs = [input]
            self.leaves: list = [tape_input]
        else:
            self.inputs = nested.tensors_in(input)
            self.leaves = [as_leaf(tensor) for tensor in self.inputs]
            remaining = iter(self.leaves)
            tape_input = nested.map_tensors(lambda _: next(remaining), input)
        self.input_count = len(self.inputs)
        self.extra = extra
        if parameters:
            own = [None if p is None else p.detach().requires_grad_() for p in parameters]
            self.leaves += own
            self.output = compute(tape_input, *own, *extra)
        else:
            self.output = compute(tape_input, *extra)
        self.versions = [tensor._version for tensor in self.inputs]

    def input_became(self, *inputs: Tensor) -> None:
        """An in-place layer has changed its input: this is what backward will be given."""
        for position, tensor in enumerate(inputs):
            self.inputs[position] = tensor
            self.versions[position] = tensor._version

    def is_of(self, input: Activation) -> bool:
        """Was it made from these very tensors, unchanged since?"""
        if type(input) is Tensor:
            inputs = self.inputs
            is_same = len(inputs) == 1 and input is inputs[0]
            return is_same and input._version == self.versions[0]
        tensors = nested.tensors_in(input)
        return len(tensors) == len(self.inputs) and all(
            new is old and new._version == version
            for new, old, version in zip(tensors, self.inputs, self.versions, strict=True)
        )

    def has_tape(self) -> bool:
        """False after a forward under no_grad()."""
        output = self.output
        if type(output) is Tensor:
            return output.requires_grad
        return any(tensor.requires_grad for tensor in nested.tensors_in(output))

    def gradients(self, layer: Any, gradOutput: Activation, of_input: bool, of_rest: bool) -> list:
        """The gradient of every leaf, None where it is not asked for or there is none."""
        leaves = self.leaves
        outputs, gradients = match(layer, self.output, gradOutput)
        split = self.input_count
        places = [
            i
            for i, leaf in enumerate(leaves)
            if leaf is not None and (of_input if i < split else of_rest) and leaf.requires_grad
        ]
        if not outputs or not places:
            return [None] * len(leaves)
        if len(places) == len(leaves):
            return _C.run_backward(outputs, gradients, leaves, True, False, True)
        result: list = [None] * len(leaves)
        chosen = [leaves[i] for i in places]
        found = _C.run_backward(outputs, gradients, chosen, True, False, True)
        for place, gradient in zip(places, found, strict=True):
            result[place] = gradient
        return result


def match(layer: Any, output: Activation, gradOutput: Activation) -> tuple[list, list]:
    """The recorded outputs that have a gradient, and these gradients in their shapes."""
    is_simple = type(output) is type(gradOutput) is Tensor and output.requires_grad
    if is_simple and output.shape == gradOutput.shape:
        return [output], [gradOutput]
    outputs, gradients = [], []
    for tensor, gradient in nested.pair_up(output, gradOutput):
        if gradient is None or not tensor.requires_grad:
            continue
        if not isinstance(gradient, Tensor) or gradient.numel() != tensor.numel():
            raise ValueError(
                f"{layer}: gradOutput must look like the output, {nested.describe(tensor)}, "
                f"but is {nested.describe(gradient)}"
            )
        outputs.append(tensor)
        shape = tensor.shape
        gradients.append(gradient if gradient.shape == shape else gradient.reshape(shape))
    return outputs, gradients
