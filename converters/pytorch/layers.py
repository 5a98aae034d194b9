"""What an old layer becomes: the text of a constructor, and where its tensors come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from relume import Tensor

if TYPE_CHECKING:
    from relume.converters.pytorch.classes import ClassSource

__all__ = ["SAME", "Call", "Cannot", "Form", "Weight", "named_calls", "named_weights", "reshaped"]


class Cannot(Exception):
    """A layer has no faithful counterpart; the message says why."""


@dataclass(frozen=True)
class Form:
    """How the tensors of an old layer make one tensor of the new one, and back.

    Attributes:
        join: arrays of the old layer -> the array of the new one.
        part: the array of the new one, shapes of the old ones -> arrays of the old layer.
        keeps_order: whether the numbers stay in their order.
    """

    join: Callable[[list[np.ndarray]], np.ndarray]
    part: Callable[[np.ndarray, list[tuple[int, ...]]], list[np.ndarray]]
    keeps_order: bool = False


SAME = Form(lambda arrays: arrays[0], lambda array, shapes: [array], keeps_order=True)


def reshaped(*shape: int) -> Form:
    """The same numbers in another shape.

    >>> import numpy as np
    >>> form = reshaped(2, 3)
    >>> form.join([np.zeros(6)]).shape, form.part(np.zeros((2, 3)), [(6,)])[0].shape
    ((2, 3), (6,))
    """
    return Form(
        lambda arrays: arrays[0].reshape(shape),
        lambda array, shapes: [array.reshape(shapes[0])],
        keeps_order=True,
    )


@dataclass(frozen=True)
class Weight:
    """One tensor of the new layer.

    Attributes:
        name: its name in the new layer.
        tensors: the tensors of the old layer that it is made of.
        form: how.
    """

    name: str
    tensors: tuple[Tensor, ...]
    form: Form = SAME

    def array(self) -> np.ndarray:
        """Its numbers, in C order."""
        joined = self.form.join([tensor.detach().numpy() for tensor in self.tensors])
        return np.ascontiguousarray(joined).reshape(joined.shape)


@dataclass
class Call:
    """The constructor of a layer: `nn.Conv2d(3, 8, kernel_size=(3, 3))`.

    Attributes:
        function: its name, or the class that is written for it.
        arguments: by name, in order; a `Call` among them is a layer inside of it.
        positional: how many of them are written without their names.
        weights: the tensors of the new layer.
        code: what to write instead in the middle of code, with {0} for the input.
        origin: the old layer.
    """

    function: str | ClassSource
    arguments: dict[str, Any] = field(default_factory=dict)
    positional: int = 0
    weights: tuple[Weight, ...] = ()
    code: str | None = None
    origin: Any = None

    def layers(self) -> Iterator[tuple[str, Call]]:
        """The layers directly inside, by name."""
        if not isinstance(self.function, str):
            yield from self.function.attributes.items()
        for name, value in self.arguments.items():
            if isinstance(value, Call):
                yield name, value
            elif isinstance(value, list):  # an nn.ModuleList
                for index, layer in enumerate(value):
                    yield f"{name}.{index}", layer


def named_weights(call: Call, prefix: str = "") -> Iterator[tuple[str, Weight]]:
    """All tensors in a layer by the names that its state_dict has."""
    for weight in call.weights:
        yield prefix + weight.name, weight
    for name, layer in call.layers():
        yield from named_weights(layer, f"{prefix}{name}.")


def named_calls(call: Call, prefix: str = "") -> Iterator[tuple[str, Call]]:
    """All layers in a layer by their names, itself under ""."""
    yield prefix.rstrip("."), call
    for name, layer in call.layers():
        yield from named_calls(layer, f"{prefix}{name}.")
