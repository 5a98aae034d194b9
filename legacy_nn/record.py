"""The small tape of one forward call, which Torch7's backward runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relume import _C, Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.nested import Activation


class Record:
    """Runs `compute(input, *parameters)` on leaves of its own, which share memory with the
    input and the parameters, and keeps the tape.

    Attributes:
        inputs: the caller's tensors.
        leaves: of the tape: those of the input, then the parameters (None where absent).
        output: what `compute` gave, on the tape.
        extra: what it was given besides.
    """

    __slots__ = ("extra", "extra_version", "input_count", "inputs", "leaves", "output", "versions")

    def __init__(self, input: Activation, parameters: list, compute: Callable, *extra: Any) -> None:
        self.extra = extra
        if extra:
            self.extra_version = version_of(extra[0])
        if type(input) is Tensor:
            self.inputs = [input]
            self.input_count = 1
            leaves = self.leaves = _C.leaves_on([input, *parameters])
            self.output = compute(*leaves, *extra)
            self.versions = [input._version]
            return
        inputs = self.inputs = nested.tensors_in(input)
        count = self.input_count = len(inputs)
        leaves = self.leaves = _C.leaves_on(inputs + parameters)
        tape_input = nested.with_tensors(input, leaves)
        self.output = compute(tape_input, *leaves[count:], *extra)
        self.versions = [tensor._version for tensor in inputs]

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

    def is_with(self, target: Any) -> bool:
        """Was it made with this target, unchanged since? Another view of the same memory will
        do: scripts write `targets[t]` once for forward and once for backward."""
        known = self.extra[0]
        if known is not target and not look_at_same(known, target):
            return False
        return self.extra_version == version_of(target)

    def has_tape(self) -> bool:
        """False after a forward under no_grad()."""
        output = self.output
        if type(output) is Tensor:
            return output.requires_grad
        return any(tensor.requires_grad for tensor in nested.tensors_in(output))

    def gradients(self, layer: Any, gradOutput: Activation, of_input: bool, of_rest: bool) -> list:
        """The gradient of every leaf, None where it is not asked for or there is none."""
        wanted, split = self.leaves, self.input_count
        if not of_input:
            wanted = [None] * split + wanted[split:]
        elif not of_rest:
            wanted = wanted[:split] + [None] * (len(wanted) - split)
        return self.gradients_of(wanted, layer, gradOutput)

    def gradients_of(self, tensors: list, layer: Any, gradOutput: Activation) -> list:
        """The gradients of tensors on the tape, None where there is none (or no tensor)."""
        outputs, gradients = match(layer, self.output, gradOutput)
        return _C.gradients_of(outputs, gradients, tensors)


def version_of(value: Any) -> int:
    return value._version if type(value) is Tensor else 0


def look_at_same(first: Any, second: Any) -> bool:
    """Are both tensors, of the same memory in the same way?"""
    return (
        type(first) is type(second) is Tensor
        and first.data_ptr() == second.data_ptr()
        and first.dtype == second.dtype
        and first.shape == second.shape
        and first.stride() == second.stride()
    )


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


def gradients_now(
    record: Record, make_anew: Callable[[], Record], take: Callable[[Record], list]
) -> list:
    """What `take` finds in a record.

    Torch7 goes backwards with the values as they are then: when something on the tape was changed
    since (weights, by an in-place neighbour), `make_anew` runs the layer once more.
    """
    try:
        return take(record)
    except RuntimeError:
        return take(make_anew())
